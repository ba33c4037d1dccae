//! A file that grows by whole lines.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use serde::de::IgnoredAny;

use crate::outcome::Failure;
use crate::output::{FileIdentity, restored, sync_folder_of};

/// Bytes that are read together when the last line is looked for.
const TAIL: u64 = 64 << 10;

/// A file that grows by whole lines, of one process at a time. Only its owner may read a new one.
#[derive(Debug)]
pub(super) struct AppendFile {
    opened: Arc<OpenedFile>,
    /// Bytes of whole lines.
    length: u64,
    /// Bytes of whole lines before the last one.
    before: u64,
    is_new: bool,
}

/// A file that can be synced while it is written.
#[derive(Debug)]
pub(super) struct OpenedFile {
    path: PathBuf,
    file: File,
    /// What is not a file on a disk, such as a pipe, cannot be synced, read again or truncated.
    is_file: bool,
    /// Whether the name of the file is known to be on the disk.
    is_named: AtomicBool,
    /// What has become of the file, once its name leads to another one.
    lost: OnceLock<String>,
}

/// Why a file with this name is not opened, which another load or run may have.
pub(super) fn unopened(name: &str, other: &str, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::WouldBlock => Failure::InUse(format!("{name} is in use by another {other}: name another file")),
        _ => Failure::WrongUse(format!("{name} cannot be written: {error}")),
    }
}

impl OpenedFile {
    /// Returns when what was written cannot be lost, and neither can the name of the file, which may be new. It is an error if the name
    /// leads to another file now.
    pub(super) fn sync(&self) -> io::Result<()> {
        if self.is_file {
            self.file.sync_data()?;
            if !self.is_named.load(Relaxed) {
                sync_folder_of(&self.path)?;
                self.is_named.store(true, Relaxed);
            }
        }
        self.check_name()
    }

    /// Checks that the name of the file still leads to it, if it has something. A file that no longer has a name is written again, because what it has may be
    /// nowhere else.
    pub(super) fn check_name(&self) -> io::Result<()> {
        if let Some(words) = self.lost.get() {
            return Err(io::Error::other(words.as_str()));
        }
        if !self.is_file || self.file.metadata()?.len() == 0 || FileIdentity::is_at(&self.file, &self.path)? {
            return Ok(());
        }
        let words = self.lost.get_or_init(|| match restored(&self.file, &self.path) {
            Ok(Some(path)) => format!(
                "it was removed while it was written: what it had is in {}",
                path.display()
            ),
            Ok(None) => "it was renamed or replaced while it was written".to_owned(),
            Err(error) => format!("it was removed while it was written, and cannot be written again: {error}"),
        });
        Err(io::Error::other(words.as_str()))
    }

    /// What distinguishes it from other files, if it is one on a disk.
    pub(super) fn identity(&self) -> Option<FileIdentity> {
        FileIdentity::of(&self.file.metadata().ok()?).filter(|_| self.is_file)
    }

    /// Writes behind all that is in it.
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = &self.file;
        if self.is_file {
            file.seek(SeekFrom::End(0))?;
        }
        file.write_all(bytes)
    }

    /// Reads it from its beginning, unless it is not a file on a disk.
    fn reread(&self) -> io::Result<Option<BufReader<&File>>> {
        if !self.is_file {
            return Ok(None);
        }
        (&self.file).rewind()?;
        Ok(Some(BufReader::new(&self.file)))
    }
}

impl Drop for OpenedFile {
    /// A process that is being started has this file as well, until it is another program. Its lock would outlast this one.
    fn drop(&mut self) {
        if self.is_file {
            let _ = self.file.unlock();
        }
    }
}

impl AppendFile {
    /// Opens a file, which may end in the middle of a line.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        // On Windows, what is opened to be appended to alone cannot be truncated.
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let is_new = !path.exists();
        // A pipe that is open to be read as well never ends for its writer when its reader does.
        let is_read = path.metadata().map_or(true, |found| found.is_file());
        let file = options.read(is_read).open(path)?;
        let is_file = file.metadata()?.is_file();
        // Two loads would truncate each other's lines. A device such as /dev/null may be shared.
        if is_file {
            file.try_lock()?;
        }
        Self::of(path, file, is_file, is_new)
    }

    /// Opens a file that is not written, and may be of another process.
    pub(super) fn read_only(path: &Path) -> io::Result<Self> {
        Self::of(path, File::open(path)?, true, false)
    }

    fn of(path: &Path, file: File, is_file: bool, is_new: bool) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let opened = OpenedFile {
            path: path.to_owned(),
            file,
            is_file,
            is_named: AtomicBool::new(false),
            lost: OnceLock::new(),
        };
        Ok(Self {
            opened: Arc::new(opened),
            length,
            before: length,
            is_new,
        })
    }

    /// Opens a file of lines of JSON. What a run that was killed, or a loss of power, has left of a last line is removed: its source still
    /// has it. Another last line that has no end gets one.
    pub(super) fn open_json_lines(path: &Path) -> io::Result<Self> {
        let mut file = Self::open(path)?;
        let last = file.last_line()?;
        // Some file systems grow a file before what was written to it is on the disk: it ends in zeros then.
        let end = last.iter().rposition(|byte| *byte != 0).map_or(0, |end| end + 1);
        let text = &last[..end];
        let is_cut_off =
            text.starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(text).is_err_and(|error| error.is_eof());
        let kept = if is_cut_off { 0 } else { end };
        if kept < last.len() {
            file.cut(file.length - (last.len() - kept) as u64)?;
        }
        file.end_line()?;
        Ok(file)
    }

    /// Makes it a file that only its owner can read.
    pub(super) fn for_its_owner_alone(self) -> io::Result<Self> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = self.opened.file.metadata()?.permissions().mode();
            if self.opened.is_file && mode & 0o077 != 0 {
                self.opened
                    .file
                    .set_permissions(fs::Permissions::from_mode(mode & 0o700))?;
            }
        }
        Ok(self)
    }

    /// The file, for syncs during its writes.
    pub(super) fn opened(&self) -> &Arc<OpenedFile> {
        &self.opened
    }

    /// Bytes of whole lines.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Writes a line.
    #[cfg(test)]
    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.append(&[line, b"\n"].concat())
    }

    /// Writes whole lines.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.before = self.length;
        match self.opened.append(lines) {
            Ok(()) => {
                self.length += lines.len() as u64;
                Ok(())
            }
            Err(error) => {
                // The disk may become full in the middle of a line.
                self.remove_last();
                Err(error)
            }
        }
    }

    /// Removes the last line. A file that cannot be truncated, such as a pipe, keeps it.
    pub(super) fn remove_last(&mut self) {
        self.take_back(self.before);
    }

    /// Removes what is behind these bytes.
    pub(super) fn take_back(&mut self, length: u64) {
        self.length = length;
        let _ = self.opened.file.set_len(length);
    }

    /// Removes what is behind these bytes, and it is an error if that is not possible.
    pub(super) fn cut(&mut self, length: u64) -> io::Result<()> {
        self.opened.file.set_len(length)?;
        self.length = length;
        Ok(())
    }

    /// Ends the last line, if it has no end.
    pub(super) fn end_line(&mut self) -> io::Result<()> {
        if self.last_line()?.is_empty() {
            Ok(())
        } else {
            self.append(b"\n")
        }
    }

    /// What is behind the last line end.
    fn last_line(&self) -> io::Result<Vec<u8>> {
        let mut begin = if self.opened.is_file { self.length } else { 0 };
        let mut last = Vec::new();
        while begin > 0 {
            let length = begin.min(TAIL);
            begin -= length;
            let piece = self.read(begin, length)?;
            if let Some(end) = memchr::memrchr(b'\n', &piece) {
                return Ok([&piece[end + 1..], &last].concat());
            }
            last = [piece, last].concat();
        }
        Ok(last)
    }

    /// These bytes, or as many of them as there are.
    pub(super) fn read(&self, begin: u64, bytes: u64) -> io::Result<Vec<u8>> {
        let mut file = &self.opened.file;
        file.seek(SeekFrom::Start(begin))?;
        let mut read = Vec::new();
        file.take(bytes).read_to_end(&mut read)?;
        Ok(read)
    }

    /// Bytes of the lines to the last one that ends so.
    pub(super) fn length_of_lines(&self, ends: impl Fn(&[u8]) -> bool) -> io::Result<u64> {
        let (mut length, mut read) = (0, 0);
        let Some(mut reader) = self.opened.reread()? else {
            return Ok(length);
        };
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            read += line.len() as u64;
            if ends(&line) {
                length = read;
            }
            line.clear();
        }
        Ok(length)
    }

    /// What this finds in the first line in which it finds something.
    pub(super) fn first<T>(&self, found: impl Fn(&[u8]) -> Option<T>) -> io::Result<Option<T>> {
        let Some(reader) = self.opened.reread()? else {
            return Ok(None);
        };
        for line in reader.split(b'\n') {
            if let Some(found) = found(&line?) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    pub(super) fn remove_if_new_and_empty(&self) {
        let opened = &self.opened;
        if self.is_new && self.length == 0 && FileIdentity::is_at(&opened.file, &opened.path).unwrap_or(false) {
            let _ = fs::remove_file(&self.opened.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_line_that_was_cut_off_nothing_stays_and_of_another_one_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        for (text, expected) in [
            ("", ""),
            ("{}\n", "{}\n"),
            ("{}", "{}\n"),
            ("{}\n{\"body\":\"a", "{}\n"),
            ("{\"body\":\"a", ""),
            ("{}\n\0\0\0", "{}\n"),
            ("{}\n{\"body\":\"a\0\0", "{}\n"),
            ("{}\n{\"a\":1}\0\0", "{}\n{\"a\":1}\n"),
            ("{}\nno JSON", "{}\nno JSON\n"),
            ("{}\n{no JSON", "{}\n{no JSON\n"),
        ] {
            fs::write(&path, text).unwrap();
            AppendFile::open_json_lines(&path).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), expected, "{text:?}");
        }
        let long = format!("{{}}\n{{\"a\":\"{}", "x".repeat(200_000));
        fs::write(&path, long).unwrap();
        AppendFile::open_json_lines(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_was_removed_is_written_anew_and_one_that_was_renamed_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        for is_taken in [false, true] {
            let mut file = AppendFile::open(&path).unwrap();
            file.write(b"first").unwrap();
            file.opened().sync().unwrap();
            fs::remove_file(&path).unwrap();
            if is_taken {
                fs::write(&path, "mine").unwrap();
            }
            file.write(b"second").unwrap();
            let error = file.opened().sync().unwrap_err().to_string();
            let name = if is_taken { "lines.1" } else { "lines" };
            assert!(error.contains("was removed") && error.ends_with(name), "{error}");
            let restored = fs::read_to_string(folder.path().join(name)).unwrap();
            assert_eq!(restored, "first\nsecond\n");
            fs::remove_file(&path).unwrap();
        }
        let mut file = AppendFile::open(&path).unwrap();
        file.write(b"first").unwrap();
        fs::rename(&path, folder.path().join("other")).unwrap();
        let error = file.opened().sync().unwrap_err().to_string();
        assert!(error.contains("was renamed or replaced"), "{error}");
        assert!(!path.exists());
    }
}
