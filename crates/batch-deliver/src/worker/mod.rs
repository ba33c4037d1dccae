//! Delivers shards from an activity of Step Functions, or from invocations of a Lambda function.

mod activity;
mod answer;
#[cfg(feature = "lambda")]
mod lambda;
mod name;

use std::fs;
use std::time::Duration;

use aws_batch_delivery::DeliveryOptions;
use aws_batch_delivery::targets::BatchTarget;
use serde_json::json;
use tokio::task::block_in_place;
use tokio::time::Instant;

use self::activity::Activity;
use self::answer::{Answer, CHECKPOINT};
use self::name::name_of;
use crate::arguments::{Common, Keeping, QueueFormat, ShardFormat, TableFormat, ToQueue, ToTable, ToWork, region};
use crate::connect;
use crate::console::print_warnings;
use crate::keeping::{Claim, DeadLetter, Location, remove};
use crate::outcome::{Failure, Outcome};
use crate::plan::Planned;
use crate::run::{Job, Round, load, send};
use crate::source::{Input, Settled, exactly};
use crate::stop::Stop;

/// Delivers shards until the program is stopped.
pub(crate) async fn run(arguments: ToWork) -> Result<Outcome, Failure> {
    let ToWork { format, .. } = arguments;
    let unfit = |what: &str| Failure::WrongUse(format!("--format {what}"));
    let common = Common {
        inputs: Vec::new(),
        order: None,
        encoding: None,
        shard: None,
        keep_going: arguments.keep_going,
        dry_run: false,
        keeping: Keeping {
            dead_letter: arguments.dead_letters,
            resume: None,
        },
        delivering: arguments.delivering,
        service: arguments.service,
        telling: arguments.telling,
    };
    let (activity, heartbeat, checkpoints) = (arguments.activity, arguments.heartbeat, arguments.checkpoints);
    if let Some(queue) = arguments.queue {
        let format = match format {
            None | Some(ShardFormat::Text) => QueueFormat::Text,
            Some(ShardFormat::Json) => QueueFormat::Json,
            Some(_) => return Err(unfit("must be text or json for messages")),
        };
        let arguments = ToQueue {
            queue,
            format,
            group_id: arguments.group_id,
            common,
        };
        let job = send::job(&arguments).await?;
        let worker = Worker::new(job, &arguments.common, heartbeat, checkpoints)?;
        return worker.work(activity).await;
    }
    let format = match format {
        None => TableFormat::Auto,
        Some(ShardFormat::Json) => TableFormat::Json,
        Some(ShardFormat::Dynamodb) => TableFormat::Dynamodb,
        Some(ShardFormat::Csv) => TableFormat::Csv,
        Some(ShardFormat::Tsv) => TableFormat::Tsv,
        Some(ShardFormat::Text) => return Err(unfit("must be json, dynamodb, csv or tsv for items")),
    };
    let deletes = arguments.delete;
    let arguments = ToTable {
        table: arguments.table.unwrap_or_default(),
        items: arguments.items,
        format,
        common,
    };
    let job = load::job(&arguments, deletes).await?;
    let worker = Worker::new(job, &arguments.common, heartbeat, checkpoints)?;
    worker.work(activity).await
}

/// Delivers one shard after the other. All share one pace.
struct Worker<'a, T: BatchTarget> {
    job: Job<T>,
    common: &'a Common,
    heartbeat: Duration,
    /// The place of the journals of shards.
    checkpoints: Option<Location>,
    options: DeliveryOptions,
}

impl<'a, T: BatchTarget + Clone> Worker<'a, T> {
    fn new(
        mut job: Job<T>,
        common: &'a Common,
        heartbeat: Duration,
        checkpoints: Option<Location>,
    ) -> Result<Self, Failure> {
        job.console = job.console.without_bar();
        for (place, option) in [
            (&common.keeping.dead_letter, "--dead-letters"),
            (&checkpoints, "--checkpoints"),
        ] {
            if let Some(Location::File(folder)) = place {
                fs::create_dir_all(folder).map_err(|error| {
                    Failure::WrongUse(format!("{option} {} cannot be created: {error}", folder.display()))
                })?;
            }
        }
        Ok(Self {
            job,
            common,
            heartbeat,
            checkpoints,
            options: common.delivering.options()?,
        })
    }

    async fn work(&self, activity: Option<String>) -> Result<Outcome, Failure> {
        let Some(activity) = activity else {
            #[cfg(feature = "lambda")]
            if std::env::var_os(lambda::API).is_some() {
                return lambda::serve(self).await;
            }
            let words = "a worker needs the activity to get shards from: give --activity ARN";
            return Err(Failure::WrongUse(words.to_owned()));
        };
        let console = &self.job.console;
        print_warnings(console.clone());
        let service = self.common.service.within(region::of_arn(&activity), "the activity")?;
        let config = connect::config(&service).await?;
        let activity = Activity::new(&config, &activity, console.clone());
        let stop = Stop::default();
        stop.on_interrupt(console.clone());
        while let Some(task) = activity.next(&stop).await? {
            let delivery = stop.child();
            let beating = activity.beat(&task, self.heartbeat, delivery.clone());
            let (answer, checkpoint) = self.attempt(&task.input, delivery).await;
            // The shard belongs to this worker until its answer has arrived, so the heartbeats continue.
            let has_arrived = activity.answer(task, &answer).await;
            drop(beating);
            if has_arrived && matches!(answer, Answer::Delivered(_)) {
                self.forget(checkpoint).await;
            }
            if let Some(fault) = answer.fault_of_worker() {
                // Otherwise it would take one shard after the other and fail them all.
                return Err(Failure::Failed(format!("the worker ends: {fault}")));
            }
        }
        Ok(Outcome::Interrupted)
    }

    /// Delivers a shard. Returns the answer, and the place of its checkpoint.
    async fn attempt(&self, input: &str, stop: Stop) -> (Answer, Option<Location>) {
        let console = &self.job.console;
        let mut checkpoint = None;
        let delivered = match serde_json::from_str::<Planned>(input) {
            Ok(shard) => {
                let name = name_of(&shard, shard.execution.as_deref()) + ".state";
                checkpoint = self.checkpoints.as_ref().map(|place| place.below(&name));
                self.deliver(&shard, checkpoint.as_ref(), stop).await
            }
            Err(error) => Err(Answer::failed(
                "NoShard",
                format!("{error}: a shard needs input, begin and end, as written by `batch-deliver plan`"),
            )),
        };
        let answer = delivered.unwrap_or_else(|answer| answer);
        match &answer {
            Answer::Delivered(counts) => {
                let event = json!({"event": "shard", "counts": counts});
                // The answer has the counts, too.
                let _ = console.emit(&event);
            }
            Answer::Failed { error, cause } => console.warn(&format!("the shard has failed: {error}: {cause}")),
        }
        (answer, checkpoint)
    }

    /// Removes the checkpoint of a delivered shard, so that another run of the same plan starts from the beginning.
    async fn forget(&self, checkpoint: Option<Location>) {
        if let Some(checkpoint) = checkpoint
            && let Err(words) = remove(&checkpoint, &self.common.service).await
        {
            self.job.console.warn(&words);
        }
    }

    async fn deliver(&self, shard: &Planned, checkpoint: Option<&Location>, stop: Stop) -> Result<Answer, Answer> {
        let input = self.input(shard).await?;
        let name = input.name.clone();
        let dead_letter = match &self.common.keeping.dead_letter {
            None => None,
            Some(place) => {
                let name = name_of(shard, None);
                let place = match place {
                    Location::File(_) => place.below(&format!("{name}.jsonl")),
                    Location::Object { .. } => place.below(&name),
                };
                let opened = DeadLetter::open(&place, &self.common.service).await;
                Some(opened.map_err(|failure| Answer::failed("DeadLetters", failure.to_string()))?)
            }
        };
        let options = match self.common.delivering.deadline {
            None => self.options.clone(),
            Some(deadline) => self.options.clone().deadline(Instant::now() + deadline),
        };
        let inputs = vec![input];
        let (journal, settled) = match checkpoint {
            None => (None, Settled::default()),
            Some(place) => {
                let opened = self.job.journal(self.common, place, Claim::Granted, &inputs, &stop);
                let opened = opened.map_err(|failure| Answer::failed(CHECKPOINT, failure.to_string()));
                let (journal, settled) = opened?;
                (Some(journal), settled)
            }
        };
        let settled_before = settled.len();
        let round = Round {
            inputs,
            options,
            dead_letter,
            stop,
            is_repeated: true,
        };
        let summary = self.job.deliver(self.common, round, journal, settled).await;
        for words in std::iter::once(summary.figures()).chain(summary.throttled()) {
            self.job.console.tell(&format!("{name}: {words}"));
        }
        Ok(Answer::of(shard, settled_before, &summary))
    }

    /// The part of an input that makes up the shard.
    async fn input(&self, shard: &Planned) -> Result<Input, Answer> {
        let unreadable = |words: String| Answer::failed("Unreadable", words);
        let name = &shard.input;
        let input = exactly(name, &self.common.service).await;
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
