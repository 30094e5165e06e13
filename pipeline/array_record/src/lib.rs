//! ArrayRecord files: reader, writer, verifier.
mod decode;
mod fault;
mod footer;
mod index;
mod layout;
mod options;
mod read;
mod read_at;
mod verify;
mod write;

pub use fault::Fault;
pub use options::{Compression, Options, OptionsError};
pub use read::{ReadError, Reader, Records};
pub use read_at::ReadAt;
pub use verify::{Damage, Reason, Sound, verify};
pub use write::{Closed, MAX_RECORD_BYTES, WriteError, Writer};
