//! The inputs that the arguments name.

use super::checksums::checksum_before;
use super::compression::{is_compressed, unpacked};
use super::export::DataFiles;
use super::near;
#[cfg(feature = "s3")]
use super::object::Object;
use super::object_name::{SCHEME, WILDCARDS};
use super::part::{Cut, Part};
use super::read_bytes::ReadBytes;
use super::{encoding, export};
use crate::arguments::Service;
use crate::failure::Failure;
use encoding_rs::Encoding;
use std::fs::{self, File};
use std::io::{self, ErrorKind, IsTerminal, Read, Seek, SeekFrom, stdin};
use std::path::{Path, PathBuf};

/// The name of the standard input.
pub(crate) const STANDARD_INPUT: &str = "-";

/// First bytes of an input from which its format is detected.
const START: u64 = 4 << 10;

/// One input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Input {
    /// The name in messages.
    pub(crate) name: String,
    pub(crate) storage: Storage,
    /// The stored size in bytes, if it is known.
    pub(crate) bytes: Option<u64>,
    /// The part that is read, if not all of it: lines of an input that is not compressed.
    pub(crate) part: Option<Part>,
    /// The encoding of the text, if it is neither UTF-8 nor shown by a byte order mark.
    pub(crate) encoding: Option<&'static Encoding>,
    /// Whether no other input has a key of this one, as with the data files of one full export.
    pub(crate) has_own_keys: bool,
}

/// Where an input is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Storage {
    Standard,
    File(PathBuf),
    #[cfg(feature = "s3")]
    Object(Object),
}

impl Input {
    /// The inputs that these arguments name: files, patterns, folders of exports, objects of S3, `-`.
    pub(crate) async fn named(arguments: &[String], service: &Service) -> Result<Vec<Self>, Failure> {
        if arguments.is_empty() {
            if stdin().is_terminal() {
                let words = "no input is named: name files, or - for the standard input";
                return Err(Failure::WrongUse(words.to_owned()));
            }
            return Ok(vec![Self::standard()]);
        }
        let mut inputs = Vec::new();
        for argument in arguments {
            inputs.extend(match argument.strip_prefix(SCHEME) {
                Some(object) => Self::objects(object, service).await?,
                None => Self::local(argument).map_err(Failure::WrongUse)?,
            });
        }
        if inputs.iter().filter(|input| input.storage == Storage::Standard).count() > 1 {
            let words = "the standard input is named twice: it can be read only once";
            return Err(Failure::WrongUse(words.to_owned()));
        }
        if arguments.len() > 1 {
            for input in &mut inputs {
                input.has_own_keys = false;
            }
        }
        Ok(inputs)
    }

    #[cfg(feature = "s3")]
    async fn objects(name: &str, service: &Service) -> Result<Vec<Self>, Failure> {
        super::listing::named(name, service).await
    }

    #[cfg(not(feature = "s3"))]
    #[expect(clippy::unused_async, reason = "with the feature it waits")]
    async fn objects(name: &str, _: &Service) -> Result<Vec<Self>, Failure> {
        Err(without_s3(name))
    }

    /// The file or object with exactly this name, as a plan has it.
    #[cfg(feature = "distributed")]
    pub(crate) async fn exactly(name: &str, service: &Service) -> Result<Self, Failure> {
        match name.strip_prefix(SCHEME) {
            Some(object) => Self::object(object, service).await,
            None => Self::file(Path::new(name)).map_err(Failure::WrongUse),
        }
    }

    #[cfg(all(feature = "distributed", feature = "s3"))]
    async fn object(name: &str, service: &Service) -> Result<Self, Failure> {
        super::listing::exactly(name, service).await
    }

    #[cfg(all(feature = "distributed", not(feature = "s3")))]
    #[expect(clippy::unused_async, reason = "with the feature it waits")]
    async fn object(name: &str, _: &Service) -> Result<Self, Failure> {
        Err(without_s3(name))
    }

    fn local(argument: &str) -> Result<Vec<Self>, String> {
        let path = Path::new(argument);
        if argument == STANDARD_INPUT {
            return Ok(vec![Self::standard()]);
        }
        if !path.exists() && argument.contains(WILDCARDS) {
            return Self::matching(argument);
        }
        match export::data_files(path)? {
            Some(DataFiles { files, is_full }) => {
                let inputs = files.iter().map(|file| {
                    Ok(Self {
                        has_own_keys: is_full,
                        ..Self::file(file)?
                    })
                });
                inputs.collect()
            }
            None => Ok(vec![Self::file(path)?]),
        }
    }

    fn standard() -> Self {
        Self {
            name: STANDARD_INPUT.to_owned(),
            storage: Storage::Standard,
            bytes: None,
            part: None,
            encoding: None,
            has_own_keys: false,
        }
    }

    /// The files that match, in the order of their names.
    fn matching(pattern: &str) -> Result<Vec<Self>, String> {
        let paths = glob::glob(pattern).map_err(|error| format!("{pattern} is not a valid pattern: {error}"))?;
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
        let metadata = fs::metadata(path).map_err(|error| {
            let near = match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => near::words(&near::of_path(path)),
                _ => String::new(),
            };
            format!("{name} cannot be read: {error}{near}")
        })?;
        if metadata.is_dir() {
            if let Some(told) = export::below(path) {
                return Err(format!("{name} {told}"));
            }
            return Err(format!(
                "{name} is a folder, but not an export with {}: name the files in it, such as '{}/*.jsonl'",
                export::FILES,
                name.trim_end_matches('/')
            ));
        }
        // A pipe has no size.
        let bytes = metadata.is_file().then_some(metadata.len());
        let storage = Storage::File(path.to_owned());
        Ok(Self {
            name,
            storage,
            bytes,
            part: None,
            encoding: None,
            has_own_keys: false,
        })
    }

    /// The path of a file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.storage {
            Storage::File(path) => Some(path),
            Storage::Standard => None,
            #[cfg(feature = "s3")]
            Storage::Object(_) => None,
        }
    }

    /// A part of the input, whose lines are counted from its first one.
    pub(crate) fn part(&self, part: Part) -> Self {
        Self {
            name: format!("{}@{}-{}", self.name, part.begin, part.end),
            storage: self.storage.clone(),
            bytes: Some(part.bytes()),
            part: Some(part),
            encoding: self.encoding,
            has_own_keys: self.has_own_keys,
        }
    }

    /// The first bytes; `None` if they are compressed, or in another encoding than UTF-8. Blocks.
    pub(crate) fn start(&self) -> io::Result<Option<Vec<u8>>> {
        let mut start = Vec::new();
        match &self.storage {
            Storage::File(path) => _ = File::open(path)?.take(START).read_to_end(&mut start)?,
            Storage::Standard => {}
            #[cfg(feature = "s3")]
            Storage::Object(object) => start = object.start(START)?,
        }
        let is_utf_8 = self.encoding.is_none() && encoding::marked(&start).is_none();
        Ok((is_utf_8 && !is_compressed(&start)).then_some(start))
    }

    /// The checksum of all that stands before this line; `None` if there is no such line. Blocks.
    pub(crate) fn checksum_before(&self, line: u64) -> io::Result<Option<u32>> {
        checksum_before(line, self.open(&ReadBytes::default())?)
    }

    /// The content, unpacked. The bytes that are read are counted.
    pub(super) fn open(&self, counters: &ReadBytes) -> io::Result<Box<dyn Read + Send>> {
        let from = self.part.map_or(0, Part::read_from);
        let stored: Box<dyn Read + Send> = match &self.storage {
            Storage::File(path) => {
                let mut file = File::open(path)?;
                if from > 0 {
                    file.seek(SeekFrom::Start(from))?;
                }
                Box::new(file)
            }
            Storage::Standard => Box::new(stdin()),
            #[cfg(feature = "s3")]
            Storage::Object(object) => Box::new(object.open_at(from)),
        };
        let stored = Box::new(counters.stored.of(stored));
        let content = match self.part {
            Some(part) => Box::new(Cut::new(stored, part)),
            None => unpacked(stored, self.encoding)?,
        };
        Ok(Box::new(counters.unpacked.of(content)))
    }
}

#[cfg(not(feature = "s3"))]
fn without_s3(name: &str) -> Failure {
    let words =
        format!("{SCHEME}{name} cannot be read: this program was built without S3: install it with --features s3");
    Failure::WrongUse(words)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn named(arguments: &[&str]) -> Result<Vec<String>, String> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let inputs = Input::named(&arguments, &Service::default()).now_or_never().unwrap();
        let inputs = inputs.map_err(|failure| failure.to_string())?;
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
    fn both_stored_and_unpacked_bytes_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zst");
        let stored = zstd::encode_all("a".repeat(9_000).as_bytes(), 1).unwrap();
        fs::write(&path, &stored).unwrap();
        let input = Input::file(&path).unwrap();
        let counters = ReadBytes::default();
        let mut text = String::new();
        input.open(&counters).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((text.len(), counters.unpacked.get()), (9_000, 9_000));
        assert_eq!(
            (counters.stored.get(), input.bytes),
            (stored.len() as u64, Some(stored.len() as u64))
        );
    }
}
