//! Between counted entries and the fractions that the pacer reckons with.

/// A count as a number to reckon with. Counts beyond four thousand million are taken for that.
pub(super) fn reckoned(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}

/// The whole entries in an amount, at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast rounds down and saturates, which is what is wanted"
)]
pub(super) fn whole(amount: f64) -> usize {
    amount.max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_one_entry_is_whole() {
        assert_eq!([-1.0, 0.0, f64::NAN, 1.9, 25.0].map(whole), [1, 1, 1, 1, 25]);
        assert_eq!(whole(f64::INFINITY), usize::MAX);
    }

    #[test]
    fn counts_are_kept() {
        assert!((reckoned(25) - 25.0).abs() < f64::EPSILON);
        assert!(reckoned(usize::MAX) > 4e9);
    }
}
