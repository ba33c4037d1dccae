//! A file that grows by whole lines.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file that grows by whole lines, of one process at a time. Only its owner may read a new one.
#[derive(Debug)]
pub(super) struct Appended {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines.
    length: u64,
    /// Bytes of whole lines before the last one.
    before: u64,
    is_new: bool,
    /// Whether the name of a new file is on the disk.
    is_named: bool,
}

impl Appended {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let is_new = !path.exists();
        let mut file = options.read(true).open(path)?;
        // Two loads would truncate each other's lines.
        file.try_lock()?;
        let mut length = file.metadata()?.len();
        if file.metadata()?.is_file() && length > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                // A load may have been killed while it wrote the last line, which becomes a line of its own.
                file.write_all(b"\n")?;
                length += 1;
            }
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            length,
            before: length,
            is_new,
            is_named: false,
        })
    }

    /// Bytes of whole lines.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Writes a line.
    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.append(&[line, b"\n"].concat())
    }

    /// Writes whole lines.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.before = self.length;
        match self.file.write_all(lines) {
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

    /// Removes what stands behind these bytes.
    pub(super) fn take_back(&mut self, length: u64) {
        self.length = length;
        let _ = self.file.set_len(length);
    }

    /// Returns when what was written cannot be lost, and neither can the name of a new file.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        // What is no file on a disk, such as a pipe, cannot be synced.
        if self.file.metadata()?.is_file() {
            self.file.sync_data()?;
            if self.is_new && !self.is_named {
                sync_folder_of(&self.path)?;
                self.is_named = true;
            }
        }
        Ok(())
    }

    /// Removes the last cause if it has no entry, because a load was killed between the two writes.
    pub(super) fn remove_last_without(&mut self, entries: &mut Self) -> io::Result<()> {
        let (causes, last) = self.lines()?;
        let (entries, _) = entries.lines()?;
        if causes == entries + 1 {
            self.length = last;
            self.file.set_len(last)?;
        }
        Ok(())
    }

    /// The number of lines, and the position of the last one.
    fn lines(&mut self) -> io::Result<(u64, u64)> {
        let (mut lines, mut last, mut next) = (0, 0, 0);
        if !self.file.metadata()?.is_file() {
            return Ok((lines, last));
        }
        self.file.rewind()?;
        let mut reader = BufReader::new(&self.file);
        loop {
            let length = reader.skip_until(b'\n')? as u64;
            if length == 0 {
                return Ok((lines, last));
            }
            (lines, last, next) = (lines + 1, next, next + length);
        }
    }

    /// What this finds in the first line in which it finds something.
    pub(super) fn first<T>(&mut self, found: impl Fn(&[u8]) -> Option<T>) -> io::Result<Option<T>> {
        if !self.file.metadata()?.is_file() {
            return Ok(None);
        }
        self.file.rewind()?;
        for line in BufReader::new(&self.file).split(b'\n') {
            if let Some(found) = found(&line?) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    pub(super) fn remove_if_new_and_empty(&self) {
        if self.is_new && self.length == 0 {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The name of a new file is in its folder.
#[cfg(unix)]
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder_of(_: &Path) -> io::Result<()> {
    Ok(())
}
