//! What is kept of a delivery.

use std::path::{Path, PathBuf};

use clap::Args;
use glob::{MatchOptions, Pattern};

use super::Location;
use crate::failure::Failure;
use crate::input::{Input, SCHEME};

const DEAD_LETTER: &str = "Where undelivered entries go, with their causes beside: a file, or s3://bucket/prefix/";

const RESUME: &str = "Go on where an earlier run has ended or was killed, by its journal: a file, or s3://bucket/key";

#[derive(Debug, Args)]
#[command(next_help_heading = "Keeping")]
pub(crate) struct Keeping {
    #[arg(long, value_name = "FILE", help = DEAD_LETTER)]
    pub(crate) dead_letter: Option<Location>,
    #[arg(long, value_name = "STATE", help = RESUME)]
    pub(crate) resume: Option<Location>,
}

/// Behind the name of a file of dead letters: that of their causes.
const CAUSES: &str = ".causes.jsonl";

/// Behind the name of a journal: the one that takes its place.
const NEW: &str = ".new";

impl Keeping {
    /// That nothing is read and written, or written as two.
    pub(crate) fn check(&self, named: &[String], inputs: &[Input]) -> Result<(), Failure> {
        self.check_objects(named, inputs)?;
        let mut files: Vec<(PathBuf, &str)> = Vec::new();
        if let Some(Location::File(path)) = &self.dead_letter {
            files.push((path.clone(), "the file of dead letters"));
            files.push((with(path, CAUSES), "the file of their causes"));
        }
        if let Some(Location::File(path)) = &self.resume {
            files.push((path.clone(), "the journal"));
            files.push((with(path, NEW), "the file of a new journal"));
        }
        let inputs = inputs
            .iter()
            .filter_map(Input::path)
            .map(|path| (path.to_owned(), "an input"));
        let mut known: Vec<(PathBuf, &str)> = inputs.map(|(path, what)| (resolved(&path), what)).collect();
        for (path, what) in files {
            let place = resolved(&path);
            if let Some((_, other)) = known.iter().find(|(known, _)| *known == place) {
                let path = path.display();
                return Err(Failure::WrongUse(format!(
                    "{path} is {other} and {what}: name another one"
                )));
            }
            known.push((place, what));
        }
        Ok(())
    }

    /// That what is written in S3 is no input of the next run.
    fn check_objects(&self, named: &[String], inputs: &[Input]) -> Result<(), Failure> {
        let kept = [(&self.resume, "--resume"), (&self.dead_letter, "--dead-letter")];
        for (location, option) in kept {
            let Some(location @ Location::Object { .. }) = location else {
                continue;
            };
            let name = location.to_string();
            if let Some(argument) = named.iter().find(|argument| lists(argument, &name, inputs)) {
                return Err(Failure::WrongUse(format!(
                    "{option} {name} is among the inputs that {argument} names: name another place"
                )));
            }
        }
        if let (Some(resume @ Location::Object { .. }), Some(letters @ Location::Object { .. })) =
            (&self.resume, &self.dead_letter)
            && resume
                .to_string()
                .starts_with(&format!("{}/", letters.to_string().trim_end_matches('/')))
        {
            let words = format!("--resume {resume} is among the dead letters: name another place");
            return Err(Failure::WrongUse(words));
        }
        Ok(())
    }
}

/// Whether an object with this name is one of those that an argument names.
fn lists(argument: &str, name: &str, inputs: &[Input]) -> bool {
    if !argument.starts_with(SCHEME) {
        return false;
    }
    if argument.contains(['*', '?', '[']) {
        let in_a_folder = MatchOptions {
            require_literal_separator: true,
            ..MatchOptions::default()
        };
        return Pattern::new(argument).is_ok_and(|pattern| pattern.matches_with(name, in_a_folder));
    }
    // One object alone, or all whose names begin so.
    let is_one = inputs.iter().any(|input| input.name == argument);
    name == argument || !is_one && name.starts_with(argument)
}

fn with(path: &Path, behind: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(behind);
    name.into()
}

/// The path without links and detours, also of a file that there is not yet.
fn resolved(path: &Path) -> PathBuf {
    let of_folder = || {
        let folder = path
            .parent()
            .filter(|folder| *folder != Path::new(""))
            .unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize()
        .ok()
        .or_else(of_folder)
        .unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_for_one_thing() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("sub")).unwrap();
        fs::write(path("a.new"), "{}").unwrap();
        let inputs = [Input::file(&path("a.new")).unwrap()];
        let told = |dead_letter: &str, resume: &str| {
            let keeping = Keeping {
                dead_letter: Some(Location::File(path(dead_letter))),
                resume: Some(Location::File(path(resume))),
            };
            keeping
                .check(&[], &inputs)
                .err()
                .map(|failure| failure.to_string())
                .unwrap_or_default()
        };
        assert_eq!(told("dead", "state"), "");
        for (dead_letter, resume, words) in [
            (
                "sub/../a.new",
                "state",
                "is an input and the file of dead letters: name another one",
            ),
            ("dead", "a", "a.new is an input and the file of a new journal"),
            (
                "same",
                "sub/../same",
                "same is the file of dead letters and the journal",
            ),
            (
                "x",
                "x.causes.jsonl",
                "x.causes.jsonl is the file of their causes and the journal",
            ),
        ] {
            let told = told(dead_letter, resume);
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn what_is_kept_in_a_bucket_is_no_input_of_the_next_run() {
        let told = |input: &str, dead_letter: &str, resume: &str| {
            let keeping = Keeping {
                dead_letter: Some(dead_letter.parse().unwrap()),
                resume: Some(resume.parse().unwrap()),
            };
            let checked = keeping.check(&[input.to_owned()], &[]);
            checked.err().map(|failure| failure.to_string()).unwrap_or_default()
        };
        assert_eq!(told("s3://b/in/", "s3://b/dead/", "s3://b/state"), "");
        assert_eq!(told("s3://b/in/*.jsonl", "s3://b/in/dead/", "s3://b/in/state"), "");
        for (input, dead_letter, resume, words) in [
            (
                "s3://b/in/",
                "dead",
                "s3://b/in/state",
                "--resume s3://b/in/state is among the inputs",
            ),
            (
                "s3://b/in/*",
                "dead",
                "s3://b/in/state",
                "--resume s3://b/in/state is among the inputs",
            ),
            (
                "s3://b",
                "s3://b/dead/",
                "state",
                "--dead-letter s3://b/dead/ is among the inputs that s3://b names",
            ),
            ("a", "s3://b/dead/", "s3://b/dead/state", "is among the dead letters"),
        ] {
            let told = told(input, dead_letter, resume);
            assert!(told.contains(words), "{told}");
        }
    }
}
