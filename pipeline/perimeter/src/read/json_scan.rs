//! One line of JSON, strictly by RFC 8259: one object, its keys, and the lexemes of its values. Nothing is converted: numbers stay the characters that they are.

/// A value at the top of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// The key is absent, or its value `null`.
    Null,
    /// A string without escapes: bytes of the line.
    Text { start: u32, length: u32 },
    /// A string with escapes: bytes of the scanner's side buffer.
    Unescaped { start: u32, length: u32 },
    /// A number: bytes of the line.
    Number { start: u32, length: u32 },
    /// `true` or `false`.
    Boolean(bool),
    /// An object or array.
    Nested,
}

/// Objects and arrays inside each other; deeper ones are refused.
const MAX_DEPTH: usize = 64;

/// Why a line is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Syntax,
    DuplicateKey,
    UnknownField,
}

impl Refusal {
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Syntax => "invalid-json",
            Self::DuplicateKey => "duplicate-key",
            Self::UnknownField => "unknown-field",
        }
    }
}

/// Keys to columns. Lines tend to have their keys in one order: the column after the last one found is tried first.
#[derive(Debug)]
pub(super) struct Keys {
    names: Vec<Vec<u8>>,
    by_name: hashbrown::HashMap<Vec<u8>, usize, foldhash::fast::FixedState>,
}

impl Keys {
    pub(super) fn new<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let names: Vec<Vec<u8>> = names.map(|n| n.as_bytes().to_vec()).collect();
        let by_name = names.iter().enumerate().map(|(at, name)| (name.clone(), at)).collect();
        Self { names, by_name }
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    fn find(&self, key: &[u8], guess: usize) -> Option<usize> {
        match self.names.get(guess) {
            Some(name) if name == key => Some(guess),
            _ => self.by_name.get(key).copied(),
        }
    }
}

/// Takes the object of `bytes[start..end]` apart. `row` has one value per column, `Null` before; `side` takes unescaped strings.
pub(super) fn object(bytes: &[u8], start: usize, end: usize, keys: &Keys, row: &mut [Value], seen: &mut [bool], side: &mut Vec<u8>) -> Result<(), Refusal> {
    let mut scan = Scan { bytes: bytes.get(..end).unwrap_or_default(), at: start, side };
    seen.fill(false);
    // A fault of syntax anywhere outweighs one of keys.
    let mut refusal = None;
    scan.blank();
    scan.expect(b'{')?;
    scan.blank();
    if scan.peek() == Some(b'}') {
        scan.at += 1;
    } else {
        let mut guess = 0;
        loop {
            scan.blank();
            let column = {
                let before = scan.side.len();
                let key = match scan.string()? {
                    Value::Text { start, length } => scan.bytes.get(start as usize..start as usize + length as usize),
                    _ => scan.side.get(before..),
                };
                let column = keys.find(key.unwrap_or_default(), guess);
                scan.side.truncate(before);
                column
            };
            scan.blank();
            scan.expect(b':')?;
            scan.blank();
            let value = scan.value(1)?;
            match column.and_then(|c| Some((c, row.get_mut(c)?, seen.get_mut(c)?))) {
                None => refusal = refusal.or(Some(Refusal::UnknownField)),
                Some((_, _, true)) => refusal = refusal.or(Some(Refusal::DuplicateKey)),
                Some((column, cell, seen)) => {
                    *cell = value;
                    *seen = true;
                    guess = column + 1;
                }
            }
            scan.blank();
            match scan.next()? {
                b',' => {}
                b'}' => break,
                _ => return Err(Refusal::Syntax),
            }
        }
    }
    scan.blank();
    if scan.at != scan.bytes.len() {
        return Err(Refusal::Syntax);
    }
    refusal.map_or(Ok(()), Err)
}

/// Whether the bytes are nothing but JSON's white space.
pub(super) fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'))
}

struct Scan<'b> {
    bytes: &'b [u8],
    at: usize,
    side: &'b mut Vec<u8>,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Result<u8, Refusal> {
        let byte = self.peek().ok_or(Refusal::Syntax)?;
        self.at += 1;
        Ok(byte)
    }

    fn expect(&mut self, byte: u8) -> Result<(), Refusal> {
        if self.next()? == byte { Ok(()) } else { Err(Refusal::Syntax) }
    }

    fn blank(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &[u8], value: Value) -> Result<Value, Refusal> {
        if self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(Refusal::Syntax)
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Refusal> {
        match self.peek().ok_or(Refusal::Syntax)? {
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word(b"true", Value::Boolean(true)),
            b'f' => self.word(b"false", Value::Boolean(false)),
            b'n' => self.word(b"null", Value::Null),
            b'[' => self.nested(depth, b']', Self::value),
            b'{' => self.nested(depth, b'}', |scan, depth| {
                scan.string()?;
                scan.blank();
                scan.expect(b':')?;
                scan.blank();
                scan.value(depth)
            }),
            _ => Err(Refusal::Syntax),
        }
    }

    /// The inside of an array or object, which no column takes but which must be well-formed.
    fn nested(&mut self, depth: usize, close: u8, item: impl Fn(&mut Self, usize) -> Result<Value, Refusal>) -> Result<Value, Refusal> {
        if depth >= MAX_DEPTH {
            return Err(Refusal::Syntax);
        }
        let before = self.side.len();
        self.at += 1;
        self.blank();
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(Value::Nested);
        }
        loop {
            self.blank();
            item(self, depth + 1)?;
            self.side.truncate(before);
            self.blank();
            match self.next()? {
                b',' => {}
                byte if byte == close => return Ok(Value::Nested),
                _ => return Err(Refusal::Syntax),
            }
        }
    }

    fn digits(&mut self) -> Result<(), Refusal> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(Refusal::Syntax) }
    }

    fn number(&mut self) -> Result<Value, Refusal> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(Value::Number { start: start as u32, length: (self.at - start) as u32 })
    }

    /// A string, the cursor on its opening quote.
    fn string(&mut self) -> Result<Value, Refusal> {
        self.expect(b'"')?;
        let start = self.at;
        let mut from = start;
        let mut kept: Option<usize> = None;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            self.at += rest.iter().position(|b| matches!(b, b'"' | b'\\') || *b < 0x20).ok_or(Refusal::Syntax)?;
            let piece = self.bytes.get(from..self.at).unwrap_or_default();
            match self.next()? {
                b'"' => {
                    return Ok(match kept {
                        None => Value::Text { start: start as u32, length: (self.at - 1 - start) as u32 },
                        Some(side) => {
                            self.side.extend_from_slice(piece);
                            Value::Unescaped { start: side as u32, length: (self.side.len() - side) as u32 }
                        }
                    });
                }
                b'\\' => {
                    kept.get_or_insert(self.side.len());
                    self.side.extend_from_slice(piece);
                    let character = self.escape()?;
                    self.side.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                    from = self.at;
                }
                _ => return Err(Refusal::Syntax),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Refusal> {
        Ok(match self.next()? {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hex4()?;
                let code = match first {
                    0xd800..=0xdbff => {
                        self.expect(b'\\')?;
                        self.expect(b'u')?;
                        let second = self.hex4()?;
                        let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400).ok_or(Refusal::Syntax)?;
                        0x10000 + ((first - 0xd800) << 10) + low
                    }
                    code => code,
                };
                // A lone low surrogate is no character.
                char::from_u32(code).ok_or(Refusal::Syntax)?
            }
            _ => return Err(Refusal::Syntax),
        })
    }

    fn hex4(&mut self) -> Result<u32, Refusal> {
        let mut code = 0;
        for _ in 0..4 {
            code = code * 16 + char::from(self.next()?).to_digit(16).ok_or(Refusal::Syntax)?;
        }
        Ok(code)
    }
}
