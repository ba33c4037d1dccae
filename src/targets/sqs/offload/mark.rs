//! The key of an entry's object, which the entry carries while it is on its way.
//!
//! It stands in front of the caller's id. That id may be anything, may repeat, and never reaches the wire, and nothing else
//! of an entry would be the same again after something was put into it and taken out. What a delivery that is dropped leaves
//! behind is gone with its entries.

use uuid::Uuid;

/// Around the key. No id that SQS would take has it, so that an entry which was never marked does not seem to be.
const FENCE: char = '\0';

/// Marks an entry: with the key of its object, or as one that goes without.
pub(super) fn put(id: &mut String, key: Option<Uuid>) {
    let key = key.map(|key| key.to_string()).unwrap_or_default();
    id.insert_str(0, &format!("{FENCE}{key}{FENCE}"));
}

/// The key of the object of a marked entry.
pub(super) fn key(id: &str) -> Option<Uuid> {
    let (key, _) = split(id)?;
    key.parse().ok()
}

/// Takes the mark off, and returns the key.
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
    fn a_marked_id_tells_its_key_and_is_the_callers_again() {
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
