//! Values seen before: cryptography runs once per distinct value, not once per row, and all new values of a batch go through it together.
//!
//! [`Distinct`] numbers the distinct values of one column, from zero, as batches bring them. Whoever makes something of the values keeps it
//! by number, so a column that several transforms read (a taxpayer who has a token, picks a shift and names a context) is looked up once.
use datafusion::arrow::array::{Array, StringArray};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// What a null has for a number.
pub const NULL: u32 = u32::MAX;

/// Distinct values, and the numbers of the rows of the batch at hand.
#[derive(Default)]
pub struct Distinct {
    entries: HashTable<Entry>,
    values: Vec<u8>,
    ends: Vec<usize>,
    rows: Vec<u32>,
    known: usize,
    hasher: RandomState,
}

#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    number: u32,
}

impl std::fmt::Debug for Distinct {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Distinct").field("values", &self.ends.len()).finish_non_exhaustive()
    }
}

impl Distinct {
    /// Numbers the rows of a batch; values that were not there before get the next numbers.
    pub fn take(&mut self, texts: &StringArray) {
        self.known = self.ends.len();
        self.rows.clear();
        self.rows.reserve(texts.len());
        let (mut last, mut last_number) = ("", NULL);
        for row in 0..texts.len() {
            if texts.is_null(row) {
                self.rows.push(NULL);
                continue;
            }
            let value = texts.value(row);
            // Neighbours often are equal: rows that were sorted by an entity.
            if last_number == NULL || value != last {
                (last, last_number) = (value, self.number(value));
            }
            self.rows.push(last_number);
        }
    }

    fn number(&mut self, value: &str) -> u32 {
        let Self { entries, values, ends, hasher, .. } = self;
        let hash = hasher.hash_one(value.as_bytes());
        let known = |number: u32| {
            let number = number as usize;
            let start = if number == 0 { 0 } else { ends[number - 1] };
            &values[start..ends[number]]
        };
        if let Some(entry) = entries.find(hash, |entry| entry.hash == hash && known(entry.number) == value.as_bytes()) {
            return entry.number;
        }
        // A batch has fewer than 2^31 rows, and the owner forgets values long before there are as many.
        let number = u32::try_from(ends.len()).unwrap_or(NULL);
        values.extend_from_slice(value.as_bytes());
        ends.push(values.len());
        entries.insert_unique(hash, Entry { hash, number }, |entry| entry.hash);
        number
    }

    /// The number of each row's value; [`NULL`] for null.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The values that the batch at hand brought, in the order of their numbers.
    pub fn new_values(&self) -> impl Iterator<Item = &str> {
        let start = |number: usize| if number == 0 { 0 } else { self.ends[number - 1] };
        // Values came as text; the fallback is not reached.
        (self.known..self.ends.len()).map(move |number| std::str::from_utf8(&self.values[start(number)..self.ends[number]]).unwrap_or_default())
    }

    /// Forgets everything; numbers begin anew.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.values.clear();
        self.ends.clear();
        self.rows.clear();
        self.known = 0;
    }

    /// What the values take, without what is made of them.
    pub fn used_bytes(&self) -> usize {
        // Tables grow by doubling and are seven eighths full at the most: about two slots an entry, on average.
        self.values.len() + self.ends.len() * (size_of::<usize>() + 2 * (size_of::<Entry>() + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[Option<&str>]) -> StringArray {
        values.iter().copied().collect()
    }

    #[test]
    fn values_are_numbered_once() {
        let mut distinct = Distinct::default();
        distinct.take(&texts(&[Some("a"), None, Some("b"), Some("b"), Some(""), Some("a")]));
        assert_eq!(distinct.rows(), [0, NULL, 1, 1, 2, 0]);
        assert_eq!(distinct.new_values().collect::<Vec<_>>(), ["a", "b", ""]);
        distinct.take(&texts(&[Some("b"), Some("c"), None, Some("c"), Some("")]));
        assert_eq!((distinct.rows(), distinct.new_values().collect::<Vec<_>>()), (&[1, 3, NULL, 3, 2][..], vec!["c"]));
        distinct.take(&texts(&[Some("c")]));
        assert_eq!((distinct.rows(), distinct.new_values().count()), (&[3][..], 0));
        assert!(distinct.used_bytes() > 0);
        distinct.clear();
        assert_eq!(distinct.used_bytes(), 0);
        distinct.take(&texts(&[Some("c"), Some("c")]));
        assert_eq!((distinct.rows(), distinct.new_values().collect::<Vec<_>>()), (&[0, 0][..], vec!["c"]));
    }

    #[test]
    fn many_values_keep_their_numbers() {
        let mut distinct = Distinct::default();
        let all: Vec<String> = (0..20_000).map(|number| format!("value {number}")).collect();
        for round in 0..3 {
            for values in all.chunks(777) {
                distinct.take(&values.iter().map(|value| Some(value.as_str())).collect());
                assert!(distinct.rows().iter().zip(values).all(|(number, value)| format!("value {number}") == *value));
                assert_eq!(distinct.new_values().count(), if round == 0 { values.len() } else { 0 });
            }
        }
        assert_eq!(format!("{distinct:?}"), "Distinct { values: 20000, .. }");
    }
}
