//! Whether a Parquet footer that can be read belongs to a file with encrypted columns: the decoder, built without decryption, does not say.
//!
//! Source: `FileMetaData.encryption_algorithm` (field 8) of parquet-format's `parquet.thrift`, in the Thrift compact protocol.

/// The field that only encrypted files have.
const ENCRYPTION_ALGORITHM: i64 = 8;
/// Structs inside structs; the format has six.
const DEPTH: u32 = 32;

/// Goes through the footer's fields without keeping any. Bytes that are no footer are not encrypted: the decoder will say what they are.
pub(super) fn is_encrypted(footer: &[u8]) -> bool {
    let mut rest = footer;
    let mut last = 0i64;
    loop {
        match field(&mut rest, &mut last) {
            Some(Some(_)) if last == ENCRYPTION_ALGORITHM => return true,
            Some(Some(kind)) if skip(&mut rest, kind, DEPTH).is_some() => {}
            _ => return false,
        }
    }
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    Some(*first)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let next = byte(rest)?;
        number |= u64::from(next & 0x7f) << shift;
        if next & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn pass(rest: &mut &[u8], length: u64) -> Option<()> {
    *rest = rest.get(usize::try_from(length).ok()?..)?;
    Some(())
}

/// The type of the next field, whose number goes into `last`; `Some(None)` at the end of a struct.
fn field(rest: &mut &[u8], last: &mut i64) -> Option<Option<u8>> {
    let head = byte(rest)?;
    if head == 0 {
        return Some(None);
    }
    *last = match head >> 4 {
        0 => {
            let number = varint(rest)?;
            (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
        }
        delta => last.checked_add(i64::from(delta))?,
    };
    Some(Some(head & 0x0f))
}

fn skip(rest: &mut &[u8], kind: u8, depth: u32) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    match kind {
        // Booleans of fields are in their type.
        1 | 2 => Some(()),
        3 => pass(rest, 1),
        4..=6 => varint(rest).map(|_| ()),
        7 => pass(rest, 8),
        8 => {
            let length = varint(rest)?;
            pass(rest, length)
        }
        9 | 10 => {
            let head = byte(rest)?;
            let length = if head >> 4 == 15 { varint(rest)? } else { u64::from(head >> 4) };
            let kind = head & 0x0f;
            (0..length).try_for_each(|_| if matches!(kind, 1 | 2) { pass(rest, 1) } else { skip(rest, kind, depth) })
        }
        12 => {
            let mut last = 0;
            while let Some(kind) = field(rest, &mut last)? {
                skip(rest, kind, depth)?;
            }
            Some(())
        }
        _ => None,
    }
}
