//! Semantic types of financial data: for now their check digits.
//!
//! Each type is a module with the same two entry points:
//!
//! | need | call |
//! |---|---|
//! | is this value, as written, a well-formed number of the type? | [`luhn::valid`], [`cpf::valid`], [`cnpj::valid`], [`iban::valid`] |
//! | which check digits belong to this body? | [`luhn::digit`], [`cpf::digits`], [`cnpj::digits`], [`iban::digits`] |
//!
//! Both work on bytes, allocate nothing and never fail on any input: what is not of the type is `false` or `None`.
//! Only ASCII counts. A digit of another script, a lower-case letter in a CNPJ, a mask in the wrong place or white space
//! around the value make it invalid: canonicalize first where that is wanted.
//!
//! There is no I/O here and no dependency.
pub mod cnpj;
pub mod cpf;
pub mod iban;
pub mod luhn;

/// Weighted sum modulo 11 as Brazilian taxpayer numbers use it: the check character, 0 where the rest is below 2.
///
/// The value of a character is its ASCII code less 48, which for digits is the digit (Receita Federal, IN RFB 2229/2024).
fn modulo_11(characters: &[u8], first_weight: u32, wrap: u32) -> u8 {
    let mut weight = first_weight;
    let mut sum: u32 = 0;
    for &character in characters {
        sum += u32::from(character.saturating_sub(b'0')) * weight;
        weight = if weight == 2 { wrap } else { weight - 1 };
    }
    match sum % 11 {
        0 | 1 => b'0',
        rest => b'0' + (11 - rest) as u8,
    }
}

/// Copies the characters of a value that is either bare or written in the one usual mask.
///
/// `mask` has `#` where a character of the number stands; anything else must stand there literally.
fn unmask<const N: usize>(value: &[u8], mask: &[u8]) -> Option<[u8; N]> {
    if let Ok(bare) = <[u8; N]>::try_from(value) {
        return Some(bare);
    }
    if value.len() != mask.len() {
        return None;
    }
    let mut bare = [0; N];
    let mut places = bare.iter_mut();
    for (&byte, &shape) in value.iter().zip(mask) {
        match shape {
            b'#' => *places.next()? = byte,
            literal if literal == byte => {}
            _ => return None,
        }
    }
    Some(bare)
}
