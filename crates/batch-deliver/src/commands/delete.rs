//! Deletes items from a table.

use super::deliver::{deliver, deliver_after};
use super::matching;
use super::question::{can_ask, question};
use super::table::{needed, single, whole};
use crate::arguments::{CommonArguments, DeleteArguments};
use crate::console::counted;
use crate::job::InputJob;
use crate::outcome::{CommandOutcome, Failure};
use crate::sink::{Change, Settings, Target};
use crate::source::{Input, InputStorage, described};

/// Deletes the items of the inputs.
pub(super) async fn run(arguments: DeleteArguments) -> Result<CommandOutcome, Failure> {
    let matching = &arguments.matching;
    if arguments.all || matching.filter.is_some() || matching.is_of_one_key() {
        return Box::pin(matching::delete(arguments)).await;
    }
    let DeleteArguments {
        from,
        yes,
        condition,
        matching,
        ..
    } = arguments;
    matching.is_about_inputs()?;
    if condition.is_empty() {
        return Box::pin(begin(whole(&from, true).await?, &from.common, yes)).await;
    }
    let job = single("delete", &from, &condition, Settings::new(), |key| {
        Ok(condition.expressions(Change::Delete(needed(key)?)))
    });
    Box::pin(begin(job.await?, &from.common, yes)).await
}

/// Begins at once, or after the answer to a question.
pub(super) async fn begin<T: Target>(
    job: InputJob<T>,
    common: &CommonArguments,
    yes: bool,
) -> Result<CommandOutcome, Failure> {
    if yes || !can_ask() {
        deliver(job, common).await
    } else {
        deliver_after(job, common, Some(ask)).await
    }
}

/// Asks whether to begin, with the number of entries if the inputs can be read twice. Blocks.
fn ask<T: Target>(delivery: &InputJob<T>, inputs: &[Input]) -> Result<(), Failure> {
    let job = &delivery.job;
    if inputs.iter().any(|input| input.storage == InputStorage::Standard) {
        let words =
            "the keys and the answer cannot both come from the terminal: add --yes to delete without a question";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    if job.console.is_quiet() {
        // What is asked about is said in any case.
        job.console.warn(&format!("reading {}", described(inputs)));
    }
    let count = if inputs.iter().all(|input| input.bytes.is_some()) {
        counted(delivery.sums(inputs.to_vec())?.entries, "key")
    } else {
        "an unknown number of keys".to_owned()
    };
    let what = if job.command == "delete" { "items" } else { "objects" };
    question(
        &format!("delete the {what} of {count} from {}?", job.destination.name),
        "nothing was deleted",
    )
}
