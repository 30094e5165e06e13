//! The `perimeter` command: arguments in, exit code out. Everything else is in the library.
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    perimeter::cli::main(perimeter::cli::Cli::parse())
}
