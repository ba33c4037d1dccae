//! Dead letters in S3. An object cannot be appended to, so they are put in pieces, each an object of its own.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use aws_sdk_s3::Client;
use aws_sdk_s3::primitives::ByteStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use super::{Letter, Written};
use crate::arguments::Service;
use crate::connect;
use crate::failure::Failure;

/// Bytes of a piece after which it is put.
const LARGE: usize = 5 << 20;

/// How long the first letter of a piece waits for others.
const LINGER: Duration = Duration::from_secs(1);

/// Letters that may wait for a piece to be put, in addition to those that wait in the delivery.
const WAITING: usize = 16;

/// Objects of letters, which one pattern matches, and objects of their causes below `causes/`.
#[derive(Debug)]
pub(crate) struct LetterObjects {
    sender: mpsc::Sender<Waiting>,
    written: Arc<Mutex<Written>>,
}

/// A letter that waits for its piece to be put.
struct Waiting {
    entry: Vec<u8>,
    cause: String,
    kept: oneshot::Sender<()>,
}

impl LetterObjects {
    /// Pieces below a prefix. Their names have the start time of the delivery, so that no other delivery uses them.
    pub(super) async fn open(bucket: &str, prefix: &str, service: &Service) -> Result<Self, Failure> {
        let client = connect::buckets(service).await?;
        let folder = match prefix.trim_end_matches('/') {
            "" => String::new(),
            folder => format!("{folder}/"),
        };
        let begun = humantime::format_rfc3339_seconds(SystemTime::now());
        let begun = begun.to_string().replace([':', '-'], "");
        let name = format!("{begun}-{:016x}", RandomState::new().hash_one(0));
        let written = Arc::new(Mutex::new(Written {
            letters: 0,
            place: format!("s3://{bucket}/{folder}{name}-*.jsonl"),
            causes: format!("s3://{bucket}/{folder}causes/"),
            error: None,
        }));
        let (sender, receiver) = mpsc::channel(WAITING);
        let pieces = Pieces {
            client,
            bucket: bucket.to_owned(),
            folder,
            name,
            put: 0,
            written: Arc::clone(&written),
        };
        tokio::spawn(pieces.put_all(receiver));
        Ok(Self { sender, written })
    }

    /// Returns when the letter's piece is put.
    pub(super) async fn write(&self, letter: &Letter<'_>) -> io::Result<()> {
        let (kept, is_kept) = oneshot::channel();
        let waiting = Waiting {
            entry: letter.text.to_owned(),
            cause: letter.cause_line(),
            kept,
        };
        let not_put = |_| io::Error::other("the dead letters cannot be written");
        // The receiver is gone after an earlier error.
        let _ = self.sender.send(waiting).await;
        is_kept.await.map_err(not_put)
    }

    pub(super) fn close(&self) -> Written {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        Written {
            letters: written.letters,
            place: written.place.clone(),
            causes: written.causes.clone(),
            error: written.error.clone(),
        }
    }
}

/// Puts the pieces of a delivery, one after the other.
struct Pieces {
    client: Client,
    bucket: String,
    folder: String,
    name: String,
    put: u32,
    written: Arc<Mutex<Written>>,
}

impl Pieces {
    /// Puts letters until the channel is closed. After an error, letters are dropped, which reports the error to their senders.
    async fn put_all(mut self, mut receiver: mpsc::Receiver<Waiting>) {
        while let Some(first) = receiver.recv().await {
            let piece = piece(first, &mut receiver).await;
            let put = self.put(&piece).await;
            let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = put {
                written.error = Some(error);
                return;
            }
            written.letters += piece.len() as u64;
            for letter in piece {
                // The delivery may have been dropped and no longer waits.
                let _ = letter.kept.send(());
            }
        }
    }

    /// Puts the causes first, because causes without their letters do no harm.
    async fn put(&mut self, piece: &[Waiting]) -> Result<(), String> {
        self.put += 1;
        let (mut causes, mut entries) = (Vec::new(), Vec::new());
        for letter in piece {
            causes.extend_from_slice(letter.cause.as_bytes());
            causes.push(b'\n');
            entries.extend_from_slice(&letter.entry);
            entries.push(b'\n');
        }
        let (folder, name, number) = (&self.folder, &self.name, self.put);
        self.put_object(format!("{folder}causes/{name}-{number:06}.jsonl"), causes)
            .await?;
        self.put_object(format!("{folder}{name}-{number:06}.jsonl"), entries)
            .await
    }

    async fn put_object(&self, key: String, content: Vec<u8>) -> Result<(), String> {
        let put = self.client.put_object().bucket(&self.bucket).key(key);
        let put = put.body(ByteStream::from(content)).send().await;
        put.map(|_| ()).map_err(|error| connect::words(&error))
    }
}

/// Collects letters for a short time, up to the size of a piece.
async fn piece(first: Waiting, receiver: &mut mpsc::Receiver<Waiting>) -> Vec<Waiting> {
    let until = Instant::now() + LINGER;
    let mut bytes = first.entry.len();
    let mut piece = vec![first];
    while bytes < LARGE
        && let Ok(Some(next)) = timeout_at(until, receiver.recv()).await
    {
        bytes += next.entry.len();
        piece.push(next);
    }
    piece
}
