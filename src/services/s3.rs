//! S3: deletions of objects of one bucket by `DeleteObjects`.

use std::borrow::Cow;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::Builder;
use aws_sdk_s3::operation::delete_objects::DeleteObjectsOutput;
use aws_sdk_s3::types::{Delete, DeletedObject, Error, ObjectIdentifier};

use super::debug::debug_by_name;
use crate::aws::correlate::by_name;
use crate::aws::renewal::Changes;
use crate::aws::request::{request_span, send, single_attempt};
use crate::aws::whole_body::WholeBody;
use crate::aws::{classify, classify_entry};
use crate::contract::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict, hash_of};
use crate::invalid::InvalidEntry;
use crate::services::checks::{check_characters, check_size};

/// Keys in a call. From the API reference of `DeleteObjects`.
pub const MAX_KEYS: usize = 1_000;

/// Bytes of a key in UTF-8. From "Naming Amazon S3 objects" in S3's user guide.
pub const MAX_KEY_BYTES: usize = 1_024;

/// Bytes of a version id. From "How S3 Versioning works" in S3's user guide.
pub const MAX_VERSION_ID_BYTES: usize = 1_024;

/// Bytes of the keys and version ids of a call: those of [`MAX_KEYS`] of the longest ones. S3 documents no other limit.
pub const MAX_BATCH_BYTES: usize = MAX_KEYS * (MAX_KEY_BYTES + MAX_VERSION_ID_BYTES);

/// The code by which some services other than AWS report that there is no such object. For S3 itself its deletion is a success.
const NO_OBJECT: &str = "NoSuchKey";

/// A bucket of S3 to delete objects from, by their keys and, if they have one, version ids. [`keys`](crate::Delivery::keys) takes keys
/// alone.
///
/// Deleting an object that does not exist is a success. If S3 does not delete an object, for example because the caller is not
/// permitted to or because the object is locked (`AccessDenied`), only that object is handed back; the others are deleted. Objects that
/// fail for the moment, with `SlowDown` or `InternalError`, are sent again alone.
///
/// # When the answer is lost
/// The objects are deleted again. With a version id that has no further effect. Without one, an object that another writer has put
/// under the key in between is deleted too, and a bucket with versions has one more delete marker.
///
/// # Capacity
/// S3 takes at least 3,500 deletions a second for each prefix of a bucket, and each key of a call counts: from "Best practices design
/// patterns" in S3's user guide. Where the prefixes end that it serves apart is not known, so each folder of keys, all up to the last
/// `/`, that is throttled far more often than the others gets a pace of its own, and does not slow the others down. `SlowDown` is a
/// throttle, of a single key as well as of a whole call.
///
/// # The request
/// The SDK adds the checksum that S3 requires, by default CRC-32. Characters that XML cannot express, such as U+0001, are refused
/// unsent: `DeleteObject` can delete such a key. Entries keep no order.
///
/// The SDK's retries are off for these calls, because the delivery retries; the rest of the client's configuration applies.
#[derive(Clone)]
#[must_use]
pub struct S3Deletions {
    client: Client,
    changes: Changes<Builder>,
    bucket: String,
    limits: Limits,
    is_quiet: bool,
}

impl S3Deletions {
    /// The bucket with this name, or the access point with this ARN.
    ///
    /// # Default
    /// | limit | value |
    /// |---|---|
    /// | entries of a call | [`MAX_KEYS`], 1,000 |
    /// | bytes of a call | [`MAX_BATCH_BYTES`], 2,048,000 |
    /// | bytes of a key | [`MAX_KEY_BYTES`], 1,024 |
    /// | bytes of a version id | [`MAX_VERSION_ID_BYTES`], 1,024 |
    pub fn new(client: Client, bucket: impl Into<String>) -> Self {
        let largest = MAX_KEY_BYTES + MAX_VERSION_ID_BYTES;
        let whole_body = Some(WholeBody::Xml("DeleteResult"));
        let changes = single_attempt!(aws_sdk_s3, client, whole_body);
        Self {
            changes,
            client,
            bucket: bucket.into(),
            limits: Limits::new(MAX_KEYS, MAX_BATCH_BYTES).with_entry_bytes(largest),
            is_quiet: false,
        }
    }

    /// Other limits, for endpoints with lower or higher ones.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// S3 answers for the objects alone that it did not delete (`Quiet`), which makes the answer to 1,000 deletions some 100 KB
    /// smaller. Then an object counts as deleted because a whole answer does not name it; otherwise only if the answer says so.
    pub fn quiet(mut self) -> Self {
        self.is_quiet = true;
        self
    }

    /// The bucket, or the access point without the first part of its ARN, which has the account id.
    fn short_name(&self) -> &str {
        self.bucket.rsplit(':').next().unwrap_or_default()
    }

    fn read(&self, objects: &[ObjectIdentifier], output: &DeleteObjectsOutput) -> Answer {
        let names: Vec<_> = objects
            .iter()
            .map(|object| (object.key(), object.version_id()))
            .collect();
        let deleted = output.deleted().iter().map(name_of_deleted);
        let failed = output.errors().iter().map(failed);
        by_name("S3", &names, deleted, failed, self.is_quiet)
    }
}

impl BatchTarget for S3Deletions {
    type Entry = ObjectIdentifier;

    fn name(&self) -> Cow<'_, str> {
        format!("s3/{}", self.short_name()).into()
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn check(&self, object: &ObjectIdentifier) -> Result<usize, InvalidEntry> {
        let key = check_text("key", object.key(), MAX_KEY_BYTES)?;
        let version_id = object
            .version_id()
            .map(|id| check_text("version id", id, MAX_VERSION_ID_BYTES));
        self.limits
            .check_size("key with its version id", key + version_id.transpose()?.unwrap_or(0))
    }

    fn partition_key(&self, object: &ObjectIdentifier) -> Option<u64> {
        let (folder, _) = object.key().rsplit_once('/')?;
        Some(hash_of(folder))
    }

    async fn send(&self, objects: &[ObjectIdentifier]) -> Answer {
        let span = request_span!(
            "S3",
            "DeleteObjects",
            aws.s3.bucket = self.short_name(),
            aws.s3.delete.object_count = objects.len(),
        );
        let delete = Delete::builder()
            .set_objects(Some(objects.to_vec()))
            .set_quiet(self.is_quiet.then_some(true));
        let Ok(delete) = delete.build() else {
            return Answer::Whole(Verdict::Refused(Fault::new("no objects")));
        };
        let call = self.client.delete_objects().bucket(&self.bucket).delete(delete);
        match send!(aws_sdk_s3, call, self.changes, span) {
            Ok(output) => self.read(objects, &output),
            Err(error) => classify(error),
        }
    }
}

/// Checks a part of an entry, and returns its size.
fn check_text(part: &'static str, text: &str, limit: usize) -> Result<usize, InvalidEntry> {
    let actual = text.len();
    if actual == 0 {
        return Err(InvalidEntry::Missing { part });
    }
    check_size(part, limit, actual)?;
    check_characters(part, text, is_in_xml)?;
    Ok(actual)
}

/// Whether XML 1.0 can express the character: its production `Char`. The request is a document of this version.
fn is_in_xml(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

/// What an answer names an object by.
type Name<'a> = (&'a str, Option<&'a str>);

fn name_of_deleted(object: &DeletedObject) -> Name<'_> {
    (object.key().unwrap_or_default(), object.version_id())
}

fn failed(error: &Error) -> (Name<'_>, Verdict) {
    let version_id = error.version_id().filter(|id| !id.is_empty());
    let verdict = match error.code() {
        Some(NO_OBJECT) if version_id.is_none() => Verdict::Accepted,
        Some(code) => classify_entry(code, false, error.message()),
        None => {
            let fault = Fault::new("an error without a code").ambiguous();
            Verdict::Rejected(Rejection::Unanswered, fault)
        }
    };
    ((error.key().unwrap_or_default(), version_id), verdict)
}

debug_by_name!(S3Deletions);

#[cfg(test)]
mod tests;
