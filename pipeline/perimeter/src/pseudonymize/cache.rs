//! Tokens of values seen before: cryptography runs once per distinct value, not once per row.
//!
//! Bounded: a cache that outgrows its budget is emptied and starts again, so memory does not follow the input. It maps
//! bytes to bytes and knows nothing of what they mean.
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::ops::Range;

/// Distinct values and what became of them.
pub struct TokenCache {
    entries: HashTable<Entry>,
    values: Vec<u8>,
    tokens: Vec<u8>,
    hasher: RandomState,
    budget_bytes: usize,
}

#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    value: Span32,
    token: Span32,
}

#[derive(Clone, Copy)]
struct Span32 {
    start: u32,
    end: u32,
}

impl Span32 {
    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl std::fmt::Debug for TokenCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenCache").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

impl TokenCache {
    /// An empty cache that stays under `budget_bytes`.
    pub fn new(budget_bytes: usize) -> Self {
        Self {
            entries: HashTable::new(),
            values: Vec::new(),
            tokens: Vec::new(),
            hasher: RandomState::default(),
            budget_bytes: budget_bytes.min(u32::MAX as usize / 2),
        }
    }

    fn used_bytes(&self) -> usize {
        // Tables grow by doubling and are seven eighths full at the most: about two slots an entry, on average.
        self.values.len() + self.tokens.len() + self.entries.len() * 2 * (size_of::<Entry>() + 1)
    }

    /// The token of `value`: the one made before, or the one that `make` appends.
    ///
    /// # Errors
    /// Those of `make`; nothing is kept of the value then.
    pub fn token<E>(&mut self, value: &[u8], make: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<&[u8], E> {
        let hash = self.hasher.hash_one(value);
        let values = &self.values;
        if let Some(entry) = self.entries.find(hash, |entry| entry.hash == hash && &values[entry.value.range()] == value) {
            return Ok(&self.tokens[entry.token.range()]);
        }
        if self.used_bytes() + value.len() > self.budget_bytes {
            self.entries.clear();
            self.values.clear();
            self.tokens.clear();
        }
        let start = self.tokens.len();
        if let Err(error) = make(&mut self.tokens) {
            self.tokens.truncate(start);
            return Err(error);
        }
        // A value longer than the whole budget is served, not kept; the next call makes room.
        if let (Ok(token_start), Ok(token_end), Ok(value_start), Ok(value_end)) =
            (u32::try_from(start), u32::try_from(self.tokens.len()), u32::try_from(self.values.len()), u32::try_from(self.values.len() + value.len()))
        {
            self.values.extend_from_slice(value);
            let entry = Entry { hash, value: Span32 { start: value_start, end: value_end }, token: Span32 { start: token_start, end: token_end } };
            self.entries.insert_unique(hash, entry, |entry| entry.hash);
        }
        Ok(&self.tokens[start..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn double(value: &[u8]) -> impl FnOnce(&mut Vec<u8>) -> Result<(), Infallible> {
        move |out| {
            out.extend_from_slice(value);
            out.extend_from_slice(value);
            Ok(())
        }
    }

    #[test]
    fn a_value_is_made_once_while_it_fits() {
        let mut cache = TokenCache::new(1 << 20);
        let mut made = 0;
        for round in 0..3 {
            for number in 0..1000_u32 {
                let value = number.to_string();
                let token = cache
                    .token(value.as_bytes(), |out| {
                        made += 1;
                        double(value.as_bytes())(out)
                    })
                    .unwrap()
                    .to_vec();
                assert_eq!(token, format!("{value}{value}").into_bytes(), "round {round}");
            }
        }
        assert_eq!(made, 1000);
    }

    #[test]
    fn a_full_cache_starts_again_and_stays_right() {
        let mut cache = TokenCache::new(4096);
        for number in 0..10_000_u32 {
            let value = (number % 700).to_string();
            assert_eq!(cache.token(value.as_bytes(), double(value.as_bytes())).unwrap(), format!("{value}{value}").as_bytes());
            assert!(cache.values.len() + cache.tokens.len() < 8192);
        }
    }

    #[test]
    fn a_full_cache_is_emptied_rarely() {
        let mut cache = TokenCache::new(1 << 16);
        let (mut made, rounds) = (0, 50_u32);
        for number in 0..rounds * 100 {
            // One value in a hundred is new, the others are the same few: they must be served from the cache nearly always.
            let value = if number % 100 == 0 { number } else { number % 10 }.to_string();
            cache
                .token(value.as_bytes(), |out| {
                    made += 1;
                    double(value.as_bytes())(out)
                })
                .unwrap();
        }
        assert!(made < rounds + 2 * 10, "{made}");
    }

    #[test]
    fn nothing_is_kept_of_a_refused_value() {
        let mut cache = TokenCache::new(4096);
        assert_eq!(
            cache.token(b"x", |out| {
                out.push(1);
                Err("no")
            }),
            Err("no")
        );
        assert!(cache.tokens.is_empty() && cache.values.is_empty());
        assert_eq!(cache.token(b"x", double(b"x")).unwrap(), b"xx");
    }
}
