//! How often the service is asked, and what is known meanwhile.

use std::cell::{Cell, RefCell};
use std::future::{pending, ready};

use futures::future::join_all;
use tokio::time::timeout;

use super::known::OLD;
use super::*;
use crate::contract::{Answer, Rejection, Verdict};

fn fault() -> Fault {
    Fault::new("fault")
}

/// Asks once after another, with these pauses in seconds, and returns the number of calls of each lookup.
async fn calls<const N: usize>(once: bool, error: fn(Fault) -> LookupError, pauses: [u64; N]) -> [u32; N] {
    let lookup = Lookup::<()>::default();
    let calls = Cell::new(0);
    let call = || {
        calls.set(calls.get() + 1);
        ready(Err(error(fault())))
    };
    let mut made = [0; N];
    for (made, pause) in made.iter_mut().zip(pauses) {
        sleep(Duration::from_secs(pause)).await;
        let asked = if once {
            lookup.ask_once(call).await
        } else {
            lookup.ask(call).await
        };
        *made = calls.replace(0);
        assert_eq!(asked.is_err(), *made > 0);
        assert!(lookup.get().is_none() && lookup.missing().is_some());
    }
    made
}

#[tokio::test(start_paused = true)]
async fn the_error_decides_when_the_service_is_asked_again() {
    for once in [false, true] {
        assert_eq!(calls(once, LookupError::NotNow, [0, 0, 0]).await, [1, 1, 1]);
        assert_eq!(calls(once, LookupError::Never, [0, 0, 299, 1]).await, [1, 0, 0, 1]);
    }
    assert_eq!(calls(true, LookupError::Transient, [0, 0, 29, 1]).await, [1, 0, 0, 1]);
}

#[tokio::test(start_paused = true)]
async fn the_service_is_asked_until_there_is_an_answer() {
    let lookup = Lookup::by("Describe");
    let outage = Duration::from_secs(10 * 60);
    let (started, calls) = (Instant::now(), Cell::new(0_u32));
    let call = || {
        calls.set(calls.get() + 1);
        let is_over = started.elapsed() >= outage;
        ready(if is_over {
            Ok(7)
        } else {
            Err(LookupError::Transient(fault()))
        })
    };
    assert!(timeout(outage / 2, lookup.ask(call)).await.is_err());
    assert_eq!(lookup.missing().unwrap().code(), "Describe: fault");
    assert!(lookup.ask(call).await.is_ok());
    assert!(started.elapsed() <= outage + LONGEST_DELAY);
    assert_eq!((lookup.get(), lookup.missing().is_none()), (Some(Arc::new(7)), true));
    // One in 1.5 s.
    assert!((300..600).contains(&calls.get()), "{} calls", calls.get());
}

#[tokio::test(start_paused = true)]
async fn processes_that_are_throttled_together_do_not_ask_together() {
    /// Calls that the service takes in a second, as those of a whole account.
    const RATE: usize = 10;
    let (started, calls) = (Instant::now(), RefCell::new(Vec::new()));
    let answered = Cell::new(0);
    let call = || {
        let now = started.elapsed();
        calls.borrow_mut().push(now);
        let is_taken = now.as_secs_f64() * 10.0 + 1.0 >= f64::from(answered.get());
        if is_taken {
            answered.set(answered.get() + 1);
        }
        ready(if is_taken {
            Ok(())
        } else {
            Err(LookupError::Transient(fault()))
        })
    };
    let lookups: Vec<Lookup<()>> = (0..50).map(|_| Lookup::default()).collect();
    assert!(
        join_all(lookups.iter().map(|lookup| lookup.ask(call)))
            .await
            .iter()
            .all(Result::is_ok)
    );
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let calls = calls.into_inner();
    let after = calls.iter().filter(|at| **at > Duration::from_millis(400));
    let mut by_moment = std::collections::HashMap::<u128, usize>::new();
    after.for_each(|at| *by_moment.entry(at.as_millis() / 10).or_default() += 1);
    let most = by_moment.into_values().max();
    assert!(most <= Some(RATE), "{most:?} calls within 10 ms");
}

#[tokio::test(start_paused = true)]
async fn what_a_delivery_can_do_without_is_waited_for_no_longer_than_a_moment() {
    let lookup = Lookup::<()>::default();
    let started = Instant::now();
    let all = join_all((0..64).map(|_| lookup.ask_once(pending))).await;
    assert!(all.iter().any(Result::is_err));
    assert_eq!(started.elapsed(), UP_FRONT);
    // Another one asks for as long as it takes.
    let asking = lookup.ask(pending);
    let (asked, once) = tokio::join!(timeout(TIMEOUT, asking), lookup.ask_once(pending));
    assert!(asked.is_err() || asked.unwrap().is_ok());
    assert!(once.is_err() || once.unwrap().is_none());
    assert!(started.elapsed() <= UP_FRONT + TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_kept() {
    let lookup = Lookup::default();
    assert!(lookup.ask(|| ready(Ok(7))).await.is_ok());
    assert!(lookup.ask(|| ready(Ok(8))).await.is_ok());
    assert!(lookup.ask_once(|| ready(Ok(9))).await.is_ok());
    assert_eq!(lookup.get(), Some(Arc::new(7)));
    assert_eq!(Lookup::given(9).get(), Some(Arc::new(9)));
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_end_is_repeated() {
    let lookup = Lookup::<()>::default();
    assert!(timeout(2 * TIMEOUT, lookup.ask(pending)).await.is_err());
    assert_eq!(lookup.missing().unwrap().code(), LATE);
}

#[test]
fn a_permission_is_advised_only_where_it_is_missing() {
    for (code, advice) in [
        ("AccessDeniedException", Advice::Permit),
        ("UnknownOperationException", Advice::DoWithout),
        ("connection failed", Advice::Wait),
        ("timeout", Advice::Wait),
        ("UnrecognizedClientException", Advice::Wait),
    ] {
        assert_eq!(LookupError::advice(&Fault::new(code)), advice, "{code}");
    }
}

#[test]
fn a_failed_call_says_whether_to_ask_again() {
    let fault = |code: &'static str| Fault::new(code);
    for rejection in [
        Rejection::Throttled,
        Rejection::Transient,
        Rejection::Connection,
        Rejection::Setup,
        Rejection::Unanswered,
    ] {
        for fault in [fault("code"), fault("code").ambiguous()] {
            let rejected = Answer::Whole(Verdict::Rejected(rejection, fault));
            assert!(matches!(LookupError::from(rejected), LookupError::Transient(_)));
        }
    }
    let refused = |fault| LookupError::from(Answer::Whole(Verdict::Refused(fault)));
    let of_a_proxy = fault("HTTP 400").ambiguous();
    assert!(matches!(refused(of_a_proxy), LookupError::Transient(_)));
    assert!(matches!(refused(fault("ValidationException")), LookupError::NotNow(_)));
    assert!(matches!(refused(fault("UnsupportedOperation")), LookupError::Never(_)));
    assert!(matches!(
        LookupError::from(Answer::Stop(fault("AccessDenied"))),
        LookupError::Never(_)
    ));
    for code in [
        "QueueDoesNotExist",
        "NonExistentQueue",
        "ResourceNotFoundException",
        "UnrecognizedClientException",
    ] {
        let error = LookupError::from(Answer::Stop(fault(code)));
        assert!(matches!(error, LookupError::NotNow(_)), "{code}");
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// How a call fails.
type Failing = fn(Fault) -> LookupError;

/// A lookup of a number that the service changes, and how often it was asked.
struct Changing {
    lookup: Lookup<u32>,
    says: Cell<u32>,
    error: Cell<Option<Failing>>,
    calls: Cell<u32>,
}

impl Changing {
    async fn known() -> Self {
        let changing = Self {
            lookup: Lookup::by("Describe"),
            says: Cell::new(7),
            error: Cell::new(None),
            calls: Cell::new(0),
        };
        assert_eq!(changing.prepared(false).await, 7);
        changing
    }

    /// What is known after a preparation.
    async fn prepared(&self, once: bool) -> u32 {
        let call = || {
            self.calls.set(self.calls.get() + 1);
            ready(match self.error.get() {
                Some(error) => Err(error(fault())),
                None => Ok(self.says.get()),
            })
        };
        let asked = if once {
            self.lookup.ask_once(call).await
        } else {
            self.lookup.ask(call).await
        };
        let known = asked.unwrap().unwrap();
        assert_eq!(Some(&known), self.lookup.get().as_ref());
        *known
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_asked_for_again_after_an_hour() {
    for once in [false, true] {
        let changing = Changing::known().await;
        changing.says.set(8);
        sleep(OLD.saturating_sub(SECOND)).await;
        assert!(changing.lookup.missing().is_none());
        assert_eq!((changing.prepared(once).await, changing.calls.get()), (7, 1));
        sleep(SECOND).await;
        assert_eq!(changing.lookup.missing().unwrap().code(), "Describe: outdated");
        assert_eq!((changing.prepared(once).await, changing.calls.get()), (8, 2));
        assert!(changing.lookup.missing().is_none());
        assert_eq!((changing.prepared(once).await, changing.calls.get()), (8, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_seems_outdated_is_asked_for_again_at_once_and_at_most_once_a_minute() {
    let changing = Changing::known().await;
    sleep(RECENT).await;
    changing.says.set(8);
    assert_eq!(changing.prepared(false).await, 7);
    let mut asked_at = Vec::new();
    for second in 0..150 {
        changing.lookup.seems_outdated();
        let before = changing.calls.get();
        assert_eq!(changing.prepared(second % 2 == 0).await, 8);
        if changing.calls.get() > before {
            asked_at.push(second);
        }
        sleep(SECOND).await;
    }
    assert_eq!(asked_at, [0, 60, 120]);
}

#[tokio::test(start_paused = true)]
async fn an_old_answer_holds_while_there_is_no_newer_one() {
    for (error, next) in [
        (LookupError::Transient as fn(Fault) -> LookupError, RECENT),
        (LookupError::NotNow, RECENT),
        (LookupError::Never, DENIED),
    ] {
        for once in [false, true] {
            let changing = Changing::known().await;
            sleep(OLD).await;
            changing.says.set(8);
            changing.error.set(Some(error));
            assert_eq!((changing.prepared(once).await, changing.calls.get()), (7, 2));
            assert!(changing.lookup.missing().is_none(), "there is an answer");
            changing.error.set(None);
            sleep(next.saturating_sub(SECOND)).await;
            assert_eq!((changing.prepared(once).await, changing.calls.get()), (7, 2));
            sleep(SECOND).await;
            assert_eq!((changing.prepared(once).await, changing.calls.get()), (8, 3));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_delivery_waits_for_a_newer_answer_no_longer_than_a_moment() {
    let changing = Changing::known().await;
    sleep(OLD).await;
    let started = Instant::now();
    let known = changing.lookup.ask(pending).await.unwrap();
    assert_eq!((known.as_deref(), started.elapsed()), (Some(&7), UP_FRONT));
}

#[tokio::test(start_paused = true)]
async fn a_given_answer_holds_for_ever() {
    let given = Lookup::given(7);
    given.seems_outdated();
    sleep(100 * OLD).await;
    given.seems_outdated();
    assert!(given.missing().is_none());
    let never = async || -> Result<i32, LookupError> { panic!("it is not asked for") };
    assert_eq!(given.ask(never).await.unwrap().as_deref(), Some(&7));
}

/// That it is gone, for example, of which a call without an answer says nothing.
#[tokio::test(start_paused = true)]
async fn a_refusal_is_remembered_until_there_is_an_answer() {
    let changing = Changing::known().await;
    sleep(OLD).await;
    let gone = |_| LookupError::NotNow(Fault::new("gone"));
    for error in [gone as fn(Fault) -> LookupError, LookupError::Transient] {
        changing.error.set(Some(error));
        changing.prepared(false).await;
        assert_eq!(changing.lookup.last_fault().unwrap().code(), "gone");
        sleep(RECENT).await;
    }
    changing.error.set(None);
    changing.prepared(false).await;
    assert!(changing.lookup.last_fault().is_none());
}
