//! How a job reads the files: where they are, and with which options. Values that stand in their paths are not shown.
use super::decide::Reading;
use super::number::{PREFIXES, STYLES};
use super::profile::NULL_MARKERS;
use super::write::quoted;
use crate::store::InputFile;
use perimeter_contract::job::{Encoding, Format};

/// The path as it may be shown: what a folder `key=value` says is a cell value, whether it was typed or found.
pub(super) fn label(uri: &str) -> String {
    match uri.rsplit_once('/') {
        Some((folders, name)) => folders.split('/').map(|folder| masked(folder).unwrap_or_else(|| folder.to_owned()) + "/").collect::<String>() + name,
        None => uri.to_owned(),
    }
}

/// `dt=2026-01-02` as `dt=*`.
fn masked(folder: &str) -> Option<String> {
    folder.split_once('=').map(|(key, _)| format!("{}=*", glob::Pattern::escape(key)))
}

/// One uri for all of them: itself for a single file, otherwise a pattern with a `*` for every part in which they differ. It may match more files.
pub(super) fn place(files: &[InputFile]) -> String {
    let Some((first, others)) = files.split_first() else { return String::new() };
    if others.is_empty() && label(&first.uri) == first.uri {
        return first.uri.clone();
    }
    let parts = |file: &InputFile| -> Vec<String> { file.uri.split('/').map(str::to_owned).collect() };
    let (first, others): (Vec<String>, Vec<Vec<String>>) = (parts(first), others.iter().map(parts).collect());
    let folders = first.len() - 1;
    let same = |at: usize| others.iter().all(|other| other.get(at) == first.get(at));
    let mut pattern = String::new();
    let as_deep = others.iter().all(|other| other.len() == first.len());
    for (at, folder) in first.iter().take(folders).enumerate() {
        let key = masked(folder).filter(|key| others.iter().all(|other| other.get(at).and_then(|folder| masked(folder)).as_ref() == Some(key)));
        match key {
            Some(key) => pattern.push_str(&key),
            None if same(at) => pattern.push_str(&glob::Pattern::escape(folder)),
            None if as_deep => pattern.push('*'),
            None => break,
        }
        pattern.push('/');
    }
    if !as_deep {
        pattern.push_str("**/");
    }
    let names: Vec<&str> = std::iter::once(&first).chain(&others).filter_map(|parts| parts.last()).map(String::as_str).collect();
    let name = names.first().copied().unwrap_or_default();
    if names.iter().all(|other| *other == name) {
        return pattern + &glob::Pattern::escape(name);
    }
    let ending = name.find('.').map_or("", |point| name.get(point..).unwrap_or_default());
    let common = names.iter().all(|other| other.ends_with(ending));
    pattern + "*" + &glob::Pattern::escape(if common { ending } else { "" })
}

/// The name of a file up to its first point, in characters of a name.
pub(super) fn stem(label: &str) -> String {
    let file = label.rsplit('/').next().unwrap_or_default();
    let stem = file.split('.').find(|part| !part.is_empty()).unwrap_or("source");
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("t_{name}") }
}

/// The format with the settings that most columns agree with.
pub(super) fn with_reading(format: &Format, reading: &Reading) -> Format {
    let mut format = format.clone();
    let text = match &mut format {
        Format::Csv(options) => &mut options.text,
        Format::Json(options) => &mut options.text,
        _ => return format,
    };
    let style = STYLES.get(reading.style).copied().unwrap_or(STYLES[0]);
    text.decimal_separator = style.decimal;
    text.thousands_separator = style.thousands.map(char::from);
    text.number_prefix = reading.prefix.and_then(|prefix| PREFIXES.get(prefix)).map(|prefix| (*prefix).to_owned());
    text.null_markers = reading.markers.iter().filter_map(|marker| NULL_MARKERS.get(*marker)).map(|marker| (*marker).to_owned()).collect();
    format
}

/// As jobs call it.
pub(super) fn encoding_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Utf8 => "utf-8",
        Encoding::Utf16 => "utf-16",
        Encoding::Utf16Le => "utf-16le",
        Encoding::Utf16Be => "utf-16be",
        Encoding::Latin1 => "iso-8859-1",
        Encoding::Windows1252 => "windows-1252",
        Encoding::Cp850 => "cp850",
    }
}

/// One entry of a job's `sources`.
pub(super) fn source_line(uri: &str, name: &str, format: &Format, added: bool) -> String {
    let character = |byte: u8| serde_json::Value::from(char::from(byte).to_string()).to_string();
    let mut options = Vec::new();
    let text = match format {
        Format::Csv(csv) => {
            if csv.delimiter != b',' {
                options.push(format!("delimiter: {}", character(csv.delimiter)));
            }
            match csv.quote {
                Some(b'"') => {}
                Some(quote) => options.push(format!("quote: {}", character(quote))),
                None => options.push("quote: none".to_owned()),
            }
            if let Some(comment) = csv.comment {
                options.push(format!("comment: {}", character(comment)));
            }
            if !csv.header {
                options.push("header: false".to_owned());
            }
            Some(&csv.text)
        }
        Format::Json(json) => {
            if json.array {
                options.push("layout: array".to_owned());
            }
            Some(&json.text)
        }
        _ => None,
    };
    if let Some(text) = text {
        if text.encoding != Encoding::Utf8 {
            options.push(format!("encoding: {}", encoding_name(text.encoding)));
        }
        if let Some(prefix) = &text.number_prefix {
            options.push(format!("decimalPrefix: {}", serde_json::Value::from(prefix.as_str())));
        }
        if text.decimal_separator != b'.' {
            options.push(format!("decimalSeparator: {}", character(text.decimal_separator)));
        }
        if let Some(separator) = text.thousands_separator {
            options.push(format!("thousandsSeparator: {}", serde_json::Value::from(separator.to_string())));
        }
        if !text.null_markers.is_empty() {
            options.push(format!("nullMarkers: {}", serde_json::Value::from(text.null_markers.clone())));
        }
    }
    let options = if options.is_empty() { String::new() } else { format!(", options: {{{}}}", options.join(", ")) };
    let drift = if added { ", drift: allowAdded" } else { "" };
    let kind = match format {
        Format::Csv(_) => "csv",
        Format::Json(_) => "json",
        Format::Parquet => "parquet",
        Format::Arrow => "arrow",
        Format::Avro => "avro",
        Format::FixedWidth(_) => "fixedWidth",
    };
    format!("{{uri: {}, format: {kind}, schema: {}{drift}{options}}}", serde_json::Value::from(uri), quoted_file(name))
}

/// The contract's file name.
fn quoted_file(name: &str) -> String {
    let file = format!("{name}.odcs.yaml");
    if quoted(name) == name { file } else { serde_json::Value::from(file).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(uris: &[&str]) -> Vec<InputFile> {
        let file = |uri: &&str| InputFile { uri: (*uri).to_owned(), label: String::new(), size_bytes: 1, etag: None, modified_us: None };
        uris.iter().map(file).collect()
    }

    #[test]
    fn one_uri_for_all_files() {
        for (uris, pattern) in [
            (vec!["/in/a.csv"], "/in/a.csv"),
            (vec!["/in/[1].csv"], "/in/[1].csv"),
            (vec!["/in/a.csv", "/in/b.csv"], "/in/*.csv"),
            (vec!["/in/a.csv.gz", "/in/b.csv"], "/in/*"),
            (vec!["/in/x[1]/a.csv", "/in/x[1]/b.csv"], "/in/x[[]1[]]/*.csv"),
            (vec!["/in/x/a.csv", "/in/y/a.csv"], "/in/*/a.csv"),
            (vec!["/in/a.csv", "/in/y/z/b.csv"], "/in/**/*.csv"),
            (vec!["s3://b/dt=2026-01-02/a.csv"], "s3://b/dt=*/a.csv"),
            (vec!["s3://b/dt=2026-01-02/a.csv", "s3://b/dt=2026-01-03/b.csv"], "s3://b/dt=*/*.csv"),
            (vec!["/in/dt=1/a.csv", "/in/cpf=2/a.csv"], "/in/*/a.csv"),
        ] {
            let found = place(&files(&uris));
            assert_eq!(found, pattern);
            let matches = |uri: &&str| *uri == found || glob::Pattern::new(&found).unwrap().matches(uri);
            assert!(uris.iter().all(matches), "{found}");
        }
    }

    #[test]
    fn values_in_paths_are_not_shown() {
        assert_eq!(label("/in/cpf=39053344705/dt=2026-01-02/a=b.csv"), "/in/cpf=*/dt=*/a=b.csv");
        assert_eq!(label("in.csv"), "in.csv");
    }

    #[test]
    fn names_of_files() {
        for (label, name) in [("/x/Tx 2.csv.gz", "tx_2"), ("2026.csv", "t_2026"), ("/x/.csv", "csv"), ("s3://b/dt=*/part-0.parquet", "part_0")] {
            assert_eq!(stem(label), name);
        }
    }
}
