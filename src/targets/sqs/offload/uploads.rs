//! Which objects are in the bucket already.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

/// Entries of one delivery that may wait are 10,000, and a few hundred are in flight.
const GENERATION: usize = 16_384;

/// Remembers the uploads of entries whose fate is open.
///
/// It is a help and no ledger: what it has forgotten is uploaded again under the same key, to the same effect. So it may be
/// bounded. It keeps two generations; when the younger one is full, the older one is dropped. That concerns what no delivery
/// speaks of any more, since the delivery itself was dropped, and many deliveries that wait at once.
#[derive(Default)]
pub(super) struct Uploads(Mutex<Generations>);

#[derive(Default)]
struct Generations {
    young: HashMap<Uuid, Upload>,
    old: HashMap<Uuid, Upload>,
}

/// How far an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Upload {
    /// It may be there.
    Begun,
    /// It is there.
    Done,
}

impl Uploads {
    /// How far the object was. It counts as begun from now on, unless it is there.
    pub(super) fn begin(&self, key: Uuid) -> Option<Upload> {
        let mut generations = self.lock();
        let known = generations.remove(key);
        generations.insert(key, known.unwrap_or(Upload::Begun));
        known
    }

    /// The object is there.
    pub(super) fn done(&self, key: Uuid) {
        let mut generations = self.lock();
        generations.remove(key);
        generations.insert(key, Upload::Done);
    }

    /// The fate of its entry is known. Returns whether the object may be there.
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
    fn an_object_is_uploaded_until_it_is_there() {
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
    fn what_is_never_spoken_of_again_is_forgotten() {
        let uploads = Uploads::default();
        let lasting = Uuid::new_v4();
        uploads.begin(lasting);
        uploads.done(lasting);
        for number in 0..3 * GENERATION {
            uploads.begin(Uuid::new_v4());
            if number % GENERATION == 0 {
                assert_eq!(uploads.begin(lasting), Some(Upload::Done), "it is still on its way");
            }
            assert!(uploads.len() <= 2 * GENERATION);
        }
    }
}
