//! Compressed inputs, recognized by their first bytes.

use std::io::{self, Cursor, Read};

use encoding_rs::Encoding;

use super::encoding::decoded;
use super::gzip::{self, GzipMembers};
use super::unsupported;

const ZSTD: &[u8] = b"\x28\xB5\x2F\xFD";

/// The first bytes of zstd's skippable frames, without the lowest one, which is 50 to 5F. Parallel compressors begin with one.
const SKIPPABLE: &[u8] = b"\x2A\x4D\x18";

/// The largest window that zstd unpacks, as a power of two: 128 MiB, as in its own program.
const WINDOW_LOG: u32 = 27;

/// How many times an input may be compressed: what is compressed already is sometimes compressed again when it is stored.
const LAYERS: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    fn of(start: &[u8]) -> Option<Self> {
        let is_skippable = || matches!(start, [0x50..=0x5F, rest @ ..] if rest.starts_with(SKIPPABLE));
        if start.starts_with(gzip::MAGIC) {
            Some(Self::Gzip)
        } else if start.starts_with(ZSTD) || is_skippable() {
            Some(Self::Zstd)
        } else {
            None
        }
    }
}

/// Whether an input that starts like this is compressed, or in another format that is not cut.
pub(super) fn is_compressed(start: &[u8]) -> bool {
    Compression::of(start).is_some() || unsupported::advice(start).is_some()
}

/// The content of an input as UTF-8, unpacked if it is gzip or zstd.
pub(crate) fn unpacked(
    input: Box<dyn Read + Send>,
    encoding: Option<&'static Encoding>,
) -> io::Result<Box<dyn Read + Send>> {
    let mut content = input;
    for layer in 0.. {
        // A line of text is enough, so that slow inputs are not waited for.
        let start = read_start(&mut content, unsupported::START_BYTES, is_line)?;
        let compression = Compression::of(&start);
        let advice = unsupported::advice(&start).filter(|advice| encoding.is_none() || *advice != unsupported::UTF_16);
        if let Some(advice) = advice {
            return Err(io::Error::new(io::ErrorKind::Unsupported, advice));
        }
        let whole = Cursor::new(start).chain(content);
        content = match compression {
            None => return decoded(Box::new(whole), encoding),
            Some(_) if layer == LAYERS => break,
            Some(Compression::Gzip) => Box::new(GzipMembers::new(whole)),
            Some(Compression::Zstd) => {
                let mut decoder = zstd::Decoder::new(whole)?;
                decoder.window_log_max(WINDOW_LOG)?;
                Box::new(Frames(decoder))
            }
        };
    }
    let words = "it is compressed more than twice: unpack it and pipe it in as `-`";
    Err(io::Error::new(io::ErrorKind::Unsupported, words))
}

/// Reads until this is enough or so much, in however many pieces the input arrives.
pub(crate) fn read_start(input: &mut impl Read, most: usize, is_enough: impl Fn(&[u8]) -> bool) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    let mut block = [0; 512];
    while start.len() < most && !is_enough(&start) {
        match input.read(&mut block) {
            Ok(0) => break,
            Ok(read) => start.extend_from_slice(&block[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(start)
}

/// Whether this is a line of text: no format has one before its mark.
fn is_line(start: &[u8]) -> bool {
    let line = start.iter().position(|byte| *byte == b'\n');
    line.is_some_and(|end| start[..end].iter().all(|byte| *byte >= b'\t'))
}

/// Zstd frames, with an error that says what to do about a large window.
struct Frames<R: Read>(zstd::Decoder<'static, io::BufReader<R>>);

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| {
            if !error.to_string().contains("too much memory") {
                return error;
            }
            let words = format!(
                "it is compressed with a window of more than {} MiB, which is the limit: `zstd -dc --long=31` unpacks it, \
                 and it can be piped in as `-`",
                1_u64 << (WINDOW_LOG - 20)
            );
            io::Error::new(io::ErrorKind::Unsupported, words)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;

    use super::*;

    const TEXT: &[u8] = b"{\"id\":1}\n{\"id\":2}\n";

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        unpacked(Box::new(Cursor::new(bytes)), None)?.read_to_end(&mut text)?;
        Ok(text)
    }

    #[test]
    fn the_content_tells_what_is_compressed() {
        assert_eq!(read(TEXT.to_vec()).unwrap(), TEXT);
        assert_eq!(read(gzip(TEXT)).unwrap(), TEXT);
        assert_eq!(read(zstd::encode_all(TEXT, 1).unwrap()).unwrap(), TEXT);
        assert_eq!(read(b"{".to_vec()).unwrap(), b"{");
        assert_eq!(read(Vec::new()).unwrap(), b"");
    }

    #[test]
    fn parts_that_were_compressed_alone_are_read_one_after_the_other() {
        assert_eq!(read([gzip(TEXT), gzip(TEXT)].concat()).unwrap(), [TEXT, TEXT].concat());
        let part = zstd::encode_all(TEXT, 1).unwrap();
        assert_eq!(read([part.clone(), part].concat()).unwrap(), [TEXT, TEXT].concat());
    }

    #[test]
    fn a_truncated_file_is_an_error_and_an_unread_format_says_what_to_do() {
        let whole = gzip(TEXT);
        assert!(read(whole[..whole.len() - 4].to_vec()).is_err());
        let refused = read(b"\xFD7zXZ\0...".to_vec()).unwrap_err().to_string();
        assert!(refused.contains("`xz -dc`"), "{refused}");
    }

    #[test]
    fn frames_of_zstd_may_be_skippable_anywhere() {
        let skippable = |kind: u8, content: &[u8]| {
            let length = u32::try_from(content.len()).unwrap().to_le_bytes();
            [&[kind, 0x2A, 0x4D, 0x18][..], &length, content].concat()
        };
        let part = zstd::encode_all(TEXT, 1).unwrap();
        let (first, last) = (skippable(0x50, b"\x1F\0\0\0"), skippable(0x5F, &vec![7; 70_000]));
        let whole = [&first[..], &part, &last, &part, &first].concat();
        assert!(is_compressed(&whole));
        assert_eq!(read(whole).unwrap(), [TEXT, TEXT].concat());
        assert_eq!(read(first.clone()).unwrap(), b"");
        assert!(read([part, b"oops".to_vec()].concat()).is_err());
    }

    #[test]
    fn a_window_above_the_limit_is_refused_with_what_to_do() {
        // A frame header with this window, and one block without compression.
        let frame = |log: u8| [ZSTD, &[0, (log - 10) << 3], &[0b1_0001, 0, 0], b"{}"].concat();
        assert_eq!(read(frame(27)).unwrap(), b"{}");
        let refused = read(frame(28)).unwrap_err().to_string();
        assert!(
            refused.contains("more than 128 MiB") && refused.contains("--long=31"),
            "{refused}"
        );
    }

    #[test]
    fn what_is_compressed_twice_is_unpacked_twice() {
        let twice = gzip(&gzip(TEXT));
        assert_eq!(read(twice.clone()).unwrap(), TEXT);
        assert_eq!(read(zstd::encode_all(&gzip(TEXT)[..], 1).unwrap()).unwrap(), TEXT);
        assert!(read(gzip(&twice)).unwrap_err().to_string().contains("more than twice"));
        assert_eq!(read(gzip(b"")).unwrap(), b"");
        let refused = read(gzip(b"PAR1\x15\x04")).unwrap_err().to_string();
        assert!(refused.contains("Parquet"), "{refused}");
    }
}
