//! Bodies that clients send in chunks with trailers, because they do not know the checksum when they begin.

use std::borrow::Cow;

use crate::wire::Request;

/// The encoding of such a body, which S3 removes.
pub(super) const ENCODING: &str = "aws-chunked";

/// The body of a request without its chunks. There is none if it does not have the bytes that it names.
pub(super) fn body_of<'a>(request: &Request<'a>) -> Option<Cow<'a, [u8]>> {
    let has_chunks = request.header("x-amz-content-sha256").starts_with("STREAMING-")
        || request.header("content-encoding").contains(ENCODING);
    if has_chunks {
        joined(request.body).map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(request.body))
    }
}

fn joined(mut chunks: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::with_capacity(chunks.len());
    loop {
        let end = chunks.windows(2).position(|pair| pair == b"\r\n")?;
        let (head, rest) = chunks.split_at(end);
        // A signature may follow the size.
        let size = std::str::from_utf8(head).ok()?.split(';').next()?;
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            // The rest are trailers.
            return Some(body);
        }
        let (chunk, rest) = rest[2..].split_at_checked(size)?;
        body.extend_from_slice(chunk);
        chunks = rest.strip_prefix(b"\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_joined_without_their_signatures_and_trailers() {
        let chunks = b"a;chunk-signature=ab\r\n0123456789\r\n2\r\n\r\n\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n";
        assert_eq!(joined(chunks).unwrap(), b"0123456789\r\n");
        assert_eq!(joined(b"0\r\n\r\n").unwrap(), b"");
    }

    #[test]
    fn chunks_that_are_cut_off_have_no_body() {
        let whole = b"2\r\nab\r\n0\r\n";
        for bytes in 0..whole.len() {
            assert_eq!(joined(&whole[..bytes]), None);
        }
        for wrong in [&b"x\r\nab\r\n0\r\n"[..], b"1\r\nab\r\n0\r\n", b"ffffffffffffffff\r\nab"] {
            assert_eq!(joined(wrong), None);
        }
    }
}
