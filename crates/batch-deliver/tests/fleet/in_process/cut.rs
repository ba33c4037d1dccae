//! What is left out of a fleet that fails, so that the smallest one that fails in the same way is shown.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::clock::Skew;
use super::fleet::Plan;

/// What is left of the plan of a seed. Written as `faults=0,2 entries=20 workers=1 shards=1`, without what is whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cut {
    /// The faults, by their places in the order of services and requests.
    faults: Option<BTreeSet<usize>>,
    /// The first entries.
    entries: Option<usize>,
    workers: Option<usize>,
    shards: Option<u64>,
    /// Whether all clocks have the same time of day.
    is_without_skew: bool,
}

impl Cut {
    pub(super) fn of(&self, mut plan: Plan) -> Plan {
        if let Some(faults) = &self.faults {
            plan.faults.keep(faults);
        }
        if let Some(entries) = self.entries {
            plan.load.cut(entries);
        }
        plan.workers = self.workers.unwrap_or(plan.workers);
        plan.shards = self.shards.unwrap_or(plan.shards);
        if self.is_without_skew {
            plan.skew = Skew::None;
        }
        plan
    }

    /// The smallest cut of this plan that fails, as far as single steps lead to it: each leaves out one thing more.
    pub(super) fn smallest(plan: &Plan, fails: impl Fn(&Self) -> bool) -> Self {
        let all = Self {
            faults: Some((0..plan.faults.count()).collect()),
            entries: Some(plan.load.entries().count()),
            workers: Some(plan.workers),
            shards: Some(plan.shards),
            is_without_skew: plan.skew == Skew::None,
        };
        let mut smallest = all;
        while let Some(smaller) = smallest.smaller().into_iter().find(|cut| fails(cut)) {
            smallest = smaller;
        }
        smallest
    }

    /// Cuts with less, the boldest first.
    fn smaller(&self) -> Vec<Self> {
        let faults = self.faults.iter().flatten().map(|fault| {
            let mut cut = self.clone();
            cut.faults.iter_mut().for_each(|faults| _ = faults.remove(fault));
            cut
        });
        let with = |change: fn(&mut Self)| {
            let mut cut = self.clone();
            change(&mut cut);
            cut
        };
        let others = [
            with(|cut| cut.is_without_skew = true),
            with(|cut| cut.workers = cut.workers.map(|workers| (workers - 1).max(1))),
            with(|cut| cut.shards = cut.shards.map(|shards| (shards - 1).max(1))),
            with(|cut| cut.entries = cut.entries.map(|entries| (entries / 2).max(1))),
            with(|cut| cut.entries = cut.entries.map(|entries| (entries - entries / 8).max(1))),
            with(|cut| cut.entries = cut.entries.map(|entries| (entries - 1).max(1))),
        ];
        faults.chain(others).filter(|cut| cut != self).collect()
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        if let Some(faults) = &self.faults {
            let faults: Vec<String> = faults.iter().map(usize::to_string).collect();
            words.push(format!("faults={}", faults.join(",")));
        }
        words.extend(self.entries.map(|entries| format!("entries={entries}")));
        words.extend(self.workers.map(|workers| format!("workers={workers}")));
        words.extend(self.shards.map(|shards| format!("shards={shards}")));
        words.extend(self.is_without_skew.then(|| "skew=none".to_owned()));
        f.write_str(&words.join(" "))
    }
}

impl FromStr for Cut {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut cut = Self::default();
        for word in text.split_whitespace() {
            let wrong = |_| format!("`{word}` is no number");
            match word.split_once('=') {
                Some(("faults", places)) => {
                    let places = places.split(',').filter(|place| !place.is_empty());
                    cut.faults = Some(places.map(str::parse).collect::<Result<_, _>>().map_err(wrong)?);
                }
                Some(("entries", count)) => cut.entries = Some(count.parse().map_err(wrong)?),
                Some(("workers", count)) => cut.workers = Some(count.parse().map_err(wrong)?),
                Some(("shards", count)) => cut.shards = Some(count.parse().map_err(wrong)?),
                Some(("skew", "none")) => cut.is_without_skew = true,
                _ => return Err(format!("`{word}` is nothing that can be cut")),
            }
        }
        Ok(cut)
    }
}

/// Any fleet fails here that still has the second fault, seven entries and two workers.
#[test]
fn a_fleet_that_fails_is_cut_to_what_makes_it_fail() {
    let seed = (0..100_000).find(|seed| {
        let plan = Plan::of(*seed);
        plan.faults.count() > 3 && plan.workers == 3 && plan.shards > 2 && plan.skew != Skew::None
    });
    let plan = Plan::of(seed.unwrap());
    let fault = plan.faults.place(1);
    let fails = |cut: &Cut| {
        let plan = cut.of(plan.clone());
        plan.faults.has(fault) && plan.load.entries().count() >= 7 && plan.workers >= 2
    };
    let smallest = Cut::smallest(&plan, fails);
    assert_eq!(smallest.to_string(), "faults=1 entries=7 workers=2 shards=1 skew=none");
    assert_eq!(smallest.to_string().parse(), Ok(smallest));
}
