//! Calls that are refused for their size, although they keep the limits of the target.

use crate::contract::Limits;

/// While the largest accepted and the smallest refused size of a call are further apart than this fraction of the refused
/// one, sizes between them are tried. An eighth costs at most three more refused calls, and leaves calls seven eighths full.
const PRECISION: usize = 8;

/// The size of a call that the service, or a proxy before it, accepts in fact.
///
/// A refused call with several entries is halved, as any other; its halves show the size. Later calls keep it.
#[derive(Debug, Default)]
pub(crate) struct SizeLimit {
    /// The bytes of the smallest call that was refused for its size.
    refused: Option<usize>,
    /// The bytes of the largest call that was accepted since.
    accepted: usize,
    /// Whether a call is in flight that is larger than the largest accepted one.
    is_trying: bool,
}

impl SizeLimit {
    /// These limits, with the bytes that the next call may have.
    pub(crate) fn within(&self, limits: Limits) -> Limits {
        Limits {
            bytes: limits.bytes.min(self.bytes()),
            ..limits
        }
    }

    fn bytes(&self) -> usize {
        let Some(refused) = self.refused else {
            return usize::MAX;
        };
        let apart = refused - self.accepted;
        // Until anything is accepted, a half of what was refused is the best guess.
        if self.accepted == 0 || !self.is_trying && apart > refused / PRECISION {
            return self.accepted + apart / 2;
        }
        self.accepted
    }

    /// A call of this size leaves.
    pub(crate) fn leaves(&mut self, bytes: usize) {
        self.is_trying |= self.refused.is_some() && bytes > self.accepted;
    }

    /// A call of this size was answered.
    pub(crate) fn answered(&mut self, bytes: usize, is_accepted: bool, is_too_large: bool) {
        if is_too_large {
            self.refused = Some(self.refused.map_or(bytes, |refused| refused.min(bytes)));
        } else if self.refused.is_none() {
            return;
        }
        self.is_trying &= bytes <= self.accepted;
        if is_accepted {
            self.accepted = self.accepted.max(bytes);
        }
        // The limit may have become lower.
        let below = self.refused.map_or(usize::MAX, |refused| refused.saturating_sub(1));
        self.accepted = self.accepted.min(below);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits::new(10, 1 << 20);

    proptest! {
        #[test]
        fn a_limit_is_learned_with_few_refused_calls_and_then_used(limit in 1_000_usize..(1 << 20), entry in 1_usize..1_000) {
            let mut sizes = SizeLimit::default();
            let mut refused = 0;
            let mut last = 0;
            for _ in 0..100 {
                let most = sizes.within(LIMITS).bytes;
                let bytes = (most / entry * entry).max(entry);
                sizes.leaves(bytes);
                sizes.answered(bytes, bytes <= limit, bytes > limit);
                refused += u32::from(bytes > limit);
                last = bytes;
            }
            let halvings = ((1 << 20) / limit).ilog2() + 1;
            prop_assert!(refused <= halvings + PRECISION.ilog2() + 1, "{} refused", refused);
            prop_assert!(last <= limit && last + entry > limit - limit / 6, "{} of {}", last, limit);
        }
    }

    #[test]
    fn only_one_call_at_a_time_tries_a_size() {
        let mut sizes = SizeLimit::default();
        sizes.answered(800, false, true);
        sizes.answered(400, true, false);
        assert_eq!(sizes.within(LIMITS).bytes, 600);
        sizes.leaves(600);
        assert_eq!(sizes.within(LIMITS).bytes, 400);
        sizes.leaves(400);
        sizes.answered(400, true, false);
        assert_eq!(sizes.within(LIMITS).bytes, 400);
        sizes.answered(600, true, false);
        assert_eq!(sizes.within(LIMITS).bytes, 700);
    }

    #[test]
    fn without_a_refusal_for_its_size_nothing_changes() {
        let mut sizes = SizeLimit::default();
        sizes.leaves(800);
        sizes.answered(800, false, false);
        assert_eq!(sizes.within(LIMITS), LIMITS);
    }
}
