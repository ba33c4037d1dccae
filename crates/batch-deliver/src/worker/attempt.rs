//! Delivers the shards that a worker is given.

use std::fs;
use std::time::Duration;

use serde_json::json;
use tokio::task::block_in_place;
use tokio::time::Instant;

use super::from_tables::FromTables;
use super::plan::Planned;
use super::shard_result::{CHECKPOINT, ShardResult};
use crate::job::{Job, Kept, Round};
use crate::keeping::{Claim, DeadLetter, Location, remove};
use crate::outcome::Failure;
use crate::progress::Summary;
use crate::sink::{DeliveryOptions, PaceOptions, Target};
use crate::source::{Input, Segments, exactly};
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
    /// What is done with the items of tables; `None` if they cannot be delivered.
    pub(super) tables: Option<FromTables<T::Entry>>,
}

impl<T: Target> Worker<T> {
    pub(crate) fn new(
        mut job: Job<T>,
        pace: &PaceOptions,
        dead_letters: Option<Location>,
        checkpoints: Option<Location>,
        tables: Option<FromTables<T::Entry>>,
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
            tables,
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
                let (begin, end) = (shard.part.begin, shard.part.end);
                match Segments::of(&shard.input, begin, end) {
                    None => self.deliver(&shard, checkpoint.as_ref(), stop).await,
                    Some(Ok(segments)) => {
                        self.deliver_segments(&shard, &segments, checkpoint.as_ref(), stop)
                            .await
                    }
                    Some(Err(words)) => Err(ShardResult::failed("NoShard", words)),
                }
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
        if self.tables.as_ref().is_some_and(|tables| tables.is_only) {
            let words = "this worker is for segments of a table, of which --where chooses the items".to_owned();
            return Err(ShardResult::failed("Unreadable", words));
        }
        let input = self.input(shard).await?;
        let name = input.name.clone();
        let dead_letter = self.dead_letter(shard).await?;
        let options = self.options();
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
        self.tell(&name, &summary);
        Ok(ShardResult::of(shard, settled_before, &summary))
    }

    /// The place of the dead letters of a shard.
    pub(super) async fn dead_letter(&self, shard: &Planned) -> Result<Option<DeadLetter>, ShardResult> {
        let Some(place) = &self.dead_letters else {
            return Ok(None);
        };
        let name = shard.name(None);
        let place = match place {
            Location::File(_) => place.below(&format!("{name}.jsonl")),
            Location::Object { .. } => place.below(&name),
        };
        let opened = DeadLetter::open(&place, &self.job.connection).await;
        let opened = opened.map_err(|failure| ShardResult::failed("DeadLetters", failure.to_string()))?;
        Ok(Some(opened))
    }

    /// The options of the delivery of a shard, which begins now.
    pub(super) fn options(&self) -> DeliveryOptions {
        match self.deadline {
            None => self.options.clone(),
            Some(deadline) => self.options.clone().deadline(Instant::now() + deadline),
        }
    }

    /// Prints what came of a shard.
    pub(super) fn tell(&self, name: &str, summary: &Summary) {
        for words in std::iter::once(summary.figures()).chain(summary.throttled()) {
            self.job.console.info(&format!("{name}: {words}"));
        }
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
