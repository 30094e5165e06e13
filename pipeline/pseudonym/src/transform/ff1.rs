//! FF1 (NIST SP 800-38G, and revision 1 for the smallest domain), in fixed-width integers over the `aes` crate.
//!
//! The standard's steps 6.i to 6.ix for half strings of up to 96 bits fit in one block of output and one `u128`; for up to 32 bits
//! the reduction fits in `u64`. Longer strings (to 256 numerals) use limbs of the largest power of the radix that fits in 32 bits.
//! Nothing here allocates.
mod limbs;
mod narrow;

use super::ValueRefused;
use aes::cipher::consts::U16;
use aes::cipher::{Array, BlockCipherEncrypt, BlockSizeUser};
use limbs::Limbs;
use narrow::{Modulus, Narrow, Rounds};

/// The longest string, in numerals: a bound on the work for one value.
pub(crate) const MAX_NUMERALS: usize = 256;
/// The smallest domain (SP 800-38G r1, second draft, section 5.1).
pub(crate) const MIN_DOMAIN: u128 = 1_000_000;

/// Strings that are encrypted side by side: their rounds do not wait for each other.
pub(crate) const LANES: usize = 16;

const ROUNDS: u8 = 10;
const MAX_HALF: usize = MAX_NUMERALS / 2;
/// A half of 128 numerals of 16 bits.
const MAX_HALF_BYTES: usize = MAX_HALF * 2;

/// FF1 with one key and radix, for tweaks that share a prefix.
#[derive(Clone)]
pub(crate) struct Ff1<C> {
    cipher: C,
    radix: u32,
    prefix: Box<[u8]>,
    shape: Shape,
}

/// What depends only on the lengths of string and tweak; the last one is kept, since the values of a column are alike.
#[derive(Clone)]
struct Shape {
    numerals: usize,
    tweak_bytes: usize,
    /// `u` of the standard, the length of the first half.
    left: usize,
    /// `b`: bytes of the longer half as an integer.
    bytes: usize,
    /// Where half strings are integers of at most 32 bits.
    narrow: Option<Narrow>,
    /// radix^u and radix^v where half strings are integers of at most 96 bits.
    moduli: Option<(u128, u128)>,
    /// The CBC-MAC over P and the tweak's prefix.
    state: u128,
}

impl<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>> Ff1<C> {
    /// `radix` is 2 to 65,536; `prefix` is what all tweaks begin with, a multiple of 16 bytes.
    pub(crate) fn new(cipher: C, radix: u32, prefix: &[u8]) -> Self {
        assert!((2..=1 << 16).contains(&radix) && prefix.len().is_multiple_of(16), "the radix and the prefix are constants of the caller");
        let shape = Shape { numerals: 0, tweak_bytes: 0, left: 0, bytes: 0, narrow: None, moduli: None, state: 0 };
        Self { cipher, radix, prefix: prefix.into(), shape }
    }

    /// Encrypts `string`, numerals below the radix with the most significant first, in place. The tweak is the prefix and `tail`.
    #[cfg(test)]
    pub(crate) fn encrypt(&mut self, tail: &[u8], string: &mut [u16]) -> Result<(), ValueRefused> {
        self.run(tail, string, true)
    }

    /// Undoes [`Self::encrypt`].
    #[cfg(test)]
    pub(crate) fn decrypt(&mut self, tail: &[u8], string: &mut [u16]) -> Result<(), ValueRefused> {
        self.run(tail, string, false)
    }

    #[cfg(test)]
    fn run(&mut self, tail: &[u8], string: &mut [u16], forward: bool) -> Result<(), ValueRefused> {
        self.prepare(string, string.len(), tail.len())?;
        self.run_one(tail, string, forward);
        Ok(())
    }

    /// Encrypts (or decrypts) strings of `numerals` each, under tails of one length, in place and side by side. `tails` and `strings`
    /// hold one after the other.
    pub(crate) fn run_many(&mut self, tails: &[u8], strings: &mut [u16], numerals: usize, forward: bool) -> Result<(), ValueRefused> {
        if strings.is_empty() {
            return Ok(());
        }
        let count = strings.len() / numerals.max(1);
        let tail_bytes = tails.len() / count.max(1);
        if count * numerals != strings.len() || count * tail_bytes != tails.len() {
            return Err(ValueRefused::WrongLength);
        }
        self.prepare(strings, numerals, tail_bytes)?;
        if count == 1 {
            self.run_one(tails, strings, forward);
            return Ok(());
        }
        let tail = |index: usize| &tails[index * tail_bytes..(index + 1) * tail_bytes];
        let Some(narrow) = self.shape.narrow else {
            for (index, string) in strings.chunks_exact_mut(numerals).enumerate() {
                self.run_one(tail(index), string, forward);
            }
            return Ok(());
        };
        for first in (0..count).step_by(LANES) {
            let lanes = LANES.min(count - first);
            let mut bases = [0; LANES];
            for (lane, base) in bases[..lanes].iter_mut().enumerate() {
                *base = self.base(tail(first + lane));
            }
            let strings = &mut strings[first * numerals..(first + lanes) * numerals];
            let (mut a, mut b) = ([0; LANES], [0; LANES]);
            for (lane, string) in strings.chunks_exact(numerals).enumerate() {
                let (left, right) = string.split_at(self.shape.left);
                (a[lane], b[lane]) = (self.narrow_number(left), self.narrow_number(right));
            }
            // Lanes without a string encrypt zeros for nobody: cheaper than a kernel for each count, down to a few.
            match lanes {
                0..=2 => {
                    for lane in 0..lanes {
                        let (a, b) = (&mut a[lane..], &mut b[lane..]);
                        if let ([base, ..], Some(a), Some(b)) = (&bases[lane..], a.first_chunk_mut(), b.first_chunk_mut()) {
                            self.cipher.encrypt_with_backend(Rounds { narrow, bases: &[*base], a, b, forward });
                        }
                    }
                }
                3..=8 => {
                    if let (Some(bases), Some(a), Some(b)) = (bases.first_chunk::<8>(), a.first_chunk_mut(), b.first_chunk_mut()) {
                        self.cipher.encrypt_with_backend(Rounds { narrow, bases, a, b, forward });
                    }
                }
                _ => self.cipher.encrypt_with_backend(Rounds { narrow, bases: &bases, a: &mut a, b: &mut b, forward }),
            }
            for (lane, string) in strings.chunks_exact_mut(numerals).enumerate() {
                let (left, right) = string.split_at_mut(self.shape.left);
                self.narrow_numerals(a[lane], left);
                self.narrow_numerals(b[lane], right);
            }
        }
        Ok(())
    }

    fn prepare(&mut self, strings: &[u16], numerals: usize, tail_bytes: usize) -> Result<(), ValueRefused> {
        if numerals != self.shape.numerals || self.prefix.len() + tail_bytes != self.shape.tweak_bytes {
            self.shape = self.shape_of(numerals, tail_bytes)?;
        }
        if strings.iter().any(|&numeral| u32::from(numeral) >= self.radix) {
            return Err(ValueRefused::UnexpectedCharacter);
        }
        Ok(())
    }

    fn run_one(&self, tail: &[u8], string: &mut [u16], forward: bool) {
        match (self.shape.narrow, self.shape.moduli) {
            (Some(narrow), _) => {
                let (left, right) = string.split_at_mut(self.shape.left);
                let (mut a, mut b) = ([self.narrow_number(left)], [self.narrow_number(right)]);
                self.cipher.encrypt_with_backend(Rounds { narrow, bases: &[self.base(tail)], a: &mut a, b: &mut b, forward });
                self.narrow_numerals(a[0], left);
                self.narrow_numerals(b[0], right);
            }
            (None, Some(moduli)) => self.run_short(tail, string, moduli, forward),
            (None, None) => self.run_long(tail, string, forward),
        }
    }

    /// What all rounds of a string encrypt but for round number and half. 1 + b is at most 13: these and what precedes them in their
    /// block are one block.
    #[inline]
    fn base(&self, tail: &[u8]) -> u128 {
        let mut rest = [0; 16 + 16 + MAX_HALF_BYTES];
        let (state, rest) = self.absorb(tail, &mut rest);
        state ^ u128::from_be_bytes(rest.try_into().unwrap_or_default())
    }

    /// A half of at most 32 bits. Numerals are below the radix, so nothing overflows.
    #[inline]
    fn narrow_number(&self, numerals: &[u16]) -> u64 {
        let radix = u64::from(self.radix);
        numerals.iter().fold(0, |number: u64, &numeral| number.wrapping_mul(radix).wrapping_add(u64::from(numeral)))
    }

    #[inline]
    fn narrow_numerals(&self, number: u64, numerals: &mut [u16]) {
        // Ten has a branch of its own, where the compiler knows the divisor.
        let mut number = number as u32;
        match self.radix {
            10 => {
                for numeral in numerals.iter_mut().rev() {
                    *numeral = (number % 10) as u16;
                    number /= 10;
                }
            }
            radix => {
                for numeral in numerals.iter_mut().rev() {
                    *numeral = (number % radix) as u16;
                    number /= radix;
                }
            }
        }
    }

    fn shape_of(&self, numerals: usize, tail_bytes: usize) -> Result<Shape, ValueRefused> {
        if numerals > MAX_NUMERALS {
            return Err(ValueRefused::TooLong);
        }
        let domain = (0..numerals).try_fold(1u128, |product, _| product.checked_mul(u128::from(self.radix)));
        if numerals < 2 || domain.is_some_and(|domain| domain < MIN_DOMAIN) {
            return Err(ValueRefused::DomainTooSmall);
        }
        let tweak_bytes = self.prefix.len() + tail_bytes;
        let Ok(tweak_length) = u32::try_from(tweak_bytes) else { return Err(ValueRefused::TooLong) };
        let left = numerals / 2;
        let right = numerals - left;
        // ceil(v log2 radix) is the bit length of the largest half: counted, since floating point errs at powers of two.
        let bits = Limbs::largest(self.radix, right).bit_length();
        let moduli = (bits <= 96).then(|| {
            let power = |exponent: usize| (0..exponent).fold(1u128, |product, _| product * u128::from(self.radix));
            (power(left), power(right))
        });
        let narrow = moduli
            .filter(|_| bits <= 32)
            .map(|(left, right)| Narrow { moduli: [Modulus::new(left as u64), Modulus::new(right as u64)], round_shift: 8 * bits.div_ceil(8) as u32 });
        let mut p = [1, 2, 1, 0, 0, 0, ROUNDS, left as u8, 0, 0, 0, 0, 0, 0, 0, 0];
        p[3..6].copy_from_slice(&self.radix.to_be_bytes()[1..]);
        p[8..12].copy_from_slice(&(numerals as u32).to_be_bytes());
        p[12..].copy_from_slice(&tweak_length.to_be_bytes());
        let mut state = self.block(u128::from_be_bytes(p));
        for block in self.prefix.as_chunks::<16>().0 {
            state = self.block(state ^ u128::from_be_bytes(*block));
        }
        Ok(Shape { numerals, tweak_bytes, left, bytes: bits.div_ceil(8), narrow, moduli, state })
    }

    #[inline(always)]
    fn block(&self, block: u128) -> u128 {
        let mut block = Array::from(block.to_be_bytes());
        self.cipher.encrypt_block(&mut block);
        u128::from_be_bytes(block.into())
    }

    /// The CBC-MAC state over all blocks of Q that are the same in every round, and what stands in front of the round's own bytes
    /// in the rest: `rest` begins with tweak and padding, and ends with the round number and NUM(B), both left zero.
    fn absorb<'a>(&self, tail: &[u8], rest: &'a mut [u8; 16 + 16 + MAX_HALF_BYTES]) -> (u128, &'a mut [u8]) {
        let own = 1 + self.shape.bytes;
        let padding = (16 - (tail.len() + own) % 16) % 16;
        let fixed = tail.len() + padding;
        let mut state = self.shape.state;
        let (blocks, remainder) = tail.as_chunks::<16>();
        for block in blocks {
            state = self.block(state ^ u128::from_be_bytes(*block));
        }
        let mut fixed = fixed - blocks.len() * 16;
        rest[..remainder.len()].copy_from_slice(remainder);
        if fixed >= 16 {
            // The tweak ends inside a block that the round's bytes do not reach.
            let (block, _) = rest.as_chunks_mut::<16>();
            state = self.block(state ^ u128::from_be_bytes(block[0]));
            block[0] = [0; 16];
            fixed -= 16;
        }
        (state, &mut rest[..fixed + own])
    }

    fn run_short(&self, tail: &[u8], string: &mut [u16], (left_modulus, right_modulus): (u128, u128), forward: bool) {
        let base = self.base(tail);
        let (left, right) = string.split_at_mut(self.shape.left);
        let (mut a, mut b) = (self.number(left), self.number(right));
        let output_shift = 128 - 8 * (4 * self.shape.bytes.div_ceil(4) + 4);
        let round_shift = 8 * self.shape.bytes;
        let function = |round: u8, half: u128, modulus: u128| (self.block(base ^ (u128::from(round) << round_shift) ^ half) >> output_shift) % modulus;
        if forward {
            for round in 0..ROUNDS {
                let modulus = if round % 2 == 0 { left_modulus } else { right_modulus };
                let sum = a + function(round, b, modulus);
                (a, b) = (b, if sum >= modulus { sum - modulus } else { sum });
            }
        } else {
            for round in (0..ROUNDS).rev() {
                let modulus = if round % 2 == 0 { left_modulus } else { right_modulus };
                let y = function(round, a, modulus);
                (a, b) = (if b >= y { b - y } else { b + modulus - y }, a);
            }
        }
        self.numerals(a, left);
        self.numerals(b, right);
    }

    fn number(&self, numerals: &[u16]) -> u128 {
        numerals.iter().fold(0, |number, &numeral| number * u128::from(self.radix) + u128::from(numeral))
    }

    fn numerals(&self, number: u128, numerals: &mut [u16]) {
        match u64::try_from(number) {
            Ok(mut number) => {
                for numeral in numerals.iter_mut().rev() {
                    *numeral = (number % u64::from(self.radix)) as u16;
                    number /= u64::from(self.radix);
                }
            }
            Err(_) => {
                let mut number = number;
                for numeral in numerals.iter_mut().rev() {
                    *numeral = (number % u128::from(self.radix)) as u16;
                    number /= u128::from(self.radix);
                }
            }
        }
    }

    fn run_long(&self, tail: &[u8], string: &mut [u16], forward: bool) {
        let mut rest = [0; 16 + 16 + MAX_HALF_BYTES];
        let (state, rest) = self.absorb(tail, &mut rest);
        let (left, right) = string.split_at_mut(self.shape.left);
        let (mut a, mut b) = (Limbs::read(self.radix, left), Limbs::read(self.radix, right));
        let output_bytes = 4 * self.shape.bytes.div_ceil(4) + 4;
        let own = rest.len() - self.shape.bytes - 1;
        let mut function = |round: u8, half: &Limbs, numerals: usize| {
            rest[own] = round;
            half.write_bytes(&mut rest[own + 1..]);
            let mut r = state;
            for block in rest.as_chunks::<16>().0 {
                r = self.block(r ^ u128::from_be_bytes(*block));
            }
            let mut y = Limbs::zero(self.radix, numerals);
            for start in (0..output_bytes).step_by(16) {
                let block = if start == 0 { r } else { self.block(r ^ (start as u128 / 16)) };
                for word in block.to_be_bytes().as_chunks::<4>().0.iter().take((output_bytes - start) / 4) {
                    y.shift_in(u32::from_be_bytes(*word));
                }
            }
            y
        };
        let (left_length, right_length) = (left.len(), right.len());
        if forward {
            for round in 0..ROUNDS {
                let y = function(round, &b, if round % 2 == 0 { left_length } else { right_length });
                a = a.plus(&y);
                std::mem::swap(&mut a, &mut b);
            }
        } else {
            for round in (0..ROUNDS).rev() {
                let y = function(round, &a, if round % 2 == 0 { left_length } else { right_length });
                b = b.minus(&y);
                std::mem::swap(&mut a, &mut b);
            }
        }
        a.write(left);
        b.write(right);
    }
}
