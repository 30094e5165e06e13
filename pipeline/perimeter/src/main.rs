//! The `perimeter` command: arguments in, exit code out. Everything else is in the library.
use clap::Parser;
use std::process::ExitCode;

/// Batches come and go by the megabyte; the system's allocator gives each back to the kernel and faults it in again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    perimeter::cli::main(perimeter::cli::Cli::parse())
}
