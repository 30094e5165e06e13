//! The command line: what is typed, and how results and failures are shown. The only module that prints.
//!
//! Human output goes to stderr (a bar on a terminal, plain lines elsewhere), results to stdout; `--json` gives results, plans
//! and failures for machines. Exit codes follow from [`Error::exit_code`] alone.
mod arguments;
mod classify;
mod commands;
mod keys;
mod profile;
mod progress;
mod quarantine;
mod render;
mod reveal;
mod schema;

pub use arguments::Cli;

use crate::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

/// Runs one command and shows what came of it.
pub fn main(cli: Cli) -> ExitCode {
    // A panic's payload can quote the cell that caused it; where it happened is all that anyone may see.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(|| "an unknown place".to_owned(), |place| format!("{}:{}", place.file(), place.line()));
        let _ = writeln!(io::stderr(), "a fault of the tool at {place}; its message may quote the data and is not shown");
    }));
    arguments::log(&cli.global);
    let json = cli.global.json;
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(cli.global.limits().threads).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error[no-threads]: the runtime cannot be started ({})", error.kind());
            return ExitCode::from(3);
        }
    };
    let outcome = commands::execute(cli, &runtime);
    // A run that was refused may leave blocking reads behind; they hold nothing that is worth waiting for.
    runtime.shutdown_background();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(commands::Ended::Failed(error)) => {
            let _ = io::stderr().lock().write_all(render::failure(&error, json).as_bytes());
            ExitCode::from(error.exit_code())
        }
        // Whoever read our output has gone; there is nobody to tell.
        Err(commands::Ended::BrokenPipe) => ExitCode::SUCCESS,
        Err(commands::Ended::Output(error)) => {
            let _ = writeln!(io::stderr(), "error[output]: the result cannot be written ({})", error.kind());
            ExitCode::from(3)
        }
    }
}

impl From<Error> for commands::Ended {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
