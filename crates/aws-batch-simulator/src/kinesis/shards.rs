//! `ListShards` and `DescribeStreamSummary`.

use serde_json::{Value, json};

use super::stream::{Streams, invalid_argument, shard_id};
use crate::wire::Refusal;

/// Shards in an answer, unless the request has another limit. From the API reference of `ListShards`.
const MOST_SHARDS: u64 = 1_000;

/// Separates the stream from the next shard in a token. No stream name contains it.
const SEPARATOR: char = ':';

pub(super) fn list(streams: &Streams, body: &Value) -> Result<Value, Refusal> {
    let is_named = body["StreamName"].is_string() || body["StreamARN"].is_string();
    let (stream, first) = match body["NextToken"].as_str() {
        None => (streams.of_request(body)?, 0),
        Some(_) if is_named => {
            return Err(invalid_argument(
                "NextToken and StreamName cannot be provided together.",
            ));
        }
        Some(token) => {
            let parts = token.split_once(SEPARATOR);
            let parts = parts.and_then(|(name, first)| Some((name, first.parse().ok()?)));
            let (name, first) = parts.ok_or_else(|| invalid_argument("NextToken is invalid."))?;
            (streams.named(name)?, first)
        }
    };
    let most = body["MaxResults"].as_u64().unwrap_or(MOST_SHARDS);
    let generations = stream.generations();
    let open = generations.last().map_or(0, |ranges| ranges.shards().start);
    let all = || {
        generations
            .iter()
            .flat_map(|ranges| ranges.shards().map(|shard| (shard, ranges.bounds(shard))))
    };
    let shards = all()
        .skip(first)
        .take(usize::try_from(most).unwrap_or(usize::MAX))
        .map(|(shard, (first, last))| {
            let mut sequence_numbers = json!({"StartingSequenceNumber": "0"});
            if shard < open {
                sequence_numbers["EndingSequenceNumber"] = json!("0");
            }
            json!({
                "ShardId": shard_id(shard),
                "HashKeyRange": {"StartingHashKey": first.to_string(), "EndingHashKey": last.to_string()},
                "SequenceNumberRange": sequence_numbers,
            })
        });
    let shards: Vec<_> = shards.collect();
    let end = first + shards.len();
    let mut answer = json!({"Shards": shards});
    if end < all().count() {
        answer["NextToken"] = json!(format!("{}{SEPARATOR}{end}", stream.name()));
    }
    Ok(answer)
}

pub(super) fn describe(streams: &Streams, body: &Value) -> Result<Value, Refusal> {
    let stream = streams.of_request(body)?;
    let mut summary = json!({
        "StreamName": stream.name(),
        "StreamARN": stream.arn(),
        "StreamStatus": "ACTIVE",
        "StreamModeDetails": {"StreamMode": "PROVISIONED"},
        "RetentionPeriodHours": 24,
        "StreamCreationTimestamp": 0,
        "EnhancedMonitoring": [{"ShardLevelMetrics": []}],
        "EncryptionType": "NONE",
        "OpenShardCount": stream.ranges().count(),
        "ConsumerCount": 0,
    });
    // Only streams on demand can distribute their records themselves.
    if stream.options().is_spreading {
        summary["StreamModeDetails"] = json!({"StreamMode": "ON_DEMAND"});
        summary["RecordDistributionStrategy"] = json!("AUTO");
    }
    Ok(json!({"StreamDescriptionSummary": summary}))
}
