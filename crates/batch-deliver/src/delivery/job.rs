//! What is delivered, where to, and its delivery.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task;
use tokio_util::task::TaskTracker;

use crate::connection::Connection;
use crate::console::{Console, grouped};
use crate::keeping::{
    BadLines, Claim, DeadLetter, Ended, Identity, Journal, Location, Settling, State, Window, entries,
};
use crate::outcome::Failure;
use crate::progress::{Summary, Ticker, Watched};
use crate::sink::{self, DeliveryOptions, Destination, Progress, Settings, Target};
use crate::source::{self, Format, Input, Order, Settled, Turns};
use crate::stop::Stop;

/// What is delivered, and to which destination.
pub(crate) struct Job<T: Target> {
    pub(crate) command: &'static str,
    pub(crate) format: Arc<dyn Format<T::Entry>>,
    pub(crate) destination: Destination<T>,
    /// The settings that identify the delivery, in addition to the command, the inputs and the destination.
    pub(crate) settings: Settings,
    /// The order of the inputs; `None` if it depends on them.
    pub(crate) order: Option<Order>,
    /// Bad lines that are skipped.
    pub(crate) keep_going: u64,
    /// The most calls in flight.
    pub(crate) concurrency: u32,
    /// The interval of progress if there is no bar.
    pub(crate) every: Duration,
    /// The connection to the journal.
    pub(crate) connection: Connection,
    pub(crate) console: Console,
}

/// One delivery of a job: its inputs, and what is kept of it.
pub(crate) struct Round {
    pub(crate) inputs: Vec<Input>,
    pub(crate) options: DeliveryOptions,
    pub(crate) journal: Option<Journal>,
    /// The records that earlier runs have settled.
    pub(crate) settled: Settled,
    pub(crate) dead_letter: Option<DeadLetter>,
    pub(crate) stop: Stop,
    /// The place of the journal with which the user continues.
    pub(crate) resumes: Option<Location>,
    /// Whether another round delivers everything again if this one does not finish.
    pub(crate) is_repeated: bool,
}

impl<T: Target> Job<T> {
    /// Delivers the records that are not settled.
    pub(crate) async fn deliver(&self, round: Round) -> Summary {
        let Round {
            inputs, journal, stop, ..
        } = round;
        let console = self.console.clone();
        let names: Arc<[String]> = inputs.iter().map(|input| input.name.clone()).collect();
        let total = inputs.iter().map(|input| input.bytes).sum();
        let turns = self.turns(inputs, round.settled);
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
        let bad_lines = BadLines::new(Arc::clone(&settling), self.keep_going, console.clone());
        let progress = Progress::default();
        let watched = Watched {
            progress: progress.clone(),
            read,
            total,
            every: self.every,
        };
        let options = round.options.progress(&progress).cancellation(stop.token.clone());
        let ticker = Ticker::start(watched, console.clone(), stop.clone());
        let entries = entries(receiver, settling.window.clone(), bad_lines.clone());
        let (delivered, undelivered) = (Arc::clone(&settling), Arc::clone(&settling));
        let delivered = sink::deliver(
            self.destination.target.clone(),
            options,
            entries,
            move |position| delivered.delivered(position),
            move |entry| undelivered.undelivered(entry),
        );
        let delivered = delivered.await;
        drop(ticker);
        console.clear_bar();

        settling.end(delivered.handed_back()).await;
        let (report, stream_error, stopped) = delivered.parts();
        let ended = stream_error.and_then(|error| error.downcast::<Ended>().ok());
        let journal = settling.journal.as_ref();
        let journal_error = task::block_in_place(|| journal.and_then(|journal| journal.close().err()));
        Summary {
            destination: self.destination.name.clone(),
            report,
            ended: ended.map(|ended| *ended),
            stopped,
            journal_error,
            settling,
            bad_lines,
            resumes: round.resumes,
            simulated: self.destination.simulated.clone(),
        }
    }

    /// The records of the inputs that are not settled, in the order of this job.
    pub(super) fn turns(&self, inputs: Vec<Input>, settled: Settled) -> Turns<T::Entry> {
        let turns = Turns::new(inputs, Arc::clone(&self.format), settled);
        match self.order {
            Some(Order::Turns) => turns,
            Some(Order::File) | None => turns.one_by_one(),
        }
    }

    /// Whether the input can be read in parts. Blocks.
    pub(crate) fn can_be_cut(&self, input: &Input) -> io::Result<bool> {
        let start = input.start()?;
        Ok(start.is_some_and(|start| self.format.can_be_cut(&start, &input.name)))
    }

    /// The journal of this load, and the records that earlier runs have settled.
    pub(crate) fn journal(
        &self,
        location: &Location,
        claim: Claim,
        inputs: &[Input],
        stop: &Stop,
    ) -> Result<(Journal, Settled), Failure> {
        let in_flight = u64::from(self.concurrency) * self.destination.target.limits().entries as u64;
        let settings = self.settings.iter().chain(&self.destination.settings).cloned().chain([
            ("command", self.command.to_owned()),
            ("destination", self.destination.name.clone()),
            ("--order", self.order.unwrap_or(Order::File).name().to_owned()),
        ]);
        let identity = Identity::new(settings, inputs, in_flight + Journal::unwritten(location))?;
        let open = || State::open(location, identity, claim, &self.connection, &self.console);
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
