//! Uris, paths and parameters of a job.
use super::Report;
use crate::diagnostic::{list, nearest, shorten};
use crate::job::Uri;
use crate::spanned::{Entries, Spanned};
use crate::{Diagnostic, Span, codes};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// What a uri may be used for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Read, with `*`, `?` and `[…]`.
    Source,
    /// Written, a folder or prefix.
    Folder,
    /// A file.
    File,
}

/// Where the relative paths of a file start, and the parameters they may hold.
pub(crate) struct Places<'a> {
    /// The absolute folder of the file.
    pub(crate) folder: &'a Path,
    pub(crate) parameters: &'a BTreeMap<String, String>,
}

impl Places<'_> {
    /// `text` with every `${name}` replaced; a value's own `${…}` stays as it is.
    pub(crate) fn substitute(&self, text: &Spanned<String>, report: &mut Report) -> Option<String> {
        let mut out = String::new();
        let mut rest = text.value.as_str();
        let mut fine = true;
        while let Some(at) = rest.find("${") {
            out.push_str(&rest[..at]);
            let Some((name, after)) = rest[at + 2..].split_once('}') else {
                report.push(Diagnostic::new(codes::UNKNOWN_PARAMETER, text.span, "`${` without `}`").help("write `${name}`"));
                return None;
            };
            match self.parameters.get(name) {
                Some(value) => out.push_str(value),
                None => {
                    fine = false;
                    let known: Vec<&str> = self.parameters.keys().map(String::as_str).collect();
                    let help = match nearest(name, &known) {
                        Some(near) => format!("did you mean `${{{near}}}`?"),
                        None if known.is_empty() => "declare it under `parameters`".to_owned(),
                        None => format!("declare it under `parameters`; there are {}", list(&known)),
                    };
                    let message = format!("there is no parameter `{}`", shorten(name));
                    report.push(Diagnostic::new(codes::UNKNOWN_PARAMETER, text.span, message).help(help));
                }
            }
            rest = after;
        }
        out.push_str(rest);
        fine.then_some(out)
    }

    /// An absolute local path or an `s3://` uri.
    pub(crate) fn uri(&self, text: &Spanned<String>, usage: Use, report: &mut Report) -> Option<Uri> {
        let written = self.substitute(text, report)?;
        let bad = |report: &mut Report, message: &str, help: &str| {
            report.push(Diagnostic::new(codes::BAD_URI, text.span, message).help(help));
            None
        };
        if written.trim().is_empty() || written.trim() != written || written.chars().any(char::is_control) {
            return bad(report, "a place is a path or uri without blanks around it", "write a path relative to this file, or `s3://bucket/prefix/`");
        }
        if let Some((scheme, rest)) = written.split_once("://") {
            if scheme != "s3" {
                let message = format!("`{}://` cannot be read or written here", shorten(scheme));
                let help = match (scheme, usage) {
                    ("gs", Use::Folder) => "write to S3 or a local folder; copying a sealed dataset to `gs://` is not part of this version",
                    ("file", _) => "write the path alone, without `file://`",
                    _ => "a local path or `s3://bucket/key`",
                };
                report.push(Diagnostic::new(codes::LOCAL_OR_S3, text.span, message).help(help));
                return None;
            }
            let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
            let bucket_is_fine = bucket.len() >= 3 && bucket.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-._".contains(&b));
            if !bucket_is_fine {
                return bad(report, "this is not an S3 bucket's name", "`s3://bucket/key`: lower-case letters, digits, `-` and `.`, 3 or more");
            }
            let segments = key.strip_suffix('/').unwrap_or(key);
            if !segments.is_empty() && segments.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
                return bad(report, "S3 keys have no empty, `.` or `..` parts", "write the key as it is, with single `/`");
            }
            if usage != Use::Folder && segments.is_empty() {
                return bad(report, "the uri names a bucket and no object", "`s3://bucket/key`");
            }
            return Some(Uri(written));
        }
        let base = self.folder.to_string_lossy();
        // a folder's own brackets are no pattern
        let base = if usage == Use::Source && !Path::new(&written).is_absolute() { escape_glob(&base) } else { base.into_owned() };
        let path = normalize(&Path::new(&base).join(&written));
        let mut path = path.to_string_lossy().into_owned();
        if written.ends_with('/') && !path.ends_with('/') {
            path.push('/');
        }
        Some(Uri(path))
    }

    /// A local file beside this one; parameters are not taken here.
    pub(crate) fn local_file(&self, text: &Spanned<String>, key: &str, report: &mut Report) -> Option<PathBuf> {
        if text.value.contains("://") {
            let message = format!("`{key}` is a local file");
            report.push(Diagnostic::new(codes::LOCAL_ONLY, text.span, message).help("keep the contract's files in one repository and write the path"));
            return None;
        }
        if !refuse_parameters(text, key, report) || text.value.trim().is_empty() {
            if text.value.trim().is_empty() {
                report.push(Diagnostic::new(codes::MISSING_VALUE, text.span, format!("`{key}` is blank")).help("write the path of the file"));
            }
            return None;
        }
        Some(normalize(&self.folder.join(&text.value)))
    }
}

/// Reports `${…}` where it would stay as it is.
pub(crate) fn refuse_parameters(text: &Spanned<String>, key: &str, report: &mut Report) -> bool {
    if !text.value.contains("${") {
        return true;
    }
    let message = format!("`{key}` takes no parameters");
    report.push(Diagnostic::new(codes::PARAMETER_NOT_HERE, text.span, message).help("`${name}` works in uris, key ids and keyring paths"));
    false
}

/// The values of this run: those given, over the defaults of the file.
pub(crate) fn parameters(
    declared: Option<Entries<Spanned<String>>>,
    given: &BTreeMap<String, String>,
    file: Span,
    report: &mut Report,
) -> BTreeMap<String, String> {
    let declared = declared.map(|entries| entries.0).unwrap_or_default();
    let mut values = BTreeMap::new();
    let names: Vec<String> = declared.iter().map(|(name, _)| name.value.clone()).collect();
    for (name, default) in declared {
        if !super::is_identifier(&name.value) {
            let message = format!("`{}` is not a name of a parameter", shorten(&name.value));
            report.push(Diagnostic::new(codes::BAD_NAME, name.span, message).help("letters, digits and `_`, no digit first"));
        }
        let value = match given.get(&name.value) {
            Some(value) => value.clone(),
            None if default.value == "required" => {
                let message = format!("the parameter `{}` has no value", shorten(&name.value));
                let help = format!("run with `--param {}=…`", shorten(&name.value));
                report.push(Diagnostic::new(codes::MISSING_PARAMETER, name.span, message).help(help));
                // so that its uses are not reported too
                name.value.clone()
            }
            None => default.value,
        };
        if value.chars().any(char::is_control) || value.len() > 1024 {
            let message = format!("the value of the parameter `{}` has control characters or is longer than 1024 bytes", shorten(&name.value));
            report.push(Diagnostic::new(codes::BAD_PARAMETER, name.span, message).help("give it on one line"));
        }
        values.insert(name.value, value);
    }
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    for name in given.keys().filter(|name| !values.contains_key(*name)) {
        let help = match nearest(name, &known) {
            Some(near) => format!("did you mean `--param {near}=…`?"),
            None if known.is_empty() => "declare it under `parameters`, or leave it out".to_owned(),
            None => format!("the job has {}", list(&known)),
        };
        report.push(Diagnostic::new(codes::UNKNOWN_PARAMETER, file, format!("the job has no parameter `{}`", shorten(name))).help(help));
    }
    values
}

/// `.` and `..` resolved by name alone: the path need not exist.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => match out.components().next_back() {
                Some(Component::Normal(_)) => {
                    out.pop();
                }
                Some(Component::RootDir | Component::Prefix(_)) => {}
                _ => out.push(".."),
            },
            other => out.push(other),
        }
    }
    out
}

fn escape_glob(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for character in path.chars() {
        match character {
            '*' | '?' | '[' | ']' => {
                out.push('[');
                out.push(character);
                out.push(']');
            }
            other => out.push(other),
        }
    }
    out
}

/// Whether the one is the other or lies in it; links that exist are followed.
pub(crate) fn is_inside(inner: &Uri, outer: &Uri) -> bool {
    segments(&real(inner)).starts_with(&segments(&real(outer)))
}

/// The part of a pattern before its first special character, up to a `/`.
pub(crate) fn before_pattern(uri: &Uri) -> Uri {
    let text = uri.0.as_str();
    match text.find(['*', '?', '[']) {
        Some(at) => Uri(text[..text[..at].rfind('/').map_or(0, |slash| slash + 1)].to_owned()),
        None => uri.clone(),
    }
}

fn segments(text: &str) -> Vec<&str> {
    text.split('/').filter(|segment| !segment.is_empty()).collect()
}

/// The path with the links of its longest existing part resolved.
fn real(uri: &Uri) -> String {
    if uri.0.starts_with("s3://") {
        return uri.0.clone();
    }
    let path = Path::new(&uri.0);
    for ancestor in path.ancestors() {
        if let (Ok(found), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) {
            return found.join(rest).to_string_lossy().into_owned();
        }
    }
    uri.0.clone()
}
