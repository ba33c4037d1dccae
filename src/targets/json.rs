//! JSON, written or only measured: whoever knows how to write something can also tell how long it is.

use aws_smithy_types::base64;

/// Something that JSON is written to. What goes into it is the writer's affair: nothing is checked.
pub(crate) trait Json {
    /// A part that is JSON already.
    fn raw(&mut self, part: &str);

    /// What a string has between its quotes.
    fn escaped(&mut self, text: &str);

    /// Bytes as base64 with padding, between quotes.
    fn base64(&mut self, bytes: &[u8]);

    /// A string.
    fn string(&mut self, text: &str) {
        self.raw("\"");
        self.escaped(text);
        self.raw("\"");
    }

    /// A list or the members of an object, with commas between them.
    fn list<T>(&mut self, parts: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        for (place, part) in parts.into_iter().enumerate() {
            if place > 0 {
                self.raw(",");
            }
            write(self, part);
        }
    }
}

impl Json for Vec<u8> {
    #[inline]
    fn raw(&mut self, part: &str) {
        self.extend_from_slice(part.as_bytes());
    }

    fn escaped(&mut self, text: &str) {
        let bytes = text.as_bytes();
        match first_escape(bytes) {
            None => self.extend_from_slice(bytes),
            Some(place) => {
                // Where there is one there are more: JSON within JSON has quotes everywhere.
                let (clean, rest) = bytes.split_at(place);
                self.extend_from_slice(clean);
                rest.chunks(BLOCK).for_each(|block| escape_block(self, block));
            }
        }
    }

    fn base64(&mut self, bytes: &[u8]) {
        self.raw("\"");
        self.raw(&base64::encode(bytes));
        self.raw("\"");
    }
}

/// Bytes that are looked at together.
const BLOCK: usize = 16;

/// Writes up to [`BLOCK`] bytes, with their escapes.
fn escape_block(json: &mut Vec<u8>, block: &[u8]) {
    if let Ok(block) = <&[u8; BLOCK]>::try_from(block)
        && !any_needs_escape(block)
    {
        return json.extend_from_slice(block);
    }
    // Nobody can guess which bytes are escaped, so there is no branch for them.
    let mut spelled = [0; 2 * BLOCK];
    let mut end = 0;
    for &byte in block {
        let Spelling { bytes, length } = SPELLINGS[usize::from(byte)];
        if length == 0 {
            json.extend_from_slice(&spelled[..end]);
            end = 0;
            code(json, byte);
        }
        spelled[end..end + bytes.len()].copy_from_slice(&bytes);
        end += usize::from(length);
    }
    json.extend_from_slice(&spelled[..end]);
}

#[cold]
fn code(json: &mut Vec<u8>, byte: u8) {
    json.raw(&format!("\\u{byte:04x}"));
}

/// What stands for a byte in a string: itself, or a backslash and a letter.
#[derive(Clone, Copy)]
struct Spelling {
    bytes: [u8; 2],
    /// How many of the two; 0 for a byte that has no letter, only its code.
    length: u8,
}

const SPELLINGS: [Spelling; 256] = {
    let itself = Spelling {
        bytes: [0; 2],
        length: 1,
    };
    let mut spellings = [itself; 256];
    let mut byte = u8::MAX;
    loop {
        spellings[byte as usize] = match letter(byte) {
            Some(letter) => Spelling {
                bytes: [b'\\', letter],
                length: 2,
            },
            None if needs_escape(byte) => Spelling { length: 0, ..itself },
            None => Spelling {
                bytes: [byte, 0],
                ..itself
            },
        };
        if byte == 0 {
            break spellings;
        }
        byte -= 1;
    }
};

/// The first byte that needs an escape.
#[inline]
pub(super) fn first_escape(bytes: &[u8]) -> Option<usize> {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let (start, has_any) = match blocks.iter().position(any_needs_escape) {
        Some(number) => (number * BLOCK, true),
        None => (bytes.len() - rest.len(), any_of_few_needs_escape(rest)),
    };
    let first = |bytes: &[u8]| bytes.iter().position(|byte| needs_escape(*byte));
    if has_any {
        Some(start + first(&bytes[start..])?)
    } else {
        None
    }
}

/// Nearly no block has any, so many bytes are looked at at once, by instructions for as many, and without an early end.
fn any_needs_escape<const N: usize>(bytes: &[u8; N]) -> bool {
    bytes.iter().fold(false, |found, byte| found | needs_escape(*byte))
}

/// Of fewer bytes than [`BLOCK`]: the first and the last ones, which may overlap.
fn any_of_few_needs_escape(bytes: &[u8]) -> bool {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        any_needs_escape(first) | any_needs_escape(last)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        any_needs_escape(first) | any_needs_escape(last)
    } else {
        bytes.iter().any(|byte| needs_escape(*byte))
    }
}

const fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// The letter that stands for a byte that needs an escape; `None` for those that have only their code.
pub(super) const fn letter(byte: u8) -> Option<u8> {
    match byte {
        b'"' | b'\\' => Some(byte),
        0x08 => Some(b'b'),
        0x0C => Some(b'f'),
        b'\n' => Some(b'n'),
        b'\r' => Some(b'r'),
        b'\t' => Some(b't'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_string_is_read_as_it_was(text in "[\\x00-\\x7f€ü😀\"\\\\]{0,40}") {
            let mut json = Vec::new();
            json.string(&text);
            prop_assert_eq!(serde_json::from_slice::<String>(&json).unwrap(), text);
        }

        #[test]
        fn a_long_text_with_few_escapes_is_read_as_it_was(text in "([a-zé€]{0,40}[\"\\\\\n\x01]){1,4}[a-z😀]{0,40}") {
            let mut json = Vec::new();
            json.string(&text);
            prop_assert_eq!(serde_json::from_slice::<String>(&json).unwrap(), text);
        }

        #[test]
        fn bytes_are_read_as_they_were(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut json = Vec::new();
            json.base64(&bytes);
            let text: String = serde_json::from_slice(&json).unwrap();
            prop_assert_eq!(base64::decode(text).unwrap(), bytes);
        }

        #[test]
        fn the_first_byte_that_needs_an_escape_is_found(bytes in prop::collection::vec(any::<u8>(), 0..40), rare in any::<bool>()) {
            let common = |byte: &u8| if rare && !byte.is_multiple_of(16) { byte | 0x40 } else { *byte };
            let bytes: Vec<u8> = bytes.iter().map(common).collect();
            prop_assert_eq!(first_escape(&bytes), bytes.iter().position(|byte| needs_escape(*byte)));
        }
    }
}
