//! A delivery from the inputs to the summary.

mod handed_back;
mod load;
mod send;
mod simulated;
mod summary;

use std::sync::Arc;

use aws_batch_delivery::targets::BatchTarget;
use aws_batch_delivery::{Delivery, DeliveryError, Progress, Report};

use self::handed_back::HandedBack;
use self::simulated::Simulated;
pub(crate) use self::summary::Outcome;
use self::summary::Summary;
use crate::arguments::{Arguments, Command, Common, Order};
use crate::console::Console;
use crate::failure::Failure;
use crate::format::Format;
use crate::input::{self, Input, Settled, Turns};
use crate::progress::{Ticker, Watched};
use crate::stop::Stop;
use crate::stream::{BadLines, Ended, entries};
use crate::window::Window;

/// Does what the arguments ask for.
pub(crate) async fn run(arguments: Arguments) -> Result<Outcome, Failure> {
    match arguments.command {
        Command::Load(load) => load::run(load, false).await,
        Command::Delete(delete) => load::run(delete, true).await,
        Command::Send(send) => send::run(send).await,
    }
}

/// What is delivered, and where to.
struct Job<T: BatchTarget> {
    delivery: Delivery<T>,
    format: Box<dyn Format<T::Entry>>,
    /// What the destination is called.
    destination: String,
    simulated: Option<Simulated>,
}

impl<T: BatchTarget> Job<T> {
    async fn run(self, common: &Common) -> Result<Outcome, Failure> {
        let inputs = Input::named(&common.inputs).map_err(Failure::WrongUse)?;
        let options = common.delivering.options()?;
        let console = Console::new(common.telling.json, common.telling.quiet);
        let names: Arc<[String]> = inputs.iter().map(|input| input.name.clone()).collect();
        let total = inputs.iter().map(|input| input.bytes).sum();
        let turns = Turns::new(inputs, self.format, Settled::default());
        let (receiver, read) = input::read(match common.order {
            Order::Turns => turns,
            Order::File => turns.one_by_one(),
        });

        let stop = Stop::default();
        stop.on_interrupt(console.clone());
        let window = Window::default();
        let bad_lines = BadLines::new(names, common.keep_going, console.clone());
        let progress = Progress::default();
        let watched = Watched {
            progress: progress.clone(),
            read,
            total,
            every: common.telling.every(),
        };
        let options = options.progress(&progress).cancellation(stop.token.clone());
        let ticker = Ticker::start(watched, console.clone(), stop.clone());
        let entries = entries(receiver, window.clone(), bad_lines.clone());
        let delivered = self.delivery.options(options).try_deliver_stream(entries).await;
        drop(ticker);
        console.clear_bar();

        let mut handed_back = HandedBack::default();
        let (report, ended, stopped) = match delivered {
            Ok(report) => (report, None, None),
            Err(error) => {
                for undelivered in error.undelivered() {
                    if let Some(origin) = window.settle(undelivered.position) {
                        handed_back.add(origin.place, &undelivered.cause);
                    }
                }
                parts(error)
            }
        };
        let summary = Summary {
            destination: self.destination,
            report,
            ended,
            stopped,
            was_interrupted: stop.was_interrupted(),
            handed_back,
            bad_lines,
            simulated: self.simulated,
        };
        summary.tell(&console)
    }
}

/// The report, why the inputs were not read to their end, and why the delivery stopped.
fn parts<E>(error: DeliveryError<E>) -> (Report, Option<Ended>, Option<String>) {
    let ended = error.stream_error.and_then(|error| error.downcast::<Ended>().ok());
    let stopped = error.stopped.map(|fault| fault.to_string());
    (error.report, ended.map(|ended| *ended), stopped)
}
