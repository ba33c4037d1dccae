//! CBOR: the requests and answers of CloudWatch.

use std::io::Read;

use flate2::read::GzDecoder;
use minicbor::data::Type;
use minicbor::{Decoder, Encoder};
use serde_json::{Map, Number, Value};

use super::exchange::LARGEST_BODY;
use super::refusal::Refusal;

/// The deepest list or map. A metric has four levels.
const DEEPEST: usize = 16;

type DecodeResult<T> = Result<T, minicbor::decode::Error>;

/// The bytes of a body without its compression.
pub(crate) fn decompressed(body: &[u8], encoding: &str) -> Result<Vec<u8>, Refusal> {
    if encoding != "gzip" {
        return Ok(body.to_vec());
    }
    let mut bytes = Vec::new();
    let most = u64::try_from(LARGEST_BODY).unwrap_or(u64::MAX);
    let read = GzDecoder::new(body).take(most).read_to_end(&mut bytes);
    read.map_err(|_| malformed())?;
    Ok(bytes)
}

/// A body as JSON. A number that JSON does not have, such as NaN, becomes text, and a time the number of its seconds.
pub(super) fn parse(body: &[u8]) -> Result<Value, Refusal> {
    let mut decoder = Decoder::new(body);
    value(&mut decoder, 0).map_err(|_| malformed())
}

/// A map of texts.
pub(super) fn map<'a>(members: impl ExactSizeIterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new());
    // Writing to memory cannot fail.
    let _ = encoder.map(members.len() as u64);
    for (name, text) in members {
        let _ = encoder.str(name).and_then(|encoder| encoder.str(text));
    }
    encoder.into_writer()
}

fn malformed() -> Refusal {
    Refusal::new("SerializationException", "The request is not CBOR")
}

fn value(decoder: &mut Decoder<'_>, depth: usize) -> DecodeResult<Value> {
    if depth > DEEPEST {
        return Err(minicbor::decode::Error::message("nested too deeply"));
    }
    Ok(match decoder.datatype()? {
        Type::Bool => decoder.bool()?.into(),
        Type::Null | Type::Undefined => {
            decoder.skip()?;
            Value::Null
        }
        Type::F16 => number(f64::from(decoder.f16()?)),
        Type::F32 => number(f64::from(decoder.f32()?)),
        Type::F64 => number(decoder.f64()?),
        Type::String => decoder.str()?.into(),
        Type::StringIndef => decoder.str_iter()?.collect::<DecodeResult<String>>()?.into(),
        Type::Tag => {
            decoder.tag()?;
            value(decoder, depth + 1)?
        }
        Type::Array | Type::ArrayIndef => Value::Array(list(decoder, depth)?),
        Type::Map | Type::MapIndef => {
            let mut members = Map::new();
            let length = decoder.map()?;
            let mut read = 0;
            while has_more(decoder, length, read)? {
                let name = decoder.str()?.to_owned();
                members.insert(name, value(decoder, depth + 1)?);
                read += 1;
            }
            Value::Object(members)
        }
        _ => i64::try_from(decoder.int()?).map_or(Value::Null, Value::from),
    })
}

fn list(decoder: &mut Decoder<'_>, depth: usize) -> DecodeResult<Vec<Value>> {
    let mut values = Vec::new();
    let length = decoder.array()?;
    while has_more(decoder, length, values.len())? {
        values.push(value(decoder, depth + 1)?);
    }
    Ok(values)
}

/// Whether a list or map of this length, or else one with an end, has more members than those that were read.
fn has_more(decoder: &mut Decoder<'_>, length: Option<u64>, read: usize) -> DecodeResult<bool> {
    match length {
        Some(length) => Ok((read as u64) < length),
        None if decoder.datatype()? == Type::Break => {
            decoder.skip()?;
            Ok(false)
        }
        None => Ok(true),
    }
}

fn number(number: f64) -> Value {
    Number::from_f64(number).map_or_else(|| number.to_string().into(), Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_and_maps_are_read_with_a_length_and_with_an_end() {
        // {_ "a": [_ 1, -2, 1.5, NaN], "b": 1(1700000000.0), "c": {"d": null}}
        let body = [
            &[
                0xBF, 0x61, b'a', 0x9F, 0x01, 0x21, 0xF9, 0x3E, 0x00, 0xF9, 0x7E, 0x00, 0xFF,
            ][..],
            &[0x61, b'b', 0xC1, 0xFB],
            &1_700_000_000_f64.to_be_bytes(),
            &[0x61, b'c', 0xA1, 0x61, b'd', 0xF6, 0xFF],
        ]
        .concat();
        let expected = json!({"a": [1, -2, 1.5, "NaN"], "b": 1_700_000_000.0, "c": {"d": null}});
        assert_eq!(parse(&body).unwrap(), expected);
    }

    #[test]
    fn what_is_no_value_is_refused() {
        let nested = vec![0x9F; 100_000];
        for body in [&[][..], &[0xBF], &nested, &[0x61], &[0xA1, 0x01, 0x01]] {
            assert!(parse(body).is_err(), "{:x?}", &body[..body.len().min(4)]);
        }
        assert!(decompressed(b"no gzip", "gzip").is_err());
    }
}
