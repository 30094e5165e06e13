//! From Macie's locations to columns of the contract. Pure; what cannot be said for certain is [`Place::Nowhere`].
//!
//! - *cells* (csv): by the column's name where the file has a header; a name that is no column of the contract may be a cell value and is never shown. By position only in
//!   files without a header that Macie is sure to cut as we do (comma or tab, double quotes).
//! - *records* (JSON, Parquet, Avro): by `jsonPath`. Macie leaves it out when a name in it is sensitive, cuts names to 240 and paths to 250 characters *from the front*:
//!   a path that may have been cut is matched by its end, and must then fit one column only.
//! - *lineRanges* (text, malformed csv, every csv whose header holds something sensitive): a line has no column. The header line itself is [`Place::Header`].
//! - *pages*, *offsetRanges*: no column.
use super::report::Location;
use perimeter_contract::job::{CsvOptions, Format};
use perimeter_contract::schema::Schema;

/// Where an occurrence is, in the contract's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A column, by its position in [`Schema::columns`].
    Column(usize),
    /// The header line of a csv file: a name is itself sensitive.
    Header,
    /// No column that we could name with certainty.
    Nowhere,
}

/// How locations in the files of one source become columns.
pub(super) struct Columns {
    /// Names and, joined by points, paths, in contract order.
    columns: Vec<(String, Vec<String>)>,
    cells: Cells,
    header_line: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cells {
    ByName,
    ByPosition,
    Never,
}

/// Macie's limits, in characters.
const NAME_LIMIT: usize = 240;
const PATH_LIMIT: usize = 250;

impl Columns {
    pub(super) fn new(schema: &Schema, format: &Format) -> Self {
        let cells = match format {
            Format::Csv(options) if options.header => Cells::ByName,
            Format::Csv(options) if cut_alike(options) => Cells::ByPosition,
            _ => Cells::Never,
        };
        Self { columns: schema.columns.iter().map(|column| (column.name.clone(), column.path.clone())).collect(), cells, header_line: cells == Cells::ByName }
    }

    pub(super) fn place(&self, location: &Location) -> Place {
        let column = match location {
            Location::Cell { column, name, reference } => match self.cells {
                Cells::ByName => name.as_deref().and_then(|name| self.by_name(name)),
                Cells::ByPosition => column.or_else(|| reference.as_deref().and_then(column_of_reference)).and_then(|number| self.by_position(number)),
                Cells::Never => None,
            },
            Location::Record { path } => path.as_deref().and_then(|path| self.by_path(path)),
            // Lines count from 1.
            Location::Lines { start, end } if self.header_line && *start <= 1 && *end <= 1 => return Place::Header,
            Location::Lines { .. } | Location::Page | Location::Offset => None,
        };
        column.map_or(Place::Nowhere, Place::Column)
    }

    fn by_name(&self, name: &str) -> Option<usize> {
        let exact = |name: &str| self.columns.iter().position(|(known, _)| known == name);
        exact(name).or_else(|| exact(name.trim_start_matches('\u{feff}').trim()))
    }

    fn by_position(&self, number: i64) -> Option<usize> {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        (at < self.columns.len()).then_some(at)
    }

    fn by_path(&self, path: &str) -> Option<usize> {
        let path = JsonPath::parse(path)?;
        self.fits(&path).or_else(|| self.fits(&path.without_list_levels()?))
    }

    /// The one column that a path can mean.
    fn fits(&self, path: &JsonPath) -> Option<usize> {
        let mut fitting = self.columns.iter().enumerate().filter(|(_, (_, names))| path.can_mean(names)).map(|(at, _)| at);
        let first = fitting.next()?;
        fitting.next().is_none().then_some(first)
    }
}

/// Whether Macie, which knows comma- and tab-separated files with double quotes, cuts a file's lines into the same cells as we do.
fn cut_alike(options: &CsvOptions) -> bool {
    [b',', b'\t'].contains(&options.delimiter) && options.quote == Some(b'"') && options.escape.is_none() && options.comment.is_none()
}

/// `Sheet2!C5` is in column 3.
fn column_of_reference(reference: &str) -> Option<i64> {
    let cell = reference.rsplit('!').next()?.trim_start_matches('$');
    let letters: &str = &cell[..cell.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(cell.len())];
    if letters.is_empty() || letters.len() > 4 {
        return None;
    }
    Some(letters.bytes().fold(0, |number, letter| number * 26 + i64::from(letter.to_ascii_uppercase() - b'A' + 1)))
}

/// A JSONPath as Macie writes it, indices left out: `$.parties[0].cpf`, `$['first name']`, or the end of one.
#[derive(Debug, PartialEq, Eq)]
struct JsonPath {
    /// It starts with `$`.
    rooted: bool,
    /// The first name may be the end of a longer one.
    torn: bool,
    names: Vec<String>,
}

impl JsonPath {
    fn parse(text: &str) -> Option<Self> {
        let (rooted, mut rest) = match text.strip_prefix('$') {
            Some(rest) => (true, rest),
            None => (false, text.trim_start_matches("...")),
        };
        let (mut names, mut torn) = (Vec::new(), false);
        if !rooted && !rest.starts_with(['.', '[']) && !rest.is_empty() {
            // Cut inside of an element: `pf`, `pf']` or `12]`.
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let fragment = rest[..end].trim_end_matches(']');
            let inside = fragment.len() < end;
            let name = fragment.trim_end_matches(['\'', '"']);
            torn = true;
            if !(inside && name.bytes().all(|b| b.is_ascii_digit())) {
                names.push(name.to_owned());
            }
            rest = &rest[end..];
        }
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('.') {
                let end = after.find(['.', '[']).unwrap_or(after.len());
                if end == 0 {
                    return None;
                }
                names.push(after[..end].to_owned());
                rest = &after[end..];
            } else {
                let inside = rest.strip_prefix('[')?;
                match inside.chars().next()? {
                    quote @ ('\'' | '"') => {
                        let (name, length) = unquote(&inside[1..], quote)?;
                        names.push(name);
                        rest = inside[1 + length..].strip_prefix(']')?;
                    }
                    _ => {
                        let end = inside.find(']')?;
                        if !inside[..end].bytes().all(|b| b.is_ascii_digit() || b == b'*') {
                            return None;
                        }
                        rest = &inside[end + 1..];
                    }
                }
            }
        }
        (!names.is_empty()).then_some(Self { rooted, torn, names })
    }

    /// The levels that Parquet puts between a list and its elements: `tags.list.element`.
    fn without_list_levels(&self) -> Option<Self> {
        const LEVELS: [[&str; 2]; 4] = [["list", "element"], ["list", "item"], ["bag", "array_element"], ["list", "array"]];
        let mut names = self.names.clone();
        while let Some(at) = names.windows(2).position(|pair| LEVELS.iter().any(|level| pair == level)) {
            names.drain(at..at + 2);
        }
        (names.len() < self.names.len() && !names.is_empty()).then_some(Self { rooted: self.rooted, torn: self.torn, names })
    }

    /// Whether the path can be that of a column.
    fn can_mean(&self, column: &[String]) -> bool {
        let whole = column.len() == self.names.len() && self.ends(column) || self.names.join(".") == column.join(".");
        if self.rooted && !can_be_cut(column) {
            return whole && !self.torn;
        }
        whole || self.ends(column)
    }

    /// Whether the column's path ends in these names.
    fn ends(&self, column: &[String]) -> bool {
        let same = |at: usize, own: &String, name: &String| {
            own == name || (at == 0 && self.torn || own.chars().count() >= NAME_LIMIT) && !own.is_empty() && name.ends_with(own.as_str())
        };
        if self.names.len() <= column.len() {
            let end = &column[column.len() - self.names.len()..];
            if self.names.iter().zip(end).enumerate().all(|(at, (own, name))| same(at, own, name)) {
                return true;
            }
        }
        // Names with points in them, which dots do not tell from levels.
        let (own, whole) = (self.names.join("."), column.join("."));
        whole.strip_suffix(own.as_str()).is_some_and(|before| before.is_empty() || before.ends_with('.') || self.torn)
    }
}

/// Whether Macie may have cut the path of this column: quotes and brackets around every name, and an index of many digits behind it.
fn can_be_cut(column: &[String]) -> bool {
    column.iter().map(|name| name.chars().count().saturating_add(4 + 12)).sum::<usize>() >= PATH_LIMIT
}

/// A quoted name and the bytes up to and with its closing quote.
fn unquote(text: &str, quote: char) -> Option<(String, usize)> {
    let (mut name, mut escaped) = (String::new(), false);
    for (at, c) in text.char_indices() {
        match c {
            '\\' if !escaped => escaped = true,
            c if c == quote && !escaped => return Some((name, at + c.len_utf8())),
            c => {
                name.push(c);
                escaped = false;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;
