//! An object in S3 that one run replaces repeatedly.
//!
//! Each put is conditional on the previous one, so that of two runs with the same object only one continues: the other finds
//! that its object was replaced, and stops.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;
use tokio::time::sleep;

use super::Claim;
use super::content::{self, WriterStamp};
use crate::blocking::{OwnRuntime, block_in_place};
use crate::connection::{self, Connection};
use crate::console::Console;
use crate::outcome::Failure;

/// How long a journal that has not ended is watched. A running load puts it at least once a second.
const WATCHED: Duration = Duration::from_secs(5);

/// Bytes that are read of an object at most. A journal with a range for each of a million lines has 20 MB.
const LONGEST: usize = 256 << 20;

/// Attempts at a put that conflicts with others: S3 may refuse all of them and ask for a repetition.
const CONFLICTS: u32 = 5;

/// Statuses of conditional puts: the object does not exist, another put is in progress, and the object has another tag.
const UNMET: [u16; 3] = [404, 409, 412];

/// An object that only this run puts.
#[derive(Debug)]
pub(super) struct OwnObject {
    object: ObjectHandle,
    /// The tag of the last put of this run; before it, that of the object that was found.
    etag: Option<String>,
    /// Identifies this run.
    run: String,
    puts: u64,
    /// Other runs see whether this one is alive by its puts, which nothing else may hold up.
    runtime: OwnRuntime,
}

#[derive(Debug, Clone)]
struct ObjectHandle {
    client: Client,
    bucket: String,
    key: String,
    /// The name of the object.
    name: String,
}

/// Why an object was not put.
enum PutFailure {
    /// Another run has put it.
    Taken,
    Failed(String),
}

/// What a journal has in its file or object.
pub(super) trait StoredContent: Sized {
    /// What earlier runs have left.
    type Found: Default;

    /// Reads the text of the journal with this name.
    fn read(&self, name: &str, text: &str, claim: Claim, console: &Console) -> Result<Self::Found, Failure>;

    /// How many entries the last run may have delivered without recording them.
    fn doubtful(found: &Self::Found) -> u64;

    /// The text of a journal that continues where earlier runs have ended. An object has in it which run has written it.
    fn text(&self, found: &Self::Found, written: Option<WriterStamp>) -> serde_json::Result<Vec<u8>>;
}

impl OwnObject {
    /// Opens the object, or creates one.
    pub(super) async fn open<J: StoredContent>(
        bucket: &str,
        key: &str,
        journal: &J,
        claim: Claim,
        connection: &Connection,
        console: &Console,
    ) -> Result<(Self, J::Found), Failure> {
        let name = format!("s3://{bucket}/{key}");
        if key.is_empty() || key.ends_with('/') {
            let words = format!("a journal is one object, and {name} names none: add a name to it");
            return Err(Failure::WrongUse(words));
        }
        let unreadable = |error| Failure::Failed(format!("the journal {name} cannot be read: {error}"));
        let runtime = OwnRuntime::start().map_err(unreadable)?;
        let (own, of) = (connection.clone(), bucket.to_owned());
        let client = runtime
            .run(async move { own.bucket(&of).await })
            .await
            .map_err(unreadable)??;
        let mut own = Self {
            object: ObjectHandle {
                client: connection::patient(&client),
                bucket: bucket.to_owned(),
                key: key.to_owned(),
                name: name.clone(),
            },
            etag: None,
            run: format!("{:016x}", RandomState::new().hash_one(0)),
            puts: 0,
            runtime,
        };
        // A worker that has lost its shard may put this journal until this run has put it.
        let tries = if claim.is_of_user() { 1 } else { CONFLICTS };
        for _ in 0..tries {
            let (etag, found) = own.found(journal, claim, console).await?;
            own.etag = etag;
            match own.put_once(|written| journal.text(&found, Some(written))).await {
                Ok(()) => return Ok((own, found)),
                Err(PutFailure::Taken) => {}
                Err(PutFailure::Failed(words)) => {
                    return Err(Failure::WrongUse(format!(
                        "the journal {name} cannot be written: {words}"
                    )));
                }
            }
        }
        Err(Failure::InUse(content::in_use(&name)))
    }

    /// What the current object has, and its tag.
    async fn found<J: StoredContent>(
        &self,
        journal: &J,
        claim: Claim,
        console: &Console,
    ) -> Result<(Option<String>, J::Found), Failure> {
        let name = &self.object.name;
        let unreadable = |words| Failure::WrongUse(format!("the journal {name} cannot be read: {words}"));
        let Some((etag, text)) = self.get().await.map_err(unreadable)? else {
            return Ok((None, J::Found::default()));
        };
        // It may compare an input with what an earlier run has read.
        let found = block_in_place(|| journal.read(name, &String::from_utf8_lossy(&text), claim, console));
        let found = claim.accepted(found, console)?;
        if claim.is_of_user() && J::doubtful(&found) > 0 {
            console.info(&format!(
                "the last run with {name} has not ended cleanly: watching it for {} s",
                WATCHED.as_secs()
            ));
            sleep(WATCHED).await;
            let now = self.get().await.map_err(unreadable)?;
            if now.is_none_or(|(now, _)| now != etag) {
                return Err(Failure::WrongUse(content::in_use(name)));
            }
        }
        Ok((Some(etag), found))
    }

    async fn get(&self) -> Result<Option<(String, Vec<u8>)>, String> {
        let object = self.object.clone();
        let got = self.runtime.run(async move { object.get().await });
        got.await.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// Replaces the object by one with this text, in which each put is another one.
    pub(super) async fn put(
        &mut self,
        text: impl FnOnce(WriterStamp) -> serde_json::Result<Vec<u8>>,
    ) -> io::Result<()> {
        self.put_once(text).await.map_err(|error| match error {
            PutFailure::Taken => io::Error::new(
                io::ErrorKind::ResourceBusy,
                "it was removed, or another run continues it",
            ),
            PutFailure::Failed(words) => io::Error::other(words),
        })
    }

    async fn put_once(
        &mut self,
        text: impl FnOnce(WriterStamp) -> serde_json::Result<Vec<u8>>,
    ) -> Result<(), PutFailure> {
        self.puts += 1;
        let written = WriterStamp {
            by: self.run.clone(),
            times: self.puts,
        };
        let text = text(written).map_err(|error| PutFailure::Failed(error.to_string()))?;
        let (object, etag) = (self.object.clone(), self.etag.clone());
        let put = self.runtime.run(async move { object.put(etag.as_deref(), text).await });
        let etag = put.await.map_err(|error| PutFailure::Failed(error.to_string()))??;
        self.etag = Some(etag);
        Ok(())
    }
}

impl ObjectHandle {
    /// The tag and the content, if there is such an object.
    async fn get(&self) -> Result<Option<(String, Vec<u8>)>, String> {
        let get = self.client.get_object().bucket(&self.bucket).key(&self.key);
        match get.send().await {
            Ok(got) => {
                let etag = got.e_tag.unwrap_or_default();
                let (mut chunks, mut content) = (got.body, Vec::new());
                while let Some(chunk) = chunks.next().await {
                    content.extend(chunk.map_err(|error| error.to_string())?);
                    if content.len() > LONGEST {
                        return Err(format!("it has more than {LONGEST} bytes, so it is not a journal"));
                    }
                }
                Ok(Some((etag, content)))
            }
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(aws_sdk_s3::operation::get_object::GetObjectError::is_no_such_key) =>
            {
                Ok(None)
            }
            Err(error) => {
                let words = connection::words(&error);
                // S3 does not say that there is no such object to those that may not list it.
                let is_denied = error.code() == Some("AccessDenied");
                let advice = if is_denied {
                    ": s3:GetObject is missing, or s3:ListBucket, without which an object that is not there is denied"
                } else {
                    ""
                };
                Err(format!("{words}{advice}"))
            }
        }
    }

    /// Puts the object if it still has this tag, or if there is none. Returns the new tag.
    async fn put(&self, etag: Option<&str>, content: Vec<u8>) -> Result<String, PutFailure> {
        for _ in 0..CONFLICTS {
            let put = self.client.put_object().bucket(&self.bucket).key(&self.key);
            let put = match etag {
                Some(etag) => put.if_match(etag),
                None => put.if_none_match("*"),
            };
            let error = match put.body(ByteStream::from(content.clone())).send().await {
                Ok(put) => return Ok(put.e_tag.unwrap_or_default()),
                Err(error) => error,
            };
            let status = error.raw_response().map(|answer| answer.status().as_u16());
            if !status.is_some_and(|status| UNMET.contains(&status)) {
                return Err(PutFailure::Failed(connection::words(&error)));
            }
            // An earlier attempt without an answer may have succeeded.
            match self.get().await.map_err(PutFailure::Failed)? {
                Some((found, stands)) if stands == content => return Ok(found),
                found if found.as_ref().map(|(found, _)| found.as_str()) == etag => {}
                _ => return Err(PutFailure::Taken),
            }
        }
        Err(PutFailure::Failed(
            "it conflicted with other puts in every attempt".to_owned(),
        ))
    }
}
