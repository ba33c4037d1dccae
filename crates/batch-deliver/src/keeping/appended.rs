//! A file that grows by whole lines.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A file that grows by whole lines, of one process at a time. Only its owner may read a new one.
#[derive(Debug)]
pub(super) struct Appended {
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
    /// What is no file on a disk, such as a pipe, cannot be synced, read again or truncated.
    is_file: bool,
    /// Whether the name of the file is known to be on the disk.
    is_named: AtomicBool,
}

impl OpenedFile {
    /// Returns when what was written cannot be lost, and neither can the name of the file, which may be new.
    pub(super) fn sync(&self) -> io::Result<()> {
        if self.is_file {
            self.file.sync_data()?;
            if !self.is_named.load(Relaxed) {
                sync_folder_of(&self.path)?;
                self.is_named.store(true, Relaxed);
            }
        }
        Ok(())
    }

    /// Writes behind all that is in it.
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = &self.file;
        if self.is_file {
            file.seek(SeekFrom::End(0))?;
        }
        file.write_all(bytes)
    }

    /// Reads it from its beginning, unless it is no file on a disk.
    fn reread(&self) -> io::Result<Option<BufReader<&File>>> {
        if !self.is_file {
            return Ok(None);
        }
        (&self.file).rewind()?;
        Ok(Some(BufReader::new(&self.file)))
    }
}

impl Appended {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        // On Windows, what is opened to be appended to alone cannot be truncated.
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let is_new = !path.exists();
        // A pipe that is open to be read as well never ends for its writer when its reader does.
        let is_read = path.metadata().map_or(true, |found| found.is_file());
        let mut file = options.read(is_read).open(path)?;
        let is_file = file.metadata()?.is_file();
        // Two loads would truncate each other's lines. A device such as /dev/null may be shared.
        if is_file {
            file.try_lock()?;
        }
        let mut length = file.metadata()?.len();
        if is_file && length > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                // A load may have been killed while it wrote the last line, which becomes a line of its own. The file was read to its end.
                file.write_all(b"\n")?;
                length += 1;
            }
        }
        let opened = OpenedFile {
            path: path.to_owned(),
            file,
            is_file,
            is_named: AtomicBool::new(false),
        };
        Ok(Self {
            opened: Arc::new(opened),
            length,
            before: length,
            is_new,
        })
    }

    /// The file, for syncs beside its writes.
    pub(super) fn opened(&self) -> &Arc<OpenedFile> {
        &self.opened
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

    /// Removes what stands behind these bytes.
    pub(super) fn take_back(&mut self, length: u64) {
        self.length = length;
        let _ = self.opened.file.set_len(length);
    }

    /// Removes the last cause if it has no entry, because a load was killed between the two writes. If there are more of them, the
    /// entries of others were moved away.
    pub(super) fn remove_last_without(&mut self, entries: &Self) -> io::Result<()> {
        let (entries, _) = entries.lines(0)?;
        let (causes, length) = self.lines(entries)?;
        if causes == entries + 1 {
            self.length = length;
            self.opened.file.set_len(length)?;
        }
        Ok(())
    }

    /// The number of lines, and how many bytes the first ones of them have.
    fn lines(&self, first: u64) -> io::Result<(u64, u64)> {
        let (mut lines, mut bytes) = (0, 0);
        let Some(mut reader) = self.opened.reread()? else {
            return Ok((lines, bytes));
        };
        loop {
            let length = reader.skip_until(b'\n')? as u64;
            if length == 0 {
                return Ok((lines, bytes));
            }
            if lines < first {
                bytes += length;
            }
            lines += 1;
        }
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
        if self.is_new && self.length == 0 {
            let _ = fs::remove_file(&self.opened.path);
        }
    }
}

/// The name of a new file is in its folder. A folder that may not be read, or on a file system that syncs none, is no error.
#[cfg(unix)]
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) else {
        return Ok(());
    };
    match folder.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}

#[cfg(not(unix))]
fn sync_folder_of(_: &Path) -> io::Result<()> {
    Ok(())
}
