//! `dynamodb-facade`: one task a chunk, all at once.

use aws_sdk_dynamodb::config::retry::RetryConfig;
use dynamodb_facade::explicit_client::dynamodb_batch_write;
use dynamodb_facade::{Error, StringAttribute, attribute_definitions, table_definitions};
use peers::{Failure, TABLE, Told, Work};

use super::dynamo;

attribute_definitions! {
    Id { "id": StringAttribute }
}

table_definitions! {
    Orders {
        type PartitionKey = Id;
        fn table_name() -> String { TABLE.to_owned() }
    }
}

pub async fn write(work: &Work) -> Result<Told, Failure> {
    let client = dynamo::client(work, RetryConfig::standard())?;
    let writes = dynamo::writes(work)?;
    work.start()?;
    Ok(match dynamodb_batch_write::<Orders>(client, writes).await {
        Ok(()) => Told::success(),
        Err(Error::FailedBatchWrite(writes)) => Told::undelivered(dynamo::numbers(&writes)),
        Err(_) => Told::failure(),
    })
}
