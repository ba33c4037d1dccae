//! The size of an item: as DynamoDB counts it for its limit and for write units, and in memory.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, WriteRequest};

use super::key::attributes;
use super::number::{self, Number};

/// Bytes that a list or a map takes for itself.
pub(super) const CONTAINER: usize = 3;

/// Bytes that each element of a list or a map takes in addition to its value.
pub(super) const ELEMENT: usize = 1;

/// Bytes that DynamoDB counts for an item: the names and the values of its attributes.
///
/// An item may have [`MAX_ITEM_BYTES`](super::MAX_ITEM_BYTES); a write consumes one write unit for each started 1,024
/// bytes. A number that DynamoDB would refuse counts as much as the largest valid one.
pub fn item_size<S>(item: &HashMap<String, AttributeValue, S>) -> usize {
    item.iter().map(|(name, value)| name.len() + value_size(value)).sum()
}

/// Bytes of an item that one write unit covers. From the developer guide of DynamoDB.
const WRITE_UNIT: usize = 1024;

/// Write units that a write of this many bytes consumes.
pub(super) fn write_units(bytes: usize) -> usize {
    bytes.div_ceil(WRITE_UNIT).max(1)
}

pub(super) fn value_size(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number_size(number),
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::Ss(texts) => texts.iter().map(String::len).sum(),
        AttributeValue::Ns(numbers) => numbers.iter().map(|number| number_size(number)).sum(),
        AttributeValue::Bs(blobs) => blobs.iter().map(|bytes| bytes.as_ref().len()).sum(),
        AttributeValue::L(values) => CONTAINER + values.iter().map(|value| ELEMENT + value_size(value)).sum::<usize>(),
        AttributeValue::M(item) => CONTAINER + ELEMENT * item.len() + item_size(item),
        // `BOOL` and `NULL`. Types that this SDK does not know cannot be sent by it.
        _ => 1,
    }
}

fn number_size(number: &str) -> usize {
    Number::parse(number).map_or(number::MAX_SIZE, Number::size)
}

/// Bytes that an allocator keeps for each allocation, and the multiple that both together take, as glibc does with 64 bits.
const HEADER: usize = size_of::<usize>();
const STEP: usize = 2 * size_of::<usize>();

/// An estimate of the bytes on the heap.
pub(super) fn request_memory(request: &WriteRequest) -> usize {
    attributes(request).map_or(0, attributes_memory)
}

pub(super) fn attributes_memory(attributes: &HashMap<String, AttributeValue>) -> usize {
    let single = attributes
        .iter()
        .map(|(name, value)| allocated(name.capacity()) + value_memory(value));
    // A hash map has a power of two of places, an eighth of which it leaves empty, and a byte for each place.
    let places = (attributes.capacity() * 8 / 7).next_power_of_two();
    single.sum::<usize>() + allocated(places * (size_of::<(String, AttributeValue)>() + 1))
}

fn value_memory(value: &AttributeValue) -> usize {
    let of_texts = |texts: &Vec<String>| {
        let single = texts.iter().map(|text| allocated(text.capacity()));
        single.sum::<usize>() + allocated(texts.capacity() * size_of::<String>())
    };
    match value {
        AttributeValue::S(text) | AttributeValue::N(text) => allocated(text.capacity()),
        AttributeValue::B(bytes) => allocated(bytes.as_ref().len()),
        AttributeValue::Ss(texts) | AttributeValue::Ns(texts) => of_texts(texts),
        AttributeValue::Bs(blobs) => {
            let single = blobs.iter().map(|bytes| allocated(bytes.as_ref().len()));
            single.sum::<usize>() + allocated(blobs.capacity() * size_of::<Vec<u8>>())
        }
        AttributeValue::L(values) => {
            let single = values.iter().map(value_memory);
            single.sum::<usize>() + allocated(values.capacity() * size_of::<AttributeValue>())
        }
        AttributeValue::M(attributes) => attributes_memory(attributes),
        _ => 0,
    }
}

/// What an allocation of this many bytes takes. None is made for 0.
fn allocated(bytes: usize) -> usize {
    match bytes {
        0 => 0,
        bytes => (bytes + HEADER).next_multiple_of(STEP).max(2 * STEP),
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::primitives::Blob;

    use super::*;

    fn text(text: &str) -> AttributeValue {
        AttributeValue::S(text.to_owned())
    }

    #[test]
    fn values_have_the_sizes_that_dynamodb_counts() {
        let table = [
            (text("äb"), 3),
            (AttributeValue::N("-123.4".to_owned()), 5),
            (AttributeValue::N("not a number".to_owned()), 21),
            (AttributeValue::B(Blob::new([0; 5])), 5),
            (AttributeValue::Bool(false), 1),
            (AttributeValue::Null(true), 1),
            (AttributeValue::Ss(vec!["a".to_owned(), "bc".to_owned()]), 3),
            (AttributeValue::Ns(vec!["0".to_owned(), "12".to_owned()]), 3),
            (AttributeValue::Bs(vec![Blob::new([0; 2]), Blob::new([0; 3])]), 5),
            (AttributeValue::L(Vec::new()), 3),
            (
                AttributeValue::L(vec![text("ab"), AttributeValue::Null(true)]),
                3 + 3 + 2,
            ),
            (AttributeValue::M(HashMap::new()), 3),
            (
                AttributeValue::M(HashMap::from([("name".to_owned(), text("ab"))])),
                3 + 1 + 4 + 2,
            ),
        ];
        for (value, size) in table {
            assert_eq!(value_size(&value), size, "{value:?}");
        }
    }

    #[test]
    fn an_item_is_its_names_and_its_values() {
        let item = HashMap::from([
            ("id".to_owned(), text("abc")),
            ("größe".to_owned(), AttributeValue::Bool(true)),
        ]);
        assert_eq!(item_size(&item), 2 + 3 + 7 + 1);
    }
}
