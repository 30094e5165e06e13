//! Texts through the stage.
