//! Lines that are written to a file, to the standard output, or to an object of S3.

mod object;

use std::fs::File;
use std::io::{self, Write, stdout};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use self::object::Upload;
use crate::blocking::block_in_place;
use crate::connection::Connection;
use crate::outcome::Failure;
use crate::output::{OutputKind, TemporaryFile, check_standard};

/// Bytes that are written together: as many as a part of an object has at least.
const TOGETHER: usize = 8 << 20;

/// The same where a reader may wait for them.
const SOON: usize = 256 << 10;

/// Where lines are written, packed as the name says.
pub(crate) struct LineWriter {
    name: String,
    packing: Packing,
    place: LineOutput,
    /// Bytes that were written.
    written: u64,
}

enum Packing {
    Plain(Vec<u8>),
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(zstd::Encoder<'static, Vec<u8>>),
}

enum LineOutput {
    Standard,
    /// A pipe or a device.
    Direct(File),
    /// A file next to that which it replaces.
    File(TemporaryFile),
    Object(Box<Upload>),
}

impl LineWriter {
    /// To the standard output, which must be open.
    pub(crate) fn standard() -> Result<Self, Failure> {
        check_standard()?;
        Ok(Self {
            name: "the standard output".to_owned(),
            packing: Packing::Plain(Vec::new()),
            place: LineOutput::Standard,
            written: 0,
        })
    }

    /// To a file, which has another name until it is complete. It replaces a file of its name then, and has its permissions. A pipe or a
    /// device is written directly.
    pub(crate) fn file(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let refused = |error: io::Error| Failure::WrongUse(format!("{name} cannot be written: {error}"));
        let packing = Packing::of(&name).map_err(refused)?;
        let place = match OutputKind::of(path).map_err(refused)? {
            OutputKind::Direct => LineOutput::Direct(OutputKind::open_direct(path).map_err(refused)?),
            OutputKind::File(path) => {
                if path.exists() {
                    // A file that may not be written is not to be replaced either.
                    File::options().write(true).open(&path).map_err(refused)?;
                }
                let temporary = TemporaryFile::beside(&path).map_err(|error| match error.kind() {
                    io::ErrorKind::WouldBlock => {
                        Failure::InUse(format!("{name} is being written by another run: name another file"))
                    }
                    _ => refused(error),
                })?;
                LineOutput::File(temporary)
            }
        };
        Ok(Self {
            packing,
            place,
            written: 0,
            name,
        })
    }

    /// To an object, which is there when it is complete.
    pub(crate) async fn object(bucket: &str, key: &str, connection: &Connection) -> Result<Self, Failure> {
        let name = format!("s3://{bucket}/{key}");
        if key.is_empty() || key.ends_with('/') {
            return Err(Failure::WrongUse(format!(
                "{name} is not the name of an object: give s3://bucket/key"
            )));
        }
        let refused = |error: io::Error| Failure::WrongUse(format!("{name} cannot be written: {error}"));
        Ok(Self {
            packing: Packing::of(&name).map_err(refused)?,
            place: LineOutput::Object(Box::new(Upload::new(
                &connection.bucket(bucket).await?,
                bucket,
                key,
                TOGETHER,
            ))),
            written: 0,
            name,
        })
    }

    /// To an object that replaces what has this name now, and nothing that another process puts meanwhile.
    pub(crate) async fn object_in_place(bucket: &str, key: &str, connection: &Connection) -> Result<Self, Failure> {
        let mut writer = Self::object(bucket, key, connection).await?;
        if let LineOutput::Object(upload) = &mut writer.place {
            let looked = upload.replace_only_present().await;
            looked.map_err(|error| Failure::WrongUse(format!("{} cannot be looked at: {error}", writer.name)))?;
        }
        Ok(writer)
    }

    /// Its name, for people.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Writes whole lines.
    pub(crate) async fn write(&mut self, lines: &[u8]) -> Result<(), Failure> {
        self.packing.add(lines).map_err(|error| self.failed(&error))?;
        if self.packing.packed().len() < self.together() {
            return Ok(());
        }
        let packed = std::mem::take(self.packing.packed());
        self.put(packed, false).await
    }

    /// How many packed bytes are written together. The standard output and a pipe may have a reader that waits.
    fn together(&self) -> usize {
        match self.place {
            LineOutput::Standard | LineOutput::Direct(_) => SOON,
            LineOutput::File(_) | LineOutput::Object(_) => TOGETHER,
        }
    }

    /// Completes what was written, or removes it if that fails.
    pub(crate) async fn finish(mut self) -> Result<u64, Failure> {
        let completed = self.complete().await;
        if completed.is_err() {
            self.abandon().await;
        }
        completed
    }

    async fn complete(&mut self) -> Result<u64, Failure> {
        let packing = std::mem::replace(&mut self.packing, Packing::Plain(Vec::new()));
        let rest = packing.finish().map_err(|error| self.failed(&error))?;
        self.put(rest, true).await?;
        Ok(self.written)
    }

    /// Removes what was written, as far as that can be.
    pub(crate) async fn abandon(self) {
        match self.place {
            // A file next to another one is removed when it is dropped.
            LineOutput::Standard | LineOutput::Direct(_) | LineOutput::File(_) => {}
            LineOutput::Object(upload) => upload.abandon().await,
        }
    }

    async fn put(&mut self, packed: Vec<u8>, is_last: bool) -> Result<(), Failure> {
        self.written += packed.len() as u64;
        let put = match &mut self.place {
            LineOutput::Standard => block_in_place(|| {
                let mut output = stdout().lock();
                output.write_all(&packed)?;
                output.flush()
            }),
            LineOutput::Direct(file) => block_in_place(|| file.write_all(&packed)),
            LineOutput::File(temporary) => block_in_place(|| {
                temporary.file().write_all(&packed)?;
                if is_last { temporary.replace_alike() } else { Ok(()) }
            }),
            LineOutput::Object(upload) => upload.put(packed, is_last).await,
        };
        put.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> Failure {
        if error.kind() == io::ErrorKind::ResourceBusy {
            return Failure::InUse(format!(
                "{} was put meanwhile, by another process or by an attempt whose answer was lost",
                self.name
            ));
        }
        Failure::Failed(format!("{} cannot be written: {error}", self.name))
    }
}

const GZIP: &str = ".gz";
const ZSTD: &str = ".zst";

/// The end of a name of packed lines.
pub(crate) fn packing(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    [GZIP, ZSTD].into_iter().find(|end| name.ends_with(end))
}

impl Packing {
    /// As the end of this name says.
    fn of(name: &str) -> io::Result<Self> {
        Ok(match packing(name) {
            Some(GZIP) => Self::Gzip(GzEncoder::new(Vec::new(), Compression::default())),
            Some(_) => Self::Zstd(zstd::Encoder::new(Vec::new(), 0)?),
            None => Self::Plain(Vec::new()),
        })
    }

    fn add(&mut self, lines: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(packed) => packed.write_all(lines),
            Self::Gzip(encoder) => encoder.write_all(lines),
            Self::Zstd(encoder) => encoder.write_all(lines),
        }
    }

    /// What is packed and not taken yet.
    fn packed(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Plain(packed) => packed,
            Self::Gzip(encoder) => encoder.get_mut(),
            Self::Zstd(encoder) => encoder.get_mut(),
        }
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Plain(packed) => Ok(packed),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_file_is_of_one_run_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("items.jsonl");
        let mut lines = LineWriter::file(&path).unwrap();
        lines.write(b"{}\n").await.unwrap();
        let refused = LineWriter::file(&path).err().unwrap().to_string();
        assert!(
            refused.contains("items.jsonl is being written by another run"),
            "{refused}"
        );
        lines.finish().await.unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
        assert!(LineWriter::file(&path).is_ok());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn nothing_is_left_of_a_file_that_cannot_be_completed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("items.jsonl");
        let mut lines = LineWriter::file(&path).unwrap();
        lines.write(b"{}\n").await.unwrap();
        // A file is not renamed to a folder.
        fs::create_dir(&path).unwrap();
        let failure = lines.finish().await.unwrap_err().to_string();
        assert!(failure.contains("items.jsonl cannot be written"), "{failure}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }
}
