//! What we say about a mistake in a file: a code, the place, what is wrong, how to fix it.
use std::path::PathBuf;
use std::sync::Arc;

/// A byte range of one file of a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Span {
    /// Index of the file in its [`SourceMap`].
    pub file: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// One file as it was read.
#[derive(Debug)]
pub struct SourceFile {
    /// Where it was read from.
    pub path: PathBuf,
    /// `Job`, `Policy` or `Schema`.
    pub kind: &'static str,
    /// Its whole text.
    pub text: String,
    /// SHA-256 of the bytes.
    pub sha256: [u8; 32],
}

/// The texts that spans point into.
#[derive(Debug, Default)]
pub struct SourceMap {
    /// In the order in which they were read; the job is the first.
    pub files: Vec<SourceFile>,
}

/// One mistake.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Kebab-case, unique, stable: `unknown-key`.
    pub code: &'static str,
    /// Where.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A mistake without a fix yet; see [`Diagnostic::help`].
    pub fn new(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self { code, span, message: message.into(), help: None }
    }

    /// Adds how to fix it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// All mistakes of one run, with the texts they point into.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    /// In the order of files and lines.
    pub list: Vec<Diagnostic>,
    /// The texts.
    pub sources: Arc<SourceMap>,
}
