//! What must hold of the text readers, whatever the bytes. An input is a few bytes that choose options, and a file.
use perimeter_contract::Span;
use perimeter_contract::job::{CsvOptions, Drift, Encoding, FixedField, FixedWidthOptions, Format, JsonOptions, RecordTypes, Source, TextOptions, Trim, Uri};
use perimeter_contract::schema::{Column, DataType, DateFormat, RequiredObject, Schema};

/// A file and how it is to be read.
pub struct Case {
    /// Its format and contract.
    pub source: Source,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Records may be so long.
    pub max_record_bytes: usize,
}

/// Cells, or codes and raw bytes.
pub type Verdict = Result<Vec<Option<String>>, (Vec<String>, Vec<u8>)>;

/// What came out.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// By record number.
    pub records: Vec<(u64, Verdict)>,
    /// Records that the job leaves out.
    pub passed_over: u64,
    /// Records with fields that the contract does not have.
    pub added_fields: u64,
    /// Why the rest could not be read.
    pub refusal: Option<&'static str>,
}

/// Reads a case in blocks of so many bytes and batches of so many rows.
pub type Reader<'a> = &'a dyn Fn(&Case, usize, usize) -> Outcome;

/// The bytes that choose.
struct Choices<'i>(&'i [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first)
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.byte() % of.len()].clone()
    }

    fn text(&mut self) -> TextOptions {
        let encodings =
            [Encoding::Utf8, Encoding::Utf8, Encoding::Latin1, Encoding::Windows1252, Encoding::Cp850, Encoding::Utf16, Encoding::Utf16Le, Encoding::Utf16Be];
        let style = self.byte();
        TextOptions {
            encoding: self.one(&encodings),
            null_markers: if style & 1 > 0 { vec!["NULL".into(), "é".into()] } else { Vec::new() },
            number_prefix: if style & 2 > 0 { Some("$".into()) } else { None },
            decimal_separator: if style & 4 > 0 { b',' } else { b'.' },
            thousands_separator: if style & 8 > 0 {
                Some(if style & 16 > 0 {
                    ' '
                } else if style & 4 > 0 {
                    '.'
                } else {
                    ','
                })
            } else {
                None
            },
        }
    }

    fn data_type(&mut self) -> DataType {
        match self.byte() % 8 {
            0 => DataType::Int64,
            1 => DataType::Decimal { precision: 9, scale: 2 },
            2 => DataType::Float64,
            3 => DataType::Boolean,
            4 => DataType::Date { format: DateFormat::iso_date() },
            5 => DataType::Time { format: DateFormat::iso_time() },
            _ => DataType::String,
        }
    }

    fn case(mut self, format: Format, columns: Vec<Column>) -> (Case, usize, usize) {
        let (block, batch_rows) = (1 + self.byte() % 40, 1 + self.byte() % 5);
        let max_record_bytes = self.one(&[1 << 20, 1 << 20, 24]);
        let source = Source { name: "s".into(), uri: Uri("in".into()), format, schema: Schema::new("t", columns), drift: Drift::Refuse, span: Span::default() };
        (Case { source, bytes: self.0.to_vec(), max_record_bytes }, block, batch_rows)
    }
}

/// What holds of every format.
fn sound(case: &Case, block: usize, batch_rows: usize, read: Reader<'_>) -> Outcome {
    let whole = read(case, 1 << 20, 8192);
    let pieces = read(case, block, batch_rows);
    assert_eq!(whole, pieces, "blocks of {block}, batches of {batch_rows}");
    let numbers: Vec<u64> = whole.records.iter().map(|(number, _)| *number).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "record numbers {numbers:?}");
    assert!(numbers.last().is_none_or(|last| *last <= numbers.len() as u64 + whole.passed_over), "record numbers {numbers:?}");
    assert!(whole.records.iter().all(|(_, verdict)| verdict.as_ref().err().is_none_or(|(codes, _)| !codes.is_empty())));
    whole
}

/// Whether the file is plain UTF-8 with records of any length. What begins as UTF-16 or UTF-32 does is refused, with or without a mark.
fn is_plain(case: &Case, text: &TextOptions) -> bool {
    let is_wide = match *case.bytes.as_slice() {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, 0, 0xfe, 0xff, ..] => true,
        [a, 0, b, 0, ..] | [0, a, 0, b, ..] => a.is_ascii_graphic() && b.is_ascii_graphic(),
        _ => false,
    };
    text.encoding == Encoding::Utf8 && case.max_record_bytes > case.bytes.len() && !is_wide
}

/// Delimited text.
pub fn csv(input: &[u8], read: Reader<'_>) {
    let mut choices = Choices(input);
    let text = choices.text();
    let options = CsvOptions {
        delimiter: choices.one(b",;\t"),
        quote: choices.one(&[Some(b'"'), Some(b'"'), Some(b'\''), None]),
        escape: choices.one(&[None, None, Some(b'\\')]),
        comment: choices.one(&[None, None, Some(b'#')]),
        header: false,
        text: text.clone(),
    };
    let columns: Vec<Column> = ["a", "b", "c"].iter().take(1 + choices.byte() % 3).map(|name| Column::new(*name, choices.data_type())).collect();
    let all_text = columns.iter().all(|c| c.data_type == DataType::String);
    let (case, block, batch_rows) = choices.case(Format::Csv(options.clone()), columns);
    let outcome = sound(&case, block, batch_rows, read);
    // Nothing vanishes: what is no separator is in a row or in a reject.
    if is_plain(&case, &text) && all_text && text.null_markers.is_empty() && options.escape.is_none() && options.comment.is_none() && outcome.refusal.is_none()
    {
        let special = [options.delimiter, b'\n', b'\r', options.quote.unwrap_or(b'\n')];
        let letters = |bytes: &[u8]| bytes.iter().filter(|b| !special.contains(b)).count();
        let kept: usize = outcome
            .records
            .iter()
            .map(|(_, verdict)| match verdict {
                Ok(cells) => cells.iter().flatten().map(|cell| letters(cell.as_bytes())).sum(),
                Err((_, raw)) => letters(raw),
            })
            .sum();
        let body = case.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&case.bytes);
        assert_eq!(kept, letters(body));
    }
}

/// JSON, lines and arrays, flat and nested.
pub fn json(input: &[u8], read: Reader<'_>) {
    let mut choices = Choices(input);
    let text = choices.text();
    let array = choices.byte() % 2 == 1;
    let value = |path: &[&str], data_type: DataType| Column { path: path.iter().map(|n| (*n).to_owned()).collect(), ..Column::new(path.join("."), data_type) };
    let list = |path: &[&str], item: DataType| Column { list_at: Some(1), ..value(path, DataType::List(Box::new(item))) };
    let columns = vec![
        Column::new("a", choices.data_type()),
        value(&["o", "a"], choices.data_type()),
        value(&["o", "é", "b"], DataType::String),
        list(&["l"], choices.data_type()),
        list(&["p", "a"], DataType::String),
        list(&["p", "o", "a"], choices.data_type()),
    ];
    let (drift, required) = (choices.one(&[Drift::Refuse, Drift::AllowAdded]), choices.byte() % 2 == 1);
    let (mut case, block, batch_rows) = choices.case(Format::Json(JsonOptions { array, text: text.clone() }), columns);
    case.source.drift = drift;
    if required {
        let object = |path: &[&str]| RequiredObject { path: path.iter().map(|n| (*n).to_owned()).collect(), span: Span::default() };
        case.source.schema.required_objects = vec![object(&["o", "é"]), object(&["p", "o"])];
    }
    let outcome = sound(&case, block, batch_rows, read);
    if !is_plain(&case, &text) || case.bytes.starts_with(b"\xef\xbb\xbf") {
        return;
    }
    // Another strict parser agrees about what is JSON.
    if array {
        match serde_json::from_slice(&case.bytes) {
            Ok(serde_json::Value::Array(elements)) => assert_eq!((outcome.records.len(), outcome.refusal), (elements.len(), None)),
            // Deeper than it goes, it refuses; so does ours.
            _ => assert!(outcome.refusal.is_some() || outcome.records.iter().any(|(_, verdict)| verdict.is_err())),
        }
        return;
    }
    let blank = |line: &&[u8]| !line.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r'));
    let lines: Vec<&[u8]> = case.bytes.split(|b| *b == b'\n').filter(blank).collect();
    assert_eq!(lines.len(), outcome.records.len());
    for (line, (_, verdict)) in lines.iter().zip(&outcome.records) {
        let theirs = serde_json::from_slice::<serde_json::Value>(line);
        let malformed = verdict.as_ref().err().is_some_and(|(codes, _)| codes.iter().any(|code| code.starts_with("invalid-")));
        match theirs {
            Ok(serde_json::Value::Object(_)) => {
                // 128 levels are too many for theirs, 64 for ours.
                let depth = line.iter().filter(|b| matches!(b, b'[' | b'{')).count();
                assert!(!malformed || depth >= 64);
            }
            _ => assert!(malformed),
        }
    }
}

/// Fixed-width records.
pub fn fixed_width(input: &[u8], read: Reader<'_>) {
    let mut choices = Choices(input);
    let text = choices.text();
    let record_length = 1 + u32::try_from(choices.byte() % 12).unwrap_or(0);
    let mut field = |data_type: &DataType| {
        let offset = u32::try_from(choices.byte()).unwrap_or(0) % record_length;
        let width = 1 + u32::try_from(choices.byte()).unwrap_or(0) % (record_length - offset);
        let implied = matches!(data_type, DataType::Decimal { .. } | DataType::Float64) && choices.byte() % 2 == 1;
        FixedField { offset, width, implied_decimals: implied.then_some(2), trim: choices.one(&[Trim::Both, Trim::Left, Trim::Right, Trim::None]) }
    };
    let columns = [DataType::String, DataType::Decimal { precision: 9, scale: 2 }, DataType::Int64].map(|data_type| (field(&data_type), data_type));
    let line_ends = choices.byte() % 2 == 0;
    let types = |others: Option<Vec<String>>| RecordTypes { offset: record_length - 1, width: 1, values: vec!["1".into(), "é".into()], others };
    let record_types = choices.one(&[None, None, Some(types(None)), Some(types(Some(vec!["0".into()])))]);
    let options = FixedWidthOptions { record_length, line_ends, fields: columns.iter().map(|(f, _)| f.clone()).collect(), record_types, text: text.clone() };
    let columns = columns.into_iter().zip(["a", "b", "c"]).map(|((_, data_type), name)| Column::new(name, data_type)).collect();
    let (mut case, block, batch_rows) = choices.case(Format::FixedWidth(options), columns);
    if !line_ends {
        // A record is in memory as a whole then; the plan refuses longer ones.
        case.max_record_bytes = 1 << 20;
    }
    let outcome = sound(&case, block, batch_rows, read);
    if !is_plain(&case, &text) {
        return;
    }
    let body = case.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&case.bytes);
    let Ok(body) = std::str::from_utf8(body) else { return };
    let end = ['\r', '\n', '\u{1a}'];
    let wanted = if line_ends {
        let lines: Vec<&str> = body.split('\n').collect();
        let last = lines.len() - 1;
        let is_record = |(at, line): &(usize, &&str)| {
            let line = line.strip_suffix('\r').unwrap_or(line);
            !(line.is_empty() || (*at == last && line == "\u{1a}"))
        };
        lines.iter().enumerate().filter(is_record).count()
    } else {
        let characters: Vec<char> = body.chars().collect();
        let records = characters.chunks_exact(record_length as usize);
        let rest = records.remainder();
        records.len() + usize::from(!rest.iter().all(|c| end.contains(c)))
    };
    assert_eq!(outcome.records.len() as u64 + outcome.passed_over, wanted as u64);
    assert_eq!(outcome.refusal, None);
}
