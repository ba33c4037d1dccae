//! Keys of objects to delete.

use aws_sdk_s3::types::ObjectIdentifier;
use serde::Deserialize;

use super::attribute::{unreadable, utf8};
use super::inventory::{cells, row};
use super::listed::of_program;
use crate::format::line_records::LineParser;
use crate::format::text::{LISTING, is_listing, is_object};
use crate::source::{Flaw, from_url};

/// Keys of objects: each line is a key, a row of an inventory or a manifest, or a JSON object that contains a key and perhaps a version
/// id, as listings have them.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    pub(crate) is_json: bool,
    /// The bucket that they are in.
    pub(crate) bucket: String,
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

const QUOTED: &str = "this line has quotes around it, and would be deleted as a key with them: `jq -r` writes texts without quotes, and \
                      --format json takes keys with quotes";

const OTHER_BUCKET: &str = "this is a row of CSV whose first cell is not the bucket: rows of an inventory or a manifest have the bucket and \
                            the key, and --format json takes any key";

const NOT_ENCODED: &str =
    "the key is not URL-encoded, as those of inventories and manifests are: --format json takes keys as they are";

const OUTSIDE: &str = "the key does not begin with the prefix of --bucket, below which alone objects are deleted";

impl Keys {
    /// The key and the version of a line that is a key, or a row of an inventory or a manifest.
    fn of_text(&self, line: &[u8]) -> Result<(String, Option<String>), Flaw> {
        let text = utf8(line)?;
        if is_object(line) {
            return Err(Flaw::new(if is_listing(line) { LISTING } else { MEMBERS }));
        }
        if let Some(words) = of_program(text) {
            return Err(Flaw::new(words));
        }
        let is_quoted = text.starts_with('"');
        let behind_bucket = text.strip_prefix(self.bucket.as_str());
        if !is_quoted && !behind_bucket.is_some_and(|rest| rest.starts_with(',')) {
            return Ok((text.to_owned(), None));
        }
        let Some(cells) = cells(text) else {
            return Ok((text.to_owned(), None));
        };
        let Some(row) = row(cells) else {
            return Err(Flaw::new(QUOTED));
        };
        if row.bucket != self.bucket {
            return Err(Flaw::new(OTHER_BUCKET));
        }
        let key = from_url(&row.encoded_key).ok_or_else(|| Flaw::new(NOT_ENCODED))?;
        Ok((key, row.version_id))
    }
}

impl LineParser<ObjectIdentifier> for Keys {
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
            self.of_text(line)?
        };
        if !key.starts_with(&self.prefix) {
            return Err(Flaw::new(OUTSIDE));
        }
        if key.is_empty() {
            return Err(Flaw::new("a key is needed"));
        }
        let object = ObjectIdentifier::builder().key(key).set_version_id(version_id);
        object.build().map_err(|_| Flaw::new("a key is needed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(is_json: bool, prefix: &str, line: &str) -> Result<(String, Option<String>), String> {
        let mut keys = Keys {
            is_json,
            bucket: "logs".to_owned(),
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
            "{not json",
            "a,b",
            "logs",
            "logs/a,b",
            "\"open",
            "\"a\"b",
        ] {
            assert_eq!(parsed(false, "", key), Ok((key.to_owned(), None)));
        }
    }

    #[test]
    fn a_row_with_the_bucket_has_a_key_that_is_decoded() {
        let key = |key: &str, version: Option<&str>| Ok((key.to_owned(), version.map(ToOwned::to_owned)));
        assert_eq!(parsed(false, "", "logs,a+b%2Bc"), key("a b+c", None));
        assert_eq!(
            parsed(false, "a", "\"logs\",\"a%2Cb\",\"null\""),
            key("a,b", Some("null"))
        );
        assert!(parsed(false, "b", "logs,a").unwrap_err().contains("prefix"));
        assert!(parsed(false, "", "logs,").unwrap_err().contains("a key is needed"));
        assert!(parsed(false, "", "logs,100%").unwrap_err().contains("not URL-encoded"));
        assert!(
            parsed(false, "", "\"other\",\"a\"")
                .unwrap_err()
                .contains("not the bucket")
        );
        assert!(parsed(false, "", "\"a\"").unwrap_err().contains("jq -r"));
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
    fn the_answer_of_a_listing_is_not_deleted_as_keys() {
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
