//! Delivers shards that an activity of Step Functions hands out.

mod activity;
mod answer;
#[cfg(feature = "lambda")]
mod lambda;

use std::fs;

use aws_batch_delivery::DeliveryOptions;
use aws_batch_delivery::targets::BatchTarget;
use serde_json::json;
use tokio::task::block_in_place;
use tokio::time::Instant;

use self::activity::Activity;
use self::answer::Answer;
use crate::arguments::{
    Common, Keeping, Location, Order, QueueFormat, ShardFormat, TableFormat, ToQueue, ToTable, ToWork,
};
use crate::connect;
use crate::dead_letter::DeadLetter;
use crate::failure::Failure;
use crate::input::{Input, Settled};
use crate::log;
use crate::plan::Planned;
use crate::run::{Job, Outcome, Round, load, send};
use crate::stop::Stop;

/// Bytes of a file's name, with what is put behind it. File systems take 255.
const LONGEST_NAME: usize = 180;

/// Delivers shards until it is told to stop.
pub(crate) async fn run(arguments: ToWork) -> Result<Outcome, Failure> {
    let ToWork { format, heartbeat, .. } = arguments;
    let unfit = |what: &str| Failure::WrongUse(format!("--format {what}"));
    let common = Common {
        inputs: Vec::new(),
        order: Order::Turns,
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
    let activity = arguments.activity;
    if let Some(queue) = arguments.queue {
        let format = match format {
            None | Some(ShardFormat::Text) => QueueFormat::Text,
            Some(ShardFormat::Json) => QueueFormat::Json,
            Some(_) => return Err(unfit("of messages is text or json")),
        };
        let arguments = ToQueue { queue, format, common };
        let job = send::job(&arguments).await?;
        return Worker::new(job, &arguments.common, heartbeat)?.work(activity).await;
    }
    let format = match format {
        None => TableFormat::Auto,
        Some(ShardFormat::Json) => TableFormat::Json,
        Some(ShardFormat::Dynamodb) => TableFormat::Dynamodb,
        Some(ShardFormat::Csv) => TableFormat::Csv,
        Some(ShardFormat::Tsv) => TableFormat::Tsv,
        Some(ShardFormat::Text) => return Err(unfit("of items is json, dynamodb, csv or tsv")),
    };
    let deletes = arguments.delete;
    let arguments = ToTable {
        table: arguments.table.unwrap_or_default(),
        items: arguments.items,
        format,
        common,
    };
    let job = load::job(&arguments, deletes).await?;
    Worker::new(job, &arguments.common, heartbeat)?.work(activity).await
}

/// Delivers one shard after the other, all of them at one pace.
struct Worker<'a, T: BatchTarget> {
    job: Job<T>,
    common: &'a Common,
    heartbeat: std::time::Duration,
    options: DeliveryOptions,
}

impl<'a, T: BatchTarget + Clone> Worker<'a, T> {
    fn new(mut job: Job<T>, common: &'a Common, heartbeat: std::time::Duration) -> Result<Self, Failure> {
        job.console = job.console.without_bar();
        if let Some(Location::File(folder)) = &common.keeping.dead_letter {
            fs::create_dir_all(folder).map_err(|error| {
                Failure::WrongUse(format!("--dead-letters {} cannot be made: {error}", folder.display()))
            })?;
        }
        Ok(Self {
            job,
            common,
            heartbeat,
            options: common.delivering.options()?,
        })
    }

    async fn work(&self, activity: Option<String>) -> Result<Outcome, Failure> {
        let Some(activity) = activity else {
            #[cfg(feature = "lambda")]
            if std::env::var_os(lambda::API).is_some() {
                return lambda::serve(self).await;
            }
            let words = "a worker needs the activity that has its shards: --activity ARN";
            return Err(Failure::WrongUse(words.to_owned()));
        };
        let console = &self.job.console;
        log::start(console.clone());
        let config = connect::config(&self.common.service).await?;
        let activity = Activity::new(&config, &activity, console.clone());
        let stop = Stop::default();
        stop.on_interrupt(console.clone());
        while let Some(task) = activity.next(&stop).await? {
            let delivery = stop.child();
            let beating = activity.beat(&task, self.heartbeat, delivery.clone());
            let answer = self.attempt(&task.input, delivery).await;
            // The shard is this worker's until its answer has arrived.
            activity.answer(task, &answer).await;
            drop(beating);
            if let Some(fault) = answer.fault_of_worker() {
                // Otherwise it would take shard after shard, and fail them all.
                return Err(Failure::Failed(format!("the worker ends: {fault}")));
            }
        }
        Ok(Outcome::Interrupted)
    }

    /// Delivers a shard, and tells how that went.
    async fn attempt(&self, input: &str, stop: Stop) -> Answer {
        let console = &self.job.console;
        let delivered = match serde_json::from_str::<Planned>(input) {
            Ok(shard) => self.deliver(&shard, stop).await,
            Err(error) => Err(Answer::failed(
                "NoShard",
                format!("{error}: a shard has input, begin and end, as of `plan`"),
            )),
        };
        let answer = delivered.unwrap_or_else(|answer| answer);
        match &answer {
            Answer::Delivered(counts) => {
                let event = json!({"event": "shard", "counts": counts});
                // The counts are in the answer as well.
                let _ = console.emit(&event);
            }
            Answer::Failed { error, cause } => console.warn(&format!("the shard has failed: {error}: {cause}")),
        }
        answer
    }

    async fn deliver(&self, shard: &Planned, stop: Stop) -> Result<Answer, Answer> {
        let input = self.input(shard).await?;
        let name = input.name.clone();
        let dead_letter = match &self.common.keeping.dead_letter {
            None => None,
            Some(place) => {
                let opened = DeadLetter::open(&letters(place, shard), &self.common.service).await;
                Some(opened.map_err(|failure| Answer::failed("DeadLetters", failure.to_string()))?)
            }
        };
        let options = match self.common.delivering.deadline {
            None => self.options.clone(),
            Some(deadline) => self.options.clone().deadline(Instant::now() + deadline),
        };
        let round = Round {
            inputs: vec![input],
            options,
            dead_letter,
            stop,
            is_repeated: true,
        };
        let summary = self.job.deliver(self.common, round, None, Settled::default()).await;
        self.job.console.tell(&format!("{name}: {}", summary.figures()));
        Ok(Answer::of(shard, &summary))
    }

    /// The part of an input that a shard is.
    async fn input(&self, shard: &Planned) -> Result<Input, Answer> {
        let unreadable = |words: String| Answer::failed("Unreadable", words);
        let name = &shard.input;
        let named = Input::named(std::slice::from_ref(name), &self.common.service).await;
        let mut named = named.map_err(|failure| unreadable(failure.to_string()))?;
        let (Some(input), None) = (named.pop(), named.pop()) else {
            return Err(unreadable(format!("{name} is more than one input")));
        };
        let bytes = input.bytes.unwrap_or_default();
        if (shard.part.begin, shard.part.end) == (0, bytes) {
            return Ok(input);
        }
        if shard.part.end > bytes || shard.part.begin > shard.part.end {
            let end = shard.part.end;
            return Err(unreadable(format!(
                "{name} has {bytes} bytes, and the shard ends at {end}: make a new plan"
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

/// The place for a shard's dead letters, whose name tells what the shard is.
fn letters(place: &Location, shard: &Planned) -> Location {
    let safe = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' => character,
        _ => '+',
    };
    let name: Vec<char> = shard.input.chars().map(safe).collect();
    let name: String = name[name.len().saturating_sub(LONGEST_NAME)..].iter().collect();
    let name = format!("{name}@{}-{}", shard.part.begin, shard.part.end);
    match place {
        Location::File(folder) => Location::File(folder.join(name + ".jsonl")),
        Location::Object { bucket, key } => Location::Object {
            bucket: bucket.clone(),
            key: match key.trim_end_matches('/') {
                "" => name,
                folder => format!("{folder}/{name}"),
            },
        },
    }
}
