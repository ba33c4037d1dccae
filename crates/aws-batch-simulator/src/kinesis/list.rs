//! `ListShards`.

use serde_json::{Value, json};

use super::stream::shard_id;
use super::{find_stream, invalid_argument, named_stream};
use crate::Inner;
use crate::wire::Refusal;

/// Shards in an answer, unless the request has another limit. From the API reference of `ListShards`.
const MOST_SHARDS: u64 = 1_000;

/// Separates the stream from the next shard in a token. No stream name contains it.
const SEPARATOR: char = ':';

pub(super) fn list(simulator: &Inner, body: &Value) -> Result<Value, Refusal> {
    let is_named = body["StreamName"].is_string() || body["StreamARN"].is_string();
    let (stream, first) = match body["NextToken"].as_str() {
        None => (named_stream(simulator, body)?, 0),
        Some(_) if is_named => {
            return Err(invalid_argument(
                "NextToken and StreamName cannot be provided together.",
            ));
        }
        Some(token) => {
            let parts = token.split_once(SEPARATOR);
            let parts = parts.and_then(|(name, first)| Some((name, first.parse().ok()?)));
            let (name, first) = parts.ok_or_else(|| invalid_argument("NextToken is invalid."))?;
            (find_stream(simulator, name)?, first)
        }
    };
    let most = body["MaxResults"].as_u64().unwrap_or(MOST_SHARDS);
    let ranges = stream.ranges();
    let end = ranges.count().min(first + usize::try_from(most).unwrap_or(usize::MAX));
    let shards = (first..end).map(|shard| {
        let (first, last) = ranges.bounds(shard);
        json!({
            "ShardId": shard_id(shard),
            "HashKeyRange": {"StartingHashKey": first.to_string(), "EndingHashKey": last.to_string()},
            "SequenceNumberRange": {"StartingSequenceNumber": "0"},
        })
    });
    let mut answer = json!({"Shards": shards.collect::<Vec<_>>()});
    if end < ranges.count() {
        answer["NextToken"] = json!(format!("{}{SEPARATOR}{end}", stream.name()));
    }
    Ok(answer)
}
