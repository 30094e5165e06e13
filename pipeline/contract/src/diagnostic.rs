//! What we say about a mistake in a file: a code, the place, what is wrong, how to fix it.
//!
//! [`Diagnostics::render`] is the text for people, the same on every machine and without colours; [`Diagnostics::to_json`] is for
//! machines. The codes are in [`crate::codes`], and explained in `CODES.md` beside this crate.
use std::fmt::{self, Write as _};
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

/// A place as people count: from 1, columns in characters.
struct Position<'a> {
    line: usize,
    column: usize,
    /// The whole line, without its end.
    text: &'a str,
    /// Characters to underline, at least one.
    width: usize,
}

impl SourceMap {
    /// The file that a span points into.
    pub fn file(&self, span: Span) -> Option<&SourceFile> {
        self.files.get(usize::try_from(span.file).ok()?)
    }

    fn position(&self, span: Span) -> Option<Position<'_>> {
        let text = self.file(span)?.text.as_str();
        let boundary = |offset: u32| {
            let mut at = usize::try_from(offset).unwrap_or(usize::MAX).min(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let start = boundary(span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let end = boundary(span.end).clamp(start, line_end);
        Some(Position {
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            text: text[line_start..line_end].trim_end_matches('\r'),
            width: text[start..end].trim_end().chars().count().max(1),
        })
    }
}

/// Longer lines are cut around the mistake.
const EXCERPT_CHARACTERS: usize = 160;

impl Diagnostics {
    /// The text for people: each mistake with its place, the line, and the fix. Without colours, ends with a newline.
    pub fn render(&self) -> String {
        let mut out = String::new();
        for (index, diagnostic) in self.list.iter().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            self.render_one(diagnostic, &mut out);
        }
        out
    }

    fn render_one(&self, diagnostic: &Diagnostic, out: &mut String) {
        // writing to a String cannot fail
        let _ = writeln!(out, "error[{}]: {}", diagnostic.code, printable(&diagnostic.message));
        if let (Some(file), Some(position)) = (self.sources.file(diagnostic.span), self.sources.position(diagnostic.span)) {
            let _ = writeln!(out, "  --> {}:{}:{}", printable(&file.path.display().to_string()), position.line, position.column);
            let (excerpt, column) = excerpt(&position);
            if !excerpt.is_empty() {
                let number = position.line.to_string();
                let margin = " ".repeat(number.len());
                let width = position.width.min(excerpt.chars().count().saturating_sub(column).max(1));
                let _ = writeln!(out, " {margin} |");
                let _ = writeln!(out, " {number} | {excerpt}");
                let _ = writeln!(out, " {margin} | {}{}", " ".repeat(column), "^".repeat(width));
            }
        }
        if let Some(help) = &diagnostic.help {
            let _ = writeln!(out, "  help: {}", printable(help));
        }
    }

    /// `{"diagnostics": [{code, message, help, file, kind, line, column, start, end}]}`; lines and columns from 1, offsets in bytes.
    pub fn to_json(&self) -> serde_json::Value {
        let list: Vec<serde_json::Value> = self
            .list
            .iter()
            .map(|diagnostic| {
                let file = self.sources.file(diagnostic.span);
                let position = self.sources.position(diagnostic.span);
                serde_json::json!({
                    "code": diagnostic.code,
                    "message": diagnostic.message,
                    "help": diagnostic.help,
                    "file": file.map(|file| file.path.display().to_string()),
                    "kind": file.map(|file| file.kind),
                    "line": position.as_ref().map(|position| position.line),
                    "column": position.as_ref().map(|position| position.column),
                    "start": diagnostic.span.start,
                    "end": diagnostic.span.end,
                })
            })
            .collect();
        serde_json::json!({ "diagnostics": list })
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render())
    }
}

impl std::error::Error for Diagnostics {}

/// The line with tabs and control characters as spaces, cut around the mistake, and the column of the mistake in it.
fn excerpt(position: &Position<'_>) -> (String, usize) {
    let at = position.column.saturating_sub(1);
    let from = if at > EXCERPT_CHARACTERS / 2 && position.text.chars().count() > EXCERPT_CHARACTERS { at - EXCERPT_CHARACTERS / 2 } else { 0 };
    let cut: String = position.text.chars().skip(from).take(EXCERPT_CHARACTERS).collect();
    (printable(&cut).trim_end().to_owned(), at - from)
}

/// Control characters of a file must not reach a terminal, nor those that change the order of what is shown.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || crate::yaml::is_hidden(c) { ' ' } else { c }).collect()
}

/// A word of the user's in a message: 40 characters at most.
pub(crate) fn shorten(word: &str) -> String {
    if word.chars().count() <= 40 { word.to_owned() } else { word.chars().take(39).chain(['…']).collect() }
}

/// The known word that is near enough to be meant: a typo or two, or another case.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    if word.chars().count() > 64 {
        return None;
    }
    let folded = |word: &str| word.chars().filter(|c| *c != '_' && *c != '-').flat_map(char::to_lowercase).collect::<String>();
    let mine = folded(word);
    known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(&mine, &folded(candidate)), *candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.len().min(word.len()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `` `a`, `b` or `c` ``.
pub(crate) fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}
