//! Delivers the shards that a worker is given.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::attempts::Attempts;
use super::plan::{InputVersion, PlannedShard};
use super::segment_source::SegmentSource;
use super::shard_result::{CHECKPOINT, DEAD_LETTERS, STOPPED, ShardResult, UNREADABLE};
use crate::connection::Connection;
use crate::console::Console;
use crate::job::{InputJob, InputReads, Job, Occasion, Run, Source, StartFailure};
use crate::keeping::{Claim, DeadLetter, Location};
use crate::outcome::Failure;
use crate::progress::Summary;
use crate::sink::{DeliveryOptions, PaceOptions, Target};
use crate::source::{DENIED, Input, exactly, may_be_read_elsewhere};
use crate::stop::Stop;

/// Delivers one shard after another. All share one pace.
pub(crate) struct Worker<T: Target> {
    pub(super) job: Job<T>,
    reads: InputReads<T::Entry>,
    options: DeliveryOptions,
    pace: PaceOptions,
    /// The options of the last shard with a rate of its own, and that rate. Shards with the same rate share their pace.
    limited: Mutex<Option<(f64, DeliveryOptions)>>,
    /// The time after which the delivery of a shard stops.
    deadline: Option<Duration>,
    /// The place of the dead letters of shards.
    dead_letters: Option<Location>,
    /// The place of the journals of shards.
    checkpoints: Option<Location>,
    /// What is done with the items of tables; `None` if they cannot be delivered.
    pub(super) tables: Option<SegmentSource<T::Entry>>,
    /// Whether it has delivered a shard of an input, and so may read inputs.
    has_read: AtomicBool,
}

impl<T: Target> Worker<T> {
    pub(crate) fn new(
        InputJob { mut job, reads, .. }: InputJob<T>,
        pace: &PaceOptions,
        dead_letters: Option<Location>,
        checkpoints: Option<Location>,
        tables: Option<SegmentSource<T::Entry>>,
    ) -> Result<Self, Failure> {
        job.console = job.console.of_worker();
        for (place, option) in [(&dead_letters, "--dead-letters"), (&checkpoints, "--checkpoints")] {
            if let Some(place) = place {
                place.create_folder(option)?;
            }
        }
        Ok(Self {
            job,
            reads,
            options: pace.options()?,
            pace: pace.clone(),
            limited: Mutex::default(),
            deadline: pace.deadline,
            dead_letters,
            checkpoints,
            tables,
            has_read: AtomicBool::new(false),
        })
    }

    /// Delivers an input or a part of it.
    async fn deliver_input(
        &self,
        shard: &PlannedShard,
        checkpoint: Option<&Location>,
        stop: Stop,
    ) -> Result<ShardResult, ShardResult> {
        if self.tables.as_ref().is_some_and(|tables| tables.is_only) {
            let words = "this worker is for segments of a table, of which --where chooses the items".to_owned();
            return Err(ShardResult::failed(UNREADABLE, words));
        }
        let input = ShardResult::unless_stopped(&stop, self.input(shard)).await??;
        let name = input.name.clone();
        let source = Source::Inputs(vec![input], &self.reads);
        let (answer, summary) = self.deliver(shard, &name, source, checkpoint, stop).await?;
        if matches!(answer, ShardResult::Delivered(_)) {
            self.has_read.store(true, Relaxed);
        }
        Ok(match summary.ended.as_ref().filter(|ended| ended.is_denied()) {
            Some(ended) => self.denied(answer, ended.to_string()),
            None => answer,
        })
    }

    /// Delivers the records of a shard, which has this name in messages.
    pub(super) async fn deliver(
        &self,
        shard: &PlannedShard,
        name: &str,
        source: Source<'_, T::Entry>,
        checkpoint: Option<&Location>,
        stop: Stop,
    ) -> Result<(ShardResult, Summary), ShardResult> {
        let dead_letter = ShardResult::unless_stopped(&stop, self.dead_letter(shard)).await??;
        let run = Run {
            options: self.options(shard)?,
            dead_letter,
            failed: None,
            stop,
            occasion: Occasion::Shard,
        };
        let opened = self.job.open(source, checkpoint, Claim::Granted);
        let opened = ShardResult::unless_stopped(&run.stop, opened).await?;
        let opened = opened.map_err(|failure| ShardResult::unopened(CHECKPOINT, &failure))?;
        let settled_before = opened.settled;
        let delivered = self.job.deliver(opened, run).await;
        let summary = delivered.map_err(|failure| match failure {
            StartFailure::Journal(error) => ShardResult::of_checkpoint(&error),
            StartFailure::Entries(failure) => ShardResult::unread(&failure),
        })?;
        self.tell(name, &summary);
        Ok((ShardResult::of(shard, settled_before, &summary), summary))
    }

    /// The answer if an input is denied. A worker that has read another one has its permissions: this one is at fault. Otherwise the worker
    /// may be, and would fail all others.
    fn denied(&self, answer: ShardResult, words: String) -> ShardResult {
        if self.has_read.load(Relaxed) {
            answer
        } else {
            ShardResult::failed(STOPPED, words)
        }
    }

    /// The place of the dead letters of a shard.
    async fn dead_letter(&self, shard: &PlannedShard) -> Result<Option<DeadLetter>, ShardResult> {
        let Some(place) = &self.dead_letters else {
            return Ok(None);
        };
        let name = shard.name(None);
        let place = match place {
            Location::File(_) => place.below(&format!("{name}.jsonl")),
            Location::Object { .. } => place.below(&name),
        };
        let opened = DeadLetter::open(&place, &self.job.connection, &[]).await;
        let opened = opened.map_err(|failure| ShardResult::unopened(DEAD_LETTERS, &failure))?;
        Ok(Some(opened))
    }

    /// The options of the delivery of a shard, which begins now.
    fn options(&self, shard: &PlannedShard) -> Result<DeliveryOptions, ShardResult> {
        let lower = |rate: &f64| self.pace.max_rate.is_none_or(|own| *rate < own);
        let options = match shard.max_rate.filter(lower) {
            None => self.options.clone(),
            Some(rate) => self.limited(rate)?,
        };
        Ok(match self.deadline {
            None => options,
            Some(deadline) => options.deadline(Instant::now() + deadline),
        })
    }

    /// The options of shards that have this rate.
    fn limited(&self, rate: f64) -> Result<DeliveryOptions, ShardResult> {
        if !(rate.is_finite() && rate >= 1.0) {
            let words = format!("max_rate is {rate}, and must be 1 or more");
            return Err(ShardResult::no_shard(words));
        }
        let mut limited = self.limited.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, options)) = limited.as_ref().filter(|(of, _)| of.total_cmp(&rate).is_eq()) {
            return Ok(options.clone());
        }
        let pace = PaceOptions {
            max_rate: Some(rate),
            deadline: None,
            ..self.pace.clone()
        };
        let options = pace.options().map_err(|failure| ShardResult::unread(&failure))?;
        *limited = Some((rate, options.clone()));
        Ok(options)
    }

    /// Prints what came of a shard.
    fn tell(&self, name: &str, summary: &Summary) {
        let more = summary.throttled().chain(summary.more_bad_lines());
        for words in std::iter::once(summary.figures()).chain(more) {
            self.job.console.info(&format!("{name}: {words}"));
        }
    }

    /// The part of an input that makes up the shard.
    async fn input(&self, shard: &PlannedShard) -> Result<Input, ShardResult> {
        let unreadable = |words: String| ShardResult::failed(UNREADABLE, words);
        let name = &shard.input;
        let input = exactly(name, &self.job.connection).await;
        let input = input.map_err(|failure| ShardResult::unread(&failure))?;
        if shard.version.is_some() && shard.version != InputVersion::of(&input) {
            return Err(unreadable(format!(
                "{name} has changed since it was planned: make a new plan"
            )));
        }
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
        match self.reads.can_be_cut(&input).await {
            Ok(true) => Ok(input.part(shard.part)),
            Ok(false) => Err(unreadable(format!(
                "{name} cannot be cut as it was planned: make a new plan"
            ))),
            Err(error) => {
                let words = format!("{name} cannot be read: {error}");
                if error.kind() == DENIED {
                    return Err(self.denied(unreadable(words.clone()), words));
                }
                Err(ShardResult::unread(&if may_be_read_elsewhere(&error) {
                    Failure::Failed(words)
                } else {
                    Failure::WrongUse(words)
                }))
            }
        }
    }
}

impl<T: Target> Attempts for Worker<T> {
    fn console(&self) -> &Console {
        &self.job.console
    }

    fn connection(&self) -> &Connection {
        &self.job.connection
    }

    async fn deliver_shard(&self, shard: &PlannedShard, stop: Stop) -> Result<ShardResult, ShardResult> {
        let checkpoint = |place| shard.checkpoint(place).ok_or_else(ShardResult::without_execution);
        let checkpoint = self.checkpoints.as_ref().map(checkpoint).transpose()?;
        let checkpoint = checkpoint.as_ref();
        match shard.segments().map_err(ShardResult::no_shard)? {
            None => self.deliver_input(shard, checkpoint, stop).await,
            Some(segments) => self.deliver_segments(shard, &segments, checkpoint, stop).await,
        }
    }
}
