//! Undelivered entries, in the form of their input so that they can be an input again. Their causes are written separately.

mod files;
#[cfg(feature = "s3")]
mod objects;

use std::io;

use aws_batch_delivery::Cause;
use aws_batch_delivery::targets::Fault;
use serde_json::json;

use self::files::LetterFiles;
#[cfg(feature = "s3")]
use self::objects::LetterObjects;
use crate::arguments::{Location, Service};
use crate::cause;
use crate::failure::Failure;

#[derive(Debug)]
pub(crate) enum DeadLetter {
    Files(LetterFiles),
    #[cfg(feature = "s3")]
    Objects(LetterObjects),
}

/// An undelivered entry, and why it was not delivered.
pub(crate) struct Letter<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) file: &'a str,
    pub(crate) line: u64,
    pub(crate) cause: &'a Cause,
    pub(crate) attempts: u32,
    pub(crate) may_have_been_delivered: bool,
}

/// How much was written, and where.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) letters: u64,
    pub(crate) place: String,
    pub(crate) causes: String,
    /// The error after which nothing is written.
    pub(crate) error: Option<String>,
}

impl DeadLetter {
    /// Opens the place of the dead letters. Earlier ones stay.
    #[cfg_attr(
        not(feature = "s3"),
        expect(clippy::unused_async, reason = "with the feature it waits")
    )]
    pub(crate) async fn open(location: &Location, service: &Service) -> Result<Self, Failure> {
        match location {
            Location::File(path) => Ok(Self::Files(LetterFiles::open(path)?)),
            #[cfg(feature = "s3")]
            Location::Object { bucket, key } => Ok(Self::Objects(LetterObjects::open(bucket, key, service).await?)),
            #[cfg(not(feature = "s3"))]
            Location::Object { .. } => {
                let _ = service;
                Err(location.without_s3())
            }
        }
    }

    /// Whether there are dead letters of earlier runs. New ones are added to them.
    pub(crate) fn has_old_ones(&self) -> bool {
        match self {
            Self::Files(files) => files.has_old_ones(),
            #[cfg(feature = "s3")]
            Self::Objects(_) => false,
        }
    }

    /// Writes an entry, and returns when it is stored. After the first error nothing more is written.
    #[cfg_attr(
        not(feature = "s3"),
        expect(clippy::unused_async, reason = "with the feature it waits")
    )]
    pub(crate) async fn write(&self, letter: &Letter<'_>) -> io::Result<()> {
        match self {
            Self::Files(files) => files.write(letter),
            #[cfg(feature = "s3")]
            Self::Objects(objects) => objects.write(letter).await,
        }
    }

    /// How much was written. Called at the end of a delivery.
    pub(crate) fn close(&self) -> Written {
        match self {
            Self::Files(files) => files.close(),
            #[cfg(feature = "s3")]
            Self::Objects(objects) => objects.close(),
        }
    }
}

impl Letter<'_> {
    /// Everything but the entry itself, as a line of JSON.
    fn cause_line(&self) -> String {
        let fault = cause::fault(self.cause);
        let cause = json!({
            "cause": cause::words(self.cause),
            "code": fault.map(Fault::code),
            "message": fault.and_then(Fault::message),
            "attempts": self.attempts,
            "may_have_been_delivered": self.may_have_been_delivered,
            "file": self.file,
            "line": self.line,
        });
        cause.to_string()
    }
}
