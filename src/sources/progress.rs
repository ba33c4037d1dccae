//! How far a scan is.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::position::{ScanPosition, SegmentPlace};
use crate::debug::debug_fields;
use crate::services::dynamo::Page;

/// What a scan has read.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ScanFigures {
    /// Pages.
    pub pages: u64,
    /// Items before the filter.
    pub scanned: u64,
    /// Items for which the filter holds.
    pub items: u64,
    /// Consumed read units.
    pub units: f64,
}

/// How far a scan is, while its items are taken elsewhere. Clones are handles to the same scan.
#[derive(Clone)]
pub struct ScanProgress(Arc<Mutex<ScanState>>);

struct ScanState {
    figures: ScanFigures,
    /// Where the scan is continued when all items before these ends are settled.
    position: ScanPosition,
    /// This many items lie before it.
    before: u64,
    /// The ends of pages that are not known to be settled, in the order in which they were taken.
    ends: VecDeque<PageEnd>,
}

/// The end of a page.
struct PageEnd {
    /// The number of items taken up to it.
    taken: u64,
    segment: u32,
    place: SegmentPlace,
}

impl ScanState {
    /// Moves the position to the last end that is settled when the first `items` items are.
    fn settle(&mut self, items: u64) {
        while self.ends.front().is_some_and(|end| end.taken <= items)
            && let Some(end) = self.ends.pop_front()
        {
            self.position.set(end.segment, end.place);
            self.before = end.taken;
        }
    }
}

impl ScanProgress {
    pub(super) fn new(start: ScanPosition) -> Self {
        Self(Arc::new(Mutex::new(ScanState {
            figures: ScanFigures::default(),
            position: start,
            before: 0,
            ends: VecDeque::new(),
        })))
    }

    /// What was read so far. Up to one page for each call in flight is not taken yet.
    pub fn figures(&self) -> ScanFigures {
        self.state().figures
    }

    /// Where the scan can be continued when the first `items` items of the stream are settled: delivered, or kept elsewhere.
    ///
    /// For a delivery of the stream, that is its [`settled_until`](crate::Snapshot::settled_until). The number must not become
    /// smaller from call to call. Items of a page that is not settled completely are returned again.
    ///
    /// A scan whose position is never asked for keeps the end of each page, some hundred bytes.
    pub fn position_after(&self, items: u64) -> ScanPosition {
        let mut state = self.state();
        state.settle(items);
        state.position.clone()
    }

    /// How many of the first `items` items lie before their [position](Self::position_after). The others are returned again.
    pub fn items_before(&self, items: u64) -> u64 {
        let mut state = self.state();
        state.settle(items);
        state.before
    }

    pub(super) fn has_read(&self, page: &Page) {
        let figures = &mut self.state().figures;
        figures.pages += 1;
        figures.scanned += page.scanned;
        figures.items += page.count;
        figures.units += page.units.unwrap_or(0.0);
    }

    /// All items of a page were taken, as many as `taken` of the stream.
    pub(super) fn has_taken(&self, taken: u64, segment: u32, place: SegmentPlace) {
        self.state().ends.push_back(PageEnd { taken, segment, place });
    }

    // Every step leaves a valid state.
    fn state(&self) -> MutexGuard<'_, ScanState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

debug_fields!(progress: ScanProgress, figures = progress.figures());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_counts_when_all_items_up_to_its_end_are_settled() {
        let progress = ScanProgress::new(ScanPosition::start(2));
        progress.has_taken(10, 0, SegmentPlace::End);
        progress.has_taken(10, 1, SegmentPlace::End);
        assert_eq!(progress.position_after(9), ScanPosition::start(2));
        assert_eq!((progress.items_before(9), progress.items_before(10)), (0, 10));
        assert!(progress.position_after(10).is_finished());
        assert!(progress.position_after(10).is_finished());
    }
}
