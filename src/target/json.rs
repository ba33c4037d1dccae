//! JSON, written or only measured: whoever knows how to write something also knows how long it is.

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
    fn raw(&mut self, part: &str) {
        self.extend_from_slice(part.as_bytes());
    }

    fn escaped(&mut self, text: &str) {
        if !needs_escapes(text) {
            return self.raw(text);
        }
        for byte in text.bytes() {
            match escape(byte) {
                Escape::None => self.push(byte),
                Escape::Letter(letter) => self.extend([b'\\', letter]),
                Escape::Code => self.extend(format!("\\u{byte:04x}").bytes()),
            }
        }
    }

    fn base64(&mut self, bytes: &[u8]) {
        self.raw("\"");
        self.raw(&base64::encode(bytes));
        self.raw("\"");
    }
}

/// Counts bytes.
#[derive(Default)]
pub(crate) struct Length(pub(crate) usize);

impl Json for Length {
    fn raw(&mut self, part: &str) {
        self.0 += part.len();
    }

    fn escaped(&mut self, text: &str) {
        if !needs_escapes(text) {
            return self.raw(text);
        }
        let lengths = text.bytes().map(|byte| match escape(byte) {
            Escape::None => 1,
            Escape::Letter(_) => r"\n".len(),
            Escape::Code => r"\u0000".len(),
        });
        self.0 += lengths.sum::<usize>();
    }

    fn base64(&mut self, bytes: &[u8]) {
        self.0 += r#""""#.len() + base64::encoded_length(bytes.len());
    }
}

/// Nearly no text does. Without an early end, so that many bytes are looked at at once.
fn needs_escapes(text: &str) -> bool {
    let found = text.bytes().fold(0, |found, byte| {
        found | u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\')
    });
    found > 0
}

enum Escape {
    None,
    Letter(u8),
    Code,
}

fn escape(byte: u8) -> Escape {
    match byte {
        b'"' | b'\\' => Escape::Letter(byte),
        0x08 => Escape::Letter(b'b'),
        0x0C => Escape::Letter(b'f'),
        b'\n' => Escape::Letter(b'n'),
        b'\r' => Escape::Letter(b'r'),
        b'\t' => Escape::Letter(b't'),
        0..=0x1F => Escape::Code,
        _ => Escape::None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_string_is_read_as_it_was_and_is_as_long_as_counted(text in "[\\x00-\\x7f€ü😀\"\\\\]{0,40}") {
            let (mut json, mut length) = (Vec::new(), Length::default());
            json.string(&text);
            length.string(&text);
            prop_assert_eq!(json.len(), length.0);
            prop_assert_eq!(serde_json::from_slice::<String>(&json).unwrap(), text);
        }

        #[test]
        fn bytes_are_as_long_as_counted(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let (mut json, mut length) = (Vec::new(), Length::default());
            json.base64(&bytes);
            length.base64(&bytes);
            prop_assert_eq!(json.len(), length.0);
            let text: String = serde_json::from_slice(&json).unwrap();
            prop_assert_eq!(base64::decode(text).unwrap(), bytes);
        }
    }
}
