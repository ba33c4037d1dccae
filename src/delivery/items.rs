//! Items and keys from values that implement `Serialize`.

use std::error::Error;

use aws_sdk_dynamodb::types::{DeleteRequest, PutRequest, WriteRequest};
use serde::Serialize;

use super::{Delivery, Values};
use crate::targets::dynamo::DynamoTable;

impl Delivery<DynamoTable> {
    /// Delivers values that implement `Serialize`, each as an item to put.
    ///
    /// ```no_run
    /// # use aws_batch_delivery::Delivery;
    /// # use serde::Serialize;
    /// #[derive(Serialize)]
    /// struct Order {
    ///     id: String,
    ///     cents: u64,
    /// }
    ///
    /// # async fn example(client: aws_sdk_dynamodb::Client, orders: Vec<Order>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let report = Delivery::to_dynamo(client, "orders").put_items().deliver(orders).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # How a value is converted
    /// The value has to serialize as a struct or a map: its fields are the attributes. [`serde_dynamo`] makes them:
    ///
    /// | value | attribute |
    /// |---|---|
    /// | integers of up to 64 bits | `N`, exactly; those of 128 bits are refused |
    /// | `f32`, `f64` | `N`, with the fewest digits that identify the number; NaN and infinities are refused |
    /// | texts, `char`, enum variants without fields | `S`, an empty text becomes an empty `S`, which is refused only in a key |
    /// | `None`, `()` | `NULL`; `#[serde(skip_serializing_if = "Option::is_none")]` leaves the attribute out |
    /// | lists, tuples, `HashSet`, `Vec<u8>` | `L` |
    /// | fields with `#[serde(with = "serde_dynamo::string_set")]`, `number_set` or `binary_set` | `SS`, `NS`, `BS`; an empty set is refused |
    /// | bytes of the crate `serde_bytes` | `B` |
    /// | structs, maps | `M`; the keys of a map have to be texts |
    #[must_use]
    pub fn put_items<V: Serialize + Send + Sync + 'static>(self) -> Delivery<DynamoTable, Values<V>> {
        self.try_map_entries(put)
    }

    /// Delivers values that implement `Serialize`, each as the key of an item to delete: a struct or a map with exactly the
    /// attributes of the key.
    ///
    /// They are serialized as by [`put_items`](Self::put_items).
    #[must_use]
    pub fn delete_keys<V: Serialize + Send + Sync + 'static>(self) -> Delivery<DynamoTable, Values<V>> {
        self.try_map_entries(delete)
    }
}

fn put(value: &impl Serialize) -> Result<WriteRequest, Box<dyn Error + Send + Sync>> {
    let put = PutRequest::builder()
        .set_item(Some(serde_dynamo::to_item(value)?))
        .build()?;
    Ok(WriteRequest::builder().put_request(put).build())
}

fn delete(key: &impl Serialize) -> Result<WriteRequest, Box<dyn Error + Send + Sync>> {
    let delete = DeleteRequest::builder()
        .set_key(Some(serde_dynamo::to_item(key)?))
        .build()?;
    Ok(WriteRequest::builder().delete_request(delete).build())
}
