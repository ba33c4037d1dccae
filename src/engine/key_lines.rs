//! Entries that wait by their partition key.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::ticket::Ticketed;

/// Steps of the golden ratio visit the entries evenly.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// Entries that wait, one line for each partition key.
///
/// Lines of hot keys go when their pace says so. The others go in turns that are proportional to what waits in each: an
/// entry is drawn, and the oldest one of its line leaves. So a sorted input does not fill one partition after the other.
pub(super) struct KeyLines<E> {
    lines: HashMap<u64, Line<E>>,
    /// The key of each entry in a line that is not hot, once for each entry, in no order.
    draws: Vec<u64>,
    drawn: f64,
    /// Since when the entries that are drawn have waited for others that could share their call.
    since: Option<Instant>,
    len: usize,
    bytes: usize,
}

struct Line<E> {
    /// Those that were rejected, by their first attempt, and then the others in the order of the input.
    rejected: BTreeMap<(Instant, u64), Ticketed<E>>,
    fresh: VecDeque<Ticketed<E>>,
    /// The key is hot: its entries are not drawn.
    is_hot: bool,
    /// When its pace is asked again; `None` for now.
    next_at: Option<Instant>,
}

impl<E> Line<E> {
    fn len(&self) -> usize {
        self.rejected.len() + self.fresh.len()
    }

    fn pop(&mut self) -> Option<Ticketed<E>> {
        match self.rejected.pop_first() {
            Some((_, entry)) => Some(entry),
            None => self.fresh.pop_front(),
        }
    }

    fn push(&mut self, entry: Ticketed<E>) {
        let position = entry.ticket.position;
        if let Some(history) = &entry.ticket.history {
            self.rejected.insert((history.first_sent, position), entry);
        } else {
            // Entries that were held in a lane may come late.
            let place = self.fresh.partition_point(|before| before.ticket.position < position);
            self.fresh.insert(place, entry);
        }
    }

    fn next(&self) -> Option<&Ticketed<E>> {
        self.rejected.values().next().or(self.fresh.front())
    }
}

impl<E> KeyLines<E> {
    pub(super) fn new() -> Self {
        Self {
            lines: HashMap::new(),
            draws: Vec::new(),
            drawn: 0.0,
            since: None,
            len: 0,
            bytes: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds an entry to the line of its key.
    pub(super) fn push(&mut self, key: u64, is_hot: bool, entry: Ticketed<E>) {
        self.len += 1;
        self.bytes = self.bytes.saturating_add(entry.ticket.weight);
        let line = self.lines.entry(key).or_insert_with(|| Line {
            rejected: BTreeMap::new(),
            fresh: VecDeque::new(),
            is_hot,
            next_at: None,
        });
        line.push(entry);
        if !line.is_hot {
            self.draws.push(key);
            self.since.get_or_insert_with(Instant::now);
        }
    }

    /// Until when the entries that are drawn may wait for others that could share their call; `None` when there are none, or
    /// entries of a hot key may go.
    pub(super) fn lingers_until(&self, now: Instant, linger: Duration) -> Option<Instant> {
        let is_due = self.lines.values().any(|line| line.is_due(now));
        self.since.filter(|_| !is_due)?.checked_add(linger)
    }

    /// Brings the lines in accord with which keys are hot now.
    pub(super) fn sort(&mut self, is_hot: impl Fn(u64) -> bool) {
        let mut has_changed = false;
        for (key, line) in &mut self.lines {
            let hot = is_hot(*key);
            has_changed |= hot != line.is_hot;
            line.is_hot = hot;
            line.next_at = line.next_at.filter(|_| hot);
        }
        if has_changed {
            self.draws.clear();
            for (key, line) in self.lines.iter().filter(|(_, line)| !line.is_hot) {
                self.draws.extend(std::iter::repeat_n(*key, line.len()));
            }
        }
    }

    /// How many may go now, as far as is known without asking; at most so many.
    pub(super) fn ready(&self, now: Instant, most: usize) -> usize {
        let mut ready = self.draws.len();
        for line in self.lines.values().filter(|line| line.is_due(now)) {
            if ready >= most {
                break;
            }
            ready += line.len();
        }
        ready.min(most)
    }

    /// When the pace of a hot key is to be asked next.
    pub(super) fn next_due(&self, now: Instant) -> Option<Instant> {
        let hot = self.lines.values().filter(|line| line.is_hot);
        hot.filter_map(|line| line.next_at).filter(|at| *at > now).min()
    }

    /// Asks all paces again.
    pub(super) fn wake_all(&mut self) {
        self.lines.values_mut().for_each(|line| line.next_at = None);
    }

    /// Takes entries of hot keys whose time has come, as long as they fit. `admit` tells for a key with so much cost ready how
    /// much of it may leave, or until when it has to wait; `depart` hears what leaves.
    pub(super) fn take_due(
        &mut self,
        now: Instant,
        mut admit: impl FnMut(u64, usize) -> Result<usize, Instant>,
        mut depart: impl FnMut(u64, usize),
        mut fits: impl FnMut(&Ticketed<E>) -> bool,
        mut take: impl FnMut(Ticketed<E>),
    ) {
        let due: Vec<u64> = self
            .lines
            .iter()
            .filter(|(_, line)| line.is_due(now))
            .map(|(key, _)| *key)
            .collect();
        for key in due {
            let Some(line) = self.lines.get_mut(&key) else { continue };
            let wanted: usize = line
                .rejected
                .values()
                .chain(&line.fresh)
                .take(CALL)
                .map(|entry| entry.ticket.cost)
                .sum();
            let most = match admit(key, wanted) {
                Ok(most) => most,
                Err(until) => {
                    line.next_at = Some(until);
                    continue;
                }
            };
            let mut cost = 0;
            while let Some(next) = line.next()
                && (cost == 0 || cost + next.ticket.cost <= most)
                && fits(next)
                && let Some(entry) = line.pop()
            {
                cost += entry.ticket.cost;
                self.len -= 1;
                self.bytes = self.bytes.saturating_sub(entry.ticket.weight);
                take(entry);
            }
            if line.len() == 0 {
                self.lines.remove(&key);
            }
            if cost == 0 {
                return;
            }
            depart(key, cost);
        }
    }

    /// Takes entries of other keys in turns, as long as they fit.
    pub(super) fn take_turns(&mut self, mut fits: impl FnMut(&Ticketed<E>) -> bool, mut take: impl FnMut(Ticketed<E>)) {
        self.since = None;
        while !self.draws.is_empty() {
            self.drawn = (self.drawn + GOLDEN).fract();
            let index = index(self.drawn, self.draws.len());
            let key = self.draws[index];
            let Some(line) = self.lines.get_mut(&key) else {
                self.draws.swap_remove(index);
                continue;
            };
            if !line.next().is_some_and(&mut fits) {
                self.since = Some(Instant::now());
                return;
            }
            self.draws.swap_remove(index);
            if let Some(entry) = line.pop() {
                self.len -= 1;
                self.bytes = self.bytes.saturating_sub(entry.ticket.weight);
                take(entry);
            }
            if line.len() == 0 {
                self.lines.remove(&key);
            }
        }
    }

    /// Takes those that were rejected and for which this holds.
    pub(super) fn take_expired(&mut self, is_expired: impl Fn(&Ticketed<E>) -> bool) -> Vec<Ticketed<E>> {
        let mut expired = Vec::new();
        for (key, line) in &mut self.lines {
            while line.rejected.values().next().is_some_and(&is_expired) {
                expired.extend(line.rejected.pop_first().map(|(_, entry)| entry));
                if !line.is_hot
                    && let Some(index) = self.draws.iter().position(|drawn| drawn == key)
                {
                    self.draws.swap_remove(index);
                }
            }
        }
        self.len -= expired.len();
        let bytes: usize = expired.iter().map(|entry| entry.ticket.weight).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
        self.lines.retain(|_, line| line.len() > 0);
        expired
    }

    /// The first attempt of those that were rejected, line by line the earliest.
    pub(super) fn first_sent(&self) -> Option<Instant> {
        let lines = self.lines.values();
        lines
            .filter_map(|line| line.rejected.keys().next().map(|(at, _)| *at))
            .min()
    }

    /// All of them.
    pub(super) fn take_all(&mut self) -> Vec<Ticketed<E>> {
        let lines = std::mem::replace(self, Self::new()).lines;
        let entries = lines
            .into_values()
            .flat_map(|line| line.rejected.into_values().chain(line.fresh));
        entries.collect()
    }
}

/// Entries of a hot key that are offered to its pace at once: the largest call of any service.
const CALL: usize = 500;

impl<E> Line<E> {
    fn is_due(&self, now: Instant) -> bool {
        self.is_hot && self.next_at.is_none_or(|at| at <= now)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a part of a length is within it"
)]
fn index(part: f64, length: usize) -> usize {
    ((part * length as f64) as usize).min(length.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ticket::Ticket;

    fn lines(entries: impl IntoIterator<Item = (u64, bool)>) -> KeyLines<u64> {
        let mut lines = KeyLines::new();
        for (position, (key, is_hot)) in entries.into_iter().enumerate() {
            let ticket = Ticket::new(position as u64, 1);
            lines.push(key, is_hot, Ticketed { entry: key, ticket });
        }
        lines
    }

    fn take_turns(lines: &mut KeyLines<u64>, most: usize) -> Vec<(u64, u64)> {
        let (mut left, mut taken) = (most, Vec::new());
        let fits = |_: &Ticketed<u64>| left.checked_sub(1).inspect(|rest| left = *rest).is_some();
        lines.take_turns(fits, |entry| taken.push((entry.entry, entry.ticket.position)));
        taken
    }

    #[test]
    fn turns_are_in_proportion_to_what_waits_and_in_order_within_a_key() {
        // Sorted input: 300 entries of one key, and then 100 of another.
        let mut lines = lines((0..400).map(|position| (position / 300, false)));
        let taken = take_turns(&mut lines, 40);
        let first = taken.iter().filter(|(key, _)| *key == 0).count();
        assert!((27..=33).contains(&first), "{first} of 40");
        for key in [0, 1] {
            let positions: Vec<u64> = taken
                .iter()
                .filter(|(of, _)| *of == key)
                .map(|(_, position)| *position)
                .collect();
            assert!(positions.is_sorted(), "{positions:?}");
        }
        assert_eq!(lines.len(), 360);
        assert_eq!(take_turns(&mut lines, usize::MAX).len(), 360);
        assert_eq!((lines.len(), lines.bytes()), (0, 0));
    }

    #[test]
    fn a_hot_key_goes_as_far_as_its_pace_lets_it_and_is_asked_again_when_it_says() {
        let now = Instant::now();
        let later = now + Duration::from_millis(5);
        let mut lines = lines([(7, true), (7, true), (7, true), (8, false)]);
        let (mut left, mut taken) = (Vec::new(), Vec::new());
        let depart = |key, cost| left.push((key, cost));
        lines.take_due(
            now,
            |_, wanted| Ok(wanted.min(2)),
            depart,
            |_| true,
            |entry| taken.push(entry.ticket.position),
        );
        assert_eq!((taken, left), (vec![0, 1], vec![(7, 2)]));
        lines.take_due(now, |_, _| Err(later), |_, _| {}, |_| true, |_| panic!("it waits"));
        assert_eq!(
            (lines.next_due(now), lines.ready(now, 25), lines.ready(later, 25)),
            (Some(later), 1, 2)
        );
        lines.wake_all();
        assert_eq!(lines.ready(now, 25), 2);
    }

    #[test]
    fn a_key_that_becomes_hot_is_not_drawn_any_more_and_one_that_cools_is_again() {
        let mut lines = lines((0..100).map(|position| (position % 2, false)));
        lines.sort(|key| key == 0);
        let taken = take_turns(&mut lines, 30);
        assert!(taken.iter().all(|(key, _)| *key == 1), "{taken:?}");
        lines.sort(|_| false);
        assert_eq!(take_turns(&mut lines, usize::MAX).len(), 70);
    }

    #[test]
    fn nothing_that_waits_is_lost_at_the_end() {
        let mut lines = lines((0..50).map(|position| (position % 5, position % 5 == 0)));
        let mut positions: Vec<u64> = lines.take_all().iter().map(|entry| entry.ticket.position).collect();
        positions.sort_unstable();
        assert_eq!(positions, (0..50).collect::<Vec<_>>());
        assert_eq!((lines.len(), lines.ready(Instant::now(), 25)), (0, 0));
    }
}
