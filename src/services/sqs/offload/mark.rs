//! The key of an entry's S3 object, which is stored in the entry itself while it is being delivered.
//!
//! It is a prefix of the caller's id, because the id is never sent to SQS and can be restored exactly; every other field is
//! sent. With the key in the entry, nothing is left in memory when a delivery is dropped.

use uuid::Uuid;

/// The character before and after the key. No valid id contains it, so an unmarked entry is not mistaken for a marked one.
const FENCE: char = '\0';

/// Marks an entry with the key of its object, or with `None` as an entry that is not offloaded.
pub(super) fn put(id: &mut String, key: Option<Uuid>) {
    let key = key.map(|key| key.to_string()).unwrap_or_default();
    id.insert_str(0, &format!("{FENCE}{key}{FENCE}"));
}

/// The key of the object of a marked entry.
pub(super) fn key(id: &str) -> Option<Uuid> {
    let (key, _) = split(id)?;
    key.parse().ok()
}

/// Removes the mark, and returns the key.
pub(super) fn take(id: &mut String) -> Option<Uuid> {
    let key = key(id);
    if let Some((_, original)) = split(id) {
        *id = original.to_owned();
    }
    key
}

fn split(id: &str) -> Option<(&str, &str)> {
    id.strip_prefix(FENCE)?.split_once(FENCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_has_the_key_and_can_be_removed_from_the_id() {
        let (one, other) = (Uuid::new_v4(), Uuid::new_v4());
        for original in ["", "id", "\0", "\0\0", &one.to_string(), &format!("\0{one}\0id")] {
            for marked in [None, Some(other)] {
                let mut id = original.to_owned();
                put(&mut id, marked);
                assert_eq!(key(&id), marked);
                assert_eq!(take(&mut id), marked);
                assert_eq!(id, original);
            }
        }
    }

    #[test]
    fn an_id_that_was_never_marked_has_no_key() {
        let uuid = Uuid::new_v4().to_string();
        for original in ["", "id", &uuid] {
            let mut id = original.to_owned();
            assert_eq!(take(&mut id), None);
            assert_eq!(id, original);
        }
    }
}
