//! How long JSON would be.

use aws_smithy_types::base64;

use crate::targets::json::{Json, first_escape, letter};

/// Counts bytes.
#[derive(Default)]
pub(super) struct Length(pub(super) usize);

impl Json for Length {
    fn raw(&mut self, part: &str) {
        self.0 += part.len();
    }

    fn escaped(&mut self, text: &str) {
        self.0 += text.len();
        let mut bytes = text.as_bytes();
        while let Some(place) = first_escape(bytes) {
            let escape = if letter(bytes[place]).is_some() {
                r"\n"
            } else {
                r"\u0000"
            };
            self.0 += escape.len() - 1;
            bytes = &bytes[place + 1..];
        }
    }

    fn base64(&mut self, bytes: &[u8]) {
        self.0 += r#""""#.len() + base64::encoded_length(bytes.len());
    }
}

/// Counts the bytes that there are at most, without a look at any text: as if all of it were escaped.
#[derive(Default)]
pub(super) struct LongestLength(pub(super) usize);

impl Json for LongestLength {
    fn raw(&mut self, part: &str) {
        self.0 += part.len();
    }

    fn escaped(&mut self, text: &str) {
        self.0 += r"\u0000".len() * text.len();
    }

    fn base64(&mut self, bytes: &[u8]) {
        self.0 += r#""""#.len() + base64::encoded_length(bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_string_is_as_long_as_counted(text in "[\\x00-\\x7f€ü😀\"\\\\]{0,40}") {
            let (mut json, mut length, mut longest) = (Vec::new(), Length::default(), LongestLength::default());
            json.string(&text);
            length.string(&text);
            longest.string(&text);
            prop_assert_eq!(json.len(), length.0);
            prop_assert!(longest.0 >= length.0);
        }

        #[test]
        fn bytes_are_as_long_as_counted(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let (mut json, mut length, mut longest) = (Vec::new(), Length::default(), LongestLength::default());
            json.base64(&bytes);
            length.base64(&bytes);
            longest.base64(&bytes);
            prop_assert_eq!((json.len(), json.len()), (length.0, longest.0));
        }
    }
}
