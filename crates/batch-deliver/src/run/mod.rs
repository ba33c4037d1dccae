//! A delivery from the inputs to the summary.

mod dry_run;
pub(crate) mod load;
#[cfg(feature = "put")]
mod put;
mod question;
pub(crate) mod reading;
pub(crate) mod send;
mod simulated;
mod summary;

use std::env;
use std::io;
use std::sync::{Arc, Mutex};

use aws_batch_delivery::targets::BatchTarget;
use aws_batch_delivery::{Delivery, DeliveryError, DeliveryOptions, Progress, Report};
use clap::ValueEnum;
use tokio::task;
use tokio_util::task::TaskTracker;

use self::dry_run::Measured;
use self::simulated::Simulated;
pub(crate) use self::summary::Summary;
use crate::arguments::{Arguments, Command, Common, Order};
use crate::cause;
use crate::console::{Console, counted, grouped, print_warnings};
use crate::keeping::{
    BadLines, Claim, DeadLetter, Ended, Identity, Journal, Location, Settling, State, Window, entries,
};
use crate::manual;
use crate::outcome::{Failure, Outcome};
use crate::plan;
use crate::progress::{Ticker, Watched};
use crate::shard::Shard;
use crate::source::{self, Format, Input, Settled, Storage, Turns, named};
use crate::stop::Stop;
#[cfg(feature = "distributed")]
use crate::worker;

/// Runs the command.
pub(crate) async fn run(arguments: Arguments) -> Result<Outcome, Failure> {
    match arguments.command {
        Command::Load(load) => load::run(load).await,
        Command::Delete(delete) => load::run_delete(delete).await,
        Command::Send(send) => Box::pin(send::run(send)).await,
        #[cfg(feature = "put")]
        Command::Put(put) => Box::pin(put::run(put)).await,
        Command::Plan(plan) => plan::run(plan).await,
        #[cfg(feature = "distributed")]
        Command::Worker(worker) => Box::pin(worker::run(*worker)).await,
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { command } => manual::page(command.as_deref()),
    }
}

/// What is delivered, and to which target.
pub(crate) struct Job<T: BatchTarget> {
    command: &'static str,
    target: T,
    /// Measures an entry; `unit` is the unit of the capacity.
    measure: fn(&T::Entry) -> Measured,
    unit: &'static str,
    format: Arc<dyn Format<T::Entry>>,
    /// The name of the destination.
    destination: String,
    /// The settings that identify the delivery, in addition to the command and the inputs.
    settings: Settings,
    simulated: Option<Arc<Simulated>>,
    /// The order of the inputs; `None` if it depends on them.
    order: Option<Order>,
    /// Whether a person is asked before it begins, if there is one.
    asks: bool,
    pub(crate) console: Console,
}

/// The settings of a delivery, by name.
type Settings = Vec<(&'static str, String)>;

/// One delivery of a job: its inputs, its dead letters and its journal.
pub(crate) struct Round {
    pub(crate) inputs: Vec<Input>,
    pub(crate) options: DeliveryOptions,
    pub(crate) dead_letter: Option<DeadLetter>,
    pub(crate) stop: Stop,
    /// Whether another round delivers everything again if this one does not finish.
    pub(crate) is_repeated: bool,
}

impl<T: BatchTarget + Clone> Job<T> {
    async fn run(mut self, common: &Common) -> Result<Outcome, Failure> {
        let mut inputs = named(&common.inputs, &common.service).await?;
        for input in &mut inputs {
            input.encoding = common.encoding;
        }
        if self.order.is_none() && inputs.iter().all(|input| input.has_own_keys) {
            self.order = Some(Order::Turns);
        }
        let inputs = self.shard(common, inputs)?;
        self.console.tell(&format!("reading {}", reading::words(&inputs)));
        if common.dry_run {
            return task::block_in_place(|| self.dry_run(inputs));
        }
        common.keeping.check(&common.inputs, &inputs)?;
        if self.asks && question::is_possible() {
            task::block_in_place(|| self.ask(&inputs))?;
        }
        // A deadline begins after the answer.
        let options = common.delivering.options()?;
        print_warnings(self.console.clone());
        let dead_letter = dead_letter(common, &self.console).await?;
        let stop = Stop::default();
        let (journal, settled) = match &common.keeping.resume {
            None => (None, Settled::default()),
            Some(location) => {
                let (journal, settled) = self.journal(common, location, Claim::Named, &inputs, &stop)?;
                (Some(journal), settled)
            }
        };
        stop.on_interrupt(self.console.clone());
        let round = Round {
            inputs,
            options,
            dead_letter,
            stop,
            is_repeated: false,
        };
        let summary = self.deliver(common, round, journal, settled).await;
        summary.tell(&self.console)
    }

    /// Delivers the records that are not settled.
    pub(crate) async fn deliver(
        &self,
        common: &Common,
        round: Round,
        journal: Option<Journal>,
        settled: Settled,
    ) -> Summary {
        let Round { inputs, stop, .. } = round;
        let console = self.console.clone();
        let names: Arc<[String]> = inputs.iter().map(|input| input.name.clone()).collect();
        let total = inputs.iter().map(|input| input.bytes).sum();
        let turns = self.turns(inputs, settled);
        let turns = if journal.is_some() {
            turns.with_checksums()
        } else {
            turns
        };
        let (receiver, read) = source::read(turns);
        let settling = Arc::new(Settling {
            window: Window::default(),
            names,
            journal,
            dead_letter: round.dead_letter,
            handed_back: Mutex::default(),
            stop: stop.clone(),
            under_way: TaskTracker::new(),
            is_repeated: round.is_repeated,
        });
        let bad_lines = BadLines::new(Arc::clone(&settling), common.keep_going, console.clone());
        let progress = Progress::default();
        let watched = Watched {
            progress: progress.clone(),
            read,
            total,
            every: common.telling.every(),
        };
        let options = round.options.progress(&progress).cancellation(stop.token.clone());
        let ticker = Ticker::start(watched, console.clone(), stop.clone());
        let entries = entries(receiver, settling.window.clone(), bad_lines.clone());
        let delivery = settled_by(Delivery::new(self.target.clone()).options(options), &settling);
        let delivered = delivery.try_deliver_stream(entries).await;
        drop(ticker);
        console.clear_bar();

        let handed_back = delivered.as_ref().map_or_else(DeliveryError::undelivered, |_| &[]);
        settling.end(handed_back).await;
        let (report, ended, stopped) = match delivered {
            Ok(report) => (report, None, None),
            Err(error) => parts(error),
        };
        let journal = settling.journal.as_ref();
        let journal_error = task::block_in_place(|| journal.and_then(|journal| journal.close().err()));
        Summary {
            destination: self.destination.clone(),
            report,
            ended,
            stopped,
            journal_error,
            settling,
            bad_lines,
            resumes: common.keeping.resume.clone(),
            simulated: self.simulated.clone(),
        }
    }

    /// The records of the inputs that are not settled, in the order of this job.
    fn turns(&self, inputs: Vec<Input>, settled: Settled) -> Turns<T::Entry> {
        let turns = Turns::new(inputs, Arc::clone(&self.format), settled);
        match self.order {
            Some(Order::Turns) => turns,
            Some(Order::File) | None => turns.one_by_one(),
        }
    }

    /// Asks whether to begin, with the number of entries if the inputs can be read twice. Blocks.
    fn ask(&self, inputs: &[Input]) -> Result<(), Failure> {
        if inputs.iter().any(|input| input.storage == Storage::Standard) {
            let words =
                "the keys and the answer cannot both come from the terminal: add --yes to delete without a question";
            return Err(Failure::WrongUse(words.to_owned()));
        }
        if self.console.is_quiet() {
            // What is asked about is said in any case.
            self.console.warn(&format!("reading {}", reading::words(inputs)));
        }
        let count = if inputs.iter().all(|input| input.bytes.is_some()) {
            counted(self.sums(inputs.to_vec())?.entries, "key")
        } else {
            "an unknown number of keys".to_owned()
        };
        question::ask(&format!("delete the items of {count} from {}?", self.destination))
    }

    /// The part of the inputs that this process reads.
    fn shard(&self, common: &Common, inputs: Vec<Input>) -> Result<Vec<Input>, Failure> {
        let Some(shard) = Shard::wanted(common.shard, |name| env::var(name).ok())? else {
            return Ok(inputs);
        };
        let (own, whole) = task::block_in_place(|| shard.of(inputs, |input| self.can_be_cut(input)))?;
        self.console.tell(&match whole {
            0 => format!("shard {shard}"),
            _ => format!(
                "shard {shard}: {} inputs are compressed or CSV, and go whole to one shard each",
                grouped(whole)
            ),
        });
        Ok(own)
    }

    /// Whether the input can be read in parts. Blocks.
    pub(crate) fn can_be_cut(&self, input: &Input) -> io::Result<bool> {
        let start = input.start()?;
        Ok(start.is_some_and(|start| self.format.can_be_cut(&start, &input.name)))
    }

    /// The journal of this load, and the records that earlier runs have settled.
    pub(crate) fn journal(
        &self,
        common: &Common,
        location: &Location,
        claim: Claim,
        inputs: &[Input],
        stop: &Stop,
    ) -> Result<(Journal, Settled), Failure> {
        let in_flight = u64::from(common.delivering.concurrency) * self.target.limits().entries as u64;
        let settings = self.settings.iter().cloned().chain([
            ("command", self.command.to_owned()),
            ("destination", self.destination.clone()),
            ("--order", name(&self.order.unwrap_or(Order::File))),
        ]);
        let encoding = common
            .encoding
            .map(|encoding| ("--encoding", encoding.name().to_owned()));
        let settings = settings.chain(encoding);
        let identity = Identity::new(settings, inputs, in_flight + Journal::unwritten(location))?;
        let open = || State::open(location, identity, claim, &common.service, &self.console);
        let state = task::block_in_place(open)?;
        let settled = state.settled.clone();
        if settled.len() > 0 {
            self.console
                .tell(&format!("{} lines are settled by earlier runs", grouped(settled.len())));
        }
        if state.doubtful > 0 {
            let most = grouped(state.doubtful);
            self.console.tell(&format!(
                "the last run was killed: up to {most} entries may be sent twice"
            ));
        }
        Ok((Journal::start(state, stop.token.clone()), settled))
    }
}

/// The name of an option's value.
fn name(value: &impl ValueEnum) -> String {
    value
        .to_possible_value()
        .map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The place of dead letters, if one is requested.
async fn dead_letter(common: &Common, console: &Console) -> Result<Option<DeadLetter>, Failure> {
    let Some(location) = &common.keeping.dead_letter else {
        return Ok(None);
    };
    let dead_letter = DeadLetter::open(location, &common.service).await?;
    if dead_letter.has_old_ones() {
        console.tell(&format!("{location} has dead letters of earlier runs, and keeps them"));
    }
    Ok(Some(dead_letter))
}

/// The delivery with handlers that settle each entry.
fn settled_by<T: BatchTarget>(delivery: Delivery<T>, settling: &Arc<Settling>) -> Delivery<T> {
    let delivered = Arc::clone(settling);
    let undelivered = Arc::clone(settling);
    delivery
        .on_delivered(move |position, _, _| delivered.delivered(position))
        .on_undelivered(move |entry| undelivered.undelivered(entry))
}

/// The parts of an error: the report, why the inputs were not read to their end, and why the delivery stopped.
fn parts<E>(error: DeliveryError<E>) -> (Report, Option<Ended>, Option<String>) {
    let ended = error.stream_error.and_then(|error| error.downcast::<Ended>().ok());
    let stopped = error.stopped.map(|fault| cause::printed_fault(&fault));
    (error.report, ended.map(|ended| *ended), stopped)
}
