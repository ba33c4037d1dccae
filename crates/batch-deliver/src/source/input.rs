//! One input: where it is stored, and how it is opened.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read, stdin};
use std::path::{Path, PathBuf};

use encoding_rs::Encoding;

use super::checksums::checksum_before;
use super::compression::{is_compressed, unpacked};
use super::counts::ReadBytes;
use super::encoding::decoded;
use super::file::StoredFile;
use super::names::{near_path, near_words};
use super::object::Object;
use super::part::{Part, PartReader};
use super::read_so_far::{Beginning, ReadProgress};
use super::record::is_of_machine;
use super::{encoding, export};
use crate::blocking::block_in_place;
use crate::outcome::Failure;
use crate::output::FileIdentity;

/// The name of the standard input.
pub(crate) const STANDARD_INPUT: &str = "-";

/// First bytes of an input from which its format is detected.
const START: u64 = 4 << 10;

/// One input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Input {
    /// The name in messages.
    pub(crate) name: String,
    pub(crate) storage: InputStorage,
    /// The stored size in bytes; `None` if it is not known, as of the standard input or another pipe.
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
pub(crate) enum InputStorage {
    Standard,
    File(PathBuf),
    Object(Object),
}

/// The first bytes of a file. Blocks.
fn start_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(START).read_to_end(&mut start)?;
    Ok(start)
}

impl Input {
    pub(super) fn standard() -> Self {
        Self::new(STANDARD_INPUT.to_owned(), InputStorage::Standard, None)
    }

    fn new(name: String, storage: InputStorage, bytes: Option<u64>) -> Self {
        Self {
            name,
            storage,
            bytes,
            part: None,
            encoding: None,
            has_own_keys: false,
        }
    }

    pub(crate) fn file(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let metadata = fs::metadata(path).map_err(|error| {
            let near = match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => near_words(&near_path(path)),
                _ => String::new(),
            };
            let words = format!("{name} cannot be read: {error}{near}");
            if is_of_machine(&error) || !has_folder(path) {
                Failure::Unequipped(words)
            } else {
                Failure::WrongUse(words)
            }
        })?;
        if metadata.is_dir() {
            if let Some(shown) = export::below(path) {
                return Err(Failure::WrongUse(format!("{name} {shown}")));
            }
            return Err(Failure::WrongUse(format!(
                "{name} is a folder, but not an export with {}: name the files in it, such as '{}/*.jsonl'",
                export::FILES,
                name.trim_end_matches('/')
            )));
        }
        // A pipe has no size.
        let bytes = metadata.is_file().then_some(metadata.len());
        Ok(Self::new(name, InputStorage::File(path.to_owned()), bytes))
    }

    pub(super) fn object(object: Object) -> Self {
        let (name, bytes) = (object.name(), Some(object.bytes));
        Self {
            has_own_keys: object.has_own_keys,
            ..Self::new(name, InputStorage::Object(object), bytes)
        }
    }

    /// The path of a file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.storage {
            InputStorage::File(path) => Some(path),
            InputStorage::Standard | InputStorage::Object(_) => None,
        }
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self.storage, InputStorage::Object(_))
    }

    /// What distinguishes the file or the pipe from others, and whether it is a pipe.
    pub(crate) fn identity(&self) -> Option<(FileIdentity, bool)> {
        let metadata = match &self.storage {
            InputStorage::File(path) => fs::metadata(path).ok()?,
            InputStorage::Standard => of_standard_input()?,
            InputStorage::Object(_) => return None,
        };
        Some((FileIdentity::of(&metadata)?, is_pipe(&metadata)))
    }

    /// A part of the input, whose lines are counted from its first one.
    pub(crate) fn part(&self, part: Part) -> Self {
        Self {
            name: format!("{}@{}-{}", self.name, part.begin, part.end),
            bytes: Some(part.bytes()),
            part: Some(part),
            ..self.clone()
        }
    }

    /// The first bytes; `None` if they are compressed, or in another encoding than UTF-8.
    pub(crate) async fn start(&self) -> io::Result<Option<Vec<u8>>> {
        let start = match &self.storage {
            InputStorage::File(path) => block_in_place(|| start_of(path))?,
            InputStorage::Standard => Vec::new(),
            InputStorage::Object(object) => object.start(START).await?,
        };
        let is_utf_8 = self.encoding.is_none() && encoding::marked(&start).is_none();
        Ok((is_utf_8 && !is_compressed(&start)).then_some(start))
    }

    /// The checksum of all that is before this line; `None` if there is no such line. Blocks.
    pub(crate) fn checksum_before(&self, line: u64) -> io::Result<Option<u32>> {
        checksum_before(line, self.open(&ReadBytes::default(), None)?)
    }

    /// Whether the file begins so. An object is recognized by its tag. Blocks.
    pub(crate) fn begins_with(&self, beginning: Beginning) -> io::Result<bool> {
        match &self.storage {
            InputStorage::File(path) => beginning.is_of(StoredFile::open_at(path, self.from())?),
            InputStorage::Standard | InputStorage::Object(_) => Ok(true),
        }
    }

    /// The position from which it is read.
    fn from(&self) -> u64 {
        self.part.map_or(0, Part::read_from)
    }

    /// The content, unpacked. The bytes that are read are counted; those of a file are also noted, as of the input with this index.
    pub(super) fn open(
        &self,
        counters: &ReadBytes,
        noted: Option<(&ReadProgress, usize)>,
    ) -> io::Result<Box<dyn Read + Send>> {
        let from = self.from();
        let stored: Box<dyn Read + Send> = match &self.storage {
            InputStorage::File(path) => {
                let file = StoredFile::open_at(path, from)?;
                match noted {
                    Some((read_so_far, index)) => Box::new(read_so_far.of(index, file)),
                    None => Box::new(file),
                }
            }
            InputStorage::Standard => Box::new(stdin()),
            InputStorage::Object(object) => Box::new(object.open_at(from)),
        };
        let stored = Box::new(counters.stored.of(stored));
        let content = match self.part {
            // A byte order mark is one at the beginning of the input, and text anywhere else.
            Some(part) if part.begin == 0 => decoded(Box::new(PartReader::new(stored, part)), None)?,
            Some(part) => Box::new(PartReader::new(stored, part)),
            None => unpacked(stored, self.encoding)?,
        };
        Ok(Box::new(counters.unpacked.of(content)))
    }
}

#[cfg(unix)]
fn of_standard_input() -> Option<Metadata> {
    use std::os::fd::AsFd;
    let input = stdin().as_fd().try_clone_to_owned().ok()?;
    File::from(input).metadata().ok()
}

#[cfg(not(unix))]
fn of_standard_input() -> Option<Metadata> {
    None
}

#[cfg(unix)]
fn is_pipe(metadata: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &Metadata) -> bool {
    false
}

/// Whether the folder of a file exists. Without it, a file system may not be mounted.
fn has_folder(path: &Path) -> bool {
    path.parent()
        .is_none_or(|folder| folder.as_os_str().is_empty() || folder.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_named_wrongly_is_told_from_one_that_only_this_machine_cannot_read() {
        let folder = tempfile::tempdir().unwrap();
        let named = |name: &str| Input::file(&folder.path().join(name)).unwrap_err();
        fs::write(folder.path().join("a.jsonl"), "{}").unwrap();
        for name in ["b.jsonl", "a.jsonl/b", ""] {
            assert!(matches!(named(name), Failure::WrongUse(_)), "{name}");
        }
        assert!(matches!(named("mounted/a.jsonl"), Failure::Unequipped(_)));
        assert!(matches!(
            Input::file(Path::new("no such file")),
            Err(Failure::WrongUse(_))
        ));
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
        input.open(&counters, None).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((text.len(), counters.unpacked.get()), (9_000, 9_000));
        assert_eq!(
            (counters.stored.get(), input.bytes),
            (stored.len() as u64, Some(stored.len() as u64))
        );
    }
}
