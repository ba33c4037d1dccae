//! An activity of Step Functions, as a Distributed Map uses it: hands out each shard until it is answered, again after a failure or
//! when heartbeats are missing, and refuses what comes from a worker that no longer has the shard.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};

use super::clock::{Clock, End};

/// `HeartbeatSeconds` of the state machine.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(10);

/// How often it is looked whether a shard is due: shards become due and heartbeats go missing without a call.
const LOOK: Duration = Duration::from_millis(200);

/// How long a poll is held open.
const HELD: Duration = Duration::from_mins(1);

/// The delay before a shard is handed out again.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);

/// More than the `MaxAttempts` of the state machine, so that a busy machine on which heartbeats are late gives no shard up.
const ATTEMPTS: u32 = 200;

/// The errors after which the state machine of `examples/distributed` hands a shard out again.
const RETRIED: [&str; 4] = ["Interrupted", "Stopped", "DeadLetters", "Checkpoint"];

pub(crate) struct Activity {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    shards: Vec<Shard>,
    /// The tokens of all tasks: the shard, and the worker that has got it.
    tokens: Vec<(usize, usize)>,
}

struct Shard {
    input: Value,
    phase: Phase,
    retries: u32,
    /// The workers that have got it, in their order.
    holders: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    /// It is handed out from then on.
    Waiting(Duration),
    HandedOut {
        token: usize,
        last_beat: Duration,
    },
    Done,
    GivenUp(String),
}

/// What an answer of a worker came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    Poll,
    /// The worker has got this shard.
    Handed(usize),
    /// A heartbeat of this shard was accepted, or refused.
    Beat {
        shard: usize,
        is_accepted: bool,
    },
    /// An answer for this shard: whether it is a success, and whether it was accepted.
    Answer {
        shard: usize,
        is_success: bool,
        is_accepted: bool,
    },
}

impl Activity {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            state: Mutex::default(),
        }
    }

    /// Hands these out from now on.
    pub(crate) fn begin(&self, shards: impl IntoIterator<Item = Value>) {
        let begun = shards.into_iter().map(|input| Shard {
            input,
            phase: Phase::Waiting(Duration::ZERO),
            retries: 0,
            holders: Vec::new(),
        });
        self.state().shards = begun.collect();
    }

    /// Whether every shard is done or given up.
    pub(crate) fn has_finished(&self) -> bool {
        self.state().shards.iter().all(Shard::has_ended)
    }

    /// Why shards were given up.
    pub(crate) fn given_up(&self) -> Vec<String> {
        let state = self.state();
        let given_up = state.shards.iter().filter_map(|shard| match &shard.phase {
            Phase::GivenUp(why) => Some(format!("{}: {why}", shard.input)),
            _ => None,
        });
        given_up.collect()
    }

    /// The workers that had the shard, in their order.
    pub(crate) fn holders(&self, shard: usize) -> Vec<usize> {
        self.state().shards[shard].holders.clone()
    }

    /// The shard of a task.
    pub(crate) fn shard_of(&self, body: &Value) -> Option<usize> {
        let token: usize = body["taskToken"].as_str()?.parse().ok()?;
        self.state().tokens.get(token).map(|(shard, _)| *shard)
    }

    /// Answers a call of a worker about a shard: the status, the body, and what it came to.
    pub(crate) fn answer(&self, operation: &str, body: &Value) -> (u16, Value, Said) {
        let Some(token) = body["taskToken"].as_str().and_then(|token| token.parse::<usize>().ok()) else {
            return (400, json!({"__type": "InvalidToken"}), Said::Poll);
        };
        let mut state = self.state();
        let now = self.clock.now();
        state.expire(now);
        let (index, _) = state.tokens[token];
        let shard = &mut state.shards[index];
        let is_accepted = matches!(shard.phase, Phase::HandedOut { token: current, .. } if current == token);
        let said = match operation {
            "SendTaskHeartbeat" => Said::Beat {
                shard: index,
                is_accepted,
            },
            _ => Said::Answer {
                shard: index,
                is_success: operation == "SendTaskSuccess",
                is_accepted,
            },
        };
        if !is_accepted {
            let late = json!({"__type": "TaskTimedOut", "message": "the task has timed out"});
            return (400, late, said);
        }
        match operation {
            "SendTaskHeartbeat" => shard.phase = Phase::HandedOut { token, last_beat: now },
            "SendTaskSuccess" => shard.phase = Phase::Done,
            _ => {
                let error = body["error"].as_str().unwrap_or_default();
                let why = format!("{error}: {}", body["cause"].as_str().unwrap_or_default());
                shard.fail(now, RETRIED.contains(&error), why);
            }
        }
        (200, json!({}), said)
    }

    /// Waits for a shard, until the fleet ends.
    pub(crate) async fn poll(&self, worker: usize, end: &End) -> (u16, Value, Said) {
        let until = self.clock.now() + HELD;
        while !end.has_come() && self.clock.now() < until {
            if let Some((task, shard)) = self.hand_out(worker) {
                return (200, task, Said::Handed(shard));
            }
            end.wait(LOOK).await;
        }
        (200, json!({}), Said::Poll)
    }

    /// Hands out a shard that is due.
    fn hand_out(&self, worker: usize) -> Option<(Value, usize)> {
        let now = self.clock.now();
        let mut state = self.state();
        state.expire(now);
        let is_due = |shard: &Shard| matches!(shard.phase, Phase::Waiting(from) if from <= now);
        let index = state.shards.iter().position(is_due)?;
        let token = state.tokens.len();
        state.tokens.push((index, worker));
        let shard = &mut state.shards[index];
        shard.holders.push(worker);
        shard.phase = Phase::HandedOut { token, last_beat: now };
        let task = json!({"taskToken": token.to_string(), "input": shard.input.to_string()});
        Some((task, index))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl State {
    /// Ends the tasks whose heartbeats are missing.
    fn expire(&mut self, now: Duration) {
        for shard in &mut self.shards {
            if matches!(shard.phase, Phase::HandedOut { last_beat, .. } if now > last_beat + HEARTBEAT) {
                shard.fail(now, true, "States.HeartbeatTimeout".to_owned());
            }
        }
    }
}

impl Shard {
    fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Done | Phase::GivenUp(_))
    }

    fn fail(&mut self, now: Duration, is_retried: bool, why: String) {
        self.retries += 1;
        self.phase = if is_retried && self.retries <= ATTEMPTS {
            Phase::Waiting(now + INTERVAL)
        } else {
            Phase::GivenUp(why)
        };
    }
}
