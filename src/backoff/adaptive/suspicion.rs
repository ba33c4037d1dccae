//! Whether rejections depend on the pace at all.

/// Marks in a row that come while the pace is below the estimate. One or two are a capacity that has fallen; a service
/// that rejects whatever the pace goes on.
const MARKS: u32 = 6;

/// Marks where there should be none.
#[derive(Debug, Default)]
pub(super) struct Suspicion {
    marks: u32,
    sent: f64,
    rejected: f64,
}

impl Suspicion {
    /// Hears what became of fresh entries.
    pub(super) fn hear(&mut self, sent: f64, rejected: f64) {
        self.sent += sent;
        self.rejected += rejected;
    }

    /// A mark came, in the dip or not.
    pub(super) fn marked(&mut self, dips: bool) {
        if dips {
            self.marks += 1;
        } else {
            self.clear();
        }
    }

    /// The share of rejections that does not fit, if there are enough.
    pub(super) fn share(&self) -> Option<f64> {
        (self.marks >= MARKS && self.sent > 0.0).then(|| self.rejected / self.sent)
    }

    /// It was the pace.
    pub(super) fn refused(&mut self, _: f64) {
        self.clear();
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
