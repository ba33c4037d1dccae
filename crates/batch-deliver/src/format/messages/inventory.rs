//! Rows of CSV with a bucket and a key: those of S3 Inventory, and of the manifests of S3 Batch Operations.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::format::text::is_object;

/// What a row says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InventoryRow {
    pub(super) bucket: String,
    /// As it is in the row, where it is encoded as in a URL.
    pub(super) encoded_key: String,
    pub(super) version_id: Option<String>,
}

/// The cells of a line, if it has quotes as rows of CSV have them.
pub(super) fn cells(line: &str) -> Option<Vec<String>> {
    let mut cells = Vec::new();
    let mut rest = line.trim_end_matches('\r');
    loop {
        let (cell, behind) = if let Some(quoted) = rest.strip_prefix('"') {
            within_quotes(quoted)?
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            (rest[..end].to_owned(), &rest[end..])
        };
        cells.push(cell);
        match behind.strip_prefix(',') {
            Some(next) => rest = next,
            None if behind.is_empty() => return Some(cells),
            None => return None,
        }
    }
}

/// A cell up to its closing quote, and what is behind it.
fn within_quotes(text: &str) -> Option<(String, &str)> {
    let mut cell = String::new();
    let mut rest = text;
    loop {
        let (content, behind) = rest.split_once('"')?;
        cell.push_str(content);
        match behind.strip_prefix('"') {
            Some(next) => {
                cell.push('"');
                rest = next;
            }
            None => return Some((cell, behind)),
        }
    }
}

/// What the cells say; `None` if there is no key.
///
/// A manifest has a bucket, a key and perhaps a version. An inventory of all versions has behind its key the version, which is empty where
/// its id is `null`, and whether that is the latest one and a delete marker; one of the current versions continues with a size or another
/// column.
pub(super) fn row(cells: Vec<String>) -> Option<InventoryRow> {
    let version_id = match cells.as_slice() {
        [_, _, third] if is_version(third) && !third.is_empty() => Some(third.clone()),
        [_, _, version, latest, marker, ..] if [latest, marker].into_iter().all(|cell| is_flag(cell)) => {
            Some(if version.is_empty() { "null" } else { version }.to_owned())
        }
        _ => None,
    };
    let mut cells = cells.into_iter();
    let (bucket, encoded_key) = (cells.next()?, cells.next()?);
    Some(InventoryRow {
        bucket,
        encoded_key,
        version_id,
    })
}

/// How an inventory says how objects are encrypted.
const ENCRYPTIONS: [&str; 5] = ["SSE-S3", "SSE-C", "SSE-KMS", "DSSE-KMS", "NOT-SSE"];

/// Whether the third and last column is a version, and not a size, a time, a storage class, a tag of the content, an owner, an access control
/// list, an encryption or whether there were several parts.
fn is_version(text: &str) -> bool {
    if is_tag(text) || is_owner(text) || is_access_control_list(text) || ENCRYPTIONS.contains(&text) {
        return false;
    }
    let is_size = text.bytes().all(|byte| byte.is_ascii_digit());
    let is_class = text
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit());
    !is_size && !is_class && !text.contains(':') && !is_flag(text)
}

fn is_flag(text: &str) -> bool {
    ["true", "false"].contains(&text)
}

/// Whether this is a tag as S3 gives it to a content, with the number of parts if there were several. It has 32 hexadecimal digits, and a
/// version of S3 has other letters as well.
fn is_tag(text: &str) -> bool {
    let (digits, parts) = text.split_once('-').unwrap_or((text, "1"));
    let is_number = !parts.is_empty() && parts.bytes().all(|byte| byte.is_ascii_digit());
    are_hexadecimal(digits, 32) && is_number
}

/// Whether this is the canonical id of an account.
fn is_owner(text: &str) -> bool {
    are_hexadecimal(text, 64)
}

fn are_hexadecimal(digits: &str, count: usize) -> bool {
    digits.len() == count && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether this is an object of JSON in base64, as an inventory has access control lists. A version may begin with the same letters.
fn is_access_control_list(text: &str) -> bool {
    BASE64_STANDARD.decode(text).is_ok_and(|list| is_object(&list))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn versions_are_those_of_a_manifest_or_of_an_inventory_of_all_versions() {
        let version = |line: &str| row(cells(line).unwrap()).unwrap().version_id;
        let id = Some("3HL4kqtJvjVBH40Nrjfkd".to_owned());
        assert_eq!(version("b,k,3HL4kqtJvjVBH40Nrjfkd"), id);
        assert_eq!(version("b,k,null").as_deref(), Some("null"));
        let like_base64 = "eyJhuVKVeqAXyLXpgb5LgVMIkp4GwLaU";
        assert_eq!(version(&format!("b,k,{like_base64}")).as_deref(), Some(like_base64));
        assert_eq!(
            version("\"b\",\"k\",\"3HL4kqtJvjVBH40Nrjfkd\",\"false\",\"true\",\"\""),
            id
        );
        // The key alone would be the current version, or a delete marker above it.
        for flags in ["\"true\",\"false\"", "\"false\",\"false\",\"1024\""] {
            let line = format!("\"b\",\"k\",\"\",{flags}");
            assert_eq!(version(&line).as_deref(), Some("null"), "{line}");
        }
        for line in [
            "b,k",
            "b,k,",
            "\"b\",\"k\",\"1024\"",
            "\"b\",\"k\",\"2026-11-28T10:00:00.000Z\"",
            "\"b\",\"k\",\"GLACIER_IR\"",
            "\"b\",\"k\",\"false\"",
            "\"b\",\"k\",\"d41d8cd98f00b204e9800998ecf8427e\"",
            "\"b\",\"k\",\"d41d8cd98f00b204e9800998ecf8427e-12\"",
            "\"b\",\"k\",\"79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be\"",
            "\"b\",\"k\",\"eyJ2ZXJzaW9uIjoiMjAyMi0xMS0xMCIsInN0YXR1cyI6IkFWQUlMQUJMRSIsImdyYW50cyI6W119\"",
            "\"b\",\"k\",\"SSE-S3\"",
            "\"b\",\"k\",\"DSSE-KMS\"",
            "\"b\",\"k\",\"NOT-SSE\"",
            "\"b\",\"k\",\"1024\",\"2026-11-28T10:00:00.000Z\",\"d41d8cd98f00b204e9800998ecf8427e\",\"STANDARD\",\"false\"",
        ] {
            assert_eq!(version(line), None, "{line}");
        }
    }

    #[test]
    fn quotes_that_are_not_those_of_rows_make_none() {
        for line in ["\"a", "\"a\"b", "\"a\"b,c", "\"a\" ,b"] {
            assert_eq!(cells(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn cells_come_back_as_they_were_written(written in prop::collection::vec("[a\",é ]{0,5}", 1..5)) {
            let quoted = written.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\"")));
            prop_assert_eq!(cells(&quoted.collect::<Vec<_>>().join(",")), Some(written));
        }
    }
}
