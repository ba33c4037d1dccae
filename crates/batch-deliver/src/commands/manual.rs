//! What shells and `man` know of the program, from the definition of its arguments.

use std::io::{self, Write, stdout};

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::arguments::Arguments;
use crate::outcome::{CommandOutcome, Failure};
use crate::output::{CLOSED, is_standard_closed};

const PROGRAM: &str = "batch-deliver";

/// Prints the script that completes the arguments in this shell.
pub(super) fn completions(shell: Shell) -> Result<CommandOutcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), PROGRAM, &mut script);
    let script = String::from_utf8_lossy(&script);
    // For bash, clap_complete 4.6 writes the hyphen of the name in two ways, so that it completes no options of commands.
    print(script.replace("batch__subcmd__deliver", "batch__deliver").as_bytes())
}

/// Prints the help of the program, or of one of its commands, as `--help` does.
pub(super) fn help(command: Option<&str>) -> Result<CommandOutcome, Failure> {
    let program = Arguments::command();
    if command.is_some_and(|name| program.find_subcommand(name).is_none()) {
        return Err(unknown(&program));
    }
    let arguments = [Some(PROGRAM), command, Some("--help")].into_iter().flatten();
    // Help counts as an error of the arguments, which does not end the program by itself.
    match program.try_get_matches_from(arguments) {
        Err(help) => written(help.print().and_then(|()| stdout().flush())),
        Ok(_) => Ok(CommandOutcome::Delivered),
    }
}

/// Prints the manual page of the program, or of one of its commands.
pub(super) fn page(command: Option<&str>) -> Result<CommandOutcome, Failure> {
    // Gives each command its name: `batch-deliver-load`.
    let mut program = Arguments::command();
    program.build();
    let described = match command {
        None => program,
        Some(name) => program
            .find_subcommand(name)
            .cloned()
            .ok_or_else(|| unknown(&program))?,
    };
    let mut page = Vec::new();
    Man::new(described)
        .source(format!("{PROGRAM} {}", env!("CARGO_PKG_VERSION")))
        .render(&mut page)
        .map_err(|error| Failure::Failed(format!("the page cannot be written: {error}")))?;
    print(&page)
}

fn unknown(program: &Command) -> Failure {
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
    let names: Vec<_> = shown.map(Command::get_name).collect();
    Failure::WrongUse(format!("there is no such command; name one of {}", names.join(", ")))
}

fn print(text: &[u8]) -> Result<CommandOutcome, Failure> {
    if is_standard_closed() {
        return Err(Failure::WrongUse(CLOSED.to_owned()));
    }
    let mut output = stdout().lock();
    written(output.write_all(text).and_then(|()| output.flush()))
}

fn written(result: io::Result<()>) -> Result<CommandOutcome, Failure> {
    match result {
        // The reader, such as `head`, wants no more.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(CommandOutcome::Delivered),
        Err(error) => Err(Failure::Failed(format!(
            "the standard output cannot be written: {error}"
        ))),
        Ok(()) => Ok(CommandOutcome::Delivered),
    }
}
