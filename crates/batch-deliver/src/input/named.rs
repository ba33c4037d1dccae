//! The inputs that are named.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, stdin};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::compression::unpacked;
use super::export;

/// What the standard input is called.
const STANDARD_INPUT: &str = "-";

/// One input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Input {
    /// What it is called where people are told of it.
    pub(crate) name: String,
    /// `None` for the standard input.
    pub(crate) path: Option<PathBuf>,
    /// Its size as it is stored, where that is known.
    pub(crate) bytes: Option<u64>,
}

impl Input {
    /// The inputs that these arguments name: files, patterns, `-`.
    pub(crate) fn named(arguments: &[String]) -> Result<Vec<Self>, String> {
        if arguments.is_empty() {
            if stdin().is_terminal() {
                return Err("no input is named: name files, or - for the standard input".to_owned());
            }
            return Ok(vec![Self::standard()]);
        }
        let mut inputs = Vec::new();
        for argument in arguments {
            if argument == STANDARD_INPUT {
                inputs.push(Self::standard());
            } else if !Path::new(argument).exists() && argument.contains(['*', '?', '[']) {
                inputs.extend(Self::matching(argument)?);
            } else if let Some(files) = export::data_files(Path::new(argument))? {
                for file in files {
                    inputs.push(Self::file(&file)?);
                }
            } else {
                inputs.push(Self::file(Path::new(argument))?);
            }
        }
        if inputs.iter().filter(|input| input.path.is_none()).count() > 1 {
            return Err("the standard input is named twice: it can be read only once".to_owned());
        }
        Ok(inputs)
    }

    fn standard() -> Self {
        Self {
            name: STANDARD_INPUT.to_owned(),
            path: None,
            bytes: None,
        }
    }

    /// The files that match, by their names.
    fn matching(pattern: &str) -> Result<Vec<Self>, String> {
        let paths = glob::glob(pattern).map_err(|error| format!("{pattern} is no pattern: {error}"))?;
        let mut files = Vec::new();
        for path in paths {
            let path = path.map_err(|error| format!("{pattern} cannot be searched: {error}"))?;
            if !path.is_dir() {
                files.push(Self::file(&path)?);
            }
        }
        if files.is_empty() {
            return Err(format!("no file matches {pattern}"));
        }
        Ok(files)
    }

    pub(crate) fn file(path: &Path) -> Result<Self, String> {
        let name = path.display().to_string();
        let metadata = fs::metadata(path).map_err(|error| format!("{name} cannot be read: {error}"))?;
        if metadata.is_dir() {
            return Err(format!(
                "{name} is a folder, and no export, which has {}: name the files in it, as in '{name}/*.jsonl'",
                export::FILES
            ));
        }
        // A pipe has no size.
        let bytes = metadata.is_file().then_some(metadata.len());
        let path = Some(path.to_owned());
        Ok(Self { name, path, bytes })
    }

    /// Its content, unpacked. What is read of the stored bytes is counted.
    pub(crate) fn open(&self, read_bytes: &Arc<AtomicU64>) -> io::Result<Box<dyn Read + Send>> {
        let stored: Box<dyn Read + Send> = match &self.path {
            Some(path) => Box::new(File::open(path)?),
            None => Box::new(stdin()),
        };
        unpacked(Box::new(Counted {
            stored,
            read_bytes: Arc::clone(read_bytes),
        }))
    }
}

/// Counts what is read.
struct Counted<R> {
    stored: R,
    read_bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stored.read(buffer)?;
        self.read_bytes.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(arguments: &[&str]) -> Result<Vec<String>, String> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let inputs = Input::named(&arguments)?;
        Ok(inputs.into_iter().map(|input| input.name).collect())
    }

    #[test]
    fn files_patterns_and_the_standard_input_are_named_together() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.jsonl", "a.jsonl", "c.csv", "[d].jsonl"] {
            fs::write(folder.path().join(name), "{}").unwrap();
        }
        let path = |name: &str| folder.path().join(name).display().to_string();
        let inputs = named(&[&path("c.csv"), "-", &path("[ab]*.jsonl"), &path("[d].jsonl")]).unwrap();
        assert_eq!(
            inputs,
            [
                path("c.csv"),
                "-".into(),
                path("a.jsonl"),
                path("b.jsonl"),
                path("[d].jsonl")
            ]
        );
        assert!(named(&[&path("x*")]).unwrap_err().contains("no file matches"));
        assert!(named(&[&path("x")]).unwrap_err().contains("cannot be read"));
        assert!(named(&["-", "-"]).unwrap_err().contains("only once"));
        let of_folder = named(&[&folder.path().display().to_string()]).unwrap_err();
        assert!(of_folder.contains("name the files in it"), "{of_folder}");
    }

    #[test]
    fn what_is_read_is_counted_as_it_is_stored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zst");
        let stored = zstd::encode_all("a".repeat(9_000).as_bytes(), 1).unwrap();
        fs::write(&path, &stored).unwrap();
        let input = Input::file(&path).unwrap();
        let counter = Arc::default();
        let mut text = String::new();
        input.open(&counter).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text.len(), 9_000);
        assert_eq!(
            (counter.load(Relaxed), input.bytes),
            (stored.len() as u64, Some(stored.len() as u64))
        );
    }
}
