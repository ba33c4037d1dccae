//! Inputs in other encodings than UTF-8.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Bytes that are decoded at once.
const BLOCK: usize = 32 << 10;

/// The encoding that a byte order mark at the start of an input shows, if it is not UTF-8.
pub(super) fn marked(start: &[u8]) -> Option<&'static Encoding> {
    let (encoding, _) = Encoding::for_bom(start)?;
    [UTF_16LE, UTF_16BE].into_iter().find(|other| *other == encoding)
}

/// The input as UTF-8, without its byte order mark, which takes precedence over the encoding that is given.
pub(super) fn decoded(
    mut input: Box<dyn Read + Send>,
    encoding: Option<&'static Encoding>,
) -> io::Result<Box<dyn Read + Send>> {
    let mut start = Vec::new();
    input.by_ref().take(3).read_to_end(&mut start)?;
    let marked = Encoding::for_bom(&start);
    let encoding = marked.map_or(encoding.unwrap_or(UTF_8), |(encoding, _)| encoding);
    if encoding == UTF_8 {
        let mark = marked.map_or(0, |(_, length)| length);
        // Flaws name the lines that are not UTF-8.
        return Ok(Box::new(Cursor::new(start.split_off(mark)).chain(input)));
    }
    let input = Cursor::new(start).chain(input);
    Ok(Box::new(DecodedReader {
        input: BufReader::with_capacity(BLOCK, input),
        decoder: encoding.new_decoder(),
        at_end: false,
        text: vec![0; 3 * BLOCK],
        start: 0,
        end: 0,
    }))
}

/// Decodes block by block.
struct DecodedReader<R> {
    input: BufReader<R>,
    decoder: Decoder,
    at_end: bool,
    text: Vec<u8>,
    /// The text that was not read.
    start: usize,
    end: usize,
}

impl<R: Read> DecodedReader<R> {
    fn decode(&mut self) -> io::Result<()> {
        let encoded = self.input.fill_buf()?;
        self.at_end = encoded.is_empty();
        let (result, read, written) =
            self.decoder
                .decode_to_utf8_without_replacement(encoded, &mut self.text, self.at_end);
        self.input.consume(read);
        (self.start, self.end) = (0, written);
        match result {
            DecoderResult::Malformed(..) => {
                let name = self.decoder.encoding().name();
                let words = format!("the input is not valid {name}: give its encoding as --encoding NAME");
                Err(io::Error::new(io::ErrorKind::InvalidData, words))
            }
            DecoderResult::InputEmpty | DecoderResult::OutputFull => Ok(()),
        }
    }
}

impl<R: Read> Read for DecodedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.start == self.end {
            if self.at_end {
                return Ok(0);
            }
            self.decode()?;
        }
        let taken = (&self.text[self.start..self.end]).read(buffer)?;
        self.start += taken;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: Vec<u8>, label: Option<&str>) -> io::Result<String> {
        let encoding = label.map(|label| Encoding::for_label(label.as_bytes()).unwrap());
        let mut text = String::new();
        decoded(Box::new(Cursor::new(bytes)), encoding)?.read_to_string(&mut text)?;
        Ok(text)
    }

    proptest! {
        #[test]
        fn a_byte_order_mark_shows_utf_16(text in "[a\u{e4}\u{20ac}\u{1f600}\n]{0,40}", is_big in any::<bool>()) {
            let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
            let bytes = units.flat_map(|unit| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect();
            prop_assert_eq!(read(bytes, None).unwrap(), text);
        }
    }

    #[test]
    fn a_given_encoding_is_used_where_no_mark_shows_another() {
        let text = "stra\u{df}e";
        assert_eq!(read(b"stra\xDFe".to_vec(), Some("latin1")).unwrap(), text);
        let marked = ["\u{feff}", text].concat();
        assert_eq!(read(marked.into_bytes(), Some("latin1")).unwrap(), text);
        let long = b"\xDF".repeat(100_000);
        assert_eq!(read(long, Some("windows-1252")).unwrap(), "\u{df}".repeat(100_000));
    }

    #[test]
    fn an_interrupted_read_of_a_decoded_input_repeats_nothing() {
        struct InterruptedReader(bool);
        impl Read for InterruptedReader {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                if std::mem::replace(&mut self.0, true) {
                    return Ok(0);
                }
                Err(io::ErrorKind::Interrupted.into())
            }
        }
        let input = Cursor::new(b"a\xDF\n")
            .chain(InterruptedReader(false))
            .chain(Cursor::new(b"b\n"));
        let mut text = String::new();
        let mut decoded = decoded(Box::new(input), Encoding::for_label(b"latin1")).unwrap();
        decoded.read_to_string(&mut text).unwrap();
        assert_eq!(text, "a\u{df}\nb\n");
    }

    #[test]
    fn half_a_character_is_an_error() {
        let error = read(b"\xFF\xFEa\0b".to_vec(), None).unwrap_err().to_string();
        assert!(error.contains("not valid UTF-16LE"), "{error}");
    }
}
