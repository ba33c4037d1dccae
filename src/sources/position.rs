//! Where each segment of a scan is continued.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::debug::debug_fields;

type Attributes = HashMap<String, AttributeValue>;

/// Where a scan can be continued: for each of its segments the key of the last item that is settled, or its end.
///
/// With the feature `serde` it can be serialized and deserialized. The keys are written as DynamoDB writes them,
/// `{"id": {"S": "7"}}`: they are content of the table, so keep a position as the table is kept. `Debug` does not show them.
#[derive(Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Vec<SegmentPlace>", into = "Vec<SegmentPlace>"))]
pub struct ScanPosition {
    places: Vec<SegmentPlace>,
}

/// How far a segment is settled.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub(super) enum SegmentPlace {
    Start,
    After(#[cfg_attr(feature = "serde", serde(with = "key"))] Attributes),
    End,
}

impl SegmentPlace {
    /// The key after which the segment is continued.
    pub(super) fn key(&self) -> Option<&Attributes> {
        match self {
            Self::After(key) => Some(key),
            Self::Start | Self::End => None,
        }
    }
}

impl ScanPosition {
    /// The start of a scan in this many segments.
    pub(super) fn start(segments: u32) -> Self {
        Self {
            places: vec![SegmentPlace::Start; usize::try_from(segments).unwrap_or(usize::MAX)],
        }
    }

    /// The number of segments.
    pub fn segments(&self) -> u32 {
        u32::try_from(self.places.len()).unwrap_or(u32::MAX)
    }

    /// Whether every segment has ended.
    pub fn is_finished(&self) -> bool {
        self.places.iter().all(|place| *place == SegmentPlace::End)
    }

    pub(super) fn places(&self) -> impl Iterator<Item = (u32, &SegmentPlace)> {
        (0..).zip(&self.places)
    }

    pub(super) fn set(&mut self, segment: u32, place: SegmentPlace) {
        let index = usize::try_from(segment).unwrap_or(usize::MAX);
        if let Some(old) = self.places.get_mut(index) {
            *old = place;
        }
    }
}

impl From<ScanPosition> for Vec<SegmentPlace> {
    fn from(position: ScanPosition) -> Self {
        position.places
    }
}

impl TryFrom<Vec<SegmentPlace>> for ScanPosition {
    type Error = &'static str;

    fn try_from(places: Vec<SegmentPlace>) -> Result<Self, Self::Error> {
        if places.is_empty() {
            return Err("a position has at least one segment");
        }
        Ok(Self { places })
    }
}

debug_fields!(
    position: ScanPosition,
    segments = position.places.len(),
    ended = position.places.iter().filter(|place| **place == SegmentPlace::End).count(),
);

/// A key in the shape of DynamoDB's JSON. Key attributes are strings, numbers or binary.
#[cfg(feature = "serde")]
mod key {
    use std::collections::BTreeMap;

    use aws_sdk_dynamodb::primitives::Blob;
    use aws_sdk_dynamodb::types::AttributeValue;
    use aws_smithy_types::base64;
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Attributes;

    #[derive(Serialize, Deserialize)]
    enum Value {
        S(String),
        N(String),
        B(String),
    }

    pub(super) fn serialize<S: Serializer>(key: &Attributes, serializer: S) -> Result<S::Ok, S::Error> {
        let attribute = |(name, value): (&String, &AttributeValue)| {
            let value = match value {
                AttributeValue::S(text) => Value::S(text.clone()),
                AttributeValue::N(number) => Value::N(number.clone()),
                AttributeValue::B(bytes) => Value::B(base64::encode(bytes)),
                _ => return Err(S::Error::custom("a key attribute is a string, a number or binary")),
            };
            Ok((name.clone(), value))
        };
        let key: BTreeMap<_, _> = key.iter().map(attribute).collect::<Result<_, _>>()?;
        key.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Attributes, D::Error> {
        let attribute = |(name, value)| {
            let value = match value {
                Value::S(text) => AttributeValue::S(text),
                Value::N(number) => AttributeValue::N(number),
                Value::B(bytes) => AttributeValue::B(Blob::new(base64::decode(bytes).map_err(D::Error::custom)?)),
            };
            Ok((name, value))
        };
        let key = BTreeMap::<String, Value>::deserialize(deserializer)?;
        key.into_iter().map(attribute).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(value: AttributeValue) -> SegmentPlace {
        SegmentPlace::After(HashMap::from([("id".to_owned(), value)]))
    }

    #[test]
    fn it_is_finished_when_every_segment_has_ended() {
        let mut position = ScanPosition::start(2);
        position.set(0, SegmentPlace::End);
        assert!(!position.is_finished());
        position.set(1, SegmentPlace::End);
        assert!(position.is_finished());
    }

    #[test]
    fn no_key_is_in_its_debug_output() {
        let mut position = ScanPosition::start(2);
        position.set(0, after(AttributeValue::S("secret".into())));
        assert_eq!(format!("{position:?}"), "ScanPosition { segments: 2, ended: 0, .. }");
    }

    #[cfg(feature = "serde")]
    #[test]
    fn it_is_the_same_after_it_was_written_and_read() {
        use aws_sdk_dynamodb::primitives::Blob;

        let mut position = ScanPosition::start(5);
        position.set(1, after(AttributeValue::S("\"ü\n".into())));
        position.set(2, after(AttributeValue::N("1E-130".into())));
        position.set(3, after(AttributeValue::B(Blob::new([0, 255, 10]))));
        position.set(4, SegmentPlace::End);
        let written = serde_json::to_string(&position).unwrap();
        assert!(written.starts_with(r#"["start",{"after":{"id":{"S":"#), "{written}");
        assert_eq!(serde_json::from_str::<ScanPosition>(&written).unwrap(), position);
        for wrong in [
            "[]",
            r#"["middle"]"#,
            r#"[{"after":{"id":{"B":"!"}}}]"#,
            r#"[{"after":{"id":{"L":[]}}}]"#,
        ] {
            assert!(serde_json::from_str::<ScanPosition>(wrong).is_err(), "{wrong}");
        }
    }
}
