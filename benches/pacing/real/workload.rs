//! The entries, their order, and their times of arrival.

use std::ops::Range;

use aws_batch_simulator::Place;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// Kilobytes of the smallest and the largest item of mixed sizes. Their logarithm is uniform.
const KILOBYTES: (f64, f64) = (0.5, 50.0);
/// The partition key of the index that is hot in some scenarios; no random key has it.
const HOT_IN_INDEX: u64 = 0;
/// Hashes of one of ten partitions.
const TENTH: u64 = u64::MAX / 10;

/// The order and the keys of the entries.
#[derive(Debug, Clone)]
pub(crate) enum Workload {
    /// Every item has a partition key of its own, in random order.
    Unique,
    /// The same, with items of 0.5 to 50 KB.
    Sizes,
    /// Sorted by partition key and sort key, with this many items for each key.
    Sorted(usize),
    /// In the order of the hashes, like a table scan or an export, in this many segments that are read in turn.
    Scanned(usize),
    /// This many keys, with frequencies that fall as 1, 1/2, 1/3 …
    Zipf(usize),
    /// Entries arrive at a rate, for this many seconds.
    Live { rate: f64, seconds: f64, hot: Option<Hot> },
}

/// The first of ten key ranges gets more entries than its share for a while, most of them for one key.
#[derive(Debug, Clone)]
pub(crate) struct Hot {
    pub(crate) time: Range<f64>,
    /// Entries a second in the range.
    pub(crate) rate: f64,
}

/// One entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item {
    pub(crate) place: Place,
    /// Where it is in the index.
    pub(crate) index: Place,
    pub(crate) units: u32,
    /// When it arrives, in seconds; zero for entries that exist from the start.
    pub(crate) due: f64,
}

impl Item {
    /// The same with the hot key in the index.
    pub(crate) fn hot_in_index(self, number: usize) -> Self {
        let index = Place::new(HOT_IN_INDEX, number as u64);
        Self { index, ..self }
    }

    pub(crate) fn is_hot_in_index(&self) -> bool {
        self.index.partition_key == HOT_IN_INDEX
    }
}

impl Workload {
    pub(crate) fn is_live(&self) -> bool {
        matches!(self, Self::Live { .. })
    }

    /// The number of the partition that gets more than its part.
    pub(crate) fn heats(&self) -> Option<usize> {
        matches!(self, Self::Live { hot: Some(_), .. }).then_some(0)
    }

    /// The entries, in their order.
    pub(crate) fn items(&self, count: usize, seed: u64) -> Vec<Item> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xda7a);
        match self {
            Self::Unique => (0..count).map(|_| unique(&mut random)).collect(),
            Self::Sizes => {
                let (least, most) = KILOBYTES;
                let units = |random: &mut Xoshiro256PlusPlus| least * (most / least).powf(random.random::<f64>());
                let sized = |_| {
                    let units = units(&mut random).ceil() as u32;
                    Item {
                        units,
                        ..unique(&mut random)
                    }
                };
                (0..count).map(sized).collect()
            }
            Self::Sorted(items) => {
                let keys: Vec<u64> = (0..count.div_ceil(*items)).map(|_| random.random()).collect();
                (0..count)
                    .map(|number| item(Place::new(keys[number / items], (number % items) as u64), &mut random))
                    .collect()
            }
            Self::Scanned(segments) => {
                let mut all: Vec<Item> = (0..count).map(|_| unique(&mut random)).collect();
                all.sort_unstable_by_key(|item| item.place);
                let length = count.div_ceil(*segments);
                let turns = (0..length * segments).map(|turn| (turn % segments) * length + turn / segments);
                turns.filter_map(|index| all.get(index).copied()).collect()
            }
            Self::Zipf(keys) => zipf(*keys, count, &mut random),
            Self::Live { rate, seconds, hot } => live(*rate, *seconds, hot.as_ref(), &mut random),
        }
    }
}

fn item(place: Place, random: &mut Xoshiro256PlusPlus) -> Item {
    Item {
        place,
        index: Place::new(random.random(), 0),
        units: 1,
        due: 0.0,
    }
}

fn unique(random: &mut Xoshiro256PlusPlus) -> Item {
    item(Place::new(random.random(), 0), random)
}

fn zipf(keys: usize, count: usize, random: &mut Xoshiro256PlusPlus) -> Vec<Item> {
    let mut sum = 0.0;
    let ranked: Vec<(f64, u64)> = (1..=keys)
        .map(|rank| {
            sum += 1.0 / rank as f64;
            (sum, random.random())
        })
        .collect();
    (0..count as u64)
        .map(|number| {
            let drawn = sum * random.random::<f64>();
            let rank = ranked.partition_point(|(until, _)| *until <= drawn).min(keys - 1);
            item(Place::new(ranked[rank].1, number), random)
        })
        .collect()
}

fn live(rate: f64, seconds: f64, hot: Option<&Hot>, random: &mut Xoshiro256PlusPlus) -> Vec<Item> {
    (0..(rate * seconds) as u64)
        .map(|number| {
            let due = number as f64 / rate;
            let place = match hot.filter(|hot| hot.time.contains(&due)) {
                // A tenth of the other keys' entries are in the range.
                Some(hot) if random.random::<f64>() < (hot.rate - rate / 10.0) / (rate - rate / 10.0) => {
                    Place::new(TENTH / 2, number)
                }
                _ => Place::new(random.random(), 0),
            };
            Item {
                due,
                ..item(place, random)
            }
        })
        .collect()
}
