//! Compares two tables.

use std::io::{self, Write, stdout};

use futures::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::estimate::Estimate;
use super::simulation::{Simulation, table};
use super::table::known_key;
use crate::arguments::{DiffArguments, SimulatedTable};
use crate::blocking::block_in_place;
use crate::connection::can_be_renewed;
use crate::console::{Console, counted, grouped, rate, time};
use crate::format::{Item, Key, comparable};
use crate::keeping::{Comparison, ItemDifference, Pairs, Side};
use crate::outcome::{CommandOutcome, Failure};
use crate::output::{CLOSED, is_standard_closed};
use crate::sink::ExistingTable;
use crate::source::{ScannedItems, TableReads, unread};
use crate::stop::Stop;

/// Compares the items.
pub(super) async fn run(arguments: DiffArguments) -> Result<CommandOutcome, Failure> {
    let console = arguments.output.console();
    let SimulatedTable { simulated, key } = &arguments.simulation;
    let simulation = Simulation::of_source(&arguments.service, simulated, &console)?;
    let names = [arguments.from.as_str(), arguments.to.as_str()];
    let (from, to) = arguments.sides.connections(&arguments.service);
    let reads = |name: &str| {
        let reads = arguments.reads.of(name, arguments.projection.project.as_deref());
        reads.checked()
    };
    let both = [reads(names[0])?, reads(names[1])?];
    if simulation.is_none() {
        to.check_profile().await?;
    }
    let first = table(&both[0], &from, "FROM", simulation.as_ref(), key.as_ref()).await?;
    let second = table(&both[1], &to, "TO", simulation.as_ref(), key.as_ref()).await?;
    let key = common_key(names, [&first, &second], key.as_ref())?;
    if arguments.dry_run {
        return dry_run(&both, [&first, &second], arguments.price.read_price, &console).await;
    }
    let stop = Stop::of_command(&console, can_be_renewed);
    let started = Instant::now();
    let mut scans = Vec::new();
    for (reads, table) in both.into_iter().zip([first, second]) {
        let reads = reads.including(key.attributes().map(|attribute| attribute.name.as_str()));
        scans.push(reads.scan_from(table.client, stop.token.clone(), None).items());
    }
    let progress: Vec<_> = scans.iter().map(ScannedItems::progress).collect();
    let units = || progress.iter().map(|progress| progress.figures().units).sum::<f64>();
    console.show_bar(None);
    let (mut read, mut pairs) = (0_u64, Pairs::new());
    let mut next_words = started + arguments.output.every();
    let mut items = sides(scans);
    let ended = loop {
        // The clock continues while no page comes.
        match timeout_at(next_words, items.next()).await {
            Err(_) => {}
            Ok(None) => break Ok(()),
            Ok(Some((side, Ok(item)))) => {
                read += 1;
                if let Err(error) = add(&mut pairs, side, &item, &key) {
                    break Err(Failure::Failed(format!("what was read cannot be kept: {error}")));
                }
            }
            Ok(Some((side, Err(words)))) => {
                let name = names[usize::from(side == Side::Second)];
                break Err(Failure::Failed(format!("{name} cannot be read to the end: {words}")));
            }
        }
        if Instant::now() >= next_words {
            next_words = Instant::now() + arguments.output.every();
            let words = format!("{} read, {} read units", grouped(read), rate(units()));
            let event = json!({"event": "progress", "items": read, "read_units": units()});
            if let Err(failure) = console.show(words, &event) {
                break Err(failure);
            }
        }
    };
    console.clear_bar();
    if ended.is_err() && stop.was_interrupted() {
        console.warn("interrupted: the tables were not compared");
        return Ok(CommandOutcome::Interrupted);
    }
    ended?;
    let printed = |error: io::Error| Failure::Failed(format!("the differences cannot be written: {error}"));
    let compared = block_in_place(|| pairs.compare(print)).map_err(printed)?;
    console.info(&format!(
        "{} in {}, {} read units",
        words(&compared, names),
        time(started.elapsed()),
        rate(units())
    ));
    let event = json!({
        "event": "report", "equal": compared.equal, "only_in_first": compared.only_in_first,
        "only_in_second": compared.only_in_second, "different": compared.different, "read_units": units(),
        "seconds": started.elapsed().as_secs_f64(),
    });
    console.emit(&event).map_err(printed)?;
    Ok(CommandOutcome::of(compared.is_equal()))
}

/// The key of both tables, which are two.
fn common_key(
    [from, to]: [&str; 2],
    [first, second]: [&ExistingTable; 2],
    given: Option<&Key>,
) -> Result<Key, Failure> {
    if first.is_same(from, second, to) {
        return Err(Failure::WrongUse(format!(
            "{from} and {to} are the same table: a comparison needs two, such as with --to-region or --to-profile"
        )));
    }
    let key = known_key(from, first, given)?;
    let other = known_key(to, second, given)?;
    if key == other {
        return Ok(key);
    }
    Err(Failure::WrongUse(format!(
        "the key of {from} is {key}, but that of {to} is {other}: an item of one cannot be an item of the other"
    )))
}

/// Says what a comparison is about.
async fn dry_run(
    [of_first, of_second]: &[TableReads; 2],
    [first, second]: [&ExistingTable; 2],
    read_price: Option<f64>,
    console: &Console,
) -> Result<CommandOutcome, Failure> {
    let first = Estimate::by(first, of_first).await?;
    let second = Estimate::by(second, of_second).await?;
    let estimate = Estimate {
        words: format!("{}, and {}", first.words, second.words),
        items: first.items + second.items,
        bytes: first.bytes.zip(second.bytes).map(|(first, second)| first + second),
        read_units: first.read_units + second.read_units,
        read_price,
        ..Estimate::default()
    };
    estimate.print(console, "nothing was compared")
}

/// The items of both tables, as they come. An error is a text.
fn sides(scans: Vec<ScannedItems>) -> impl Stream<Item = (Side, Result<Item, String>)> + Unpin {
    let of_side = |(scan, side): (ScannedItems, Side)| {
        scan.map(move |item| (side, item.map_err(|error| unread(&error))))
            .boxed()
    };
    stream::select_all(scans.into_iter().zip([Side::First, Side::Second]).map(of_side))
}

fn add(pairs: &mut Pairs, side: Side, item: &Item, key: &Key) -> io::Result<()> {
    let of_key: Item = item
        .iter()
        .filter(|(name, _)| key.has(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    pairs.add(side, &comparable(&of_key).to_string(), &comparable(item).to_string())
}

/// Writes a difference as a line of JSON.
fn print(difference: ItemDifference, key: &str) -> io::Result<()> {
    let difference = match difference {
        ItemDifference::OnlyInFirst => "only_in_first",
        ItemDifference::OnlyInSecond => "only_in_second",
        ItemDifference::Different => "different",
    };
    let key: Value = serde_json::from_str(key)?;
    // Where only the exit code is of interest, tables that are equal have none.
    if is_standard_closed() {
        return Err(io::Error::other(CLOSED));
    }
    let mut output = stdout().lock();
    writeln!(output, "{}", json!({"difference": difference, "key": key}))
}

fn words(compared: &Comparison, [first, second]: [&str; 2]) -> String {
    let mut words = vec![format!("{} equal", counted(compared.equal, "item"))];
    for (count, what) in [
        (compared.different, "different".to_owned()),
        (compared.only_in_first, format!("only in {first}, the first table")),
        (compared.only_in_second, format!("only in {second}, the second table")),
    ] {
        if count > 0 {
            words.push(format!("{} {what}", grouped(count)));
        }
    }
    words.join(", ")
}
