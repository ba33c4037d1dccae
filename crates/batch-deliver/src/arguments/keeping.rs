//! What is kept of a delivery.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Location;
use crate::failure::Failure;
use crate::input::{Input, SCHEME};

const DEAD_LETTER: &str = "Where entries go that are not delivered, as an input for later, and their causes beside it: a file, or \
                           s3://bucket/prefix/";

#[derive(Debug, Args)]
#[command(next_help_heading = "Keeping")]
pub(crate) struct Keeping {
    #[arg(long, value_name = "FILE", help = DEAD_LETTER)]
    pub(crate) dead_letter: Option<Location>,
    /// Go on where an earlier run was stopped or killed, and keep in STATE how far this one comes
    #[arg(long, value_name = "STATE", value_parser = file)]
    pub(crate) resume: Option<PathBuf>,
}

/// Behind the name of a file of dead letters: that of their causes.
const CAUSES: &str = ".causes.jsonl";

/// Behind the name of a journal: the one that takes its place.
const NEW: &str = ".new";

impl Keeping {
    /// That no file is read and written, or written as two.
    pub(crate) fn check(&self, inputs: &[Input]) -> Result<(), Failure> {
        let mut files: Vec<(PathBuf, &str)> = Vec::new();
        if let Some(Location::File(path)) = &self.dead_letter {
            files.push((path.clone(), "the file of dead letters"));
            files.push((with(path, CAUSES), "the file of their causes"));
        }
        if let Some(path) = &self.resume {
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
}

fn file(text: &str) -> Result<PathBuf, String> {
    if text.starts_with(SCHEME) {
        return Err("a journal is a file: an object cannot be written entry by entry".to_owned());
    }
    Ok(text.into())
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
                resume: Some(path(resume)),
            };
            keeping
                .check(&inputs)
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
}
