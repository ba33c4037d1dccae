//! Updates items of a table.

use super::deliver::deliver;
use super::matching;
use super::table::{needed, single};
use crate::arguments::UpdateArguments;
use crate::outcome::{CommandOutcome, Failure};
use crate::sink::Change;

/// Updates the items whose keys the inputs have.
pub(super) async fn run(arguments: UpdateArguments) -> Result<CommandOutcome, Failure> {
    if arguments.matching.filter.is_some() {
        return Box::pin(matching::update(arguments)).await;
    }
    if arguments.matching.is_of_one_key() {
        let words = "--key-condition limits --where: give --where as well";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    arguments.matching.is_about_inputs()?;
    let expression = arguments.expression();
    let UpdateArguments {
        from,
        condition,
        existing,
        ..
    } = arguments;
    let mut settings = vec![("update", expression.clone())];
    settings.extend(existing.then(|| ("--existing", existing.to_string())));
    let job = single("update", &from, &condition, settings, |key| {
        let mut expressions = condition.expressions(Change::Update(needed(key)?, expression));
        if existing {
            expressions.only_existing();
        }
        Ok(expressions)
    });
    deliver(job.await?, &from.common).await
}
