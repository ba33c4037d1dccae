//! Segments of a scan, which one of several processes reads.

use aws_batch_delivery::sources::ScanPosition;
use serde_json::{Value, json};

/// What the name of an input begins with if it is a table.
const SCHEME: &str = "dynamodb://";

/// What follows the table in the name.
const COUNT: &str = "?segments=";

/// The most segments that a table is divided into. As many children of a Distributed Map run at the same time at most. From the
/// quotas of Step Functions.
pub(crate) const MOST_SEGMENTS: u32 = 10_000;

/// A place of a scan of which nothing is read yet, and of one that has ended.
const START: &str = "start";
const END: &str = "end";

/// The segments from `begin` to before `end` of a table that is read in `count` segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segments {
    pub(crate) table: String,
    pub(crate) begin: u32,
    pub(crate) end: u32,
    pub(crate) count: u32,
}

impl Segments {
    /// The name of a table as an input that is divided into this many segments: `dynamodb://films?segments=64`.
    pub(crate) fn input(table: &str, count: u32) -> String {
        format!("{SCHEME}{table}{COUNT}{count}")
    }

    /// The segments of this input, if it is a table; or what is wrong with them.
    pub(crate) fn of(input: &str, begin: u64, end: u64) -> Option<Result<Self, String>> {
        let (table, count) = match input.strip_prefix(SCHEME)?.rsplit_once(COUNT) {
            Some((table, count)) if !table.is_empty() => (table, count),
            _ => {
                return Some(Err(format!(
                    "{input} has no number of segments, as in {}",
                    Self::input("films", 64)
                )));
            }
        };
        let count = count.parse().ok().filter(|count| (1..=MOST_SEGMENTS).contains(count));
        let Some(count) = count else {
            return Some(Err(format!(
                "{input} has no number of segments from 1 to {MOST_SEGMENTS}"
            )));
        };
        let number = |number: u64| u32::try_from(number).ok().filter(|number| *number <= count);
        Some(match (number(begin), number(end)) {
            (Some(begin), Some(end)) if begin < end => Ok(Self {
                table: table.to_owned(),
                begin,
                end,
                count,
            }),
            _ => Err(format!(
                "{input} has segments from 0 to before {count}, but not from {begin} to before {end}"
            )),
        })
    }

    /// The position of a scan of all segments that reads only these, from these places on or from their start.
    pub(crate) fn position(&self, places: Option<Value>) -> serde_json::Result<ScanPosition> {
        let places = match places {
            Some(Value::Array(places)) => places,
            _ => vec![START.into(); (self.end - self.begin) as usize],
        };
        let ended = |segments: u32| std::iter::repeat_n(Value::from(END), segments as usize);
        let all = ended(self.begin).chain(places).chain(ended(self.count - self.end));
        serde_json::from_value(all.collect())
    }

    /// The places of these segments if the last item that is settled has this key. `None` if there are several: which of them it
    /// belongs to is not known.
    pub(crate) fn places_after(&self, key: &Value) -> Option<Value> {
        (self.begin + 1 == self.end).then(|| json!([{"after": key}]))
    }

    /// The places of these segments.
    pub(crate) fn places(&self, position: &ScanPosition) -> serde_json::Result<Value> {
        let all = serde_json::to_value(position)?;
        let all = all.as_array().into_iter().flatten();
        let own = all.skip(self.begin as usize).take((self.end - self.begin) as usize);
        Ok(own.cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn segments(begin: u64, end: u64) -> Segments {
        Segments::of(&Segments::input("films", 5), begin, end).unwrap().unwrap()
    }

    #[test]
    fn an_input_names_its_table_and_its_segments() {
        assert_eq!(Segments::input("films", 5), "dynamodb://films?segments=5");
        let arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/films";
        let of_arn = Segments::of(&Segments::input(arn, 5), 2, 3).unwrap().unwrap();
        assert_eq!((of_arn.table.as_str(), of_arn.begin, of_arn.count), (arn, 2, 5));
        assert_eq!(Segments::of("s3://b/films", 0, 1), None);
        for (input, begin, end, words) in [
            (
                "dynamodb://films",
                0,
                1,
                "has no number of segments, as in dynamodb://films?segments=64",
            ),
            ("dynamodb://?segments=1", 0, 1, "has no number of segments"),
            ("dynamodb://films?segments=0", 0, 1, "from 1 to 10000"),
            ("dynamodb://films?segments=5", 4, 6, "but not from 4 to before 6"),
            ("dynamodb://films?segments=5", 3, 3, "but not from 3 to before 3"),
        ] {
            let wrong = Segments::of(input, begin, end).unwrap().unwrap_err();
            assert!(wrong.contains(words), "{wrong}");
        }
    }

    #[test]
    fn the_other_segments_have_ended() {
        let own = segments(1, 3);
        let start = own.position(None).unwrap();
        assert_eq!(
            serde_json::to_value(&start).unwrap(),
            json!(["end", "start", "start", "end", "end"])
        );
        assert_eq!(own.places(&start).unwrap(), json!(["start", "start"]));
        let places = json!([{"after": {"id": {"N": "7"}}}, "end"]);
        let resumed = own.position(Some(places.clone())).unwrap();
        assert_eq!((own.places(&resumed).unwrap(), resumed.segments()), (places, 5));
        assert!(own.position(Some(json!(["end", "end"]))).unwrap().is_finished());
    }

    #[test]
    fn a_single_segment_is_continued_after_any_of_its_items() {
        let key = json!({"id": {"N": "7"}});
        let place = segments(1, 2).places_after(&key).unwrap();
        assert_eq!(place, json!([{"after": {"id": {"N": "7"}}}]));
        let position = segments(1, 2).position(Some(place.clone())).unwrap();
        assert_eq!(segments(1, 2).places(&position).unwrap(), place);
        assert_eq!(segments(1, 3).places_after(&key), None);
    }

    #[test]
    fn places_of_other_segments_are_no_position() {
        assert!(segments(1, 3).position(Some(json!(["middle", "end"]))).is_err());
    }
}
