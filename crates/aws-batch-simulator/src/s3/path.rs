//! Bucket and key of a request.

/// What a request speaks of. Percent signs are decoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) bucket: String,
    pub(super) key: String,
}

impl Path {
    /// The bucket is in the host (`bucket.s3.us-east-1.amazonaws.com`), or else the first part of the path.
    pub(super) fn of(host: &str, path: &str) -> Self {
        let path = path.strip_prefix('/').unwrap_or(path);
        let (bucket, key) = match host.split_once(".s3.") {
            Some((bucket, _)) => (bucket, path),
            None => path.split_once('/').unwrap_or((path, "")),
        };
        Self {
            bucket: bucket.to_owned(),
            key: decoded(key),
        }
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(bucket: &str, key: &str) -> Path {
        Path {
            bucket: bucket.to_owned(),
            key: key.to_owned(),
        }
    }

    #[test]
    fn a_bucket_is_in_the_host_or_in_the_path() {
        assert_eq!(
            Path::of("large.s3.us-east-1.amazonaws.com", "/a/b"),
            path("large", "a/b")
        );
        assert_eq!(
            Path::of("s3.us-east-1.amazonaws.com", "/large/a/b"),
            path("large", "a/b")
        );
        assert_eq!(Path::of("127.0.0.1:4566", "/large/a%20%C3%BC%"), path("large", "a ü%"));
        assert_eq!(Path::of("127.0.0.1:4566", "/large"), path("large", ""));
    }
}
