//! Letters in S3. An object cannot be appended to, so they are put in pieces, each an object of its own.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use aws_sdk_s3::Client;
use aws_sdk_s3::primitives::ByteStream;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use super::letter::{Letter, LettersWritten};
use crate::connection;

/// Bytes of a piece after which it is put.
const LARGE: usize = 5 << 20;

/// How long the first letter of a piece waits for others.
const LINGER: Duration = Duration::from_secs(1);

/// Letters that may wait for a piece to be put, in addition to those that wait in the delivery.
const WAITING: usize = 16;

/// Objects of letters, which one pattern matches, and objects of their causes below `causes/`.
#[derive(Debug)]
pub(crate) struct LetterObjects {
    sender: mpsc::Sender<WaitingLetter>,
    written: Arc<Mutex<LettersWritten>>,
}

/// A letter that waits for its piece to be put.
struct WaitingLetter {
    header: Option<Vec<u8>>,
    text: Option<Vec<u8>>,
    cause: String,
    kept: oneshot::Sender<()>,
}

/// A letter whose piece is being put.
pub(crate) struct PieceReceipt(oneshot::Receiver<()>);

impl PieceReceipt {
    /// Returns when the letter's piece is put.
    pub(super) async fn stored(self) -> io::Result<()> {
        let not_put = |_| io::Error::other("the dead letters cannot be written");
        self.0.await.map_err(not_put)
    }
}

impl LetterObjects {
    /// Pieces below a prefix. Their names have the start time of the delivery, so that no other delivery uses them.
    pub(super) fn open(client: Client, bucket: &str, prefix: &str) -> Self {
        let folder = match prefix.trim_end_matches('/') {
            "" => String::new(),
            folder => format!("{folder}/"),
        };
        let begun = humantime::format_rfc3339_seconds(SystemTime::now());
        let begun = begun.to_string().replace([':', '-'], "");
        let name = format!("{begun}-{:016x}", RandomState::new().hash_one(0));
        let written = Arc::new(Mutex::new(LettersWritten {
            letters: 0,
            place: format!("s3://{bucket}/{folder}{name}-*"),
            causes: format!("s3://{bucket}/{folder}causes/"),
            error: None,
        }));
        let (sender, receiver) = mpsc::channel(WAITING);
        let pieces = LetterParts {
            client,
            bucket: bucket.to_owned(),
            folder,
            name,
            put: 0,
            written: Arc::clone(&written),
        };
        tokio::spawn(pieces.put_all(receiver));
        Self { sender, written }
    }

    /// Hands a letter over for the next piece. Waits if many are waiting.
    pub(super) async fn write(&self, letter: Letter) -> PieceReceipt {
        let (kept, is_kept) = oneshot::channel();
        let waiting = WaitingLetter {
            header: letter.header,
            text: letter.text,
            cause: Value::Object(letter.cause).to_string(),
            kept,
        };
        // The receiver is gone after an earlier error.
        let _ = self.sender.send(waiting).await;
        PieceReceipt(is_kept)
    }

    pub(super) fn close(&self) -> LettersWritten {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Puts the pieces of a delivery, one after another.
struct LetterParts {
    client: Client,
    bucket: String,
    folder: String,
    name: String,
    put: u32,
    written: Arc<Mutex<LettersWritten>>,
}

impl LetterParts {
    /// Puts letters until the channel is closed. After an error, letters are dropped, which reports the error to their senders.
    async fn put_all(mut self, mut receiver: mpsc::Receiver<WaitingLetter>) {
        let mut first = receiver.recv().await;
        while let Some(letter) = first {
            let (piece, next) = piece(letter, &mut receiver).await;
            if let Err(error) = self.put(&piece).await {
                self.written().error = Some(error);
                return;
            }
            self.written().letters += piece.iter().filter(|letter| letter.text.is_some()).count() as u64;
            for letter in piece {
                // The delivery may have been dropped and no longer waits.
                let _ = letter.kept.send(());
            }
            first = match next {
                Some(next) => Some(next),
                None => receiver.recv().await,
            };
        }
    }

    fn written(&self) -> MutexGuard<'_, LettersWritten> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the causes first, because causes without their letters do no harm.
    async fn put(&mut self, piece: &[WaitingLetter]) -> Result<(), String> {
        self.put += 1;
        let header = piece.iter().find_map(|letter| letter.header.as_ref());
        let texts = header
            .into_iter()
            .chain(piece.iter().filter_map(|letter| letter.text.as_ref()));
        let texts = lines(texts.map(Vec::as_slice));
        let causes = lines(piece.iter().map(|letter| letter.cause.as_bytes()));
        let (folder, name, number) = (&self.folder, &self.name, self.put);
        self.put_object(format!("{folder}causes/{name}-{number:06}.jsonl"), causes)
            .await?;
        if piece.iter().all(|letter| letter.text.is_none()) {
            return Ok(());
        }
        let kind = if header.is_some() { "csv" } else { "jsonl" };
        self.put_object(format!("{folder}{name}-{number:06}.{kind}"), texts)
            .await
    }

    async fn put_object(&self, key: String, content: Vec<u8>) -> Result<(), String> {
        let put = self.client.put_object().bucket(&self.bucket).key(key);
        let put = put.body(ByteStream::from(content)).send().await;
        put.map(|_| ()).map_err(|error| connection::words(&error))
    }
}

/// Each text with a line end.
fn lines<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut lines = Vec::new();
    for text in texts {
        lines.extend_from_slice(text);
        lines.push(b'\n');
    }
    lines
}

/// Collects letters below the same header for a short time, up to the size of a piece. Also returns the first one of the next piece
/// if its header is another one.
async fn piece(
    first: WaitingLetter,
    receiver: &mut mpsc::Receiver<WaitingLetter>,
) -> (Vec<WaitingLetter>, Option<WaitingLetter>) {
    let until = Instant::now() + LINGER;
    let size = |letter: &WaitingLetter| letter.text.as_ref().map_or(0, Vec::len) + letter.cause.len();
    let mut bytes = size(&first);
    let mut piece = vec![first];
    while bytes < LARGE
        && let Ok(Some(next)) = timeout_at(until, receiver.recv()).await
    {
        if next.header != piece[0].header {
            return (piece, Some(next));
        }
        bytes += size(&next);
        piece.push(next);
    }
    (piece, None)
}
