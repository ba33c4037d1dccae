//! Lanes: the order that entries keep.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::LazyLock;

/// A sequence of entries that must arrive in the order of the input.
///
/// Entries of different lanes may pass each other. A lane is stored as a hash of its key; if two hashes collide, entries
/// wait for each other without need, and nothing else happens. So a lane costs a few nanoseconds for each entry, and no key
/// is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    hash: u64,
    kind: LaneKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LaneKind {
    Exclusive,
    Ordered,
    Together,
    Unknown,
}

impl Lane {
    /// A lane with at most one entry in flight: the next one leaves when the one before it is settled.
    ///
    /// For services that refuse two writes of one key in a call, such as DynamoDB. Keys that the service treats as equal
    /// must have equal hashes.
    pub fn exclusive(key: &(impl Hash + ?Sized)) -> Self {
        Self::new(key, LaneKind::Exclusive)
    }

    /// A lane with at most one *call* in flight, which may carry several of its entries, in order.
    ///
    /// For services that accept the entries of a call in the order sent, such as a FIFO queue of SQS. When an entry is
    /// rejected, those after it wait until it is settled; but the service may already have accepted later entries of
    /// the same call. So a call carries entries of different lanes if there are enough, and after a call was accepted in
    /// part, no lane shares one for the next 1,000 calls. If no entry may ever pass another one, the lane must be
    /// [exclusive](Self::exclusive).
    pub fn ordered(group: &(impl Hash + ?Sized)) -> Self {
        Self::new(group, LaneKind::Ordered)
    }

    /// A lane with at most one *call* in flight, of whose entries in a call the service accepts all or none.
    ///
    /// For targets that put the entries of a lane into one record, as an aggregated stream of Kinesis does. A call that was
    /// accepted in part does not keep the entries of such a lane from sharing the next ones.
    pub fn together(key: &(impl Hash + ?Sized)) -> Self {
        Self::new(key, LaneKind::Together)
    }

    /// The lane of the entry is not known, and it may be that of any other entry. So at most one *call* with such entries is in
    /// flight, in the order of the input; entries without a lane do not wait.
    ///
    /// For services that refuse a call in which two entries have the same lane, such as DynamoDB, or that accept the entries of a
    /// call in the order sent. A refused call is halved until the two are apart. As soon as the lanes of later entries are known,
    /// these wait once until the last of the unknown ones is settled, and then pass each other as their lanes allow.
    pub fn unknown() -> Self {
        Self::new("", LaneKind::Unknown)
    }

    fn new(key: &(impl Hash + ?Sized), kind: LaneKind) -> Self {
        // The kinds use different seeds, so that a key of one kind never meets a key of another.
        let seed = match kind {
            LaneKind::Exclusive => *SEED,
            LaneKind::Ordered => !*SEED,
            LaneKind::Together => SEED.rotate_left(16),
            LaneKind::Unknown => SEED.rotate_left(32),
        };
        Self {
            hash: folded(seed, key),
            kind,
        }
    }

    pub(crate) fn hash(self) -> u64 {
        self.hash
    }

    pub(crate) fn is_known(self) -> bool {
        self.kind != LaneKind::Unknown
    }

    /// Whether a call that was accepted in part may have accepted only some of its entries.
    pub(crate) fn may_be_split(self) -> bool {
        !matches!(self.kind, LaneKind::Together | LaneKind::Unknown)
    }

    pub(crate) fn shares_calls(self) -> bool {
        self.kind != LaneKind::Exclusive
    }
}

/// A hash of a key; equal keys have equal hashes within this process.
#[cfg(feature = "_service")]
#[allow(dead_code, reason = "not every service has keys")]
pub(crate) fn hash_of(key: &(impl Hash + ?Sized)) -> u64 {
    folded(*SEED, key)
}

fn folded(seed: u64, key: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = FoldedHasher(seed);
    key.hash(&mut hasher);
    hasher.finish()
}

/// Drawn once for each process, so that no input can be crafted whose keys collide.
static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));

/// An odd number whose bits look random: the fractional part of the golden ratio.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Multiplies word by word and folds the product. It takes a third of the time of the standard library's hash, which
/// protects against attacks; here a collision only causes a wait.
struct FoldedHasher(u64);

#[expect(
    clippy::cast_possible_truncation,
    reason = "the halves of a product, and a count below eight"
)]
impl Hasher for FoldedHasher {
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(MULTIPLIER);
        let [low, high] = [product as u64, (product >> 64) as u64];
        self.0 = (low ^ high).wrapping_add(MULTIPLIER);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number.cast_unsigned() as u64);
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // The length distinguishes trailing zeros from none.
        last[7] = rest.len() as u8;
        self.write_u64(u64::from_le_bytes(last));
    }

    fn finish(&self) -> u64 {
        let mut last = Self(self.0);
        last.write_u64(MULTIPLIER);
        last.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_lane_that_is_not_known_is_no_lane_that_is() {
        assert_eq!(Lane::unknown(), Lane::unknown());
        assert!(Lane::unknown().shares_calls() && !Lane::unknown().is_known());
        let known = [Lane::exclusive(""), Lane::ordered(""), Lane::together("")];
        assert!(
            known
                .into_iter()
                .all(|lane| lane.is_known() && lane.hash() != Lane::unknown().hash())
        );
    }

    #[test]
    fn equal_keys_share_a_lane_and_others_do_not() {
        assert_eq!(Lane::exclusive("a"), Lane::exclusive(&"a".to_owned()));
        assert_ne!(Lane::exclusive("a"), Lane::exclusive("a\0"));
        assert_ne!(Lane::exclusive(&("ab", "cd")), Lane::exclusive(&("a", "bcd")));
        assert_ne!(Lane::exclusive("a"), Lane::ordered("a"));
        assert_ne!(Lane::together("a").hash(), Lane::ordered("a").hash());
    }

    #[test]
    fn a_million_keys_have_a_million_lanes() {
        let numbers: HashSet<u64> = (0..500_000_u64).map(|key| Lane::exclusive(&key).hash()).collect();
        let texts = (0..500_000_u64).map(|key| Lane::exclusive(&format!("order-{key}")).hash());
        assert_eq!(numbers.len() + texts.collect::<HashSet<_>>().len(), 1_000_000);
    }

    #[test]
    fn every_bit_of_a_lane_is_used_evenly() {
        for bit in 0..64 {
            let set = (0..10_000_u64)
                .filter(|key| Lane::exclusive(key).hash() >> bit & 1 == 1)
                .count();
            assert!((4_500..5_500).contains(&set), "bit {bit} is set in {set} of 10,000");
        }
    }
}
