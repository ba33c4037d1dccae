//! Notices that a delivery makes no progress, logs it, and knows since when.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tracing::{field, info, warn};

use crate::contract::Fault;
use crate::engine::calls::EndedCall;
use crate::engine::entry::EntryState;
use crate::events::STALLED;
use crate::options::DeliveryOptions;
use crate::pace::Gate;
use crate::report::Cause;
use crate::time_limit::is_held_up;

/// How long nothing may be accepted or refused before a warning is logged. A call usually takes some 10 ms, and the SDK's
/// timeout for a connection is 3.1 s.
const STALLED_AFTER: Duration = Duration::from_secs(5);

/// The longest time between two warnings. Before that, the time doubles from one warning to the next.
const LONGEST: Duration = Duration::from_mins(1);

/// The code of a stall without a failure.
const NO_ANSWER: &str = "no answer yet";

/// Notices that a delivery makes no progress, and logs it.
///
/// Progress is a final answer for an entry: accepted, or refused without a doubt whose fault it is. A delivery without progress is stalled when its calls fail
/// or get no answer; not when it waits for its input or for the strategy.
pub(crate) struct Watch {
    destination: String,
    /// When progress was made last, or when there were first entries to make progress with.
    since: Instant,
    /// Since when the preparation had failed, until progress was made.
    unprepared_since: Option<Instant>,
    /// When the last call was answered.
    answered: Instant,
    /// Since when there is nothing to try.
    idle_since: Option<Instant>,
    /// How long there was nothing to try since the last progress, which is no part of an outage.
    idle: Duration,
    /// Why a call has failed since the last progress.
    fault: Option<Fault>,
    /// How long the stall had lasted at the last look; zero without a stall.
    stalled: Duration,
    /// Whether the stall was logged.
    logged: bool,
}

/// Nothing is accepted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outage<'a> {
    pub(crate) since: Instant,
    /// Why the last call failed.
    pub(crate) fault: &'a Fault,
}

impl Outage<'_> {
    /// The cause for an entry whose time is used up, if nothing was accepted since its first attempt.
    fn cause<E>(self, now: Instant, state: &mut EntryState<E>) -> Option<Cause> {
        let first_sent = state.history.as_ref().map(|history| history.first_sent);
        first_sent.is_none_or(|sent| self.since <= sent).then(|| Cause::Outage {
            lasted: now - self.since,
            fault: state.take_fault().unwrap_or_else(|| self.fault.clone()),
        })
    }

    /// The cause for an entry whose time is used up, during this outage if there is one.
    pub(crate) fn time_used_up<E>(outage: Option<Self>, state: &mut EntryState<E>, now: Instant) -> Cause {
        let of_outage = outage.and_then(|outage| outage.cause(now, state));
        of_outage.unwrap_or_else(|| {
            let fault = state.take_fault();
            Cause::TimeUsedUp(fault.unwrap_or_else(|| Fault::new("not sent in time")))
        })
    }
}

impl Watch {
    pub(crate) fn new(destination: String) -> Self {
        let now = Instant::now();
        Self {
            destination,
            since: now,
            unprepared_since: None,
            answered: now,
            idle_since: None,
            idle: Duration::ZERO,
            fault: None,
            stalled: Duration::ZERO,
            logged: false,
        }
    }

    /// The destination of the delivery.
    pub(crate) fn destination(&self) -> &str {
        &self.destination
    }

    /// When to look for a stall.
    pub(crate) fn next_look(&self) -> Instant {
        self.since + self.stalled + self.wait()
    }

    /// The time between the last warning and the next.
    fn wait(&self) -> Duration {
        self.stalled.clamp(STALLED_AFTER, LONGEST)
    }

    /// Since when nothing is accepted, and why the last call failed; `None` while entries are accepted, or none is tried.
    pub(crate) fn outage(&self) -> Option<Outage<'_>> {
        let since = self.unprepared_since.map_or(self.since, |since| since.min(self.since));
        Some(Outage {
            since: since + self.idle,
            fault: self.fault.as_ref()?,
        })
    }

    /// The preparation has failed since this moment, if it has: that is a part of the outage if calls fail as well.
    pub(crate) fn has_failed_since(&mut self, since: Option<Instant>) {
        self.unprepared_since = since;
    }

    /// Whether there are entries to try. Time without entries is not part of an outage; after some seconds of it, the next outage is a
    /// new one. This does not apply while calls wait because of an earlier answer: entries that arrive meanwhile wait for the same
    /// reason.
    pub(crate) fn has_entries(&mut self, now: Instant, has_entries: bool, gate: &Gate) {
        if !has_entries {
            self.idle_since.get_or_insert(now);
            return;
        }
        let Some(idle_since) = self.idle_since.take() else {
            return;
        };
        let is_held = gate.held_since(now).is_some_and(|since| since <= idle_since);
        if now - idle_since >= STALLED_AFTER && !is_held {
            self.unprepared_since = None;
            self.start_over(now);
        } else {
            self.idle += now - idle_since;
        }
    }

    /// A call leaves, while `in_flight` entries are in flight.
    pub(crate) fn call_leaves(&mut self, now: Instant, in_flight: u64) {
        if in_flight == 0 && self.fault.is_none() {
            self.start_over(now);
        }
    }

    /// A call was answered.
    pub(crate) fn call_ended<E>(&mut self, settled: &EndedCall<E>) {
        let now = settled.outcome.answered_at.into();
        self.answered = now;
        let has_progress = settled.outcome.accepted > 0 || (settled.outcome.refused > 0 && !settled.is_disputed);
        if !has_progress {
            self.fault = settled.fault().cloned();
            return;
        }
        self.unprepared_since = None;
        if self.logged {
            info!(
                target: STALLED,
                destination = self.destination,
                seconds = (now - self.since).as_secs(),
                "the service answers again"
            );
        }
        self.start_over(now);
    }

    fn start_over(&mut self, now: Instant) {
        self.since = now;
        self.idle = Duration::ZERO;
        self.fault = None;
        self.stalled = Duration::ZERO;
        self.logged = false;
    }

    /// The process was frozen up to now: the stall is not longer than at the last look.
    pub(crate) fn goes_on(&mut self, now: Instant) {
        self.since = now.checked_sub(self.stalled).unwrap_or(now);
        self.idle = self.idle.min(self.stalled);
        self.idle_since = self.idle_since.map(|_| now);
    }

    /// Looks for a stall, and logs it when a warning is due. Returns when to look again.
    pub(crate) fn look(&mut self, options: &DeliveryOptions, in_flight: u64, waiting: u64) -> Instant {
        let now = Instant::now();
        if now < self.next_look() {
            return self.next_look();
        }
        let is_underway = in_flight + waiting > 0 || now - self.answered < STALLED_AFTER;
        let fault = match &self.fault {
            Some(fault) if is_underway => Some(fault.clone()),
            None if in_flight > 0 && now - self.since >= options.call_waits + STALLED_AFTER => None,
            _ => return now + STALLED_AFTER,
        };
        self.log(now, options, fault.as_ref(), in_flight, waiting);
        self.next_look()
    }

    /// Awaits the preparation, and logs a warning when it takes long. `fault` tells why the last attempt of it failed.
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
        let quiet = self.wait();
        self.stalled = now - self.since;
        if !options.gate.warnings().may_warn(&self.destination, now, quiet) {
            return;
        }
        self.logged = true;
        let pace = options.gate.strategy.snapshot();
        warn!(
            target: STALLED,
            destination = self.destination,
            code = fault.map_or(NO_ANSWER, Fault::code),
            explanation = fault.and_then(Fault::explanation),
            seconds = self.stalled.as_secs(),
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
                format!("{seconds} s have passed since each entry was handed over")
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
    use crate::engine::calls::settle;
    use crate::engine::entry::{Chunk, TrackedEntry};
    use crate::metrics::Metrics;

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
        settle(chunk, answer, now, now, &Metrics::none())
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
        watch.logged
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
        // Nothing is underway just now, but something was up to a moment ago.
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
