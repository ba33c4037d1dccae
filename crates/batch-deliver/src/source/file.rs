//! Files that are read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes before the position that are compared with what was read there: more than the ends of lines have in common.
const COMPARED: usize = 4 << 10;

/// A file, from a position on. It is an error if it is cut while it is read, as a rotation of logs does, even if it has grown again since:
/// what is read last may be half of a line, and what is read next the end of another one.
pub(super) struct StoredFile {
    file: File,
    position: u64,
    /// Whether its length says where it ends. That of a pipe does not, and neither does that of a file of /proc, which is zero.
    has_length: bool,
    /// The largest length that it was seen to have.
    length: u64,
    /// The last bytes before the position, as they were read.
    last: Vec<u8>,
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
            length: metadata.len(),
            last: Vec::with_capacity(COMPARED),
        })
    }

    /// Whether nothing was cut off, now that it was read up to this position. It is asked after each read: before it, it could be cut
    /// between the question and the read.
    fn is_whole(&mut self, end: u64) -> io::Result<bool> {
        let length = self.file.metadata()?.len();
        if length < self.length.max(end) {
            return Ok(false);
        }
        self.length = length;
        let mut again = [0; COMPARED];
        let again = &mut again[..self.last.len()];
        self.file
            .seek(SeekFrom::Start(self.position - self.last.len() as u64))?;
        match self.file.read_exact(again) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        self.file.seek(SeekFrom::Start(end))?;
        Ok(*again == *self.last)
    }

    fn remember(&mut self, read: &[u8]) {
        let read = &read[read.len().saturating_sub(COMPARED)..];
        let forgotten = (self.last.len() + read.len()).saturating_sub(COMPARED);
        self.last.drain(..forgotten);
        self.last.extend_from_slice(read);
    }
}

impl Read for StoredFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        let end = self.position + read as u64;
        if self.has_length && !buffer.is_empty() {
            if !self.is_whole(end)? {
                return Err(io::Error::other("the file was cut or overwritten while it was read"));
            }
            self.remember(&buffer[..read]);
        }
        self.position = end;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::ops::Range;

    use super::*;

    #[test]
    fn a_file_that_is_cut_while_it_is_read_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        let (mut rest, lines) = (Vec::new(), "a line\n".repeat(9));
        for (length, is_cut) in [(0, true), (7, true), (10, true), (63, false)] {
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
        assert_eq!(
            behind.unwrap_err().to_string(),
            "the file was cut or overwritten while it was read"
        );
    }

    /// As `copytruncate` cuts a file whose writer continues.
    #[test]
    fn a_file_that_is_cut_and_grows_again_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        let line = |number: u32| format!("line {number:06}\n");
        let lines = |numbers: Range<u32>| numbers.map(line).collect::<String>();
        let (old, alike) = (lines(0..1_000), "a line\n".repeat(1_000));
        for (before, after, is_cut) in [
            (&old, &lines(0..1_500), false),
            (&old, &lines(1_000..9_000), true),
            // Whose content says nothing, but whose length does.
            (&alike, &"a line\n".repeat(900), true),
        ] {
            fs::write(&path, before).unwrap();
            let mut file = StoredFile::open_at(&path, 0).unwrap();
            let mut read = vec![0; 5_000];
            file.read_exact(&mut read).unwrap();
            fs::write(&path, after).unwrap();
            let rest = file.read_to_end(&mut read);
            assert_eq!(rest.is_err(), is_cut, "{rest:?}");
            assert!(is_cut || read == after.as_bytes());
        }
    }

    #[test]
    fn a_file_may_be_read_in_pieces_of_any_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        let content: Vec<u8> = (0..20_000_u32).flat_map(u32::to_le_bytes).collect();
        fs::write(&path, &content).unwrap();
        for piece in [1, 7, COMPARED, COMPARED + 1, 50_000] {
            let mut file = StoredFile::open_at(&path, 3).unwrap();
            let mut read = Vec::new();
            let mut buffer = vec![0; piece];
            loop {
                match file.read(&mut buffer).unwrap() {
                    0 => break,
                    length => read.extend_from_slice(&buffer[..length]),
                }
            }
            assert!(read == content[3..], "in pieces of {piece}");
        }
    }
}
