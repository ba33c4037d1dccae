//! How far the pace goes below the estimate, for how long, and how fast above it.

/// How the pace swings around the estimate from one mark to the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Swing {
    /// How far below the estimate the pace starts, as a share of it. What the dip leaves is banked in the bucket and taken
    /// afterwards; it gives the leftovers room, so that they are accepted at once.
    pub(super) dip: f64,
    /// How many chunks a period lasts at least, so that the dip and the overspeed are felt.
    pub(super) chunks: f64,
    /// How often the overspeed doubles when no mark comes, in seconds.
    pub(super) doubling: f64,
}

impl Swing {
    /// While little is known, or rejections may have other reasons. From 4% to threefold takes 1.2 s.
    pub(super) const USUAL: Self = Self {
        dip: 0.15,
        chunks: 8.0,
        doubling: 0.2,
    };

    /// While all is as expected: the leftovers of a mark that was expected need little room. What is banked may overflow a bucket
    /// of a tenth of a second, and does so less when it is less. The mean pace of a period is half a percent above the estimate, so
    /// that the mark comes before its end; when none does, the capacity has probably risen, and the climb costs nothing otherwise.
    pub(super) const CALM: Self = Self {
        dip: 0.10,
        chunks: 8.0,
        doubling: 0.1,
    };

    /// While others share the capacity. When one of them ends, those that are left have but what remains for them to send to take
    /// over what it leaves, so that the climb is fast, and the period short even where they have but a few chunks a second. The marks
    /// that come sooner for it are made up for by a deep dip, from which the others have room as well.
    pub(super) const SHARED: Self = Self {
        dip: 0.20,
        chunks: 4.0,
        doubling: 0.12,
    };
}
