//! What the first bytes of a file say: its format, its delimiter, whether it has a header.
use super::number::Numbers;
use perimeter_contract::job::Encoding;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// So much of a file is looked at for that.
pub(super) const HEAD_BYTES: u64 = 1 << 20;

/// What a file is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FormatName {
    /// Delimited text.
    Csv,
    /// JSON: lines, or one array.
    Json,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, file or stream.
    Arrow,
    /// Avro object containers.
    Avro,
}

/// By the first bytes, whatever the file is called; `name` decides where bytes do not.
pub(super) fn format(head: &[u8], name: &str) -> FormatName {
    let extension = name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let is = |endings: &[&str]| extension.split('.').skip(1).any(|part| endings.contains(&part));
    let text = head.iter().find(|b| !b.is_ascii_whitespace() && !matches!(b, 0xef | 0xbb | 0xbf | 0xff | 0xfe | 0));
    match head {
        [b'P', b'A', b'R', b'1', ..] | [b'P', b'A', b'R', b'E', ..] => FormatName::Parquet,
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] | [0xff, 0xff, 0xff, 0xff, ..] => FormatName::Arrow,
        [b'O', b'b', b'j', 1, ..] => FormatName::Avro,
        _ if is(&["json", "jsonl", "ndjson"]) || text == Some(&b'{') => FormatName::Json,
        _ if is(&["arrow", "arrows", "feather", "ipc"]) => FormatName::Arrow,
        _ if is(&["parquet"]) => FormatName::Parquet,
        _ if is(&["avro"]) => FormatName::Avro,
        _ => FormatName::Csv,
    }
}

/// Whether text that begins with an object has its first line end inside it, between values.
pub(super) fn is_one_object(head: &[u8], encoding: Encoding) -> bool {
    let Some(text) = decode(head, encoding) else { return false };
    let Some(line) = text.lines().find(|line| !line.trim().is_empty()) else { return false };
    let unfinished = serde_json::from_str::<serde::de::IgnoredAny>(line).is_err_and(|error| error.is_eof());
    let rest = serde_json::Deserializer::from_str(&text).into_iter::<serde::de::IgnoredAny>().next();
    let cut_off = head.len() as u64 >= HEAD_BYTES;
    let whole = rest.is_some_and(|value| value.map_or_else(|error| cut_off && error.is_eof(), |_| true));
    line.trim_start().starts_with('{') && unfinished && whole
}

/// Text of a head in its encoding; `None`: it is not of this encoding. A last character that is cut off is left out.
pub(super) fn decode(head: &[u8], encoding: Encoding) -> Option<String> {
    let utf16 = |head: &[u8], little: bool| {
        let unit = |pair: [u8; 2]| if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) };
        let units: Vec<u16> = head.chunks_exact(2).filter_map(|pair| pair.try_into().ok().map(unit)).collect();
        let whole = units.len() - usize::from(units.last().is_some_and(|last| (0xd800..0xdc00).contains(last)));
        String::from_utf16(units.get(..whole)?).ok()
    };
    match encoding {
        Encoding::Utf8 => {
            let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
            match std::str::from_utf8(head) {
                Ok(text) => Some(text.to_owned()),
                Err(error) if error.error_len().is_none() => std::str::from_utf8(head.get(..error.valid_up_to())?).ok().map(str::to_owned),
                Err(_) => mostly_utf8(head).then(|| String::from_utf8_lossy(head).into_owned()),
            }
        }
        Encoding::Utf16 => match head {
            [0xff, 0xfe, rest @ ..] => utf16(rest, true),
            [0xfe, 0xff, rest @ ..] => utf16(rest, false),
            _ => None,
        },
        Encoding::Utf16Le => utf16(head.strip_prefix(b"\xff\xfe").unwrap_or(head), true),
        Encoding::Utf16Be => utf16(head.strip_prefix(b"\xfe\xff").unwrap_or(head), false),
        Encoding::Latin1 => Some(head.iter().map(|b| char::from(*b)).collect()),
        Encoding::Windows1252 => encoding_rs::WINDOWS_1252.decode_without_bom_handling_and_without_replacement(head).map(Into::into),
        Encoding::Cp850 => Some(oem_cp::decode_string_complete_table(head, &oem_cp::code_table::DECODING_TABLE_CP850)),
    }
}

/// Whether lines with characters beyond ASCII are UTF-8, nine of ten at least, the first line among them: the others are damaged. Text of an old code page has
/// hardly a line that is UTF-8 by chance.
fn mostly_utf8(head: &[u8]) -> bool {
    let lines = || head.split(|b| *b == b'\n');
    let is_utf8 = |line: &&[u8]| std::str::from_utf8(line).is_ok();
    let (good, bad): (Vec<&[u8]>, Vec<&[u8]>) = lines().filter(|line| !line.is_ascii()).partition(is_utf8);
    lines().next().as_ref().is_some_and(is_utf8) && good.len() >= 9 * bad.len()
}

/// The encoding that a byte order mark announces.
pub(super) fn marked(head: &[u8]) -> Option<Encoding> {
    matches!(head, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]).then_some(Encoding::Utf16)
}

/// How a csv file is cut into cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) delimiter: u8,
    /// Another delimiter that cuts every record into the same number of cells, two or more.
    pub(super) rival: Option<u8>,
    /// Every record has as many cells as the first, two or more.
    pub(super) steady: bool,
    /// Cells of most records.
    pub(super) width: usize,
    /// Cells of the first record.
    pub(super) first: Vec<String>,
    /// The records behind it, some of them.
    pub(super) below: Vec<Vec<String>>,
    /// The first record has another number of cells than most, or nothing in them.
    pub(super) is_odd: bool,
}

/// The records as one delimiter cuts them.
struct Cut {
    delimiter: u8,
    records: Vec<Vec<String>>,
    /// Cells of most records.
    width: usize,
    /// The share that has so many, of a thousand.
    share: usize,
    first_alike: bool,
    /// The share of cells, of fifty, that no other delimiter would cut, decimal commas aside.
    clean: usize,
}

impl Cut {
    /// `None`: there is no record.
    fn of(records: Vec<Vec<String>>, delimiter: u8) -> Option<Self> {
        let mut widths = BTreeMap::<usize, usize>::new();
        records.iter().for_each(|record| *widths.entry(record.len()).or_default() += 1);
        let (&width, &count) = widths.iter().max_by_key(|(width, count)| (**count, **width))?;
        let others: Vec<char> = DELIMITERS.iter().filter(|other| **other != delimiter && **other != b' ').map(|other| char::from(*other)).collect();
        let is_clean = |cell: &&String| !cell.contains(others.as_slice()) || is_number(cell);
        let cells = records.iter().map(Vec::len).sum::<usize>().max(1);
        let clean = records.iter().flatten().filter(is_clean).count() * 50 / cells;
        let share = count * 1000 / records.len().max(1);
        let first_alike = width > 1 && records.first().is_some_and(|first| first.len() == width);
        Some(Self { delimiter, records, width, share, first_alike, clean })
    }

    /// All records have as many cells as the first, two or more.
    fn steady(&self) -> bool {
        self.first_alike && self.share == 1000
    }

    /// What cuts the header as it cuts the records comes before what does not: a comma in every amount is in no header.
    fn is_better_than(&self, other: &Self) -> bool {
        let class = |cut: &Self| (cut.steady(), cut.first_alike);
        let share = |cut: &Self| if cut.width > 1 { cut.share } else { 0 };
        match class(self).cmp(&class(other)) {
            Ordering::Equal if share(self).abs_diff(share(other)) > 20 => share(self) > share(other),
            Ordering::Equal => share(self) > 0 && (self.clean, self.width) > (other.clean, other.width),
            order => order == Ordering::Greater,
        }
    }
}

/// In order of preference: where a comma and another one cut alike, the comma stands before decimals.
const DELIMITERS: [u8; 5] = *b";\t|, ";

/// `None`: there is no record.
pub(super) fn layout(text: &str, whole: bool, delimiter: Option<u8>, quote: Option<u8>, comment: Option<u8>) -> Option<Layout> {
    const RECORDS: usize = 500;
    let candidates: &[u8] = delimiter.as_ref().map_or(&DELIMITERS, std::slice::from_ref);
    let mut best: Option<Cut> = None;
    let mut steady = Vec::new();
    for &candidate in candidates {
        let Some(cut) = Cut::of(records(text, whole, candidate, quote, comment, RECORDS), candidate) else { continue };
        // A blank is in most texts; it separates cells only where nothing speaks against it.
        if candidate == b' ' && delimiter.is_none() && (cut.share < 1000 || cut.width < 3 || !steady.is_empty()) {
            continue;
        }
        if cut.steady() {
            steady.push(candidate);
        }
        if best.as_ref().is_none_or(|known| cut.is_better_than(known)) {
            best = Some(cut);
        }
    }
    let mut cut = best?;
    // Where no delimiter cuts most records, the comma is the usual one.
    if cut.width <= 1 && delimiter.is_none() {
        cut = Cut::of(records(text, whole, b',', quote, comment, RECORDS), b',')?;
    }
    let delimiter = cut.delimiter;
    let rival = steady.into_iter().find(|other| *other != delimiter);
    let (is_steady, width) = (cut.steady(), cut.width);
    let mut records = cut.records.into_iter();
    let first = records.next()?;
    let is_odd = first.len() != width || first.iter().all(|cell| cell.trim().is_empty());
    Some(Layout { delimiter, rival, steady: is_steady, width, first, below: records.collect(), is_odd })
}

/// With a comma before decimals or between thousands.
fn is_number(cell: &str) -> bool {
    let mut numbers = Numbers::default();
    numbers.see(cell.trim());
    !numbers.is_dead()
}

/// The first records. What a tool for reading would refuse is taken as it comes: this is only to see how the file is cut.
fn records(text: &str, whole: bool, delimiter: u8, quote: Option<u8>, comment: Option<u8>, most: usize) -> Vec<Vec<String>> {
    let (delimiter, quote, comment) = (char::from(delimiter), quote.map(char::from), comment.map(char::from));
    let (mut records, mut record, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut quoted, mut fresh) = (false, true);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if quoted {
            if Some(character) == quote {
                if characters.peek() == Some(&character) {
                    cell.push(character);
                    characters.next();
                } else {
                    quoted = false;
                }
            } else {
                cell.push(character);
            }
        } else if Some(character) == quote && fresh {
            (quoted, fresh) = (true, false);
        } else if character == delimiter {
            record.push(std::mem::take(&mut cell));
            fresh = true;
        } else if matches!(character, '\n' | '\r') {
            if !record.is_empty() || !cell.is_empty() || !fresh {
                record.push(std::mem::take(&mut cell));
                records.push(std::mem::take(&mut record));
            }
            fresh = true;
            if records.len() == most {
                return records;
            }
        } else if record.is_empty() && cell.is_empty() && fresh && Some(character) == comment {
            while characters.next_if(|c| !matches!(c, '\n' | '\r')).is_some() {}
        } else {
            cell.push(character);
            fresh = false;
        }
    }
    if whole && (!record.is_empty() || !cell.is_empty()) {
        record.push(cell);
        records.push(record);
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Layout {
        layout(text, true, None, Some(b'"'), None).unwrap()
    }

    #[test]
    fn delimiters_and_first_lines() {
        assert_eq!((of("a;b\n\"x;y\",z;2\n").delimiter, of("a;b\n1;2\n").is_odd), (b';', false));
        assert_eq!(of("a|b, c|d\n1|2|3\n").delimiter, b'|');
        assert_eq!(of("name\tcity\nx\ty\n").first, ["name", "city"]);
        assert_eq!((of("A11 6 A34\nA12 48 A32\n").delimiter, of("only\nx\ny\n").width), (b' ', 1));
        assert_eq!(of("only\nx\ny\n").delimiter, b',');
        assert_eq!(of("a,b\n\"line\nend\",2\n").width, 2);
        assert!(of("a title\na;b;c\n1;2;3\n").is_odd);
        // Most lines are no records: the first one is cut as the delimiter says.
        let commented = of("x,y\n# a\n# b\n1,2\n# c\n");
        assert_eq!((commented.delimiter, commented.width, commented.first.len(), commented.is_odd), (b',', 1, 2, true));
        assert_eq!(layout("", true, None, Some(b'"'), None), None);
    }

    #[test]
    fn a_comma_in_every_amount_is_no_delimiter() {
        for (text, delimiter, width) in [
            ("id;valor\n1;1,50\n2;2,50\n", b';', 2),
            ("id;valor\n1;1.101,50\n2;N/D\n", b';', 2),
            ("id;valor;taxa\n1;1,50;1,25\n2;2,50;\n", b';', 3),
            ("valor;taxa\n1,50;1,25\n2,50;3,25\n", b';', 2),
            // No header, one or two amounts in every record.
            ("1;1,50\n2;2,50\n", b';', 2),
            ("1,50;2,50\n3,50;4,50\n", b';', 2),
            // A torn record does not change it.
            ("id;valor;x\n1;1,50;a\n2;2,50\n3;3,50;b\n", b';', 3),
            ("name,amount,note\nx,1,a;b\ny,2,c;d\n", b',', 3),
            ("name,amount\n\"x, y\",1\nz,2\n", b',', 2),
        ] {
            let found = of(text);
            assert_eq!((char::from(found.delimiter), found.width), (char::from(delimiter), width), "{text}");
        }
        assert_eq!(of("id;valor\n1;1,50\n").rival, None);
        assert_eq!(of("1;1,50\n2;2,50\n").rival, Some(b','));
    }

    #[test]
    fn formats_by_bytes_before_names() {
        assert_eq!(format(b"PAR1....", "x.csv"), FormatName::Parquet);
        assert_eq!(format(b"  {\"a\": 1}", "x.txt"), FormatName::Json);
        assert_eq!(format(b"[{\"a\": 1}]", "x.json.gz"), FormatName::Json);
        assert_eq!(format(b"a,b\n", "x.csv"), FormatName::Csv);
        assert_eq!(format(b"Obj\x01", "x"), FormatName::Avro);
        assert_eq!(format(b"", "x.feather"), FormatName::Arrow);
    }

    #[test]
    fn encodings() {
        assert_eq!(decode(b"\xff\xfea\0\xe9\0", Encoding::Utf16).as_deref(), Some("aé"));
        assert_eq!(decode(b"caf\xc3", Encoding::Utf8).as_deref(), Some("caf"));
        assert_eq!(decode(b"caf\xe9\n", Encoding::Utf8), None);
        let damaged = ["nome\n".as_bytes(), "São\n".repeat(9).as_bytes(), b"S\xe3o\n"].concat();
        assert!(decode(&damaged, Encoding::Utf8).is_some_and(|text| text.starts_with("nome\nSão\n")));
        assert_eq!(decode(&[damaged, b"S\xe3o\n".to_vec()].concat(), Encoding::Utf8), None);
        assert_eq!(decode(&[b"n\xe3o\n".as_slice(), "São\n".repeat(99).as_bytes()].concat(), Encoding::Utf8), None);
        assert_eq!(decode(b"caf\x82", Encoding::Cp850).as_deref(), Some("café"));
        assert_eq!(decode(b"\x80", Encoding::Windows1252).as_deref(), Some("€"));
    }
}
