//! One JSON object, strictly by RFC 8259: its keys, and the lexemes of its values. Nothing is converted: numbers stay the characters that they are.
//!
//! [`Shape`] says which values are columns: those at the top, those inside objects, lists of scalars, and one property of the objects of an array, which is a list
//! too. `null`, and a key that is not there, is null at every level; a value of another kind than the contract says becomes [`Value::Nested`] in every column that
//! it would have held, which no type takes.
use super::encoding::Table;
use perimeter_contract::schema::{Column, DataType, RequiredObject};

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// The key is absent, or its value `null`.
    Null,
    /// A string without escapes: bytes of the input.
    Text { start: u32, length: u32 },
    /// A string with escapes: bytes of the scanner's side buffer.
    Unescaped { start: u32, length: u32 },
    /// A number: bytes of the input.
    Number { start: u32, length: u32 },
    /// `true` or `false`.
    Boolean(bool),
    /// An object or array where there should be none, or the other way round.
    Nested,
    /// So many items, from this place of the scanner's items on; see [`Shape::list`].
    List { start: u32, length: u32 },
}

/// Objects and arrays inside each other; deeper ones are refused.
const MAX_DEPTH: usize = 64;

/// Why a well-formed object is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    DuplicateKey,
    UnknownField,
}

impl Refusal {
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::DuplicateKey => "duplicate-key",
            Self::UnknownField => "unknown-field",
        }
    }
}

/// Keys to children. Objects tend to have their keys in one order: the child after the last one found is tried first.
#[derive(Debug, Default)]
struct Keys {
    names: Vec<Vec<u8>>,
    by_name: hashbrown::HashMap<Vec<u8>, usize, foldhash::fast::FixedState>,
}

impl Keys {
    fn find(&self, key: &[u8], guess: usize) -> Option<usize> {
        match self.names.get(guess) {
            Some(name) if name == key => Some(guess),
            _ => self.by_name.get(key).copied(),
        }
    }
}

/// An object of the contract.
#[derive(Debug, Default)]
struct Node {
    keys: Keys,
    children: Vec<Child>,
    /// Where its keys are in `seen`.
    flags: usize,
    /// One of its children, or something below, must be there.
    demands: bool,
}

#[derive(Debug)]
struct Child {
    kind: Kind,
    /// Where its values go: columns, or places in an item.
    slots: Vec<usize>,
    /// Objects that are not there when it is null: itself and those below it.
    required: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Scalar,
    Object(usize),
    List,
    /// Of objects: their node, and how many values one has.
    Array(usize),
}

/// What of an object is which column.
#[derive(Debug)]
pub(super) struct Shape {
    nodes: Vec<Node>,
    columns: usize,
    /// By column, for lists.
    lists: Vec<Option<List>>,
    /// Values of one item, by node.
    item_widths: Vec<usize>,
    flags: usize,
    /// Whether keys that the contract does not have are let pass.
    allow_added: bool,
}

/// Where a list's items are: `start + offset + n * stride`.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub(super) offset: usize,
    pub(super) stride: usize,
    /// Of an array of objects: their node.
    node: Option<usize>,
}

impl Shape {
    pub(super) fn new(columns: &[Column], required: &[RequiredObject], allow_added: bool) -> Self {
        let mut shape =
            Self { nodes: vec![Node::default()], columns: columns.len(), lists: vec![None; columns.len()], item_widths: vec![0], flags: 0, allow_added };
        for (index, column) in columns.iter().enumerate() {
            shape.add(index, column);
        }
        for (object, required) in required.iter().enumerate() {
            shape.demand(object, &required.path);
        }
        for node in &mut shape.nodes {
            node.flags = shape.flags;
            shape.flags += node.children.len();
        }
        // How wide an item is, is known only now.
        let widths = shape.item_widths.clone();
        for list in shape.lists.iter_mut().flatten() {
            list.stride = list.node.and_then(|node| widths.get(node).copied()).unwrap_or(1);
        }
        shape
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn list(&self, column: usize) -> Option<List> {
        self.lists.get(column).copied().flatten()
    }

    fn add(&mut self, index: usize, column: &Column) {
        let list_at = column.list_at.or_else(|| matches!(column.data_type, DataType::List(_)).then_some(column.path.len()));
        // Where the value goes: a column, or a place in an item.
        let mut slot = index;
        let (mut node, mut owner) = (0, None);
        for (depth, name) in (1..).zip(&column.path) {
            let last = depth == column.path.len();
            let is_list = list_at == Some(depth);
            let kind = match (is_list, last) {
                (true, true) => Kind::List,
                (true, false) => Kind::Array(self.nodes.len()),
                (false, true) => Kind::Scalar,
                (false, false) => Kind::Object(self.nodes.len()),
            };
            let child = self.child(node, name, kind);
            let Some(child) = self.nodes.get_mut(node).and_then(|n| n.children.get_mut(child)) else { return };
            child.slots.push(slot);
            let below = child.kind;
            match below {
                Kind::Object(inner) => node = inner,
                Kind::Array(inner) => {
                    node = inner;
                    let width = self.item_widths.get_mut(inner);
                    slot = width.map_or(0, |width| std::mem::replace(width, *width + 1));
                    owner = Some(inner);
                }
                Kind::Scalar | Kind::List => break,
            }
        }
        if list_at.is_some()
            && let Some(list) = self.lists.get_mut(index)
        {
            *list = Some(List { offset: owner.map_or(0, |_| slot), stride: 1, node: owner });
        }
    }

    /// The child of a node, new if it is not there.
    fn child(&mut self, node: usize, name: &str, kind: Kind) -> usize {
        let new = self.nodes.get(node).is_some_and(|n| !n.keys.by_name.contains_key(name.as_bytes()));
        if new && let Kind::Object(_) | Kind::Array(_) = kind {
            self.nodes.push(Node::default());
            self.item_widths.push(0);
        }
        let Some(node) = self.nodes.get_mut(node) else { return 0 };
        if new {
            node.keys.by_name.insert(name.as_bytes().to_vec(), node.children.len());
            node.keys.names.push(name.as_bytes().to_vec());
            node.children.push(Child { kind, slots: Vec::new(), required: Vec::new() });
        }
        node.keys.by_name.get(name.as_bytes()).copied().unwrap_or(0)
    }

    /// Every name on the way misses the object when it is null itself.
    fn demand(&mut self, object: usize, path: &[String]) {
        let mut here = Some(0);
        for name in path {
            let Some(node) = here.and_then(|node| self.nodes.get_mut(node)) else { return };
            let Some(child) = node.keys.by_name.get(name.as_bytes()).and_then(|at| node.children.get_mut(*at)) else { return };
            child.required.push(object);
            node.demands = true;
            here = match child.kind {
                Kind::Object(inner) | Kind::Array(inner) => Some(inner),
                Kind::Scalar | Kind::List => None,
            };
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    No,
    Null,
    Value,
}

/// Takes objects apart, one after the other, and keeps what their values are made of.
pub(super) struct Scanner {
    shape: Shape,
    table: Option<&'static Table>,
    seen: Vec<Seen>,
    /// Unescaped strings, in UTF-8 whatever the file is.
    pub(super) side: Vec<u8>,
    /// Items of lists.
    pub(super) items: Vec<Value>,
    /// Objects that the last record lacks, each once.
    pub(super) lacking: Vec<usize>,
    /// Whether the last record has keys that the contract does not have.
    pub(super) added: bool,
}

/// A well-formed object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Object {
    /// Behind its last byte.
    pub(super) end: usize,
    /// A fault of its keys.
    pub(super) refusal: Option<Refusal>,
}

impl Scanner {
    pub(super) fn new(shape: Shape, table: Option<&'static Table>) -> Self {
        Self { seen: vec![Seen::No; shape.flags], shape, table, side: Vec::new(), items: Vec::new(), lacking: Vec::new(), added: false }
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Takes the object apart that starts at `start`. `row` has one value per column, `Null` before. `None`: there is no well-formed object, or not all of one.
    pub(super) fn object(&mut self, bytes: &[u8], start: usize, row: &mut [Value]) -> Option<Object> {
        self.lacking.clear();
        self.added = false;
        let Self { shape, table, seen, side, items, lacking, added } = self;
        let mut scan = Scan { bytes, at: start, shape, table: *table, seen, side, items, row, lacking, added, refusal: None };
        scan.object(0, None, 1).ok()?;
        let object = Object { end: scan.at, refusal: scan.refusal };
        self.lacking.sort_unstable();
        self.lacking.dedup();
        Some(object)
    }
}

/// Whether the bytes are nothing but JSON's white space.
pub(super) fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| is_space(*b))
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Not JSON. Which fault it is, nobody asks.
struct Malformed;

struct Scan<'b> {
    bytes: &'b [u8],
    at: usize,
    shape: &'b Shape,
    table: Option<&'static Table>,
    seen: &'b mut [Seen],
    side: &'b mut Vec<u8>,
    items: &'b mut Vec<Value>,
    row: &'b mut [Value],
    lacking: &'b mut Vec<usize>,
    added: &'b mut bool,
    /// The first.
    refusal: Option<Refusal>,
}

impl Scan<'_> {
    /// An object of the contract, the cursor on its brace. `item`: its values are those of the item that starts there; they are columns otherwise.
    fn object(&mut self, node: usize, item: Option<usize>, depth: usize) -> Result<(), Malformed> {
        let shape = self.shape;
        let Some(node) = shape.nodes.get(node).filter(|_| depth <= MAX_DEPTH) else { return Err(Malformed) };
        let flags = node.flags..node.flags + node.children.len();
        self.seen.get_mut(flags.clone()).unwrap_or_default().fill(Seen::No);
        self.expect(b'{')?;
        self.blank();
        if self.peek() == Some(b'}') {
            self.at += 1;
        } else {
            let mut guess = 0;
            loop {
                self.blank();
                let child = self.key(&node.keys, guess)?;
                self.blank();
                self.expect(b':')?;
                self.blank();
                match child {
                    None => {
                        self.passed(depth)?;
                        *self.added = true;
                        if !shape.allow_added {
                            self.refusal = self.refusal.or(Some(Refusal::UnknownField));
                        }
                    }
                    Some(at) => {
                        let known = node.children.get(at).zip(self.seen.get(flags.start + at).copied());
                        let Some((child, Seen::No)) = known else {
                            self.passed(depth)?;
                            self.refusal = self.refusal.or(Some(Refusal::DuplicateKey));
                            if !self.more(b'}')? {
                                break;
                            }
                            continue;
                        };
                        let null = self.child(child, item, depth)?;
                        if let Some(seen) = self.seen.get_mut(flags.start + at) {
                            *seen = if null { Seen::Null } else { Seen::Value };
                        }
                        guess = at + 1;
                    }
                }
                if !self.more(b'}')? {
                    break;
                }
            }
        }
        if node.demands {
            for (child, seen) in node.children.iter().zip(self.seen.get(flags).unwrap_or_default()) {
                if *seen != Seen::Value {
                    self.lacking.extend_from_slice(&child.required);
                }
            }
        }
        Ok(())
    }

    /// Which child the key at the cursor is.
    fn key(&mut self, keys: &Keys, guess: usize) -> Result<Option<usize>, Malformed> {
        let before = self.side.len();
        let found = match self.string()? {
            Value::Text { start, length } => {
                let key = self.bytes.get(start as usize..start as usize + length as usize).unwrap_or_default();
                match self.table.filter(|_| !key.is_ascii()) {
                    None => keys.find(key, guess),
                    Some(table) => {
                        table.push(key, self.side);
                        keys.find(self.side.get(before..).unwrap_or_default(), guess)
                    }
                }
            }
            _ => keys.find(self.side.get(before..).unwrap_or_default(), guess),
        };
        self.side.truncate(before);
        Ok(found)
    }

    /// A value that no column takes, but which must be well-formed.
    fn passed(&mut self, depth: usize) -> Result<(), Malformed> {
        let before = self.side.len();
        self.value(depth)?;
        self.side.truncate(before);
        Ok(())
    }

    fn put(&mut self, item: Option<usize>, slots: &[usize], value: Value) {
        for slot in slots {
            let place = match item {
                None => self.row.get_mut(*slot),
                Some(start) => self.items.get_mut(start + slot),
            };
            if let Some(place) = place {
                *place = value;
            }
        }
    }

    /// The value of a key that the contract has; whether it is null.
    fn child(&mut self, child: &Child, item: Option<usize>, depth: usize) -> Result<bool, Malformed> {
        let value = match (child.kind, self.peek()) {
            (Kind::Object(node), Some(b'{')) => {
                self.object(node, item, depth + 1)?;
                return Ok(false);
            }
            (Kind::List, Some(b'[')) => self.list(depth, |scan, depth| {
                let value = scan.value(depth)?;
                scan.items.push(value);
                Ok(())
            })?,
            (Kind::Array(node), Some(b'[')) => {
                let width = self.shape.item_widths.get(node).copied().unwrap_or(0);
                self.list(depth, |scan, depth| {
                    let start = scan.items.len();
                    scan.items.resize(start + width, Value::Null);
                    if scan.peek() == Some(b'{') {
                        return scan.object(node, Some(start), depth);
                    }
                    let value = scan.value(depth)?;
                    if value != Value::Null {
                        scan.items.get_mut(start..).unwrap_or_default().fill(Value::Nested);
                    }
                    Ok(())
                })?
            }
            (Kind::Scalar, _) => self.value(depth)?,
            (Kind::Object(_) | Kind::List | Kind::Array(_), _) => match self.value(depth)? {
                Value::Null => Value::Null,
                _ => Value::Nested,
            },
        };
        self.put(item, &child.slots, value);
        Ok(value == Value::Null)
    }

    /// The inside of an array of which every item is kept.
    fn list(&mut self, depth: usize, item: impl Fn(&mut Self, usize) -> Result<(), Malformed>) -> Result<Value, Malformed> {
        if depth >= MAX_DEPTH {
            return Err(Malformed);
        }
        let start = self.items.len() as u32;
        let mut length = 0;
        self.at += 1;
        self.blank();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::List { start, length });
        }
        loop {
            self.blank();
            item(self, depth + 1)?;
            length += 1;
            if !self.more(b']')? {
                return Ok(Value::List { start, length });
            }
        }
    }

    /// Whether something follows, or the bracket closes.
    fn more(&mut self, close: u8) -> Result<bool, Malformed> {
        self.blank();
        match self.next()? {
            b',' => Ok(true),
            byte if byte == close => Ok(false),
            _ => Err(Malformed),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Result<u8, Malformed> {
        let byte = self.peek().ok_or(Malformed)?;
        self.at += 1;
        Ok(byte)
    }

    fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.next()? == byte { Ok(()) } else { Err(Malformed) }
    }

    fn blank(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &[u8], value: Value) -> Result<Value, Malformed> {
        if self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(Malformed)
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Malformed> {
        match self.peek().ok_or(Malformed)? {
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
            _ => Err(Malformed),
        }
    }

    /// The inside of an array or object that no column takes.
    fn nested(&mut self, depth: usize, close: u8, item: impl Fn(&mut Self, usize) -> Result<Value, Malformed>) -> Result<Value, Malformed> {
        if depth >= MAX_DEPTH {
            return Err(Malformed);
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
            if !self.more(close)? {
                return Ok(Value::Nested);
            }
        }
    }

    fn digits(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(Malformed) }
    }

    fn number(&mut self) -> Result<Value, Malformed> {
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
    fn string(&mut self) -> Result<Value, Malformed> {
        self.expect(b'"')?;
        let start = self.at;
        let mut from = start;
        let mut kept: Option<usize> = None;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            self.at += rest.iter().position(|b| matches!(b, b'"' | b'\\') || *b < 0x20).ok_or(Malformed)?;
            let bytes = self.bytes;
            let piece = bytes.get(from..self.at).unwrap_or_default();
            match self.next()? {
                b'"' => {
                    return Ok(match kept {
                        None => Value::Text { start: start as u32, length: (self.at - 1 - start) as u32 },
                        Some(side) => {
                            self.keep(piece);
                            Value::Unescaped { start: side as u32, length: (self.side.len() - side) as u32 }
                        }
                    });
                }
                b'\\' => {
                    kept.get_or_insert(self.side.len());
                    self.keep(piece);
                    let character = self.escape()?;
                    self.side.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                    from = self.at;
                }
                _ => return Err(Malformed),
            }
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        match self.table {
            None => self.side.extend_from_slice(piece),
            Some(table) => table.push(piece, self.side),
        }
    }

    fn escape(&mut self) -> Result<char, Malformed> {
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
                        let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400).ok_or(Malformed)?;
                        0x10000 + ((first - 0xd800) << 10) + low
                    }
                    code => code,
                };
                // A lone low surrogate is no character.
                char::from_u32(code).ok_or(Malformed)?
            }
            _ => return Err(Malformed),
        })
    }

    fn hex4(&mut self) -> Result<u32, Malformed> {
        let mut code = 0;
        for _ in 0..4 {
            code = code * 16 + char::from(self.next()?).to_digit(16).ok_or(Malformed)?;
        }
        Ok(code)
    }
}
