//! A second, naive reader of Examples that shows values, for tests only.
use std::collections::BTreeMap;

/// A feature's values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum List {
    Bytes(Vec<Vec<u8>>),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return value;
        }
    }
    unreachable!()
}

fn take<'a>(bytes: &mut &'a [u8]) -> (u8, &'a [u8]) {
    let tag = bytes[0];
    *bytes = &bytes[1..];
    let length = usize::try_from(varint(bytes)).unwrap();
    let (head, rest) = bytes.split_at(length);
    *bytes = rest;
    (tag, head)
}

/// Panics on anything that our writer does not write.
pub(crate) fn decode(mut example: &[u8]) -> BTreeMap<String, List> {
    let (_, mut features) = take(&mut example);
    assert!(example.is_empty());
    let mut out = BTreeMap::new();
    while !features.is_empty() {
        let (_, mut entry) = take(&mut features);
        let (_, key) = take(&mut entry);
        let (_, mut feature) = take(&mut entry);
        assert!(entry.is_empty());
        let (kind, mut list) = take(&mut feature);
        let (_, mut values) = take(&mut list);
        assert!(list.is_empty() && feature.is_empty());
        let values = match kind {
            0x0a => List::Bytes(vec![values.to_vec()]),
            0x12 => List::Floats(values.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()),
            0x1a => {
                let mut ints = Vec::new();
                while !values.is_empty() {
                    ints.push(varint(&mut values).cast_signed());
                }
                List::Ints(ints)
            }
            other => panic!("kind {other}"),
        };
        assert!(out.insert(String::from_utf8(key.to_vec()).unwrap(), values).is_none());
    }
    out
}
