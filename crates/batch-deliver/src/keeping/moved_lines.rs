//! Where lines go that are removed from their source once they are safe.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write, stdout};
use std::path::{Path, PathBuf};

use crate::sink::SafeLines;

/// A file or the standard output, for lines that are removed from their source once they are safe.
pub(crate) enum MovedLines {
    File(AppendedFile),
    Standard,
}

/// A file that is continued, and keeps whole lines alone.
pub(crate) struct AppendedFile {
    file: File,
    path: PathBuf,
    /// The bytes that are safe; `None` for what is no file on a disk, such as a pipe.
    safe: Option<u64>,
    /// Whether the name of the file may not be on the disk.
    is_new: bool,
}

impl MovedLines {
    /// The file of this name, or the standard output for `-`.
    pub(crate) fn open(name: &str) -> io::Result<Self> {
        match name {
            "-" => Ok(Self::Standard),
            path => AppendedFile::open(Path::new(path)).map(Self::File),
        }
    }
}

impl AppendedFile {
    fn open(path: &Path) -> io::Result<Self> {
        let is_new = !path.exists();
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        if !is_new && !path.metadata()?.is_file() {
            return Ok(Self {
                file: options.open(path)?,
                path: path.to_owned(),
                safe: None,
                is_new,
            });
        }
        let mut file = options.read(true).open(path)?;
        // Another process would continue a line of this one.
        file.try_lock()?;
        let mut length = file.metadata()?.len();
        if length > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                // A process may have been killed while it wrote the last line, which becomes a line of its own.
                file.write_all(b"\n")?;
                length += 1;
            }
        }
        Ok(Self {
            file,
            path: path.to_owned(),
            safe: Some(length),
            is_new,
        })
    }

    fn make_safe(&mut self) -> io::Result<()> {
        if self.safe.is_none() {
            return self.file.flush();
        }
        self.file.sync_data()?;
        if self.is_new {
            sync_name(&self.path)?;
            self.is_new = false;
        }
        self.safe = Some(self.file.metadata()?.len());
        Ok(())
    }

    /// Removes what is not safe: its source still has it, and the last line may be cut off.
    fn take_back(&self) {
        if let Some(safe) = self.safe {
            let _ = self.file.set_len(safe);
        }
    }
}

impl Write for MovedLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.file.write(bytes).inspect_err(|error| {
                if error.kind() != io::ErrorKind::Interrupted {
                    file.take_back();
                }
            }),
            Self::Standard => stdout().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.file.flush(),
            Self::Standard => stdout().flush(),
        }
    }
}

impl SafeLines for MovedLines {
    fn make_safe(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.make_safe().inspect_err(|_| file.take_back()),
            Self::Standard => {
                stdout().flush()?;
                sync_standard_output()
            }
        }
    }
}

/// Syncs the standard output if it is a file. The next program of a pipe has the lines otherwise, or the pipe for it.
#[cfg(unix)]
fn sync_standard_output() -> io::Result<()> {
    use std::os::fd::AsFd;
    let output = File::from(stdout().as_fd().try_clone_to_owned()?);
    if output.metadata()?.is_file() {
        output.sync_data()?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn sync_standard_output() -> io::Result<()> {
    Ok(())
}

/// The name of a new file is in its folder.
#[cfg(unix)]
fn sync_name(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn sync_name(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn lines(path: &Path) -> MovedLines {
        MovedLines::open(path.to_str().unwrap()).unwrap()
    }

    #[test]
    fn a_line_that_was_cut_off_is_not_continued() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        fs::write(&path, "whole\ncut").unwrap();
        let mut output = lines(&path);
        output.write_all(b"next\n").unwrap();
        output.make_safe().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole\ncut\nnext\n");
    }

    #[test]
    fn what_is_not_safe_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let mut output = lines(&path);
        output.write_all(b"safe\n").unwrap();
        output.make_safe().unwrap();
        output.write_all(b"lost\nand cut o").unwrap();
        let MovedLines::File(file) = &output else {
            panic!("a file");
        };
        file.take_back();
        assert_eq!(fs::read_to_string(&path).unwrap(), "safe\n");
    }

    #[test]
    fn a_file_has_the_lines_of_one_process_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let _first = lines(&path);
        assert!(MovedLines::open(path.to_str().unwrap()).is_err());
    }
}
