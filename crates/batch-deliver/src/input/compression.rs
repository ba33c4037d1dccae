//! Compressed inputs, recognized by their first bytes.

use std::io::{self, Cursor, Read};

use flate2::read::MultiGzDecoder;

/// Bytes by which a format is recognized.
const MAGIC: usize = 6;

const GZIP: &[u8] = b"\x1F\x8B";

const ZSTD: &[u8] = b"\x28\xB5\x2F\xFD";

/// Formats that are recognized but not unpacked, and the program that unpacks them.
const UNREAD: [(&[u8], &str); 4] = [
    (b"BZh", "bzip2 -dc"),
    (b"\xFD7zXZ\0", "xz -dc"),
    (b"PK\x03\x04", "unzip -p"),
    (b"\x04\x22\x4D\x18", "lz4 -dc"),
];

/// Whether an input that starts like this is compressed, in a known format.
pub(super) fn is_compressed(start: &[u8]) -> bool {
    let unread = UNREAD.iter().map(|(magic, _)| *magic);
    unread.chain([GZIP, ZSTD]).any(|magic| start.starts_with(magic))
}

/// The content of an input, unpacked if it is gzip or zstd.
pub(crate) fn unpacked(mut input: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut first = Vec::with_capacity(MAGIC);
    input.by_ref().take(MAGIC as u64).read_to_end(&mut first)?;
    if let Some((_, program)) = UNREAD.iter().find(|(magic, _)| first.starts_with(magic)) {
        let advice = format!("only gzip and zstd are unpacked: unpack it with `{program}` and pipe it in as `-`");
        return Err(io::Error::new(io::ErrorKind::Unsupported, advice));
    }
    let is = |magic: &[u8]| first.starts_with(magic);
    let (is_gzip, is_zstd) = (is(GZIP), is(ZSTD));
    let whole = Cursor::new(first).chain(input);
    Ok(if is_gzip {
        Box::new(MultiGzDecoder::new(whole))
    } else if is_zstd {
        Box::new(zstd::Decoder::new(whole)?)
    } else {
        Box::new(whole)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const TEXT: &[u8] = b"{\"id\":1}\n{\"id\":2}\n";

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        unpacked(Box::new(Cursor::new(bytes)))?.read_to_end(&mut text)?;
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
}
