//! Looks objects up before they are deleted: S3 answers the deletion of a key that does not exist as it answers any other.

use aws_sdk_s3::Client;
use aws_sdk_s3::types::ObjectIdentifier;
use futures::future::join_all;

use crate::connection::{LookupTime, words};
use crate::outcome::Failure;

/// HTTP statuses.
const FORBIDDEN: u16 = 403;
const NOT_FOUND: u16 = 404;
const METHOD_NOT_ALLOWED: u16 = 405;

/// Looks up objects of a bucket.
#[derive(Debug, Clone)]
pub(crate) struct ObjectLookup {
    pub(super) client: Client,
    pub(super) bucket: String,
    pub(super) time: LookupTime,
}

/// Which of the objects are there.
#[derive(Debug, Default)]
pub(crate) struct LookupResult {
    pub(crate) present: usize,
    pub(crate) absent: usize,
    /// Why others are not known, if any are not.
    pub(crate) unknown: Option<String>,
}

impl ObjectLookup {
    /// Whether these objects are there, by `HeadObject`, which distinguishes the current version of a key from a delete marker.
    pub(crate) async fn of(&self, objects: &[ObjectIdentifier]) -> Result<LookupResult, Failure> {
        let heads = objects.iter().map(|object| {
            let head = self.client.head_object().bucket(&self.bucket).key(object.key());
            head.set_version_id(object.version_id().map(ToOwned::to_owned)).send()
        });
        let what = format!("objects of the bucket {}", self.bucket);
        let mut looked_up = LookupResult::default();
        for head in self.time.wait(&what, join_all(heads)).await? {
            let Err(error) = head else {
                looked_up.present += 1;
                continue;
            };
            match error.raw_response().map(|answer| answer.status().as_u16()) {
                Some(NOT_FOUND) => looked_up.absent += 1,
                // A version that is a delete marker is there, and has no content.
                Some(METHOD_NOT_ALLOWED) => looked_up.present += 1,
                Some(FORBIDDEN) => {
                    looked_up.unknown = Some("s3:GetObject or s3:ListBucket is not permitted".to_owned());
                }
                _ => looked_up.unknown = Some(words(&error)),
            }
        }
        if looked_up.present == 0 && looked_up.absent > 0 {
            self.check_bucket().await?;
        }
        Ok(looked_up)
    }

    /// Refuses a bucket that does not exist, which the answers about its objects do not say from objects that do not.
    async fn check_bucket(&self) -> Result<(), Failure> {
        let head = self.client.head_bucket().bucket(&self.bucket).send();
        let head = self.time.wait(&format!("the bucket {}", self.bucket), head).await?;
        let status = head
            .err()
            .and_then(|error| Some(error.raw_response()?.status().as_u16()));
        if status == Some(NOT_FOUND) {
            return Err(Failure::WrongUse(format!(
                "there is no bucket {}: check --bucket, --region and --profile",
                self.bucket
            )));
        }
        Ok(())
    }
}
