//! Keys of objects to delete.

use aws_sdk_s3::types::ObjectIdentifier;
use serde::Deserialize;

use super::attribute::{unreadable, utf8};
use crate::format::one_per_line::Parse;
use crate::format::text::{LISTING, is_listing, is_object};
use crate::source::{Flaw, SCHEME};

/// Keys of objects: each line is a key, or a JSON object that contains it and perhaps a version id, as listings have them.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    pub(crate) is_json: bool,
    /// The prefix that every key must have.
    pub(crate) prefix: String,
}

/// The members of a listing; its others do not matter.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ListedObject {
    key: String,
    version_id: Option<String>,
}

const DATA: &str =
    "an object is a JSON object with `Key` and optionally `VersionId`: if each line is a key, use --format text";

const SYNTAX: &str = "this is not JSON: if each line is a key, use --format text";

const MEMBERS: &str = "this is a JSON object, and would be deleted as a key: use --format json";

const LISTED: &str = "this is a line of `aws s3 ls`, and would be deleted as a key: `aws s3api list-objects-v2 --bucket BUCKET \
                      --query 'Contents[].[Key]' --output text` writes the keys";

const URL: &str = "this is a URL, and would be deleted as a key: a key is needed, without s3:// and the bucket";

impl Parse<ObjectIdentifier> for Keys {
    fn parse(&mut self, line: &[u8]) -> Result<ObjectIdentifier, Flaw> {
        let (key, version_id) = if self.is_json {
            let read = serde_json::from_slice(line);
            let ListedObject { key, version_id } = read.map_err(|error| {
                if is_listing(line) {
                    Flaw::new(LISTING)
                } else {
                    unreadable(&error, line, DATA, SYNTAX)
                }
            })?;
            (key, version_id)
        } else {
            let key = utf8(line)?;
            if is_object(line) {
                return Err(Flaw::new(if is_listing(line) { LISTING } else { MEMBERS }));
            }
            if is_line_of_ls(key) {
                return Err(Flaw::new(LISTED));
            }
            if key.starts_with(SCHEME) {
                return Err(Flaw::new(URL));
            }
            (key.to_owned(), None)
        };
        if !key.starts_with(&self.prefix) {
            let words = "the key does not begin with the prefix of --bucket, below which alone objects are deleted";
            return Err(Flaw::new(words));
        }
        let object = ObjectIdentifier::builder().key(key).set_version_id(version_id);
        object.build().map_err(|_| Flaw::new("a key is needed"))
    }
}

/// Whether this is how `aws s3 ls` shows an object or a folder: `2026-01-01 00:00:00         12 key`, `PRE folder/`.
fn is_line_of_ls(line: &str) -> bool {
    const TIME: &[u8] = b"0000-00-00 00:00:00 ";
    let is_time = |(shape, byte): (&u8, &u8)| match shape {
        b'0' => byte.is_ascii_digit(),
        other => byte == other,
    };
    let is_size = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if line.starts_with(' ') {
        return line.trim_start_matches(' ').starts_with("PRE ");
    }
    let begins_with_time = line.len() > TIME.len() && TIME.iter().zip(line.as_bytes()).all(is_time);
    begins_with_time
        && line[TIME.len()..]
            .trim_start_matches(' ')
            .split_once(' ')
            .is_some_and(|(size, _)| !size.is_empty() && is_size(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(is_json: bool, prefix: &str, line: &str) -> Result<(String, Option<String>), String> {
        let mut keys = Keys {
            is_json,
            prefix: prefix.to_owned(),
        };
        let object = keys.parse(line.as_bytes()).map_err(|flaw| flaw.to_string())?;
        Ok((object.key, object.version_id))
    }

    #[test]
    fn a_line_is_a_key_as_it_is() {
        for key in [
            "a/b c",
            " a ",
            "\"quoted\"",
            "{not json",
            "a,b",
            "[a]",
            "2026-01-01 00:00:00 a b",
            "2026-01-01 00:00:00é1 a",
            "PRE a/",
        ] {
            assert_eq!(parsed(false, "", key), Ok((key.to_owned(), None)));
        }
    }

    #[test]
    fn a_listing_has_keys_and_versions() {
        let line = r#"{"Key":"a\nb","VersionId":"v","Size":3,"IsLatest":true}"#;
        assert_eq!(parsed(true, "a", line), Ok(("a\nb".to_owned(), Some("v".to_owned()))));
        assert_eq!(parsed(true, "", r#"{"Key":"a"}"#), Ok(("a".to_owned(), None)));
        assert!(parsed(true, "", r#"{"key":"a"}"#).is_err());
        assert!(parsed(true, "", "a").unwrap_err().contains("--format text"));
    }

    #[test]
    fn a_line_of_aws_s3_ls_and_the_answer_of_a_listing_are_not_deleted_as_keys() {
        for line in [
            "2026-01-01 00:00:00         12 a",
            "2026-01-01 00:00:00    1.2 MiB a b",
            "                           PRE dir/",
        ] {
            assert!(parsed(false, "", line).unwrap_err().contains("aws s3 ls"), "{line}");
        }
        for line in [
            r#"{"Deleted":[]}"#,
            r#"{"key":"a"}"#,
            r#" {"Key":"a","Key":"b"}"#,
            r#"{"Key":"a","VersionId":5}"#,
        ] {
            assert!(parsed(false, "", line).unwrap_err().contains("--format json"), "{line}");
        }
        for line in [r#"{"Contents":[{"Key":"a"}]}"#, r#"{ "Versions": [], "Prefix": "" }"#] {
            for is_json in [false, true] {
                assert!(
                    parsed(is_json, "", line).unwrap_err().contains("jq -c '.Contents[]'"),
                    "{line}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_key_of_the_bucket_is_not_deleted() {
        assert!(
            parsed(false, "", r#"{"Key":"a"}"#)
                .unwrap_err()
                .contains("--format json")
        );
        assert!(parsed(false, "", "s3://logs/a").unwrap_err().contains("URL"));
        assert!(parsed(false, "2026/", "2025/a").unwrap_err().contains("prefix"));
        assert_eq!(parsed(false, "2026/", "2026/a"), Ok(("2026/a".to_owned(), None)));
    }
}
