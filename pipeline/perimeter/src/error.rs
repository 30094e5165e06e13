//! What can end a job, by who has to act: the exit code follows from the kind and from nothing else.
use perimeter_contract::Diagnostics;
use std::error::Error as StdError;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What ended a job.
///
/// No variant ever holds a cell value, a key or a token: messages name file, record number, column and rule.
/// Error texts of the engine and of decoders quote the data, so they are never wrapped as a source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A contract file is wrong (exit 2): every mistake found, with its place and fix.
    #[error("{} mistake(s) in the contract files", .0.list.len())]
    Contract(Diagnostics),
    /// Everything else: one failure, with the one who has to act.
    #[error(transparent)]
    Failed(Box<Failure>),
}

/// Who has to act when a job ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Culprit {
    /// The data or a gate said no; nothing was published (exit 1).
    Data,
    /// A file or the command line is wrong; nothing was read (exit 2).
    File,
    /// Something outside failed for now, after retries (exit 3).
    Outside,
    /// Something outside denied us (exit 4).
    Denied,
}

impl Culprit {
    /// The process exit code that a scheduler acts on.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Data => 1,
            Self::File => 2,
            Self::Outside => 3,
            Self::Denied => 4,
        }
    }
}

/// One failure: a stable kebab-case code, what happened, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Who has to act.
    pub culprit: Culprit,
    /// Kebab-case, stable: `truncated-input`.
    pub code: &'static str,
    /// What happened: file, record, column and rule, never a value.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// The cause, where its text is known to hold no data (I/O, SDK).
    #[source]
    pub source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Failure {
    /// A failure without a fix or cause yet.
    pub fn new(culprit: Culprit, code: &'static str, message: impl Into<String>) -> Self {
        Self { culprit, code, message: message.into(), help: None, source: None }
    }

    /// Adds what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the cause. Its text must hold no data: I/O and SDK errors, never a decoder's.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

impl From<Diagnostics> for Error {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Contract(diagnostics)
    }
}

impl Error {
    /// The process exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Contract(_) => Culprit::File.exit_code(),
            Self::Failed(failure) => failure.culprit.exit_code(),
        }
    }
}
