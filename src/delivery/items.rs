//! Items and keys from values that implement `Serialize`.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Display;

use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, WriteRequest};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::{Delivery, Values};
use crate::services::dynamo::{DynamoTable, DynamoTables, DynamoWrites, ItemWrite, TableWrite};

type BoxError = Box<dyn Error + Send + Sync>;
type Attributes = HashMap<String, AttributeValue>;

/// The only field of a number whose digits are kept, as `serde_json` writes it with its feature `arbitrary_precision`; the
/// same name is written by the crates for decimals that support it.
const EXACT_NUMBER: &str = "$serde_json::private::Number";

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
    /// | integers of up to 64 bits | `N`, exactly; those of 128 bits are refused without [`exact_number`](crate::exact_number) |
    /// | decimals and other numbers, with [`exact_number`](crate::exact_number) | `N`, digit for digit |
    /// | `serde_json::Number` and values with its feature `arbitrary_precision`, such as those of `rust_decimal` | `N`, digit for digit |
    /// | `f32`, `f64` | `N`, with the fewest digits that identify the number; NaN and infinities are refused |
    /// | texts, `char`, enum variants without fields | `S`, an empty text becomes an empty `S`, which is refused only in a key |
    /// | `None`, `()` | `NULL`; `#[serde(skip_serializing_if = "Option::is_none")]` leaves the attribute out |
    /// | lists, tuples, `HashSet`, `Vec<u8>` | `L` |
    /// | fields with `#[serde(with = "serde_dynamo::string_set")]`, `number_set` or `binary_set` | `SS`, `NS`, `BS`; an empty set is refused |
    /// | bytes of the crate `serde_bytes` | `B` |
    /// | structs, maps | `M`; the keys of a map have to be texts |
    pub fn put_items<V: Serialize + Send + Sync + 'static>(self) -> Delivery<DynamoTable, Values<V>> {
        self.try_map_entries(put)
    }

    /// Delivers values that implement `Serialize`, each as the key of an item to delete: a struct or a map with exactly the
    /// attributes of the key.
    ///
    /// They are serialized as by [`put_items`](Self::put_items).
    pub fn delete_keys<V: Serialize + Send + Sync + 'static>(self) -> Delivery<DynamoTable, Values<V>> {
        self.try_map_entries(delete)
    }

    /// Delivers values that implement `Serialize`, each as an item to put if the condition holds.
    ///
    /// The values are serialized as by [`put_items`](Self::put_items). In the condition, `#f` stands for the attribute `f`, and `:f` for
    /// the value's field `f`. An item whose condition does not hold is counted as
    /// [`condition_failed`](crate::Report::condition_failed). Each item is a call of its own; [`DynamoWrites`] describes what
    /// a lost answer means.
    ///
    /// ```no_run
    /// # use aws_batch_delivery::Delivery;
    /// # use serde::Serialize;
    /// #[derive(Serialize)]
    /// struct Order {
    ///     id: String,
    ///     version: u64,
    /// }
    ///
    /// # async fn example(client: aws_sdk_dynamodb::Client, orders: Vec<Order>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// // Whatever the order in which they are read, the newest version stays.
    /// let newest = "attribute_not_exists(id) OR #version < :version";
    /// let report = Delivery::to_dynamo(client, "orders").put_if(newest).deliver(orders).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn put_if<V: Serialize + Send + Sync + 'static>(
        self,
        condition: impl Into<String>,
    ) -> Delivery<DynamoWrites, Values<V>> {
        let condition = condition.into();
        self.item_writes().try_map_entries(move |value: &V| {
            let item = to_item(value)?;
            Ok::<_, BoxError>(ItemWrite::put(item.clone()).condition(&*condition).fields(&item))
        })
    }

    /// Delivers pairs of a key and values, each as an update of the item with this key, such as `SET #status = :status` or
    /// `ADD stock :more`.
    ///
    /// Key and values are serialized as by [`delete_keys`](Self::delete_keys). In the expression, `#f` stands for the attribute `f`, and
    /// `:f` for the field `f` of the values. Each update is a call of its own, or a transaction if it must not be applied twice:
    /// [`ItemWrite::update`] says which. A value has no memory of its attempts: if an update that must not be applied twice is handed
    /// back [in doubt](crate::Undelivered::may_have_been_delivered), delivering the value again is another update. An
    /// [`ItemWrite`] that is handed back may be delivered again.
    ///
    /// ```no_run
    /// # use aws_batch_delivery::Delivery;
    /// # use serde::Serialize;
    /// #[derive(Serialize)]
    /// struct Key {
    ///     sku: String,
    /// }
    ///
    /// #[derive(Serialize)]
    /// struct Arrival {
    ///     more: u64,
    /// }
    ///
    /// # async fn example(client: aws_sdk_dynamodb::Client, arrivals: Vec<(Key, Arrival)>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// Delivery::to_dynamo(client, "stock").update("ADD pieces :more").deliver(arrivals).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn update<K, V>(self, expression: impl Into<String>) -> Delivery<DynamoWrites, Values<(K, V)>>
    where
        K: Serialize + Send + Sync + 'static,
        V: Serialize + Send + Sync + 'static,
    {
        let expression = expression.into();
        self.item_writes().try_map_entries(move |(key, values): &(K, V)| {
            let update = ItemWrite::update(to_item(key)?, &*expression);
            Ok::<_, BoxError>(update.fields(&to_item(values)?))
        })
    }

    /// Delivers values that implement `Serialize`, each as the key of an item to delete if the condition holds.
    ///
    /// Like [`delete_keys`](Self::delete_keys), with a condition like that of [`put_if`](Self::put_if).
    pub fn delete_if<K: Serialize + Send + Sync + 'static>(
        self,
        condition: impl Into<String>,
    ) -> Delivery<DynamoWrites, Values<K>> {
        let condition = condition.into();
        self.item_writes().try_map_entries(move |key: &K| {
            let key = to_item(key)?;
            Ok::<_, BoxError>(ItemWrite::delete(key.clone()).condition(&*condition).fields(&key))
        })
    }
}

impl Delivery<DynamoTables> {
    /// Delivers values that implement `Serialize`, each as an item to put into the table that `table` names.
    ///
    /// They are serialized as by [`put_items`](Delivery::put_items).
    pub fn put_items_to<V, N>(
        self,
        table: impl Fn(&V) -> N + Send + Sync + 'static,
    ) -> Delivery<DynamoTables, Values<V>>
    where
        V: Serialize + Send + Sync + 'static,
        N: Into<String>,
    {
        self.try_map_entries(move |value: &V| Ok::<_, BoxError>(TableWrite::new(table(value), put(value)?)))
    }
}

fn put(value: &impl Serialize) -> Result<WriteRequest, BoxError> {
    let put = PutRequest::builder().set_item(Some(to_item(value)?)).build()?;
    Ok(WriteRequest::builder().put_request(put).build())
}

fn delete(key: &impl Serialize) -> Result<WriteRequest, BoxError> {
    let delete = DeleteRequest::builder().set_key(Some(to_item(key)?)).build()?;
    Ok(WriteRequest::builder().delete_request(delete).build())
}

fn to_item(value: &impl Serialize) -> Result<Attributes, BoxError> {
    let mut item: Attributes = serde_dynamo::to_item(value)?;
    item.values_mut().for_each(keep_numbers);
    Ok(item)
}

/// Makes numbers of the maps that stand for them.
fn keep_numbers(value: &mut AttributeValue) {
    match value {
        AttributeValue::L(list) => list.iter_mut().for_each(keep_numbers),
        AttributeValue::M(map) => match map.remove(EXACT_NUMBER) {
            Some(AttributeValue::S(digits) | AttributeValue::N(digits)) if map.is_empty() => {
                *value = AttributeValue::N(digits);
            }
            other => {
                map.extend(other.map(|other| (EXACT_NUMBER.to_owned(), other)));
                map.values_mut().for_each(keep_numbers);
            }
        },
        _ => {}
    }
}

/// Serializes a number digit for digit, as it is displayed: decimals, integers of 128 bits, numbers of any other crate.
///
/// DynamoDB keeps 38 digits; a number with more is refused before it is sent. It is for
/// [`put_items`](crate::Delivery::put_items) and [`delete_keys`](crate::Delivery::delete_keys), and for `serde_json` with its
/// feature `arbitrary_precision`.
///
/// ```
/// # use serde::Serialize;
/// #[derive(Serialize)]
/// struct Payment {
///     id: String,
///     #[serde(serialize_with = "aws_batch_delivery::exact_number")]
///     wei: u128,
/// }
/// ```
///
/// # Errors
/// When the serializer fails.
pub fn exact_number<N: Display, S: Serializer>(number: &N, serializer: S) -> Result<S::Ok, S::Error> {
    let mut exact = serializer.serialize_struct(EXACT_NUMBER, 1)?;
    exact.serialize_field(EXACT_NUMBER, &number.to_string())?;
    exact.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Exact(#[serde(serialize_with = "exact_number")] u128);

    #[derive(Serialize)]
    struct Payment {
        #[serde(serialize_with = "exact_number")]
        wei: u128,
        parts: Vec<Exact>,
        memo: HashMap<&'static str, &'static str>,
    }

    #[test]
    fn an_exact_number_keeps_its_digits_wherever_it_stands() {
        let number = |text: &str| AttributeValue::N(text.to_owned());
        let payment = Payment {
            wei: 12_345_678_901_234_567_890_123_456_789,
            parts: vec![Exact(u128::MAX)],
            memo: HashMap::from([(EXACT_NUMBER, "1"), ("of", "two")]),
        };
        let item = to_item(&payment).unwrap();
        assert_eq!(item["wei"], number("12345678901234567890123456789"));
        assert_eq!(item["parts"], AttributeValue::L(vec![number(&u128::MAX.to_string())]));
        // A map with other fields is a map.
        let AttributeValue::M(memo) = &item["memo"] else {
            panic!("{item:?}");
        };
        assert_eq!(memo.len(), 2);
    }
}
