//! An object of S3 that is written in parts.

use std::hash::{BuildHasher, RandomState};
use std::io;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::Builder;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};

use crate::connection;

/// Parts of an object at most. From the API reference of `UploadPart`.
const MOST_PARTS: i32 = 10_000;

/// Statuses of a completion whose condition does not hold: another put is in progress, or has replaced the object.
const UNMET: [u16; 2] = [409, 412];

/// The name of the metadata by which an object is recognized as the one that was put.
const MARK: &str = "batch-deliver-upload";

/// The time that this many bytes have.
fn within(bytes: usize) -> Builder {
    Builder::new().timeout_config(connection::answer_within(bytes))
}

/// An object that is not complete. A small one is put at once.
pub(super) struct Upload {
    client: Client,
    bucket: String,
    key: String,
    /// The upload, once its first part was put.
    id: Option<String>,
    parts: Vec<CompletedPart>,
    /// What waits for the next part. Parts become larger, so that an object may have 5 TB.
    waiting: Vec<u8>,
    /// Bytes of the first parts.
    part: usize,
    /// The conditions under which it is complete: the tag of what it replaces, or that it replaces nothing.
    if_match: Option<String>,
    if_none_match: Option<String>,
    /// Random, in the metadata of the object.
    mark: String,
}

impl Upload {
    pub(super) fn new(client: &Client, bucket: &str, key: &str, part: usize) -> Self {
        Self {
            client: connection::patient(client),
            bucket: bucket.to_owned(),
            key: key.to_owned(),
            id: None,
            parts: Vec::new(),
            waiting: Vec::new(),
            part,
            if_match: None,
            if_none_match: None,
            mark: format!("{:016x}", RandomState::new().hash_one(0)),
        }
    }

    /// Replaces what has this name now, and nothing that another process puts meanwhile.
    pub(super) async fn replace_only_present(&mut self) -> io::Result<()> {
        let head = self.client.head_object().bucket(&self.bucket).key(&self.key).send();
        match head.await {
            Ok(found) => self.if_match = found.e_tag,
            Err(error) if status(&error) == Some(404) => {
                self.if_none_match = Some("*".to_owned());
            }
            Err(error) if status(&error) == Some(403) => {
                let words =
                    "s3:GetObject is missing, or s3:ListBucket, without which an object that is not there is denied";
                return Err(io::Error::other(format!("{}: {words}", connection::words(&error))));
            }
            Err(error) => return Err(other(&error)),
        }
        Ok(())
    }

    /// Puts the next bytes; the last ones complete the object.
    pub(super) async fn put(&mut self, bytes: Vec<u8>, is_last: bool) -> io::Result<()> {
        self.waiting.extend(bytes);
        if is_last && self.id.is_none() {
            return self.put_whole().await;
        }
        // A thousand parts each are as large as the first, twice, three times that.
        let size = self.part * (1 + self.parts.len() / 1_000);
        if self.waiting.len() >= size || is_last && !self.waiting.is_empty() {
            self.put_part().await?;
        }
        if is_last { self.complete().await } else { Ok(()) }
    }

    async fn put_whole(&mut self) -> io::Result<()> {
        let put = self.client.put_object().bucket(&self.bucket).key(&self.key);
        let within = within(self.waiting.len());
        let body = ByteStream::from(std::mem::take(&mut self.waiting));
        let put = put
            .body(body)
            .metadata(MARK, &self.mark)
            .set_if_match(self.if_match.clone())
            .set_if_none_match(self.if_none_match.clone());
        match put.customize().config_override(within).send().await {
            Ok(_) => Ok(()),
            Err(error) => self.unless_there(uncompleted(&error)).await,
        }
    }

    /// The error, unless the object is there: the answer to an attempt was lost, and the next one was refused because of what the first had
    /// put.
    async fn unless_there(&self, error: io::Error) -> io::Result<()> {
        let head = self.client.head_object().bucket(&self.bucket).key(&self.key).send();
        let metadata = head.await.ok().and_then(|found| found.metadata);
        match metadata.and_then(|mut metadata| metadata.remove(MARK)) {
            Some(mark) if mark == self.mark => Ok(()),
            _ => Err(error),
        }
    }

    async fn put_part(&mut self) -> io::Result<()> {
        let id = if let Some(id) = &self.id {
            id.clone()
        } else {
            let begin = self
                .client
                .create_multipart_upload()
                .bucket(&self.bucket)
                .key(&self.key)
                .metadata(MARK, &self.mark);
            let upload = begin.send().await.map_err(|error| other(&error))?;
            let id = upload
                .upload_id
                .ok_or_else(|| io::Error::other("the upload has no id"))?;
            self.id.insert(id).clone()
        };
        let number = i32::try_from(self.parts.len() + 1).unwrap_or(i32::MAX);
        if number > MOST_PARTS {
            return Err(io::Error::other("an object has 10,000 parts at most"));
        }
        let part = self
            .client
            .upload_part()
            .bucket(&self.bucket)
            .key(&self.key)
            .upload_id(id);
        let within = within(self.waiting.len());
        let body = ByteStream::from(std::mem::take(&mut self.waiting));
        let put = part
            .part_number(number)
            .body(body)
            .customize()
            .config_override(within)
            .send()
            .await
            .map_err(|error| other(&error))?;
        self.parts.push(
            CompletedPart::builder()
                .part_number(number)
                .set_e_tag(put.e_tag)
                .build(),
        );
        Ok(())
    }

    async fn complete(&mut self) -> io::Result<()> {
        let parts = CompletedMultipartUpload::builder().set_parts(Some(std::mem::take(&mut self.parts)));
        let complete = self
            .client
            .complete_multipart_upload()
            .bucket(&self.bucket)
            .key(&self.key);
        let complete = complete
            .set_upload_id(self.id.clone())
            .multipart_upload(parts.build())
            .set_if_match(self.if_match.clone())
            .set_if_none_match(self.if_none_match.clone());
        if let Err(error) = complete.send().await {
            self.unless_there(uncompleted(&error)).await?;
        }
        self.id = None;
        Ok(())
    }

    /// Removes the parts that were put. If that fails, a lifecycle rule of the bucket may.
    pub(super) async fn abandon(self) {
        if let Some(id) = self.id {
            let abort = self.client.abort_multipart_upload().bucket(self.bucket).key(self.key);
            let _ = abort.upload_id(id).send().await;
        }
    }
}

fn status<E>(error: &SdkError<E, HttpResponse>) -> Option<u16> {
    error.raw_response().map(|answer| answer.status().as_u16())
}

/// A condition that does not hold is another process at the same object.
fn uncompleted<E: std::error::Error + ProvideErrorMetadata + 'static>(error: &SdkError<E, HttpResponse>) -> io::Error {
    if status(error).is_some_and(|status| UNMET.contains(&status)) {
        io::ErrorKind::ResourceBusy.into()
    } else {
        other(error)
    }
}

fn other<E: std::error::Error + ProvideErrorMetadata>(error: &E) -> io::Error {
    io::Error::other(connection::words(error))
}
