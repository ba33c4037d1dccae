//! `graphddb_runtime`: one chunk after another, by each worker.

use std::sync::Arc;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use futures::future::join_all;
use graphddb_runtime::AwsDynamoClient;
use graphddb_runtime::batch::batch_write;
use peers::{Failure, Told, Work};

use super::dynamo;

pub async fn write(work: &Work) -> Result<Told, Failure> {
    let client = Arc::new(AwsDynamoClient::new(dynamo::client(work, RetryConfig::standard())?));
    let parts = work.parts(dynamo::writes(work)?);
    work.start()?;
    let workers = parts.into_iter().map(|part| {
        let (client, table) = (Arc::clone(&client), work.target.clone());
        tokio::spawn(async move { batch_write(client.as_ref(), &table, part, true).await })
    });
    let mut all = Told::success();
    for result in join_all(workers).await {
        all = all.and(result?.map_or_else(|_| Told::failure(), |()| Told::success()));
    }
    Ok(all)
}
