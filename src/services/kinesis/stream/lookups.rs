//! What the service is asked of a stream before the first record.

use aws_sdk_kinesis::types::{RecordDistributionStrategy, StreamDescriptionSummary};

use super::{KinesisStream, Summary};
use crate::aws::classify;
use crate::contract::LookupError;
use crate::services::kinesis::shards::Shards;

const KIB: usize = 1_024;

impl KinesisStream {
    pub(super) async fn describe(&self) -> Result<Summary, LookupError> {
        let (name, arn) = self.name_or_arn();
        let call = self
            .client
            .describe_stream_summary()
            .set_stream_name(name)
            .set_stream_arn(arn);
        let output = call
            .customize()
            .config_override(self.changes.clone())
            .send()
            .await
            .map_err(classify)?;
        let summary = output.stream_description_summary();
        let strategy = summary.and_then(StreamDescriptionSummary::record_distribution_strategy);
        let most = summary.and_then(StreamDescriptionSummary::max_record_size_in_kib);
        Ok(Summary {
            spreads: strategy == Some(&RecordDistributionStrategy::Auto),
            record_bytes: most
                .and_then(|kib| usize::try_from(kib).ok())
                .filter(|kib| *kib > 0)
                .map(|kib| kib * KIB),
        })
    }

    pub(super) async fn list_shards(&self) -> Result<Shards, LookupError> {
        let mut shards = Vec::new();
        let mut next = None;
        loop {
            // A call with a token must not name the stream.
            let (name, arn) = if next.is_none() {
                self.name_or_arn()
            } else {
                (None, None)
            };
            let call = self.client.list_shards().set_stream_name(name).set_stream_arn(arn);
            let call = call.set_next_token(next).customize();
            let output = call
                .config_override(self.changes.clone())
                .send()
                .await
                .map_err(classify)?;
            shards.extend(output.shards.unwrap_or_default());
            next = output.next_token;
            if next.is_none() {
                return Ok(Shards::listed(&shards));
            }
        }
    }
}
