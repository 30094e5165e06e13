//! Structure from bytes, by hand: every input means something, and a changed byte changes little.

/// What is left of an input. At the end there are zeros.
pub struct Input<'a>(pub &'a [u8]);

/// Numbers at which something changes.
const NUMBERS: [u64; 24] = [
    0,
    1,
    2,
    127,
    128,
    255,
    256,
    16_383,
    16_384,
    65_471,
    65_496,
    65_512,
    65_535,
    65_536,
    65_560,
    131_072,
    u32::MAX as u64,
    1 << 32,
    1 << 33,
    (1 << 33) + 1,
    1 << 40,
    (1 << 56) - 1,
    i64::MAX as u64,
    u64::MAX,
];

impl<'a> Input<'a> {
    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                byte
            }
            None => 0,
        }
    }

    /// Two bytes, little-endian.
    pub fn short(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// Up to `n` bytes.
    pub fn take(&mut self, n: usize) -> &'a [u8] {
        let (part, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        part
    }

    /// As many bytes as the next one or two say.
    pub fn bytes(&mut self) -> &'a [u8] {
        let n = match self.byte() {
            255 => usize::from(self.short()),
            n => usize::from(n),
        };
        self.take(n)
    }

    /// A number near `honest`, one that is known to be interesting, or any. One byte for the honest one, which is the most frequent.
    pub fn number_near(&mut self, honest: u64) -> u64 {
        match self.byte() {
            0..=191 => honest,
            byte @ 192..=207 => honest.wrapping_add(u64::from(byte - 192) + 1),
            byte @ 208..=223 => honest.wrapping_sub(u64::from(byte - 208) + 1),
            byte @ 224..=247 => NUMBERS[usize::from(byte - 224)],
            248..=251 => u64::from(self.short()),
            _ => {
                let mut word = [0; 8];
                word.iter_mut().for_each(|byte| *byte = self.byte());
                u64::from_le_bytes(word)
            }
        }
    }
}
