//! Delivers the shards that a worker is given.

use std::fs;
use std::time::Duration;

use serde_json::json;
use tokio::task::block_in_place;
use tokio::time::Instant;

use super::plan::Planned;
use super::shard_result::{CHECKPOINT, ShardResult};
use crate::job::{Job, Kept, Round};
use crate::keeping::{Claim, DeadLetter, Location, remove};
use crate::outcome::Failure;
use crate::sink::{DeliveryOptions, PaceOptions, Target};
use crate::source::{Input, exactly};
use crate::stop::Stop;

/// Delivers one shard after the other. All share one pace.
pub(crate) struct Worker<T: Target> {
    pub(super) job: Job<T>,
    options: DeliveryOptions,
    /// The time after which the delivery of a shard stops.
    deadline: Option<Duration>,
    /// The place of the dead letters of shards.
    dead_letters: Option<Location>,
    /// The place of the journals of shards.
    checkpoints: Option<Location>,
}

impl<T: Target> Worker<T> {
    pub(crate) fn new(
        mut job: Job<T>,
        pace: &PaceOptions,
        dead_letters: Option<Location>,
        checkpoints: Option<Location>,
    ) -> Result<Self, Failure> {
        job.console = job.console.without_bar();
        for (place, option) in [(&dead_letters, "--dead-letters"), (&checkpoints, "--checkpoints")] {
            if let Some(Location::File(folder)) = place {
                fs::create_dir_all(folder).map_err(|error| {
                    Failure::WrongUse(format!("{option} {} cannot be created: {error}", folder.display()))
                })?;
            }
        }
        Ok(Self {
            job,
            options: pace.options()?,
            deadline: pace.deadline,
            dead_letters,
            checkpoints,
        })
    }

    /// Delivers a shard. Returns the answer, and the place of its checkpoint.
    pub(super) async fn attempt(&self, input: &str, stop: Stop) -> (ShardResult, Option<Location>) {
        let console = &self.job.console;
        let mut checkpoint = None;
        let delivered = match serde_json::from_str::<Planned>(input) {
            Ok(shard) => {
                let name = shard.name(shard.execution.as_deref()) + ".state";
                checkpoint = self.checkpoints.as_ref().map(|place| place.below(&name));
                self.deliver(&shard, checkpoint.as_ref(), stop).await
            }
            Err(error) => Err(ShardResult::failed(
                "NoShard",
                format!("{error}: a shard needs input, begin and end, as written by `batch-deliver plan`"),
            )),
        };
        let answer = delivered.unwrap_or_else(|answer| answer);
        match &answer {
            ShardResult::Delivered(counts) => {
                let event = json!({"event": "shard", "counts": counts});
                // The answer has the counts, too.
                let _ = console.emit(&event);
            }
            ShardResult::Failed { error, cause } => console.warn(&format!("the shard has failed: {error}: {cause}")),
        }
        (answer, checkpoint)
    }

    /// Removes the checkpoint of a delivered shard, so that another run of the same plan starts from the beginning.
    pub(super) async fn remove_checkpoint(&self, checkpoint: Option<Location>) {
        if let Some(checkpoint) = checkpoint
            && let Err(words) = remove(&checkpoint, &self.job.connection).await
        {
            self.job.console.warn(&words);
        }
    }

    async fn deliver(
        &self,
        shard: &Planned,
        checkpoint: Option<&Location>,
        stop: Stop,
    ) -> Result<ShardResult, ShardResult> {
        let input = self.input(shard).await?;
        let name = input.name.clone();
        let dead_letter = match &self.dead_letters {
            None => None,
            Some(place) => {
                let name = shard.name(None);
                let place = match place {
                    Location::File(_) => place.below(&format!("{name}.jsonl")),
                    Location::Object { .. } => place.below(&name),
                };
                let opened = DeadLetter::open(&place, &self.job.connection).await;
                Some(opened.map_err(|failure| ShardResult::failed("DeadLetters", failure.to_string()))?)
            }
        };
        let options = match self.deadline {
            None => self.options.clone(),
            Some(deadline) => self.options.clone().deadline(Instant::now() + deadline),
        };
        let inputs = vec![input];
        let opened = self.job.journal(checkpoint, Claim::Granted, &inputs, &stop);
        let (journal, settled) = opened.map_err(|failure| ShardResult::failed(CHECKPOINT, failure.to_string()))?;
        let settled_before = settled.len();
        let kept = Kept {
            options,
            journal,
            dead_letter,
            failed: None,
            stop,
            resumes: None,
            is_repeated: true,
        };
        let round = Round { inputs, settled, kept };
        let summary = self.job.deliver(round).await;
        for words in std::iter::once(summary.figures()).chain(summary.throttled()) {
            self.job.console.info(&format!("{name}: {words}"));
        }
        Ok(ShardResult::of(shard, settled_before, &summary))
    }

    /// The part of an input that makes up the shard.
    async fn input(&self, shard: &Planned) -> Result<Input, ShardResult> {
        let unreadable = |words: String| ShardResult::failed("Unreadable", words);
        let name = &shard.input;
        let input = exactly(name, &self.job.connection).await;
        let input = input.map_err(|failure| unreadable(failure.to_string()))?;
        let bytes = input.bytes.unwrap_or_default();
        if (shard.part.begin, shard.part.end) == (0, bytes) {
            return Ok(input);
        }
        if shard.part.end > bytes || shard.part.begin > shard.part.end {
            let end = shard.part.end;
            return Err(unreadable(format!(
                "{name} has {bytes} bytes, but the shard ends at {end}: make a new plan"
            )));
        }
        match block_in_place(|| self.job.can_be_cut(&input)) {
            Ok(true) => Ok(input.part(shard.part)),
            Ok(false) => Err(unreadable(format!(
                "{name} cannot be cut as it was planned: make a new plan"
            ))),
            Err(error) => Err(unreadable(format!("{name} cannot be read: {error}"))),
        }
    }
}
