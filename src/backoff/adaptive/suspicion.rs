//! Whether rejections depend on the pace at all.

/// Marks in a row that come while the pace is below the estimate. One or two are a capacity that has fallen; a service
/// that rejects whatever the pace goes on.
const MARKS: u32 = 6;

/// An estimate below this part of the peak has sunk.
const SUNK: f64 = 0.6;

/// For so long it must have sunk, in seconds, however the marks came.
const SUNK_SECONDS: f64 = 3.0;

/// Marks where there should be none.
#[derive(Debug, Default)]
pub(super) struct Suspicion {
    marks: u32,
    sent: f64,
    rejected: f64,
    peak: f64,
    sunk_since: Option<f64>,
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

    /// Remembers the highest estimate since the last search.
    pub(super) fn keep_peak(&mut self, capacity: f64) {
        self.peak = self.peak.max(capacity);
    }

    /// The share of rejections, when the estimate has fallen so far and for so long that a spiral may have made it fall.
    pub(super) fn has_sunk(&mut self, now: f64, capacity: f64) -> Option<f64> {
        if capacity >= SUNK * self.peak {
            self.sunk_since = None;
            return None;
        }
        let since = *self.sunk_since.get_or_insert(now);
        (self.marks >= MARKS || now - since > SUNK_SECONDS).then(|| self.rejected / self.sent.max(1.0))
    }

    /// It was the pace, or is being found out.
    pub(super) fn clear(&mut self) {
        *self = Self {
            peak: self.peak,
            sunk_since: self.sunk_since,
            ..Self::default()
        };
    }
}
