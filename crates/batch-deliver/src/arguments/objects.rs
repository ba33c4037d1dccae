//! The options of `delete-objects`.

use clap::Args;

use super::common::CommonArguments;
use crate::format::TextFormat;
use crate::source::SCHEME;

const BUCKET: &str = "The bucket, and a prefix that every key must have: logs or s3://logs/2026/";

const FORMAT: &str =
    "Lines that are keys, or rows of an inventory or a manifest; or JSON with Key and optionally VersionId";

#[derive(Debug, Args)]
pub(crate) struct DeleteObjectsArguments {
    #[arg(long, help = BUCKET, value_name = "BUCKET", value_parser = bucket)]
    pub(crate) bucket: BucketArgument,
    #[arg(long, help = FORMAT, value_enum, default_value_t = TextFormat::Text)]
    pub(crate) format: TextFormat,
    /// Start without asking on a terminal
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Do not look up whether the first keys exist
    #[arg(long)]
    pub(crate) no_check: bool,
    #[command(flatten)]
    pub(crate) common: CommonArguments,
}

/// A bucket, and a prefix of keys, which may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BucketArgument {
    pub(crate) bucket: String,
    pub(crate) prefix: String,
}

fn bucket(text: &str) -> Result<BucketArgument, String> {
    let (bucket, prefix) = match text.strip_prefix(SCHEME) {
        Some(url) => url.split_once('/').unwrap_or((url, "")),
        None => (text, ""),
    };
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if bucket.is_empty() || !bucket.bytes().all(is_allowed) {
        return Err(format!("a bucket is needed, such as logs or {SCHEME}logs/2026/"));
    }
    Ok(BucketArgument {
        bucket: bucket.to_owned(),
        prefix: prefix.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_may_have_a_prefix() {
        for (text, name, prefix) in [
            ("logs", "logs", ""),
            ("s3://logs", "logs", ""),
            ("s3://logs/", "logs", ""),
            ("s3://logs/2026/11", "logs", "2026/11"),
        ] {
            let expected = BucketArgument {
                bucket: name.to_owned(),
                prefix: prefix.to_owned(),
            };
            assert_eq!(bucket(text), Ok(expected), "{text}");
        }
        for text in ["", "s3://", "s3:///2026", "logs/2026", "arn:aws:s3:::logs"] {
            assert!(bucket(text).is_err(), "{text}");
        }
    }
}
