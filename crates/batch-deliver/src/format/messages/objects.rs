//! Keys of objects to delete.

use aws_sdk_s3::types::ObjectIdentifier;
use serde::Deserialize;

use super::attribute::{unreadable, utf8};
use crate::format::one_per_line::Parse;
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

const URL: &str = "this is a URL, and would be deleted as a key: a key is needed, without s3:// and the bucket";

impl Parse<ObjectIdentifier> for Keys {
    fn parse(&mut self, line: &[u8]) -> Result<ObjectIdentifier, Flaw> {
        let (key, version_id) = if self.is_json {
            let read = serde_json::from_slice(line);
            let ListedObject { key, version_id } = read.map_err(|error| unreadable(&error, line, DATA, SYNTAX))?;
            (key, version_id)
        } else {
            let key = utf8(line)?;
            if key.starts_with('{') && serde_json::from_str::<ListedObject>(key).is_ok() {
                return Err(Flaw::new(MEMBERS));
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
        for key in ["a/b c", " a ", "\"quoted\"", "{not json", "a,b", "[a]"] {
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
