//! Long halves.
use super::MAX_HALF;

/// An integer modulo radix^numerals, in limbs of the largest power of the radix that fits in 32 bits, least significant first.
#[derive(Clone)]
pub(super) struct Limbs {
    radix: u32,
    /// Numerals of a full limb.
    width: usize,
    numerals: usize,
    limbs: [u32; MAX_HALF],
}

impl Limbs {
    pub(super) fn zero(radix: u32, numerals: usize) -> Self {
        let mut width = 1;
        while u64::from(radix).pow(width as u32 + 1) <= 1 << 32 {
            width += 1;
        }
        Self { radix, width, numerals, limbs: [0; MAX_HALF] }
    }

    pub(super) fn largest(radix: u32, numerals: usize) -> Self {
        let mut number = Self::zero(radix, numerals);
        for index in 0..number.count() {
            number.limbs[index] = (number.base(index) - 1) as u32;
        }
        number
    }

    pub(super) fn read(radix: u32, numerals: &[u16]) -> Self {
        let mut number = Self::zero(radix, numerals.len());
        for (limb, group) in number.limbs.iter_mut().zip(numerals.rchunks(number.width)) {
            *limb = group.iter().fold(0, |limb, &numeral| limb * radix + u32::from(numeral));
        }
        number
    }

    pub(super) fn write(&self, numerals: &mut [u16]) {
        for (&limb, group) in self.limbs.iter().zip(numerals.rchunks_mut(self.width)) {
            let mut limb = limb;
            for numeral in group.iter_mut().rev() {
                *numeral = (limb % self.radix) as u16;
                limb /= self.radix;
            }
        }
    }

    fn count(&self) -> usize {
        self.numerals.div_ceil(self.width)
    }

    /// What limb `index` counts up to: the last one holds the numerals that are left over.
    fn base(&self, index: usize) -> u64 {
        let numerals = self.width.min(self.numerals - index * self.width);
        u64::from(self.radix).pow(numerals as u32)
    }

    /// `self` · 2^32 + `word`, reduced: products of two 32-bit numbers and a carry fit in 64 bits.
    pub(super) fn shift_in(&mut self, word: u32) {
        let mut carry = u64::from(word);
        for index in 0..self.count() {
            let (base, sum) = (self.base(index), (u64::from(self.limbs[index]) << 32) + carry);
            self.limbs[index] = (sum % base) as u32;
            carry = sum / base;
        }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let mut result = self.clone();
        let mut carry = 0;
        for index in 0..self.count() {
            let (base, sum) = (self.base(index), u64::from(self.limbs[index]) + u64::from(other.limbs[index]) + carry);
            result.limbs[index] = (sum % base) as u32;
            carry = sum / base;
        }
        result
    }

    pub(super) fn minus(&self, other: &Self) -> Self {
        let mut result = self.clone();
        let mut borrow = 0;
        for index in 0..self.count() {
            let (base, right) = (self.base(index), u64::from(other.limbs[index]) + borrow);
            let left = u64::from(self.limbs[index]);
            borrow = u64::from(left < right);
            result.limbs[index] = (left + borrow * base - right) as u32;
        }
        result
    }

    /// The integer, big-endian, filling `bytes` from the end. It must fit.
    pub(super) fn write_bytes(&self, bytes: &mut [u8]) {
        let (words, count) = self.words();
        bytes.fill(0);
        let little_endian = words[..count].iter().flat_map(|word| word.to_le_bytes());
        for (byte, value) in bytes.iter_mut().rev().zip(little_endian) {
            *byte = value;
        }
    }

    pub(super) fn bit_length(&self) -> usize {
        let (words, count) = self.words();
        match words[..count].iter().rposition(|&word| word != 0) {
            Some(top) => top * 32 + 32 - words[top].leading_zeros() as usize,
            None => 0,
        }
    }

    /// The integer in base 2^32, least significant word first, and how many words may be in use.
    fn words(&self) -> ([u32; MAX_HALF], usize) {
        let mut words = [0u32; MAX_HALF];
        let mut used = 0;
        for index in (0..self.count()).rev() {
            let (base, mut carry) = (self.base(index), u64::from(self.limbs[index]));
            for word in &mut words[..used] {
                let product = u64::from(*word) * base + carry;
                *word = product as u32;
                carry = product >> 32;
            }
            if carry != 0 {
                words[used] = carry as u32;
                used += 1;
            }
        }
        (words, used)
    }
}
