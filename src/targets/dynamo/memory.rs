//! The memory that a write takes while it waits: several times its size for DynamoDB, if it has many small attributes.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, WriteRequest};

/// Bytes that an allocator keeps beside each allocation, and the multiple that both together take, as glibc does with 64 bits.
const HEADER: usize = size_of::<usize>();
const STEP: usize = 2 * size_of::<usize>();

/// An estimate of the bytes on the heap.
pub(super) fn of_request(request: &WriteRequest) -> usize {
    let item = request.put_request().map(PutRequest::item);
    let key = request.delete_request().map(DeleteRequest::key);
    item.or(key).map_or(0, of_attributes)
}

fn of_attributes(attributes: &HashMap<String, AttributeValue>) -> usize {
    let single = attributes
        .iter()
        .map(|(name, value)| allocated(name.capacity()) + of_value(value));
    // A hash map has a power of two of places, an eighth of which it leaves empty, and a byte for each place.
    let places = (attributes.capacity() * 8 / 7).next_power_of_two();
    single.sum::<usize>() + allocated(places * (size_of::<(String, AttributeValue)>() + 1))
}

fn of_value(value: &AttributeValue) -> usize {
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
            let single = values.iter().map(of_value);
            single.sum::<usize>() + allocated(values.capacity() * size_of::<AttributeValue>())
        }
        AttributeValue::M(attributes) => of_attributes(attributes),
        _ => 0,
    }
}

/// What an allocation of so many bytes takes. None is made for 0.
fn allocated(bytes: usize) -> usize {
    match bytes {
        0 => 0,
        bytes => (bytes + HEADER).next_multiple_of(STEP).max(2 * STEP),
    }
}
