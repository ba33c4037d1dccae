//! Remembers which objects are in the bucket already.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

/// Uploads of one generation: more than the 10,000 entries that may wait in one delivery and the few hundred in flight.
const GENERATION: usize = 16_384;

/// Remembers the uploads of entries that are not settled yet.
///
/// It only saves uploads: a body whose upload was forgotten is uploaded again under the same key. So its size is bounded. It
/// keeps two generations, and drops the older one when the younger one is full. The dropped uploads are those of deliveries
/// that were dropped before their end, or, if very many deliveries wait at the same time, of some of them.
#[derive(Default)]
pub(super) struct Uploads(Mutex<Generations>);

#[derive(Default)]
struct Generations {
    young: HashMap<Uuid, Upload>,
    old: HashMap<Uuid, Upload>,
}

/// The state of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Upload {
    /// The object may be in the bucket.
    Begun,
    /// The object is in the bucket.
    Done,
}

impl Uploads {
    /// Marks the upload as begun, unless it is done, and returns its previous state.
    pub(super) fn begin(&self, key: Uuid) -> Option<Upload> {
        let mut generations = self.lock();
        let known = generations.remove(key);
        generations.insert(key, known.unwrap_or(Upload::Begun));
        known
    }

    /// The object is in the bucket.
    pub(super) fn done(&self, key: Uuid) {
        let mut generations = self.lock();
        generations.remove(key);
        generations.insert(key, Upload::Done);
    }

    /// The entry is settled. Returns whether the object may be in the bucket.
    pub(super) fn forget(&self, key: Uuid) -> bool {
        self.lock().remove(key).is_some()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let generations = self.lock();
        generations.young.len() + generations.old.len()
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn insert(&mut self, key: Uuid, upload: Upload) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, upload);
    }

    fn remove(&mut self, key: Uuid) -> Option<Upload> {
        self.young.remove(&key).or_else(|| self.old.remove(&key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_has_begun_until_it_is_done() {
        let uploads = Uploads::default();
        let key = Uuid::new_v4();
        assert_eq!(uploads.begin(key), None);
        assert_eq!(uploads.begin(key), Some(Upload::Begun), "the first upload failed");
        uploads.done(key);
        assert_eq!(uploads.begin(key), Some(Upload::Done));
        assert!(uploads.forget(key));
        assert!(!uploads.forget(key));
        assert_eq!(uploads.len(), 0);
    }

    #[test]
    fn uploads_that_are_not_used_again_are_forgotten() {
        let uploads = Uploads::default();
        let lasting = Uuid::new_v4();
        uploads.begin(lasting);
        uploads.done(lasting);
        for number in 0..3 * GENERATION {
            uploads.begin(Uuid::new_v4());
            if number % GENERATION == 0 {
                assert_eq!(uploads.begin(lasting), Some(Upload::Done), "it is still in use");
            }
            assert!(uploads.len() <= 2 * GENERATION);
        }
    }
}
