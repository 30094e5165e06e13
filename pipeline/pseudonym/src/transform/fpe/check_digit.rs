//! Digits that the rest of a number determines.
use crate::transform::ValueRefused;
use perimeter_detect::{cnpj, cpf, iban, luhn};

/// Digits that are computed from the others: checked, left out of the encryption, and recomputed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CheckDigit {
    /// The last digit, by ISO/IEC 7812.
    Luhn,
    /// The last two of eleven.
    Cpf,
    /// The last two of fourteen; numeric CNPJ only.
    Cnpj,
    /// The last two of fourteen, of digits and capital letters. A number with letters gets a token with letters, a numeric one a numeric
    /// token, the same as with [`Self::Cnpj`].
    CnpjAlphanumeric,
    /// The third and fourth character of an IBAN. The country stays, digits become digits and letters letters. Check digits that a
    /// country has inside its own number are not recomputed.
    Iban,
}

impl CheckDigit {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Luhn => "luhn",
            Self::Cpf => "cpf",
            // One name: tokens of numeric ones are the same, and those with letters differ by their radix.
            Self::Cnpj | Self::CnpjAlphanumeric => "cnpj",
            Self::Iban => "iban",
        }
    }

    /// How many digits it has.
    pub fn count(self) -> usize {
        match self {
            Self::Luhn => 1,
            Self::Cpf | Self::Cnpj | Self::CnpjAlphanumeric | Self::Iban => 2,
        }
    }

    /// The characters of all numbers of the type, where they are fixed.
    pub fn length(self) -> Option<usize> {
        match self {
            Self::Cpf => Some(11),
            Self::Cnpj | Self::CnpjAlphanumeric => Some(14),
            Self::Luhn | Self::Iban => None,
        }
    }

    /// Characters in front of what can be encrypted.
    pub(in crate::transform) fn front(self) -> usize {
        if self == Self::Iban { 4 } else { 0 }
    }

    /// Characters behind it.
    pub(in crate::transform) fn back(self) -> usize {
        if self == Self::Iban { 0 } else { self.count() }
    }

    pub(super) fn valid(self, symbols: &[u8]) -> Result<(), ValueRefused> {
        let (fits, valid) = match self {
            Self::Luhn => (true, luhn::valid(symbols)),
            Self::Cpf => (symbols.len() == 11, cpf::valid(symbols)),
            Self::Cnpj | Self::CnpjAlphanumeric => (symbols.len() == 14, cnpj::valid(symbols)),
            Self::Iban => ((15..=34).contains(&symbols.len()), iban::valid(symbols)),
        };
        match valid {
            _ if !fits => Err(ValueRefused::WrongLength),
            false => Err(ValueRefused::CheckDigit),
            true => Ok(()),
        }
    }

    /// Writes the check digits that belong to the rest.
    pub(super) fn recompute(self, symbols: &mut [u8]) {
        if self == Self::Iban {
            if let Some((&mut [c0, c1, ref mut check @ ..], own)) = symbols.split_first_chunk_mut::<4>() {
                check.copy_from_slice(&iban::digits([c0, c1], own).unwrap_or_default());
            }
            return;
        }
        let (body, check) = symbols.split_at_mut(symbols.len().saturating_sub(self.count()));
        match self {
            Self::Luhn => check.copy_from_slice(luhn::digit(body).as_slice()),
            Self::Cpf => check.copy_from_slice(&cpf::digits(body).unwrap_or_default()),
            Self::Cnpj | Self::CnpjAlphanumeric | Self::Iban => check.copy_from_slice(&cnpj::digits(body).unwrap_or_default()),
        }
    }
}
