//! One JSON array of objects at the top of a file, over any white space, read element by element: an element is a record, and memory holds one batch of them.
//!
//! An element that is no well-formed object costs one row where its end can be found: [`Structure`] goes through strings and brackets to the next comma or to the
//! array's own end. It gives up where that would be a guess: brackets that do not match, a line end inside of a string, a string or a word right behind another
//! string, as a quote that is missing leaves them. The array is torn there, and so it is when the file ends inside it: all elements before are rows, and the unit
//! ends with exit 1, naming the element. So does anything but white space behind the array.
use super::json::Records;
use super::json_scan::is_space;
use super::text::{Beyond, Fault, Skipped, Step, Text, Tokenizer};
use crate::check::Typing;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the bracket.
    Open,
    /// Behind the bracket: an element or the end.
    First,
    /// Behind a comma.
    Element,
    /// Behind an element.
    After,
    Closed,
}

pub(super) struct JsonArray {
    records: Records,
    state: State,
    structure: Structure,
}

const TORN: Fault = Fault {
    code: "torn-array",
    message: "the array is torn here: nobody can tell where this element ends",
    help: "Look at this element, or get the file again from its source",
};
const CUT: Fault = Fault { code: "torn-array", message: "the file ends inside the array", help: "Get the file again from its source" };
const NO_ARRAY: Fault =
    Fault { code: "torn-array", message: "the file does not start with `[`", help: "Leave `layout: array` out if the file has one object a line" };
const TRAILING: Fault = Fault { code: "trailing-data", message: "something follows the end of the array", help: "Look at the end of the file" };

impl JsonArray {
    pub(super) fn new(records: Records) -> Self {
        Self { records, state: State::Open, structure: Structure::default() }
    }

    /// The element that starts here.
    fn element(&mut self, bytes: &[u8], start: usize, beyond: Beyond) -> Step {
        self.state = State::After;
        if let Some(object) = self.records.push(bytes, start, |_| true) {
            let end = object.end;
            return match object.refusal {
                None => Step::Record { end, raw_end: end },
                Some(refusal) => Step::Bad { end, raw_end: end, code: refusal.code() },
            };
        }
        self.structure = Structure::default();
        let rest = bytes.get(start..).unwrap_or_default();
        match self.structure.feed(rest) {
            Progress::End(length) => {
                let blanks = rest.get(..length).unwrap_or_default().iter().rev().take_while(|b| is_space(**b)).count();
                Step::Bad { end: start + length, raw_end: start + length - blanks, code: "invalid-json" }
            }
            Progress::More if beyond == Beyond::End => Step::Lost(CUT),
            Progress::More => {
                // It is looked at again with more of it, or skipped from its start.
                self.structure = Structure::default();
                if beyond == Beyond::More {
                    self.state = State::Element;
                }
                Step::Incomplete
            }
            Progress::Torn => Step::Lost(TORN),
        }
    }
}

impl Tokenizer for JsonArray {
    fn next(&mut self, bytes: &[u8], start: usize, beyond: Beyond) -> Step {
        let mut at = start;
        loop {
            at += bytes.get(at..).unwrap_or_default().iter().take_while(|b| is_space(**b)).count();
            let Some(byte) = bytes.get(at) else {
                return if at > start { Step::Blank { end: at } } else { Step::Incomplete };
            };
            self.state = match (self.state, byte) {
                (State::Open, b'[') => State::First,
                (State::First | State::After, b']') => State::Closed,
                (State::After, b',') => State::Element,
                (State::First | State::Element, _) if at > start => return Step::Blank { end: at },
                (State::First | State::Element, b',' | b']') => {
                    // Nothing where an element should be.
                    self.state = State::After;
                    return Step::Bad { end: at, raw_end: at, code: "invalid-json" };
                }
                (State::First | State::Element, _) => return self.element(bytes, at, beyond),
                (_, _) if at > start => return Step::Blank { end: at },
                (State::Open, _) => return Step::Lost(NO_ARRAY),
                (State::After, _) => return Step::Lost(TORN),
                (State::Closed, _) => return Step::Lost(TRAILING),
            };
            at += 1;
        }
    }

    fn skip(&mut self, bytes: &[u8]) -> Skipped {
        match self.structure.feed(bytes) {
            Progress::End(at) => Skipped::End { raw_end: at, end: at },
            Progress::More => Skipped::Further,
            Progress::Torn => Skipped::Lost(TORN),
        }
    }

    fn end(&self) -> Option<Fault> {
        match self.state {
            State::Closed => None,
            State::Open => Some(NO_ARRAY),
            _ => Some(CUT),
        }
    }

    fn retain(&mut self, keep: &[bool]) {
        self.records.retain(keep);
    }

    fn type_into(&mut self, text: Text<'_>, row: usize, columns: &mut [Option<Typing>]) {
        self.records.type_into(text, row, columns);
    }

    fn absent_objects(&mut self) -> Vec<(usize, Vec<u32>)> {
        self.records.absent_objects()
    }

    fn rows_with_added_fields(&mut self) -> u64 {
        self.records.rows_with_added_fields()
    }
}

/// Brackets inside each other; more are given up on.
const MAX_DEPTH: usize = 1 << 16;

/// What stood last, outside of strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    /// The start, a comma, a colon, an opening bracket.
    #[default]
    Mark,
    String,
    Word,
    /// A closing bracket.
    Close,
}

/// Goes through an element that is not well-formed, piece by piece, to where it ends.
#[derive(Debug, Default)]
struct Structure {
    /// Closing brackets that are due.
    due: Vec<u8>,
    in_string: bool,
    escaped: bool,
    last: Last,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// The comma or bracket that ends it is there.
    End(usize),
    More,
    Torn,
}

impl Structure {
    fn feed(&mut self, bytes: &[u8]) -> Progress {
        for (at, byte) in bytes.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if *byte < 0x20 => return Progress::Torn,
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => {
                        self.in_string = false;
                        self.last = Last::String;
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                _ if is_space(*byte) => {}
                b',' | b']' if self.due.is_empty() => return Progress::End(at),
                b',' | b':' => self.last = Last::Mark,
                b'"' if self.last != Last::Mark => return Progress::Torn,
                b'"' => self.in_string = true,
                b'{' | b'[' if self.last != Last::Mark || self.due.len() >= MAX_DEPTH => return Progress::Torn,
                b'{' => self.due.push(b'}'),
                b'[' => self.due.push(b']'),
                b'}' | b']' => {
                    if self.due.pop() != Some(*byte) {
                        return Progress::Torn;
                    }
                    self.last = Last::Close;
                }
                _ if matches!(self.last, Last::String | Last::Close) => return Progress::Torn,
                _ => self.last = Last::Word,
            }
        }
        Progress::More
    }
}
