//! Failures as text and as JSON. Values never get here: errors hold none.
use crate::error::{Error, Failure};
use serde_json::json;
use std::error::Error as _;
use std::fmt::Write;

/// What goes to stderr when a command ends early.
pub(super) fn failure(error: &Error, json: bool) -> String {
    match (error, json) {
        (Error::Contract(diagnostics), false) => diagnostics.render(),
        (Error::Contract(diagnostics), true) => format!("{}\n", json!({"exit": error.exit_code(), "diagnostics": diagnostics.to_json()})),
        (Error::Failed(failure), false) => text(failure),
        (Error::Failed(failure), true) => {
            format!(
                "{}\n",
                json!({"exit": error.exit_code(), "code": failure.code, "message": failure.message, "help": failure.help, "cause": failure.source.as_ref().map(ToString::to_string)})
            )
        }
    }
}

fn text(failure: &Failure) -> String {
    let mut text = format!("error[{}]: {}\n", failure.code, failure.message);
    let mut cause = failure.source();
    while let Some(error) = cause {
        let _ = writeln!(text, "  cause: {error}");
        cause = error.source();
    }
    if let Some(help) = &failure.help {
        let _ = writeln!(text, "  help: {help}");
    }
    text
}
