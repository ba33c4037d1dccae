//! One segment of a scan, and how large its next page is.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::position::SegmentPlace;
use crate::contract::Fault;
use crate::services::dynamo::{Page, PageRead};

type Attributes = HashMap<String, AttributeValue>;

/// The items of the first page if their size is not known. The largest ones cost as much as half a full page.
const FIRST_ITEMS: u32 = 10;

/// Bytes that a read unit covers in an eventually consistent read.
const UNIT_BYTES: f64 = 8_192.0;

/// A page costs at most this many times what the one before it cost, as long as the items of the segment are hardly known.
const GROWTH: f64 = 4.0;

/// The time that a page may take of the pace, in seconds: as long as other calls wait for it. A call of a delivery carries no more.
const PAGE_SECONDS: f64 = 0.25;

/// The least read units of a page, so that the half unit to which its size is rounded up is a small part of it.
const LEAST_UNITS: f64 = 4.0;

/// Read units of a page of 1 MB, which is the largest: half a unit for each 4 KB, and twice as many for a consistent read.
const MOST_UNITS: f64 = 128.0;

/// A segment that has not ended.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) number: u32,
    pub(super) place: SegmentPlace,
    /// Read units of the last page, and of each of its items.
    cost: Option<Cost>,
    keys: Keys,
}

/// The keys from which the pages of a segment continued, of which one is kept.
#[derive(Debug, Default)]
struct Keys {
    pages: u64,
    kept: Option<Attributes>,
}

impl Keys {
    /// Whether the key is that of an earlier page, so that the segment does not end. The key that is kept is replaced whenever the
    /// pages have doubled, so that in time it is one of those that come again, however many they are.
    fn come_again_with(&mut self, key: &Attributes) -> bool {
        if self.kept.as_ref() == Some(key) {
            return true;
        }
        self.pages += 1;
        if self.pages.is_power_of_two() {
            self.kept = Some(key.clone());
        }
        false
    }
}

#[derive(Debug, Clone, Copy)]
struct Cost {
    page: f64,
    item: f64,
}

/// What limits the pages of all segments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Read units a second, as far as they are known.
    pub(super) rate: Option<f64>,
    pub(super) is_consistent: bool,
    /// The items that the caller allows.
    pub(super) items: Option<u32>,
    /// Bytes of an item on average, if they are known.
    pub(super) item_bytes: Option<f64>,
}

impl Bounds {
    fn most_units(self) -> f64 {
        MOST_UNITS * self.factor()
    }

    fn factor(self) -> f64 {
        if self.is_consistent { 2.0 } else { 1.0 }
    }

    /// Units of an item as the description of the table has it.
    fn described(self) -> Option<f64> {
        self.item_bytes.map(|bytes| self.factor() * bytes / UNIT_BYTES)
    }

    fn units(self) -> f64 {
        let most = self.most_units();
        self.rate
            .map_or(most, |rate| (rate * PAGE_SECONDS).clamp(LEAST_UNITS, most))
    }
}

impl Segment {
    pub(super) fn new(number: u32, place: SegmentPlace) -> Self {
        Self {
            number,
            place,
            cost: None,
            keys: Keys::default(),
        }
    }

    /// The read of the next page.
    pub(super) fn next_page(&self, bounds: Bounds) -> PageRead {
        let (limit, units) = self.size(bounds);
        let limit = limit.map(|limit| i32::try_from(limit).unwrap_or(i32::MAX));
        PageRead::new(self.number, self.place.key().cloned(), limit, whole(units.ceil()))
    }

    /// The items of the next page, if it is not full, and the units that it will cost.
    fn size(&self, bounds: Bounds) -> (Option<u32>, f64) {
        let most = bounds.most_units();
        let Some(Cost { page, item }) = self.cost else {
            let described = bounds.described().map(|item| whole_u32(LEAST_UNITS / item));
            let items = described.unwrap_or(FIRST_ITEMS).min(bounds.items.unwrap_or(u32::MAX));
            return (Some(items), LEAST_UNITS);
        };
        let units = bounds.units().min(GROWTH * page);
        if units >= most {
            let units = bounds.items.map_or(most, |items| most.min(item * f64::from(items)));
            return (bounds.items, units);
        }
        let items = whole_u32(units / item).clamp(1, bounds.items.unwrap_or(u32::MAX));
        (Some(items), (item * f64::from(items)).min(most))
    }

    /// The page was read: the segment is continued after it. It is an error if that is where an earlier page was continued.
    pub(super) fn has_read(&mut self, page: &mut Page) -> Result<(), Fault> {
        if let (Some(units), 1..) = (page.units.filter(|units| *units > 0.0), page.scanned) {
            #[expect(clippy::cast_precision_loss, reason = "items of a page")]
            let item = units / page.scanned as f64;
            self.cost = Some(Cost { page: units, item });
        }
        if page.last.as_ref().is_some_and(|key| self.keys.come_again_with(key)) {
            return Err(Fault::new("the key to continue from is that of an earlier page"));
        }
        self.place = page.last.take().map_or(SegmentPlace::End, SegmentPlace::After);
        Ok(())
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "units of a page, and the cast saturates"
)]
fn whole(units: f64) -> usize {
    (units as usize).max(1)
}

fn whole_u32(items: f64) -> u32 {
    u32::try_from(whole(items)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;

    fn bounds(rate: Option<f64>) -> Bounds {
        Bounds {
            rate,
            is_consistent: false,
            items: None,
            item_bytes: None,
        }
    }

    /// A page with a key of its own to continue from.
    fn page(scanned: u64, units: f64) -> Page {
        static KEYS: AtomicU32 = AtomicU32::new(0);
        Page {
            scanned,
            units: Some(units),
            last: Some(key(KEYS.fetch_add(1, Relaxed))),
            ..Page::default()
        }
    }

    fn key(id: u32) -> Attributes {
        HashMap::from([("id".to_owned(), AttributeValue::N(id.to_string()))])
    }

    fn after(scanned: u64, units: f64) -> Segment {
        let mut segment = Segment::new(0, SegmentPlace::Start);
        segment.has_read(&mut page(scanned, units)).unwrap();
        segment
    }

    #[test]
    fn the_first_page_is_small_whatever_the_rate_is() {
        let segment = Segment::new(0, SegmentPlace::Start);
        for rate in [None, Some(5.0), Some(40_000.0)] {
            assert_eq!(segment.size(bounds(rate)), (Some(10), 4.0));
        }
        let described = Bounds {
            item_bytes: Some(1_024.0),
            ..bounds(None)
        };
        assert_eq!(segment.size(described).0, Some(32));
        let consistent = Bounds {
            is_consistent: true,
            ..described
        };
        assert_eq!(segment.size(consistent).0, Some(16));
    }

    #[test]
    fn pages_grow_until_they_are_full() {
        let mut segment = Segment::new(0, SegmentPlace::Start);
        let mut sizes = Vec::new();
        for _ in 0..6 {
            let (limit, _) = segment.size(bounds(None));
            sizes.push(limit);
            // Items of a kilobyte.
            let items = u64::from(limit.unwrap_or(u32::MAX)).min(1_024);
            #[expect(clippy::cast_precision_loss)]
            segment.has_read(&mut page(items, items as f64 / 8.0)).unwrap();
        }
        assert_eq!(sizes, [Some(10), Some(40), Some(160), Some(640), None, None]);
    }

    #[test]
    fn a_page_takes_a_quarter_of_a_second_of_the_pace() {
        // Two items for each unit.
        let segment = after(100, 50.0);
        assert_eq!(segment.size(bounds(Some(100.0))), (Some(50), 25.0));
        assert_eq!(segment.size(bounds(Some(1.0))), (Some(8), 4.0));
        assert_eq!(segment.size(bounds(Some(1_000.0))), (None, 128.0));
    }

    #[test]
    fn a_page_of_consistent_reads_costs_twice_as_much() {
        let segment = after(100, 100.0);
        let consistent = Bounds {
            is_consistent: true,
            ..bounds(None)
        };
        assert_eq!(segment.size(consistent), (None, 256.0));
    }

    #[test]
    fn the_items_of_the_caller_are_the_most() {
        let bounds = Bounds {
            items: Some(7),
            ..bounds(None)
        };
        assert_eq!(Segment::new(0, SegmentPlace::Start).size(bounds).0, Some(7));
        assert_eq!(after(7, 3.5).size(bounds), (Some(7), 3.5));
        assert_eq!(after(100, 100.0).size(bounds).0, Some(7));
    }

    #[test]
    fn a_page_that_has_read_nothing_changes_no_size() {
        let mut segment = after(100, 50.0);
        segment.has_read(&mut page(0, 0.5)).unwrap();
        assert_eq!(segment.size(bounds(Some(100.0))), (Some(50), 25.0));
    }

    #[test]
    fn a_segment_ends_without_a_key_to_go_on_from() {
        let mut segment = Segment::new(0, SegmentPlace::Start);
        segment.has_read(&mut page(1, 0.5)).unwrap();
        assert!(segment.place.key().is_some());
        let mut last = Page {
            last: None,
            ..page(1, 0.5)
        };
        segment.has_read(&mut last).unwrap();
        assert_eq!(segment.place, SegmentPlace::End);
    }

    #[test]
    fn keys_that_come_again_are_noticed_however_many_they_are() {
        for (others, cycle) in [(0, 1), (1, 1), (0, 2), (5, 7), (1_000, 300), (3, 1_000)] {
            let mut segment = Segment::new(0, SegmentPlace::Start);
            let mut read = |id| {
                let mut page = page(1, 0.5);
                page.last = Some(key(id));
                segment.has_read(&mut page)
            };
            // None comes again before they all were there.
            assert!((0..others + cycle).all(|id| read(id).is_ok()), "{others}, {cycle}");
            let mut again = (others..others + cycle).cycle().take(4 * (others + cycle) as usize);
            assert!(again.any(|id| read(id).is_err()), "{others}, {cycle}");
        }
    }
}
