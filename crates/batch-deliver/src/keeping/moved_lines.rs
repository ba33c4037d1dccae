//! Where lines go that are removed from their source once they are safe.

use std::fs::File;
use std::io::{self, Write, stdout};
use std::path::Path;

use super::append_file::{AppendFile, unopened};
use crate::outcome::Failure;
use crate::output::{check_standard, is_standard};
use crate::sink::{SafeLines, packing};
use crate::source::SCHEME;

/// A file or the standard output, for lines that are removed from their source once they are safe.
pub(crate) struct MovedLines(LineOutput);

enum LineOutput {
    /// A file that is continued, and how many of its bytes are safe.
    File(AppendFile, u64),
    Standard,
}

impl MovedLines {
    /// The file of this name, or the standard output for `-`.
    pub(crate) fn open(name: &str) -> Result<Self, Failure> {
        if is_standard(Path::new(name)) {
            check_standard()?;
            return Ok(Self(LineOutput::Standard));
        }
        if let Some(words) = refusal(name) {
            return Err(Failure::WrongUse(format!("{name} cannot be written: {words}")));
        }
        let file = AppendFile::open_json_lines(Path::new(name)).map_err(|error| unopened(name, "run", &error))?;
        let safe = file.length();
        Ok(Self(LineOutput::File(file, safe)))
    }

    /// Checks at the end that the lines are where they were written.
    pub(crate) fn check(&self) -> io::Result<()> {
        match &self.0 {
            LineOutput::File(file, _) => file.opened().check_name(),
            LineOutput::Standard => Ok(()),
        }
    }
}

/// Why lines of text that are appended and synced are not what this name promises.
fn refusal(name: &str) -> Option<&'static str> {
    if name.starts_with(SCHEME) {
        return Some(
            "lines are appended to a file, which an object is not: name a file, or give - and pipe it to `aws s3 cp -`",
        );
    }
    packing(name).map(|_| "lines are appended as plain text: name it without .gz or .zst, and pack it afterwards")
}

impl Write for MovedLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            LineOutput::File(file, safe) => match file.append(bytes) {
                Ok(()) => Ok(bytes.len()),
                Err(error) => {
                    // The source still has what is not safe.
                    file.take_back(*safe);
                    Err(error)
                }
            },
            LineOutput::Standard => stdout().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &self.0 {
            LineOutput::File(..) => Ok(()),
            LineOutput::Standard => stdout().flush(),
        }
    }
}

impl SafeLines for MovedLines {
    fn make_safe(&mut self) -> io::Result<()> {
        match &mut self.0 {
            LineOutput::File(file, safe) => {
                if let Err(error) = file.opened().sync() {
                    file.take_back(*safe);
                    return Err(error);
                }
                *safe = file.length();
                Ok(())
            }
            LineOutput::Standard => {
                stdout().flush()?;
                sync_standard_output()
            }
        }
    }
}

/// Syncs the standard output if it is a file. Otherwise the pipe has the lines, and loses them with a reader that has not read them.
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
        drop(output);
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole\ncut\nnext\n");
    }

    #[test]
    fn a_file_has_the_lines_of_one_process_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let _first = lines(&path);
        let refused = MovedLines::open(path.to_str().unwrap()).err().unwrap();
        assert!(refused.to_string().contains("is in use by another run"), "{refused}");
    }

    #[test]
    fn a_name_that_promises_other_bytes_is_refused_and_no_file_is_made() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.jsonl.gz", "a.ZST"] {
            let path = folder.path().join(name);
            let refused = MovedLines::open(path.to_str().unwrap()).err().unwrap();
            assert!(refused.to_string().contains("plain text"), "{refused}");
            assert!(!path.exists());
        }
        let refused = MovedLines::open("s3://bucket/key").err().unwrap();
        assert!(refused.to_string().contains("name a file"), "{refused}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_disk_that_is_full_is_an_error() {
        let mut output = MovedLines::open("/dev/full").unwrap();
        output.write_all(b"line\n").unwrap_err();
    }
}
