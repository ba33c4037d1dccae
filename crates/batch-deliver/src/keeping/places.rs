//! The places of dead letters and of the journal.

use std::path::{Path, PathBuf};

use super::location::Location;
use super::dead_letter;
use crate::outcome::Failure;
use crate::source::{Input, names};

/// Objects as they are put below the prefix of dead letters.
const LETTERS: [&str; 2] = [
    "20261126T000000Z-0123456789abcdef-000001.jsonl",
    "causes/20261126T000000Z-0123456789abcdef-000001.jsonl",
];

/// Where dead letters and the journal are kept.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) dead_letter: Option<Location>,
    /// The journal.
    pub(crate) resume: Option<Location>,
    /// The file of records whose condition did not hold.
    pub(crate) failed: Option<PathBuf>,
}

impl Places {
    /// Checks that no file is both read and written, or written for two purposes.
    pub(crate) fn check(&self, named: &[String], inputs: &[Input]) -> Result<(), Failure> {
        self.check_objects(named)?;
        let mut files: Vec<(PathBuf, &str)> = Vec::new();
        if let Some(Location::File(path)) = &self.dead_letter {
            files.push((path.clone(), "the file of dead letters"));
            files.push((with(path, dead_letter::CAUSES), "the file of causes"));
            let bad = with(path, dead_letter::BAD);
            for input in inputs.iter().filter_map(Input::path) {
                if is_numbered(&resolved(input), &resolved(&bad)) {
                    return Err(Failure::WrongUse(format!(
                        "{} is an input and a file of bad lines: name another one",
                        input.display()
                    )));
                }
            }
            files.push((with(&bad, dead_letter::CAUSES), "the file of reasons"));
            files.push((bad, "the file of bad lines"));
        }
        files.extend(self.failed.clone().map(|path| (path, "the file of failed conditions")));
        if let Some(Location::File(path)) = &self.resume {
            files.push((path.clone(), "the journal"));
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

    /// The objects that are written, with their option and its value.
    fn objects(&self) -> Vec<(&'static str, &Location, Vec<String>)> {
        let mut objects = Vec::new();
        if let Some(location @ Location::Object { .. }) = &self.resume {
            objects.push(("--resume", location, vec![location.to_string()]));
        }
        if let Some(location @ Location::Object { .. }) = &self.dead_letter {
            let folder = location.to_string();
            let names = LETTERS.map(|name| format!("{}/{name}", folder.trim_end_matches('/')));
            objects.push(("--dead-letter", location, names.to_vec()));
        }
        objects
    }

    /// Checks that no object that is written is an input of the next run.
    fn check_objects(&self, named: &[String]) -> Result<(), Failure> {
        for (option, location, objects) in self.objects() {
            let is_written = |argument: &&String| objects.iter().any(|object| names(argument, object));
            if let Some(argument) = named.iter().find(is_written) {
                return Err(Failure::WrongUse(format!(
                    "{option} {location} is among the inputs that {argument} names: name another place"
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

fn with(path: &Path, behind: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(behind);
    name.into()
}

/// Whether this is a further file of bad lines, such as `FILE.bad.2`.
fn is_numbered(path: &Path, bad: &Path) -> bool {
    let number = path.extension().and_then(|number| number.to_str());
    number.is_some_and(|number| number.parse::<u32>().is_ok()) && path.with_extension("") == bad
}

/// The canonical path, also of a file that does not exist yet.
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
    fn a_file_has_one_purpose() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("sub")).unwrap();
        fs::write(path("a.new"), "{}").unwrap();
        fs::write(path("a.bad.2"), "{}").unwrap();
        let inputs = ["a.new", "a.bad.2"].map(|name| Input::file(&path(name)).unwrap());
        let shown = |dead_letter: &str, resume: &str| {
            let places = Places {
                dead_letter: Some(Location::File(path(dead_letter))),
                resume: Some(Location::File(path(resume))),
                failed: None,
            };
            places
                .check(&[], &inputs)
                .err()
                .map(|failure| failure.to_string())
                .unwrap_or_default()
        };
        assert_eq!(shown("dead", "state"), "");
        for (dead_letter, resume, words) in [
            (
                "sub/../a.new",
                "state",
                "is an input and the file of dead letters: name another one",
            ),
            (
                "same",
                "sub/../same",
                "same is the file of dead letters and the journal",
            ),
            (
                "x",
                "x.causes.jsonl",
                "x.causes.jsonl is the file of causes and the journal",
            ),
            ("a", "state", "a.bad.2 is an input and a file of bad lines"),
            ("x", "x.bad", "x.bad is the file of bad lines and the journal"),
        ] {
            let shown = shown(dead_letter, resume);
            assert!(shown.contains(words), "{shown}");
        }
    }

    #[test]
    fn objects_that_are_written_are_not_inputs_of_the_next_run() {
        let shown = |input: &str, dead_letter: &str, resume: &str| {
            let places = Places {
                dead_letter: Some(dead_letter.parse().unwrap()),
                resume: Some(resume.parse().unwrap()),
                failed: None,
            };
            let checked = places.check(&[input.to_owned()], &[]);
            checked.err().map(|failure| failure.to_string()).unwrap_or_default()
        };
        assert_eq!(shown("s3://b/in/", "s3://b/dead/", "s3://b/state"), "");
        assert_eq!(shown("s3://b/in/*.jsonl", "s3://b/in/dead/", "s3://b/in/state"), "");
        assert_eq!(shown("s3://b/in", "s3://b/in/dead/", "s3://b/in.state"), "");
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
                "s3://b/",
                "s3://b/dead/",
                "state",
                "--dead-letter s3://b/dead/ is among the inputs that s3://b/ names",
            ),
            (
                "s3://b/dead/*.jsonl",
                "s3://b/dead",
                "state",
                "--dead-letter s3://b/dead is among the inputs that s3://b/dead/*.jsonl names",
            ),
            (
                "s3://b/dead/causes/",
                "s3://b/dead/",
                "state",
                "--dead-letter s3://b/dead/ is among the inputs",
            ),
            ("a", "s3://b/dead/", "s3://b/dead/state", "is among the dead letters"),
        ] {
            let shown = shown(input, dead_letter, resume);
            assert!(shown.contains(words), "{shown}");
        }
    }
}
