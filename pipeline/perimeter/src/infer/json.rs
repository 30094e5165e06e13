//! Records of JSON: names, nesting and what the values are, in the order in which they are met.
use super::header::is_no_name;
use super::leaf::Leaf;
use super::profile::Lens;
use serde::de::IgnoredAny;
use std::collections::HashMap;

/// More columns than this are keys that are values.
const MOST_LEAVES: usize = 2_000;

/// Keys that are remembered.
const MOST_KEYS: usize = 16_384;

/// All that the records of JSON files have.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) leaves: Vec<Leaf>,
    index: HashMap<(Vec<String>, Option<usize>), usize>,
    pub(super) records: u64,
    /// Arrays of arrays, objects or arrays without anything in them, and objects whose keys are values: names.
    pub(super) unread: Vec<String>,
    most_distinct: usize,
    /// Whether a key is data, of keys that have been met.
    keys: HashMap<String, bool>,
}

impl Tree {
    pub(super) fn new(most_distinct: usize) -> Self {
        Self { most_distinct, ..Self::default() }
    }

    /// Takes one record; false: it is no object by RFC 8259.
    pub(super) fn record(&mut self, bytes: &[u8], lens: &mut Lens) -> bool {
        // What follows trusts the grammar; this checks it, with a bound on its depth.
        let start = bytes.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(bytes.len());
        if bytes.get(start) != Some(&b'{') || serde_json::from_slice::<IgnoredAny>(bytes).is_err() {
            return false;
        }
        self.records += 1;
        let mut walk = Walk { bytes, at: start, tree: self, lens, path: Vec::new() };
        walk.value(None).is_some()
    }

    fn is_no_name(&mut self, key: &str, lens: &mut Lens) -> bool {
        if let Some(known) = self.keys.get(key) {
            return *known;
        }
        let found = is_no_name(key, lens);
        if self.keys.len() < MOST_KEYS {
            self.keys.insert(key.to_owned(), found);
        }
        found
    }

    /// One kind of value for each place; values that a record does not have are null.
    pub(super) fn finish(&mut self) {
        let mut kept = vec![true; self.leaves.len()];
        let all: Vec<usize> = (0..self.leaves.len()).collect();
        self.settle(all, 0, None, &mut kept);
        let mut kept = kept.into_iter();
        self.leaves.retain(|_| kept.next().unwrap_or(true));
        for leaf in &mut self.leaves {
            if leaf.list_at.is_none() {
                let seen = leaf.profile.values() + leaf.profile.nulls;
                leaf.profile.null(self.records.saturating_sub(seen));
                leaf.absent = leaf.profile.nulls;
            }
        }
        self.unread.sort_unstable();
        self.unread.dedup();
        let leaves = &self.leaves;
        self.unread.retain(|name| !leaves.iter().any(|leaf| leaf.name() == *name || leaf.name().starts_with(&format!("{name}."))));
    }

    /// What has `depth` names in common is a value, an object or an array, and stays what most records have there: no contract allows more than one.
    fn settle(&mut self, leaves: Vec<usize>, depth: usize, inside: Option<usize>, kept: &mut [bool]) {
        let (mut values, mut arrays, mut objects) = (Vec::new(), Vec::new(), Vec::new());
        for at in leaves {
            let leaf = &self.leaves[at];
            let shape = match leaf.list_at {
                list_at if leaf.path.len() == depth && list_at == inside => &mut values,
                Some(list_at) if list_at == depth && inside.is_none() => &mut arrays,
                _ => &mut objects,
            };
            shape.push(at);
        }
        let seen = |at: &usize| self.leaves[*at].profile.values() + self.leaves[*at].profile.nulls;
        let weights = [
            values.iter().map(|at| self.leaves[*at].profile.values()).sum::<u64>(),
            arrays.iter().map(seen).max().unwrap_or(0),
            objects.iter().map(seen).max().unwrap_or(0),
        ];
        let shapes = [values, arrays, objects];
        let Some(most) = (0..3).filter(|at| !shapes[*at].is_empty()).max_by_key(|at| weights[*at]) else { return };
        let others = || (0..3).filter(|at| *at != most);
        others().flat_map(|at| &shapes[at]).for_each(|at| kept[*at] = false);
        if others().any(|at| weights[at] > 0) {
            shapes[most].iter().for_each(|at| self.leaves[*at].mixed = true);
        }
        let [_, arrays, objects] = shapes;
        match most {
            1 => self.settle(arrays, depth, Some(depth), kept),
            2 => {
                let mut names: Vec<(String, Vec<usize>)> = Vec::new();
                for at in objects {
                    let Some(name) = self.leaves[at].path.get(depth) else { continue };
                    match names.iter_mut().find(|(known, _)| known == name) {
                        Some((_, same)) => same.push(at),
                        None => names.push((name.clone(), vec![at])),
                    }
                }
                names.into_iter().for_each(|(_, same)| self.settle(same, depth + 1, inside, kept));
            }
            _ => {}
        }
    }

    fn leaf(&mut self, path: &[String], list_at: Option<usize>) -> Option<&mut Leaf> {
        let key = (path.to_vec(), list_at);
        let index = match self.index.get(&key) {
            Some(index) => *index,
            None => {
                self.leaves.push(Leaf::new(key.0.clone(), list_at, self.most_distinct));
                self.index.insert(key, self.leaves.len() - 1);
                self.leaves.len() - 1
            }
        };
        self.leaves.get_mut(index)
    }
}

/// One record, whose grammar has been checked.
struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    tree: &'a mut Tree,
    lens: &'a mut Lens,
    path: Vec<String>,
}

impl Walk<'_> {
    fn blank(&mut self) -> Option<u8> {
        while self.bytes.get(self.at)?.is_ascii_whitespace() {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    /// The characters of a string, undone.
    fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.bytes.get(self.at)? {
                b'\\' => self.at += 2,
                b'"' => break,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        serde_json::from_slice(self.bytes.get(start..self.at)?).ok()
    }

    fn value(&mut self, list_at: Option<usize>) -> Option<()> {
        match self.blank()? {
            b'{' => self.object(list_at),
            b'[' => self.array(list_at),
            b'"' => {
                let text = self.string()?;
                let Self { tree, lens, path, .. } = self;
                tree.leaf(path, list_at)?.profile.text(&text, lens);
                Some(())
            }
            _ => {
                let start = self.at;
                while self.bytes.get(self.at).is_some_and(|b| !matches!(b, b',' | b']' | b'}') && !b.is_ascii_whitespace()) {
                    self.at += 1;
                }
                let lexeme = std::str::from_utf8(self.bytes.get(start..self.at)?).ok()?;
                let Self { tree, lens, path, .. } = self;
                let profile = &mut tree.leaf(path, list_at)?.profile;
                match lexeme {
                    "null" => profile.null(1),
                    "true" | "false" => profile.boolean(lexeme == "true"),
                    number => profile.number(number, lens),
                }
                Some(())
            }
        }
    }

    fn object(&mut self, list_at: Option<usize>) -> Option<()> {
        self.at += 1;
        let mut empty = true;
        loop {
            match self.blank()? {
                b'}' => break,
                b',' => self.at += 1,
                _ => {
                    empty = false;
                    let name = self.string()?;
                    self.blank()?;
                    self.at += 1;
                    // Keys that are values, as of an object with an entry for each account: they are not shown, and no contract can name them.
                    if self.tree.is_no_name(&name, self.lens)
                        || name.trim().is_empty()
                        || name.chars().any(char::is_control)
                        || self.tree.leaves.len() >= MOST_LEAVES
                    {
                        let here = if self.path.is_empty() { "*".to_owned() } else { format!("{}.*", self.path.join(".")) };
                        self.tree.unread.push(here);
                        self.skip()?;
                        continue;
                    }
                    self.path.push(name);
                    self.value(list_at)?;
                    self.path.pop();
                }
            }
        }
        self.at += 1;
        if empty && !self.path.is_empty() {
            self.tree.unread.push(self.path.join("."));
        }
        Some(())
    }

    fn array(&mut self, list_at: Option<usize>) -> Option<()> {
        self.at += 1;
        let nested = list_at.is_some();
        let (here, mut empty) = (self.path.len(), true);
        loop {
            match self.blank()? {
                b']' => break,
                b',' => self.at += 1,
                _ => {
                    empty = false;
                    if nested {
                        self.skip()?;
                    } else {
                        self.value(Some(here))?;
                    }
                }
            }
        }
        self.at += 1;
        if nested || empty {
            self.tree.unread.push(self.path.join("."));
        }
        Some(())
    }

    /// Passes over a value.
    fn skip(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            match self.blank()? {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' if depth == 0 => return Some(()),
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                b',' if depth == 0 => return Some(()),
                _ => self.at += 1,
            }
            if depth == 0 && matches!(self.blank()?, b',' | b']' | b'}') {
                return Some(());
            }
        }
    }
}
