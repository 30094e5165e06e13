//! Halves of at most 32 bits, one string or several side by side.
use super::ROUNDS;
use aes::cipher::consts::U16;
use aes::cipher::{Array, BlockCipherEncBackend, BlockCipherEncClosure, BlockSizeUser};

/// The arithmetic of halves of at most 32 bits: a round's output is 64 bits, reduced by a multiplication.
#[derive(Clone, Copy)]
pub(super) struct Narrow {
    /// radix^u and radix^v.
    pub(super) moduli: [Modulus; 2],
    /// How far the round number stands above NUM(B).
    pub(super) round_shift: u32,
}

/// A modulus of at most 2^32, and what its division is replaced with: no instruction here takes a time that depends on a value.
#[derive(Clone, Copy)]
pub(super) struct Modulus {
    value: u64,
    reciprocal: u64,
}

impl Modulus {
    pub(super) fn new(value: u64) -> Self {
        Self { value, reciprocal: u64::MAX / value }
    }

    /// `number` modulo the value. The quotient is at most one too small, since the reciprocal is less than one below 2^64 / value
    /// (or just one, for powers of two).
    #[inline(always)]
    fn reduce(self, number: u64) -> u64 {
        let quotient = ((u128::from(number) * u128::from(self.reciprocal)) >> 64) as u64;
        let rest = number.wrapping_sub(quotient.wrapping_mul(self.value));
        rest.min(rest.wrapping_sub(self.value))
    }

    /// `one` + `other`, both below the value.
    #[inline(always)]
    fn add(self, one: u64, other: u64) -> u64 {
        let sum = one.wrapping_add(other);
        sum.min(sum.wrapping_sub(self.value))
    }

    /// `one` - `other`, both below the value.
    #[inline(always)]
    fn subtract(self, one: u64, other: u64) -> u64 {
        let difference = one.wrapping_sub(other);
        difference.min(difference.wrapping_add(self.value))
    }
}

/// All rounds of `L` strings, run inside the cipher's backend: one dispatch for all blocks, and the blocks of a round overlap.
pub(super) struct Rounds<'a, const L: usize> {
    pub(super) narrow: Narrow,
    pub(super) bases: &'a [u128; L],
    pub(super) a: &'a mut [u64; L],
    pub(super) b: &'a mut [u64; L],
    pub(super) forward: bool,
}

impl<const L: usize> BlockSizeUser for Rounds<'_, L> {
    type BlockSize = U16;
}

impl<const L: usize> BlockCipherEncClosure for Rounds<'_, L> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let Self { narrow, bases, a, b, forward } = self;
        let mut blocks = [Array::default(); L];
        let mut function = |round: u8, halves: &[u64; L], modulus: Modulus, y: &mut [u64; L]| {
            let number = u64::from(round) << narrow.round_shift;
            for lane in 0..L {
                // The high half of a base needs no change: round number and half are in the low 40 bits.
                blocks[lane] = Array::from((bases[lane] ^ u128::from(number ^ halves[lane])).to_be_bytes());
            }
            for block in &mut blocks {
                backend.encrypt_block(block.into());
            }
            for lane in 0..L {
                let [b0, b1, b2, b3, b4, b5, b6, b7, ..] = blocks[lane].0;
                y[lane] = modulus.reduce(u64::from_be_bytes([b0, b1, b2, b3, b4, b5, b6, b7]));
            }
        };
        let mut y = [0; L];
        for step in 0..ROUNDS / 2 {
            // Two rounds, so that no halves change places.
            if forward {
                function(2 * step, b, narrow.moduli[0], &mut y);
                for lane in 0..L {
                    a[lane] = narrow.moduli[0].add(a[lane], y[lane]);
                }
                function(2 * step + 1, a, narrow.moduli[1], &mut y);
                for lane in 0..L {
                    b[lane] = narrow.moduli[1].add(b[lane], y[lane]);
                }
            } else {
                function(ROUNDS - 1 - 2 * step, a, narrow.moduli[1], &mut y);
                for lane in 0..L {
                    b[lane] = narrow.moduli[1].subtract(b[lane], y[lane]);
                }
                function(ROUNDS - 2 - 2 * step, b, narrow.moduli[0], &mut y);
                for lane in 0..L {
                    a[lane] = narrow.moduli[0].subtract(a[lane], y[lane]);
                }
            }
        }
    }
}
