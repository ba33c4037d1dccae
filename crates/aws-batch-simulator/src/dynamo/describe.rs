//! `DescribeTable`.

use serde_json::{Value, json};

use super::key::Schema;
use super::tables::Tables;
use super::vector_index::VectorIndex;
use crate::admission::Provision;
use crate::wire::Refusal;

pub(super) fn describe(tables: &Tables, body: &Value) -> Result<Value, Refusal> {
    let table = tables.of_request(body)?;
    let provision = table.provision(None);
    let mut attributes: Vec<Value> = Vec::new();
    let schemas = std::iter::once(table.schema()).chain(table.indexes().iter().map(|index| &index.schema));
    let of_vectors = table.vector_indexes().iter().flat_map(VectorIndex::attributes);
    for (name, kind) in schemas.flat_map(Schema::attributes).chain(of_vectors) {
        let attribute = json!({"AttributeName": name, "AttributeType": kind.tag()});
        if !attributes.contains(&attribute) {
            attributes.push(attribute);
        }
    }
    let reads = table.read_provision().provisioned;
    let mode = if provision.provisioned.is_some() || reads.is_some() {
        "PROVISIONED"
    } else {
        "PAY_PER_REQUEST"
    };
    let mut described = json!({
        "TableName": table.name(),
        "TableArn": table.arn(),
        "TableId": table.id(),
        "TableStatus": "ACTIVE",
        "CreationDateTime": table.created(),
        "KeySchema": keys(table.schema()),
        "AttributeDefinitions": attributes,
        "ItemCount": table.len(),
        "TableSizeBytes": table.size(),
        "BillingModeSummary": {"BillingMode": mode},
    });
    add_throughput(&mut described, &provision, reads);
    let indexes: Vec<Value> = table
        .indexes()
        .iter()
        .enumerate()
        .map(|(number, index)| {
            let mut described = json!({
                "IndexName": index.name,
                "IndexArn": table.arn_of(Some(number)),
                "IndexStatus": "ACTIVE",
                "KeySchema": keys(&index.schema),
                "Projection": {"ProjectionType": "ALL"},
            });
            add_throughput(&mut described, &table.provision(Some(number)), None);
            described
        })
        .collect();
    if !indexes.is_empty() {
        described["GlobalSecondaryIndexes"] = Value::Array(indexes);
    }
    let (arn, vectors) = (table.arn(), table.vector_indexes().iter());
    let vectors: Vec<Value> = vectors.map(|index| index.describe(&arn)).collect();
    if !vectors.is_empty() {
        described["VectorIndexes"] = Value::Array(vectors);
    }
    Ok(json!({"Table": described}))
}

fn keys(schema: &Schema) -> Vec<Value> {
    let roles = ["HASH", "RANGE"];
    let keys = schema.attributes().zip(roles);
    keys.map(|((name, _), role)| json!({"AttributeName": name, "KeyType": role}))
        .collect()
}

/// Read units per second of a provisioned table whose reads are not limited: the largest that AWS has without a change of a quota.
/// From "Quotas in Amazon DynamoDB".
const MOST_READ_UNITS: f64 = 40_000.0;

/// Adds the throughput, and the read units if they are limited.
fn add_throughput(described: &mut Value, provision: &Provision, reads: Option<f64>) {
    let provisioned = provision.provisioned;
    let reads = reads.or(provisioned.map(|_| MOST_READ_UNITS));
    described["ProvisionedThroughput"] = json!({
        "NumberOfDecreasesToday": 0,
        "ReadCapacityUnits": reads.map_or(0, whole),
        "WriteCapacityUnits": provisioned.map_or(0, whole),
    });
    if let Some(most) = provision.most_on_demand {
        described["OnDemandThroughput"] = json!({"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": whole(most)});
    }
    if let Some(warm) = provision.warm {
        described["WarmThroughput"] =
            json!({"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": whole(warm), "Status": "ACTIVE"});
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "units a second, far below the largest number"
)]
fn whole(units: f64) -> i64 {
    units.floor() as i64
}
