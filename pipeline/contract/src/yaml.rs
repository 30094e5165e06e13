//! YAML to a tree that knows where everything stands: [`parse`].
//!
//! YAML 1.2 less everything that lets a reader of the file and the tool understand two different things: duplicate keys, anchors,
//! aliases, merge keys, tags, a second document. Scalars keep their text as written, so that `007`, `1.10` and `no` stay what they
//! are where text is wanted; whether one is a number is decided by who wants a number ([`Scalar::is_integer`] and its neighbours).
use crate::codes;
use crate::{Diagnostic, Span};
use saphyr_parser::{Event, Parser, ScalarStyle};
use std::collections::HashSet;

/// Deeper files are refused: ours need eight levels, ODCS a few more.
const MAX_DEPTH: usize = 64;
/// More values than any contract has; bounds memory and time.
const MAX_NODES: usize = 200_000;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) value: Value,
}

/// What a node holds.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Scalar(Scalar),
    Seq(Vec<Node>),
    Map(Vec<Entry>),
}

/// One key of a mapping; the keys of a mapping differ.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Span,
    pub(crate) value: Node,
}

/// Text as written, escapes resolved.
#[derive(Clone, Debug)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    /// Without quotes: only then it can be a number, a boolean or nothing.
    pub(crate) plain: bool,
}

impl Scalar {
    /// `key:`, `~` or `null`.
    pub(crate) fn is_null(&self) -> bool {
        self.plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }

    /// `true` or `false` and no other spelling.
    pub(crate) fn is_boolean(&self) -> bool {
        self.plain && matches!(self.text.as_str(), "true" | "false")
    }

    /// Decimal digits with an optional sign; `007`, `0x1f` and `1_000` are read differently by different readers and are not.
    pub(crate) fn is_integer(&self) -> bool {
        let digits = self.text.strip_prefix(['-', '+']).unwrap_or(&self.text);
        self.plain && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'))
    }

    /// An integer, or a decimal with an optional exponent; never infinite.
    pub(crate) fn is_number(&self) -> bool {
        if self.is_integer() {
            return true;
        }
        let text = self.text.strip_prefix(['-', '+']).unwrap_or(&self.text);
        let (mantissa, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(m, e)| (m, Some(e)));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        self.plain
            && digits(whole)
            && (whole == "0" || !whole.starts_with('0'))
            && digits(fraction)
            && exponent.is_none_or(|e| digits(e.strip_prefix(['-', '+']).unwrap_or(e)))
            && self.text.parse::<f64>().is_ok_and(f64::is_finite)
    }
}

impl Node {
    /// The entry of `key` when this is a mapping.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The scalar when this is one.
    pub(crate) fn scalar(&self) -> Option<&Scalar> {
        match &self.value {
            Value::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }
}

/// The one document of `text`, or `None` with the reasons in `report`.
pub(crate) fn parse(text: &str, file: u32, report: &mut Vec<Diagnostic>) -> Option<Node> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let places = Places::new(text, text.len() - body.len(), file);
    let before = report.len();
    if let Some((at, character)) = text.char_indices().find(|(_, character)| is_hidden(*character)) {
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let span = Span { file, start: clamp(at), end: clamp(at + character.len_utf8()) };
        let message = format!("the invisible character U+{:04X}", u32::from(character));
        report.push(Diagnostic::new(codes::HIDDEN_CHARACTER, span, message).help("remove it; in double quotes it can be written as an escape"));
        return None;
    }
    let node = Builder { parser: Parser::new_from_str(body), places: &places, report, nodes: 0, file }.document();
    // A tree with a refused alias or duplicate key in it would only produce mistakes about the mistake.
    node.filter(|_| report.len() == before)
}

/// Control characters, which the parser may take for the end of the file, and those that make text look as if it stood in another order.
pub(crate) fn is_hidden(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        other => other.is_control(),
    }
}

/// The parser counts characters; spans count bytes.
struct Places {
    bytes: Vec<u32>,
    file: u32,
}

impl Places {
    fn new(text: &str, skipped: usize, file: u32) -> Self {
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let bytes = text.char_indices().skip_while(|(at, _)| *at < skipped).map(|(at, _)| clamp(at)).chain([clamp(text.len())]).collect();
        Self { bytes, file }
    }

    fn byte(&self, character: usize) -> u32 {
        self.bytes.get(character).or(self.bytes.last()).copied().unwrap_or(0)
    }

    fn span(&self, span: saphyr_parser::Span) -> Span {
        let start = self.byte(span.start.index());
        Span { file: self.file, start, end: self.byte(span.end.index()).max(start) }
    }
}

struct Builder<'t, 'p> {
    parser: Parser<'t, saphyr_parser::StrInput<'t>>,
    places: &'p Places,
    report: &'p mut Vec<Diagnostic>,
    nodes: usize,
    file: u32,
}

/// The file ends here as far as we are concerned; the reason is in the report.
struct Stop;

/// A collection whose end has not come yet.
struct Open {
    span: Span,
    kind: OpenKind,
}

enum OpenKind {
    Seq(Vec<Node>),
    Map { entries: Vec<Entry>, seen: HashSet<String>, key: Option<(String, Span)> },
}

impl<'t> Builder<'t, '_> {
    fn document(mut self) -> Option<Node> {
        match self.events() {
            Ok(Some(node)) => Some(node),
            Ok(None) => {
                let span = Span { file: self.file, start: 0, end: 0 };
                self.report.push(Diagnostic::new(codes::EMPTY_FILE, span, "the file holds nothing").help("start with `apiVersion` and `kind`"));
                None
            }
            Err(Stop) => None,
        }
    }

    fn next(&mut self) -> Result<Option<(Event<'t>, Span)>, Stop> {
        match self.parser.next_event() {
            None => Ok(None),
            Some(Ok((event, span))) => Ok(Some((event, self.places.span(span)))),
            Some(Err(error)) => {
                let start = self.places.byte(error.marker().index());
                let help = if error.info().contains("tab") {
                    "indent with spaces, never with tabs"
                } else {
                    "check indentation, quotes and brackets here and on the line before"
                };
                let span = Span { file: self.file, start, end: start };
                self.report.push(Diagnostic::new(codes::YAML_SYNTAX, span, format!("this is not YAML: {}", error.info())).help(help));
                Err(Stop)
            }
        }
    }

    /// Everything up to the end of the stream; iterative, so that depth costs no stack.
    fn events(&mut self) -> Result<Option<Node>, Stop> {
        let mut root: Option<Node> = None;
        let mut open: Vec<Open> = Vec::new();
        let mut documents = 0;
        while let Some((event, span)) = self.next()? {
            let node = match event {
                Event::DocumentStart(_) => {
                    documents += 1;
                    if documents > 1 {
                        let message = "a second document starts here";
                        self.report.push(Diagnostic::new(codes::SECOND_DOCUMENT, span, message).help("one file holds one document: move it to its own file"));
                        return Err(Stop);
                    }
                    continue;
                }
                Event::StreamStart | Event::StreamEnd | Event::DocumentEnd | Event::Nothing => continue,
                Event::Alias(_) => {
                    self.refuse_alias(span);
                    Node { span, value: Value::Scalar(Scalar { text: String::new(), plain: true }) }
                }
                Event::Scalar(text, style, anchor, tag) => {
                    self.refuse_extras(span, anchor, tag.is_some());
                    Node { span, value: Value::Scalar(Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain }) }
                }
                Event::SequenceStart(anchor, tag) => {
                    self.refuse_extras(span, anchor, tag.is_some());
                    self.push(&mut open, Open { span, kind: OpenKind::Seq(Vec::new()) })?;
                    continue;
                }
                Event::MappingStart(anchor, tag) => {
                    self.refuse_extras(span, anchor, tag.is_some());
                    self.push(&mut open, Open { span, kind: OpenKind::Map { entries: Vec::new(), seen: HashSet::new(), key: None } })?;
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                    Some(done) => close(done, span),
                    None => continue,
                },
            };
            self.nodes += 1;
            if self.nodes > MAX_NODES {
                self.report.push(Diagnostic::new(codes::FILE_TOO_LARGE, span, format!("more than {MAX_NODES} values in one file")).help("split the file"));
                return Err(Stop);
            }
            match open.last_mut() {
                None => root = Some(node),
                Some(Open { kind: OpenKind::Seq(items), .. }) => items.push(node),
                Some(Open { kind: OpenKind::Map { entries, seen, key }, .. }) => match key.take() {
                    Some((name, key_span)) => entries.push(Entry { key: name, key_span, value: node }),
                    None => *key = Some(key_of(node, seen, self.report)),
                },
            }
        }
        // An empty document is one null scalar.
        Ok(root.filter(|node| !node.scalar().is_some_and(Scalar::is_null)))
    }

    fn push(&mut self, open: &mut Vec<Open>, next: Open) -> Result<(), Stop> {
        if open.len() >= MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} levels of nesting");
            self.report
                .push(Diagnostic::new(codes::TOO_DEEP, next.span, message).help("no key of a contract file is that deep: check indentation and brackets"));
            return Err(Stop);
        }
        open.push(next);
        Ok(())
    }

    fn refuse_alias(&mut self, span: Span) {
        let help = "write the value out where it is needed: what an approver reads is what runs";
        self.report.push(Diagnostic::new(codes::YAML_ALIAS, span, "anchors and aliases are not taken").help(help));
    }

    fn refuse_extras(&mut self, span: Span, anchor: usize, tagged: bool) {
        if anchor != 0 {
            self.refuse_alias(span);
        }
        if tagged {
            self.report.push(Diagnostic::new(codes::YAML_TAG, span, "YAML tags are not taken").help("remove the `!…`; quote the value to make it text"));
        }
    }
}

/// A key must be a scalar, no merge key, and new.
fn key_of(node: Node, seen: &mut HashSet<String>, report: &mut Vec<Diagnostic>) -> (String, Span) {
    let span = node.span;
    let Value::Scalar(Scalar { text, plain }) = node.value else {
        report.push(Diagnostic::new(codes::COMPLEX_KEY, span, "a list or mapping cannot be a key").help("quote the key if it is text"));
        return (String::new(), span);
    };
    if plain && text == "<<" {
        report.push(Diagnostic::new(codes::YAML_ALIAS, span, "merge keys are not taken").help("write the merged keys out"));
    } else if !seen.insert(text.clone()) {
        let message = format!("the key `{}` is here twice", crate::diagnostic::shorten(&text));
        report.push(Diagnostic::new(codes::DUPLICATE_KEY, span, message).help("keep one of them"));
    }
    (text, span)
}

/// A block mapping's own start is where its first key is; its end event stands on a later line, so the last child says where it ends.
fn close(open: Open, end: Span) -> Node {
    let last = match &open.kind {
        OpenKind::Seq(items) => items.last().map(|node| node.span.end),
        OpenKind::Map { entries, .. } => entries.last().map(|entry| entry.value.span.end.max(entry.key_span.end)),
    };
    let flow_end = if end.end > end.start { end.end } else { 0 };
    let span = Span { end: last.unwrap_or(0).max(flow_end).max(open.span.end), ..open.span };
    let value = match open.kind {
        OpenKind::Seq(items) => Value::Seq(items),
        OpenKind::Map { entries, .. } => Value::Map(entries),
    };
    Node { span, value }
}
