//! The places of dead letters and of the journal.

use std::path::{Path, PathBuf};

use super::dead_letter;
use super::location::Location;
use crate::outcome::Failure;
use crate::output::{FileIdentity, standard_files};
use crate::source::{Input, STANDARD_INPUT, names};

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
            files.push((dead_letter::causes_of(path), "the file of causes"));
            let bad = with(path, dead_letter::BAD);
            for input in inputs.iter().filter_map(Input::path) {
                if is_numbered(&resolved(input), &resolved(&bad)) {
                    return Err(Failure::WrongUse(format!(
                        "{} is an input and a file of bad lines: name another one",
                        input.display()
                    )));
                }
            }
            files.push((dead_letter::causes_of(&bad), "the file of reasons"));
            let further = (2..).map(|number| with(&bad, &format!(".{number}")));
            files.extend(
                further
                    .take_while(|path| path.exists())
                    .map(|path| (path, "a file of bad lines")),
            );
            files.push((bad, "the file of bad lines"));
        }
        files.extend(self.failed.clone().map(|path| (path, "the file of failed conditions")));
        if let Some(Location::File(path)) = &self.resume {
            files.push((path.clone(), "the journal"));
        }
        let mut known: Vec<KnownFile> = Vec::new();
        for input in inputs {
            // A pipe or a device is not written.
            let identity = input.identity().filter(|(_, is_pipe)| !is_pipe);
            known.push(KnownFile {
                place: input.path().map(resolved),
                identity: identity.map(|(identity, _)| identity),
                name: input.name.clone(),
                what: "an input",
            });
        }
        for (identity, name) in standard_files() {
            if let Some(input) = known.iter().find(|input| input.identity == Some(identity)) {
                return Err(Failure::WrongUse(format!(
                    "{name} is the same file as {}, which is an input: redirect it to another one",
                    input.name()
                )));
            }
        }
        for (path, what) in files {
            let file = KnownFile {
                place: Some(resolved(&path)),
                identity: FileIdentity::at(&path),
                name: path.display().to_string(),
                what,
            };
            if let Some(other) = known.iter().find(|other| other.is(&file)) {
                return Err(Failure::WrongUse(file.refused(other)));
            }
            known.push(file);
        }
        Ok(())
    }

    /// Checks that inputs that are dead letters of earlier runs are whole.
    pub(crate) fn check_inputs(inputs: &[Input]) -> Result<(), Failure> {
        inputs
            .iter()
            .filter_map(Input::path)
            .try_for_each(dead_letter::check_is_whole)
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

/// A file that is read or written.
struct KnownFile {
    /// The canonical path, unless it was opened by others.
    place: Option<PathBuf>,
    /// What distinguishes it from others, if it is there.
    identity: Option<FileIdentity>,
    name: String,
    what: &'static str,
}

impl KnownFile {
    /// Whether both are the same file, of which a hard link is another name.
    fn is(&self, other: &Self) -> bool {
        self.place.is_some() && self.place == other.place || self.identity.is_some() && self.identity == other.identity
    }

    /// Why it cannot be written for another purpose than the other one.
    fn refused(&self, other: &Self) -> String {
        let (name, what) = (&self.name, self.what);
        if self.place == other.place {
            return format!("{name} is {} and {what}: name another one", other.what);
        }
        let (of_other, its) = (other.name(), other.what);
        format!("{name} is {what}, and the same file as {of_other}, which is {its}: name another one")
    }

    /// Its name, for people.
    fn name(&self) -> &str {
        match self.name.as_str() {
            STANDARD_INPUT => "the standard input",
            name => name,
        }
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

/// The canonical path, even of a file that does not exist yet.
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
