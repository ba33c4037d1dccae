//! A delivery from the inputs to the summary, as all delivering commands have it.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use super::site;
use crate::arguments::CommonArguments;
use crate::blocking::block_in_place;
use crate::connection::{Connection, can_be_renewed};
use crate::console::{Console, grouped};
use crate::job::{InputJob, InputReads, Job, Occasion, Run, Source, StartFailure};
use crate::keeping::{DeadLetter, FailedConditions, Places};
use crate::outcome::{CommandOutcome, Failure};
use crate::output::{FileIdentity, is_standard};
use crate::progress::Summary;
use crate::sink::{Access, Destination, PaceOptions, Settings, Target};
use crate::source::{Format, Input, Order, described, named};
use crate::stop::Stop;
use crate::worker::Shard;
use crate::{connection, sink};

/// What happens after the inputs are found, and before the delivery begins.
type Confirmation<T> = fn(&InputJob<T>, &[Input]) -> Result<(), Failure>;

/// Delivers the inputs.
pub(super) async fn deliver<T: Target>(job: InputJob<T>, common: &CommonArguments) -> Result<CommandOutcome, Failure> {
    Box::pin(deliver_after(job, common, None)).await
}

/// The commands that change what is there, or take it away.
const DESTRUCTIVE: [&str; 3] = ["delete", "delete-objects", "update"];

/// Delivers the inputs, unless `before` returns an error. It may block.
pub(super) async fn deliver_after<T: Target>(
    mut delivery: InputJob<T>,
    common: &CommonArguments,
    before: Option<Confirmation<T>>,
) -> Result<CommandOutcome, Failure> {
    let mut inputs = named(&common.inputs, &delivery.job.connection).await?;
    for input in &mut inputs {
        input.encoding = common.encoding;
    }
    if delivery.reads.order.is_none() && inputs.iter().all(|input| input.has_own_keys) {
        delivery.reads.order = Some(Order::Turns);
    }
    let inputs = shard(&delivery, common, inputs).await?;
    let console = delivery.job.console.clone();
    console.info(&format!("reading {}", described(&inputs)));
    Places::check_inputs(&inputs)?;
    if common.dry_run {
        return block_in_place(|| delivery.dry_run(inputs));
    }
    let places = Places {
        failed: delivery.failed.clone(),
        ..Places::from(&common.recovery)
    };
    places.check(&common.inputs, &inputs)?;
    if console.is_json() && places.failed.as_deref().is_some_and(is_standard) {
        let words =
            "the records of --failed and --json cannot both be written to the standard output: leave out --json";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    if DESTRUCTIVE.contains(&delivery.job.command) {
        let destination = &delivery.job.destination;
        let place = (&*destination.name, destination.site.as_ref());
        site::say(&console, &[place], before.is_some()).await;
    }
    if let Some(before) = before {
        block_in_place(|| before(&delivery, &inputs))?;
        // The inputs are read again.
        let _ = delivery.reads.format.take_line_breaks();
    }
    let InputJob { mut job, reads, failed } = delivery;
    // A deadline begins after the answer.
    let options = PaceOptions::from(&common.pace).options()?;
    if places.resume.is_some() && inputs.iter().any(Input::is_object) {
        let endpoint = connection::endpoint_of(&job.connection.config().await?, "S3");
        job.settings.push((sink::ENDPOINT_OF_INPUTS, endpoint));
    }
    let pipes: Vec<_> = inputs
        .iter()
        .filter_map(Input::identity)
        .filter_map(|(identity, is_pipe)| is_pipe.then_some(identity))
        .collect();
    let dead_letter = dead_letter(&places, &job, &pipes).await?;
    let open = |path: &PathBuf| FailedConditions::open(path, &pipes);
    let failed = failed.as_ref().map(open).transpose()?;
    let stop = Stop::default();
    stop.print_warnings(console.clone(), can_be_renewed);
    let source = Source::Inputs(inputs, &reads);
    let opened = job
        .open(source, places.resume.as_ref(), common.recovery.claim())
        .await?;
    stop.on_interrupt(console.clone());
    let run = Run {
        options,
        dead_letter,
        failed,
        stop,
        occasion: Occasion::Command { resumes: places.resume },
    };
    let delivered = job.deliver(opened, run).await;
    let summary = delivered.map_err(|failure| match failure {
        StartFailure::Journal(error) => Failure::Failed(format!("the journal cannot be written: {error}")),
        StartFailure::Entries(failure) => failure,
    })?;
    let summary = Summary {
        is_decoded: common.encoding.is_some(),
        line_breaks: reads.format.take_line_breaks(),
        ..summary
    };
    summary.print(&console).await
}

/// The part of the inputs that this process reads.
async fn shard<T: Target>(
    InputJob { job, reads, .. }: &InputJob<T>,
    common: &CommonArguments,
    inputs: Vec<Input>,
) -> Result<Vec<Input>, Failure> {
    let Some(shard) = Shard::wanted(common.shard, |name| env::var(name).ok())? else {
        return Ok(inputs);
    };
    let (own, whole) = shard.of(inputs, async |input| reads.can_be_cut(input).await).await?;
    job.console.info(&match whole {
        0 => format!("shard {shard}"),
        _ => format!(
            "shard {shard}: {} inputs are compressed or CSV, and go whole to one shard each",
            grouped(whole)
        ),
    });
    Ok(own)
}

/// The place of dead letters, if one is requested.
async fn dead_letter<T: Target>(
    places: &Places,
    job: &Job<T>,
    pipes: &[FileIdentity],
) -> Result<Option<DeadLetter>, Failure> {
    let Some(location) = &places.dead_letter else {
        return Ok(None);
    };
    let dead_letter = DeadLetter::open(location, &job.connection, pipes).await?;
    if dead_letter.has_earlier_letters() {
        job.console
            .info(&format!("{location} has dead letters of earlier runs, and keeps them"));
    }
    Ok(Some(dead_letter))
}

impl CommonArguments {
    /// The job of these options, whose records are those of the inputs.
    pub(super) fn input_job<T: Target>(
        &self,
        command: &'static str,
        format: Arc<dyn Format<T::Entry>>,
        destination: Destination<T>,
        mut settings: Settings,
        console: Console,
    ) -> InputJob<T> {
        let encoding = self.encoding.map(|encoding| ("--encoding", encoding.name().to_owned()));
        settings.extend(encoding);
        InputJob {
            job: self.job(command, destination, settings, console),
            reads: InputReads {
                format,
                order: self.order,
                look: None,
            },
            failed: None,
        }
    }

    /// The job of these options.
    pub(super) fn job<T: Target>(
        &self,
        command: &'static str,
        destination: Destination<T>,
        settings: Settings,
        console: Console,
    ) -> Job<T> {
        Job {
            command,
            destination,
            settings,
            keep_going: self.keep_going,
            concurrency: self.pace.concurrency,
            every: self.output.every(),
            connection: self.connection(),
            console,
        }
    }

    /// How the services are reached.
    pub(super) fn connection(&self) -> Connection {
        Connection::from(&self.service).until(self.pace.deadline)
    }

    /// How the service of the destination is reached.
    pub(super) fn access(&self) -> Access {
        Access {
            connection: self.connection(),
            simulate: self.service.simulate,
            is_dry_run: self.dry_run,
            has_journal: self.recovery.resume.is_some(),
            refuses_unindexed: false,
        }
    }

    /// Whether dead letters are to repeat the text of entries.
    pub(super) fn keeps_text(&self) -> bool {
        self.recovery.dead_letter.is_some()
    }
}
