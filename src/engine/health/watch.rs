//! Notices that a delivery makes no progress, and logs it.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tracing::{field, info, warn};

use super::outage::{Outage, OutageClock, STALLED_AFTER};
use crate::contract::Fault;
use crate::engine::calls::EndedCall;
use crate::events::STALLED;
use crate::options::DeliveryOptions;
use crate::pace::Gate;
use crate::time_limit::is_held_up;

/// The longest time between two warnings. Before that, the time doubles from one warning to the next.
const LONGEST: Duration = Duration::from_secs(60);

/// The code of a stall without a failure.
const NO_ANSWER: &str = "no answer yet";

/// Notices that a delivery makes no progress, and logs it.
///
/// Progress is a final answer for an entry: accepted, or refused without a doubt whose fault it is. A delivery without progress is stalled when its calls fail
/// or get no answer; not when it waits for its input or for the strategy.
pub(crate) struct Watch {
    pub(crate) destination: String,
    outage: OutageClock,
    stall: Stall,
}

/// How long there is no progress, with entries to try or without, and when the next warning is due.
struct Stall {
    /// When progress was made last, or when there were first entries to make progress with.
    since: Instant,
    /// How long it had lasted at the last warning; zero before the first.
    warned_after: Duration,
    /// Whether a warning was logged.
    is_logged: bool,
    /// When the last call was answered.
    answered: Instant,
}

impl Stall {
    fn starting(now: Instant) -> Self {
        Self {
            since: now,
            warned_after: Duration::ZERO,
            is_logged: false,
            answered: now,
        }
    }

    fn start_over(&mut self, now: Instant) {
        *self = Self {
            answered: self.answered,
            ..Self::starting(now)
        };
    }

    /// The process was frozen up to now: it is not longer than at the last warning.
    fn goes_on(&mut self, now: Instant) {
        self.since = now.checked_sub(self.warned_after).unwrap_or(now);
    }

    /// The time between the last warning and the next.
    fn quiet(&self) -> Duration {
        self.warned_after.clamp(STALLED_AFTER, LONGEST)
    }

    fn next_warning(&self) -> Instant {
        self.since + self.warned_after + self.quiet()
    }

    /// Whether a call was answered lately.
    fn has_answers(&self, now: Instant) -> bool {
        now - self.answered < STALLED_AFTER
    }
}

impl Watch {
    pub(crate) fn new(destination: String) -> Self {
        let now = Instant::now();
        Self {
            destination,
            outage: OutageClock::starting(now),
            stall: Stall::starting(now),
        }
    }

    /// When to look for a stall.
    pub(crate) fn next_look(&self) -> Instant {
        self.stall.next_warning()
    }

    /// Since when nothing is accepted, and why the last call failed; `None` while entries are accepted, or none is tried.
    pub(crate) fn outage(&self) -> Option<Outage<'_>> {
        self.outage.outage()
    }

    /// The preparation has failed since this moment, if it has: that is a part of the outage if calls fail as well.
    pub(crate) fn has_failed_since(&mut self, since: Option<Instant>) {
        self.outage.has_failed_since(since);
    }

    /// Whether there are entries to try. Time without entries is not part of an outage.
    pub(crate) fn has_entries(&mut self, now: Instant, has_entries: bool, gate: &Gate) {
        if self.outage.has_entries(now, has_entries, gate) {
            self.start_over(now);
        }
    }

    /// A call leaves, while `in_flight` entries are in flight.
    pub(crate) fn call_leaves(&mut self, now: Instant, in_flight: u64) {
        if in_flight == 0 && self.outage.fault().is_none() {
            self.start_over(now);
        }
    }

    /// A call was answered.
    pub(crate) fn call_ended<E>(&mut self, settled: &EndedCall<E>) {
        let now = settled.outcome.answered_at.into();
        self.stall.answered = now;
        let has_progress = settled.outcome.accepted > 0 || (settled.outcome.refused > 0 && !settled.is_disputed);
        if !has_progress {
            return self.outage.call_failed(settled.fault().cloned());
        }
        self.outage.ends();
        if self.stall.is_logged {
            info!(
                target: STALLED,
                destination = self.destination,
                seconds = (now - self.stall.since).as_secs(),
                "the service answers again"
            );
        }
        self.start_over(now);
    }

    fn start_over(&mut self, now: Instant) {
        self.outage.start_over(now);
        self.stall.start_over(now);
    }

    /// The process was frozen up to now, in which time nothing could be accepted.
    pub(crate) fn goes_on(&mut self, now: Instant) {
        self.outage.goes_on(now, self.stall.warned_after);
        self.stall.goes_on(now);
    }

    /// Looks for a stall, and logs it when a warning is due. Returns when to look again.
    pub(crate) fn look(&mut self, options: &DeliveryOptions, in_flight: u64, waiting: u64) -> Instant {
        let now = Instant::now();
        if now < self.next_look() {
            return self.next_look();
        }
        let is_underway = in_flight + waiting > 0 || self.stall.has_answers(now);
        let fault = match self.outage.fault() {
            Some(fault) if is_underway => Some(fault.clone()),
            None if in_flight > 0 && now - self.stall.since >= options.call_waits + STALLED_AFTER => None,
            _ => return now + STALLED_AFTER,
        };
        self.log(now, options, fault.as_ref(), in_flight, waiting);
        self.next_look()
    }

    /// Awaits the preparation, and logs a warning when it takes long. `fault` says why the last attempt of it failed.
    pub(crate) async fn over<R>(
        &mut self,
        options: &DeliveryOptions,
        fault: impl Fn() -> Option<Fault>,
        preparation: impl Future<Output = R>,
    ) -> R {
        self.start_over(Instant::now());
        let mut preparation = pin!(preparation);
        loop {
            tokio::select! {
                biased;
                prepared = &mut preparation => {
                    self.start_over(Instant::now());
                    return prepared;
                }
                () = sleep_until(self.next_look()) => {
                    let now = Instant::now();
                    if is_held_up(self.next_look(), now) {
                        self.goes_on(now);
                        continue;
                    }
                    let fault = fault();
                    self.log(now, options, fault.as_ref(), 0, 0);
                }
            }
        }
    }

    fn log(&mut self, now: Instant, options: &DeliveryOptions, fault: Option<&Fault>, in_flight: u64, waiting: u64) {
        let quiet = self.stall.quiet();
        self.stall.warned_after = now - self.stall.since;
        if !options.gate.warnings().may_warn(&self.destination, now, quiet) {
            return;
        }
        self.stall.is_logged = true;
        let pace = options.gate.strategy.snapshot();
        warn!(
            target: STALLED,
            destination = self.destination,
            code = fault.map_or(NO_ANSWER, Fault::code),
            explanation = fault.and_then(Fault::explanation),
            seconds = self.stall.warned_after.as_secs(),
            in_flight,
            waiting,
            until = until(options, now),
            state = pace.map(|pace| field::display(pace.state)),
            reason = pace.map(|pace| field::display(pace.reason)),
            "nothing is accepted: the delivery keeps trying"
        );
    }
}

/// The limits that end the attempts, in words.
fn until(options: &DeliveryOptions, now: Instant) -> String {
    let patience = options.patience();
    let ends = [
        options
            .retries
            .map(|retries| format!("each entry was sent again {retries} times")),
        (patience < Duration::MAX).then(|| {
            let seconds = patience.as_secs();
            if options.counts_from_hand_over {
                format!("{seconds} s have passed since each entry was submitted")
            } else {
                format!("nothing was accepted for {seconds} s")
            }
        }),
        options
            .deadline
            .map(|deadline| format!("the deadline in {} s", (deadline - now).as_secs())),
    ];
    let ends: Vec<String> = ends.into_iter().flatten().collect();
    if ends.is_empty() {
        return "it is cancelled".to_owned();
    }
    ends.join(", or ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::time::advance;

    use super::*;
    use crate::contract::{Answer, Rejection, Verdict};
    use crate::engine::calls::ended_call_at;
    use crate::engine::entry::{Chunk, EntryState, TrackedEntry};

    fn gate() -> Arc<Gate> {
        DeliveryOptions::default().gate
    }

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// A call that is throttled now.
    fn throttled() -> EndedCall<()> {
        let mut chunk = Chunk::with_capacity(1);
        let state = EntryState::new(0, 1);
        chunk.push(TrackedEntry { entry: (), state });
        let answer = Answer::Whole(Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled")));
        let now = Instant::now();
        ended_call_at(chunk, answer, now, now)
    }

    /// Whether a stall is logged six seconds after the start.
    async fn is_stall(rejected_at: Option<u64>, in_flight: u64, waiting: u64) -> bool {
        let mut watch = Watch::new("orders".to_owned());
        if let Some(rejected_at) = rejected_at {
            advance(seconds(rejected_at)).await;
            watch.call_ended(&throttled());
        }
        advance(seconds(6 - rejected_at.unwrap_or(0))).await;
        watch.look(&DeliveryOptions::default(), in_flight, waiting);
        watch.stall.is_logged
    }

    #[tokio::test(start_paused = true)]
    async fn a_delivery_is_stalled_while_its_calls_fail_or_get_no_answer() {
        for (in_flight, waiting) in [(1, 0), (0, 1), (1, 1)] {
            assert!(is_stall(Some(0), in_flight, waiting).await);
        }
        assert!(is_stall(None, 1, 0).await);
        // It waits for its strategy or its input.
        assert!(!is_stall(None, 0, 1).await);
        assert!(!is_stall(None, 0, 0).await);
        // Nothing is in progress just now, but something was until a moment ago.
        assert!(is_stall(Some(2), 0, 0).await);
        assert!(!is_stall(Some(1), 0, 0).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_of_the_input_is_no_part_of_an_outage() {
        let mut watch = Watch::new("orders".to_owned());
        let begun = Instant::now();
        watch.call_ended(&throttled());
        watch.has_entries(Instant::now(), false, &gate());
        advance(seconds(2)).await;
        watch.has_entries(Instant::now(), true, &gate());
        assert_eq!(watch.outage().map(|outage| outage.since), Some(begun + seconds(2)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_before_a_freeze_does_not_let_an_outage_begin_after_it() {
        let mut watch = Watch::new("orders".to_owned());
        watch.call_ended(&throttled());
        watch.has_entries(Instant::now(), false, &gate());
        advance(seconds(4)).await;
        watch.has_entries(Instant::now(), true, &gate());
        advance(seconds(3_600)).await;
        let now = Instant::now();
        watch.goes_on(now);
        assert_eq!(watch.outage().map(|outage| outage.since), Some(now));
    }

    #[tokio::test(start_paused = true)]
    async fn a_freeze_in_a_pause_does_not_let_an_outage_begin_after_it() {
        let mut watch = Watch::new("orders".to_owned());
        watch.call_ended(&throttled());
        watch.has_entries(Instant::now(), false, &gate());
        advance(seconds(4)).await;
        let now = Instant::now();
        watch.goes_on(now);
        watch.has_entries(now, true, &gate());
        assert_eq!(watch.outage().map(|outage| outage.since), Some(now));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_another_delivery_was_told_names_no_failure_from_before_a_pause() {
        let mut watch = Watch::new("orders".to_owned());
        let gate = gate();
        watch.call_ended(&throttled());
        watch.has_entries(Instant::now(), false, &gate);
        advance(seconds(3_600)).await;
        let now = Instant::now();
        gate.hold(now, now + seconds(60));
        watch.has_entries(now, true, &gate);
        assert!(watch.outage().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_lookup_that_failed_long_ago_is_no_part_of_an_outage() {
        let mut watch = Watch::new("orders".to_owned());
        watch.has_failed_since(Some(Instant::now()));
        watch.has_entries(Instant::now(), false, &gate());
        advance(seconds(3_600)).await;
        let now = Instant::now();
        watch.has_entries(now, true, &gate());
        watch.call_leaves(now, 0);
        watch.call_ended(&throttled());
        assert_eq!(watch.outage().map(|outage| outage.since), Some(now));
    }
}
