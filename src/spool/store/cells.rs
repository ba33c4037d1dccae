//! Entries in the pages of a file, without the structure around them. From <https://www.sqlite.org/fileformat2.html>.

use super::rows::{StoredEntry, checksum, unsigned};

/// Bytes of a page that can be used.
const USABLE: usize = 4_096;

/// What a cell may take in its page.
const LONGEST: usize = USABLE - 35;

/// What of a longer one is at least in its page.
const LEAST: usize = (USABLE - 12) * 32 / 255 - 23;

/// The types of a `NULL`, of a 0 and of a 1.
const NULL: u64 = 0;
const ZERO: u64 = 8;
const ONE: u64 = 9;

/// The entry whose cell begins here, if one does. Nothing else has its checksum.
pub(super) fn entry(bytes: &[u8], mut page: impl FnMut(u32) -> Option<Vec<u8>>) -> Option<StoredEntry> {
    let mut rest = bytes;
    let length = usize::try_from(varint(&mut rest)?).ok()?;
    let number = varint(&mut rest)?;
    let types = types(rest)?;
    let payload = payload(rest, length, &mut page)?;
    let mut values = payload.get(usize::from(*payload.first()?)..)?;
    let [NULL, spooled_at, json, form, sum, ref cause @ ..] = types[..] else {
        return None;
    };
    let spooled_at = integer(spooled_at, &mut values)?;
    let json = text(json, &mut values)?;
    let (form, sum) = (integer(form, &mut values)?, integer(sum, &mut values)?);
    let cause = match cause {
        [] => None,
        [cause] => Some(String::from_utf8(text(*cause, &mut values)?).ok()?),
        _ => return None,
    };
    let number = unsigned(i64::try_from(number).ok()?);
    (i64::from(checksum(number, spooled_at, form, &json)) == sum).then_some(StoredEntry {
        number,
        spooled_at,
        json,
        form,
        cause,
    })
}

/// The types of the columns, if they may be those of an entry.
fn types(bytes: &[u8]) -> Option<Vec<u64>> {
    let length = usize::from(*bytes.first()?);
    let mut rest = bytes.get(1..length)?;
    let mut types = Vec::new();
    while !rest.is_empty() && types.len() < 7 {
        types.push(varint(&mut rest)?);
    }
    let is_of_entry = matches!(types.len(), 5 | 6) && types[0] == NULL && is_text(types[2]);
    is_of_entry.then_some(types)
}

/// The whole content of a cell, of which a part may be in other pages.
fn payload(bytes: &[u8], length: usize, page: &mut impl FnMut(u32) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    if length <= LONGEST {
        return bytes.get(..length).map(<[u8]>::to_vec);
    }
    let most = LEAST + length.checked_sub(LEAST)? % (USABLE - 4);
    let local = if most <= LONGEST { most } else { LEAST };
    let mut payload = bytes.get(..local)?.to_vec();
    let mut next = bytes.get(local..local + 4)?.to_vec();
    while payload.len() < length {
        let content = page(u32::from_be_bytes(next.try_into().ok()?))?;
        let missing = (length - payload.len()).min(USABLE - 4);
        payload.extend(content.get(4..4 + missing)?);
        next = content.get(..4)?.to_vec();
    }
    Some(payload)
}

fn is_text(kind: u64) -> bool {
    kind >= 13 && kind % 2 == 1
}

fn text(kind: u64, values: &mut &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from((kind.checked_sub(13)?) / 2).ok()?;
    let (text, rest) = is_text(kind).then_some(*values)?.split_at_checked(length)?;
    *values = rest;
    Some(text.to_vec())
}

fn integer(kind: u64, values: &mut &[u8]) -> Option<i64> {
    let length = match kind {
        ZERO => return Some(0),
        ONE => return Some(1),
        1..=4 => usize::try_from(kind).ok()?,
        5 => 6,
        6 => 8,
        _ => return None,
    };
    let (bytes, rest) = values.split_at_checked(length)?;
    *values = rest;
    let sign = if bytes[0] >= 0x80 { -1 } else { 0 };
    Some(bytes.iter().fold(sign, |number, byte| number << 8 | i64::from(*byte)))
}

/// A number of 1 to 9 bytes.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if place == 8 {
            return Some(number << 8 | u64::from(*byte));
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if *byte < 0x80 {
            break;
        }
    }
    Some(number)
}
