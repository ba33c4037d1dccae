//! Keys as a listing of S3 has them.

use std::borrow::Cow;

use aws_sdk_s3::types::EncodingType;

/// The key itself. An emulator may not encode what it was asked to.
pub(super) fn decoded<'a>(listed: &'a str, encoding: Option<&EncodingType>) -> Cow<'a, str> {
    match encoding {
        Some(EncodingType::Url) => from_url(listed).map_or(Cow::Borrowed(listed), Cow::Owned),
        _ => Cow::Borrowed(listed),
    }
}

/// As in a form: a space is `+`. `None` if a percent sign has no two digits behind it, or the text is not UTF-8.
pub(crate) fn from_url(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => digit(rest.next())? << 4 | digit(rest.next())?,
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

fn digit(byte: Option<u8>) -> Option<u8> {
    let digit = char::from(byte?).to_digit(16)?;
    u8::try_from(digit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_decoded_only_if_it_was_encoded() {
        let url = Some(&EncodingType::Url);
        assert_eq!(decoded("a+b%2Bc%25/%c3%a9%01", url), "a b+c%/é\u{1}");
        assert_eq!(decoded("a+b%2B", None), "a+b%2B");
        for wrong in ["100%", "%+1", "%ff"] {
            assert_eq!(decoded(wrong, url), wrong);
        }
    }
}
