//! A bulk writer's test under limits: `throttled-aws` in the process of the test is the emulator, and its script decides what the
//! writer sees. A loop that ignores `UnprocessedItems` fails here and passes with any emulator alone.
//!
//! ```text
//! cargo test --bin bulk_writer_under_limits
//! ```

use aws_batch_delivery::Delivery;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};

fn writes(count: usize) -> Vec<WriteRequest> {
    let put = |id: usize| {
        PutRequest::builder()
            .item("id", AttributeValue::S(id.to_string()))
            .build()
    };
    let puts = (0..count).filter_map(|id| put(id).ok());
    puts.map(|put| WriteRequest::builder().put_request(put).build())
        .collect()
}

/// What many programs do: a call that succeeds is taken for one that wrote everything.
#[cfg(test)]
async fn naive(client: &Client) -> anyhow::Result<()> {
    for chunk in writes(100).chunks(25) {
        client
            .batch_write_item()
            .request_items("orders", chunk.to_vec())
            .send()
            .await?;
    }
    Ok(())
}

/// The writer under test.
async fn right(client: &Client) -> anyhow::Result<()> {
    // An error if anything is not delivered.
    Delivery::to_dynamo(client.clone(), "orders")
        .deliver(writes(100))
        .await?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let client = Client::new(&aws_config::load_defaults(aws_sdk_dynamodb::config::BehaviorVersion::latest()).await);
    right(&client).await
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
    use throttled_aws::{Config, Server};

    use super::*;

    /// The first call is accepted in part, and the second one is applied and not answered.
    const LIMITS: &str = r#"
        tables.orders.key.name = "id"
        [[faults]]
        destination = "orders"
        next = [{ unprocessed = 10 }, "lost"]
    "#;

    async fn items_after(write: impl AsyncFnOnce(&Client) -> anyhow::Result<()>) -> anyhow::Result<i32> {
        let server = Server::alone(Config::parse(LIMITS)?, "127.0.0.1:0").await?;
        let config = aws_config::defaults(BehaviorVersion::latest())
            .endpoint_url(server.endpoint())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("test", "test", None, None, "test"));
        let client = Client::new(&config.load().await);
        write(&client).await?;
        Ok(client.scan().table_name("orders").send().await?.count())
    }

    #[tokio::test]
    async fn a_loop_that_ignores_unprocessed_items_loses_some() -> anyhow::Result<()> {
        assert_eq!(items_after(naive).await?, 90);
        Ok(())
    }

    #[tokio::test]
    async fn a_delivery_loses_nothing() -> anyhow::Result<()> {
        assert_eq!(items_after(right).await?, 100);
        Ok(())
    }
}
