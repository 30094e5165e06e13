//! The proposal as YAML. Names of columns and numbers are all that it says of the data.
use super::decide::Proposed;
use super::leaf::Leaf;
use std::collections::BTreeSet;
use std::fmt::Write;

/// One column with all that is said about it.
pub(super) struct Line<'a> {
    pub(super) leaf: &'a Leaf,
    pub(super) proposed: Proposed,
    /// Nulls under the proposed settings.
    pub(super) nulls: u64,
    /// Distinct values that are no nulls; `None`: too many to count.
    pub(super) distinct: Option<u64>,
}

/// The whole file.
pub(super) struct Page<'a> {
    pub(super) name: &'a str,
    /// Comments at the top, one line each.
    pub(super) comments: Vec<String>,
    pub(super) lines: Vec<Line<'a>>,
}

impl Page<'_> {
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for comment in &self.comments {
            let _ = writeln!(text, "# {comment}");
        }
        let name = quoted(self.name);
        let _ = write!(
            text,
            "apiVersion: v3.1.0\nkind: DataContract\nid: {}           # decide: an id of yours\nname: {name}\nversion: 0.1.0\nstatus: draft\nschema:\n  - name: {name}\n    logicalType: object\n    physicalType: table\n    properties:\n",
            quoted(&format!("urn:datacontract:{}", self.name)),
        );
        let lines: Vec<&Line<'_>> = self.lines.iter().collect();
        properties(&mut text, &lines, 0, None, 6);
        text
    }
}

/// Writes the columns that have `depth` names in common, the next one deciding.
fn properties(text: &mut String, lines: &[&Line<'_>], depth: usize, list_at: Option<usize>, indent: usize) {
    let mut done = BTreeSet::new();
    for line in lines {
        let Some(name) = line.leaf.path.get(depth) else { continue };
        if !done.insert(name) {
            continue;
        }
        let within: Vec<&Line<'_>> = lines.iter().filter(|other| other.leaf.path.get(depth) == Some(name)).copied().collect();
        let _ = writeln!(text, "{:indent$}- name: {}", "", quoted(name));
        element(text, &within, depth + 1, list_at, indent + 2);
    }
}

/// What stands behind a name: a value, an object or an array.
fn element(text: &mut String, lines: &[&Line<'_>], depth: usize, list_at: Option<usize>, indent: usize) {
    let Some(first) = lines.first() else { return };
    let here = lines.iter().filter(|line| line.leaf.path.len() == depth);
    if let Some(line) = here.clone().find(|line| line.leaf.list_at == list_at) {
        return value(text, line, indent, list_at.is_some());
    }
    if first.leaf.list_at == Some(depth) && list_at.is_none() {
        let _ = writeln!(text, "{:indent$}logicalType: array", "");
        if here.clone().next().is_some_and(|line| line.proposed.required) {
            let _ = writeln!(text, "{:indent$}required: true", "");
        }
        let _ = writeln!(text, "{:indent$}items:", "");
        let inner = indent + 2;
        if let Some(line) = here.clone().next() {
            return value(text, line, inner, true);
        }
        let _ = writeln!(text, "{:inner$}logicalType: object\n{:inner$}properties:", "", "");
        return properties(text, lines, depth, Some(depth), inner + 2);
    }
    let _ = writeln!(text, "{:indent$}logicalType: object\n{:indent$}properties:", "", "");
    properties(text, lines, depth, list_at, indent + 2);
}

fn value(text: &mut String, line: &Line<'_>, indent: usize, item: bool) {
    let Line { leaf, proposed, nulls, distinct } = line;
    let profile = &leaf.profile;
    let values = profile.values().saturating_sub(nulls.saturating_sub(profile.nulls.min(*nulls)));
    let mut counts = counted(values, "value");
    let _ = write!(counts, ", {} null", if *nulls == 0 { "none".to_owned() } else { grouped(*nulls) });
    match distinct {
        Some(distinct) => {
            let _ = write!(counts, ", {} distinct", grouped(*distinct));
        }
        None => counts.push_str(", too many distinct ones to count"),
    }
    if proposed.logical == "string" && profile.longest > 0 {
        let (shortest, longest) = (profile.shortest.min(profile.longest), profile.longest);
        let _ = if shortest == longest {
            write!(counts, ", {} each", counted(longest as u64, "character"))
        } else {
            write!(counts, ", {shortest} to {longest} characters")
        };
    }
    let _ = writeln!(text, "{:indent$}# {counts}", "");
    if leaf.in_path {
        let _ = writeln!(text, "{:indent$}# in the path of the files, not in their records", "");
    }
    if leaf.mixed {
        let _ =
            writeln!(text, "{:indent$}# decide: some records have something else at this place (a value, an object or an array): they would be rejected", "");
    }
    for remark in &proposed.remarks {
        let _ = writeln!(text, "{:indent$}# {remark}", "");
    }
    let _ = writeln!(text, "{:indent$}logicalType: {}", "", proposed.logical);
    if let Some(physical) = &proposed.physical {
        let _ = writeln!(text, "{:indent$}physicalType: {physical}", "");
    }
    if proposed.required && !item {
        let _ = writeln!(text, "{:indent$}required: true", "");
    }
    if !item && *nulls == 0 && values > 1 && *distinct == Some(values) && !matches!(proposed.logical, "number" | "boolean") {
        let _ = writeln!(text, "{:indent$}# unique: true              # decide: no value stands twice", "");
    }
    if !proposed.options.is_empty() {
        let options: Vec<String> = proposed.options.iter().map(|(key, value)| format!("{key}: {}", option(key, value))).collect();
        let _ = writeln!(text, "{:indent$}logicalTypeOptions: {{{}}}", "", options.join(", "));
    }
    let _ = writeln!(text, "{:indent$}classification: restricted  # decide: how sensitive it is", "");
    if proposed.semantic_type.is_some() || proposed.year_base.is_some() {
        let _ = writeln!(text, "{:indent$}customProperties:", "");
        if let Some(semantic_type) = proposed.semantic_type {
            let _ = writeln!(text, "{:indent$}  - {{property: semanticType, value: {semantic_type}}}", "");
        }
        if let Some(base) = proposed.year_base {
            let _ = writeln!(text, "{:indent$}  - {{property: yearBase, value: {base}}}", "");
        }
    }
}

fn option(key: &str, value: &str) -> String {
    if key == "timezone" { value.to_owned() } else { quoted(value) }
}

/// A word as it is, anything else in double quotes.
pub(super) fn quoted(text: &str) -> String {
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && !matches!(text.to_ascii_lowercase().as_str(), "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false" | "null");
    if plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

/// `1 file`, `2 files`.
pub(super) fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// `1,234,567`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
