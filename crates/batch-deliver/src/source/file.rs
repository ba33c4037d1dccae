//! Files that are read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// A file, from a position on. It is an error if it ends before what was read of it: what is read last may be half of a
/// line, whose rest was cut off, as a rotation of logs does.
pub(super) struct StoredFile {
    file: File,
    position: u64,
    /// Whether its length says where it ends. That of a pipe does not, and neither does that of a file of /proc, which is zero.
    has_length: bool,
}

impl StoredFile {
    pub(super) fn open_at(path: &Path, position: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if position > 0 {
            file.seek(SeekFrom::Start(position))?;
        }
        Ok(Self {
            file,
            position,
            has_length: metadata.is_file() && metadata.len() > 0,
        })
    }
}

impl Read for StoredFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.position += read as u64;
        let is_end = read == 0 && !buffer.is_empty();
        if is_end && self.has_length && self.file.metadata()?.len() < self.position {
            return Err(io::Error::other("the file was cut while it was read"));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_is_cut_while_it_is_read_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        let (mut rest, lines) = (Vec::new(), "a line\n".repeat(9));
        for (length, is_cut) in [(0, true), (7, true), (10, false), (63, false)] {
            fs::write(&path, &lines).unwrap();
            let mut file = StoredFile::open_at(&path, 0).unwrap();
            file.read_exact(&mut [0; 10]).unwrap();
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_len(length)
                .unwrap();
            assert_eq!(file.read_to_end(&mut rest).is_err(), is_cut, "{length}");
        }
        let behind = StoredFile::open_at(&path, 64).unwrap().read_to_end(&mut rest);
        assert_eq!(behind.unwrap_err().to_string(), "the file was cut while it was read");
    }
}
