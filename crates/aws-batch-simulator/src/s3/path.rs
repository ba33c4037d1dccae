//! Bucket and key of a request.

use crate::percent::decoded;

/// Bucket and key of a request, percent-decoded.
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
