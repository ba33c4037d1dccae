//! `DescribeStreamSummary`.

use serde_json::{Value, json};

use super::named_stream;
use crate::Inner;
use crate::wire::Refusal;

pub(super) fn describe(simulator: &Inner, body: &Value) -> Result<Value, Refusal> {
    let stream = named_stream(simulator, body)?;
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
