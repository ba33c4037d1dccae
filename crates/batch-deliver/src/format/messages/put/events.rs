//! Events of a bus.

use aws_sdk_eventbridge::primitives::{DateTime, DateTimeFormat};
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::super::attribute::{text, unreadable, utf8};
use crate::format::line_records::LineParser;
use crate::source::Flaw;

/// The parts of events that do not have them.
#[derive(Debug, Clone)]
pub(crate) struct EventDefaults {
    pub(crate) source: Option<String>,
    pub(crate) detail_type: Option<String>,
}

/// Events: each line is the detail, or a JSON object that contains it.
#[derive(Debug, Clone)]
pub(crate) struct EventLines {
    pub(crate) is_json: bool,
    /// The parts of events that do not have them.
    pub(crate) otherwise: EventDefaults,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventFields<'a> {
    #[serde(borrow)]
    detail: &'a RawValue,
    detail_type: Option<String>,
    source: Option<String>,
    #[serde(default)]
    resources: Vec<String>,
    time: Option<String>,
}

const DATA: &str = "an event is a JSON object with `detail` and optionally `detail_type`, `source`, `resources` and `time`: if each \
                    line is a detail, use --format text";

const SYNTAX: &str = "this is not JSON: an event has a JSON object as its detail";

impl LineParser<PutEventsRequestEntry> for EventLines {
    fn parse(&mut self, line: &[u8]) -> Result<PutEventsRequestEntry, Flaw> {
        let event = PutEventsRequestEntry::builder();
        let EventDefaults { source, detail_type } = self.otherwise.clone();
        if !self.is_json {
            let event = event.detail(checked(utf8(line)?.to_owned())?);
            return Ok(event.set_source(source).set_detail_type(detail_type).build());
        }
        let read = serde_json::from_slice(line);
        let fields: EventFields<'_> = read.map_err(|error| unreadable(&error, line, DATA, SYNTAX))?;
        let time = fields.time.map(|time| {
            let words = "`time` must be a time such as 2026-11-24T12:00:00Z";
            DateTime::from_str(&time, DateTimeFormat::DateTimeWithOffset).map_err(|_| Flaw::new(words))
        });
        let event = event
            .detail(checked(text(fields.detail)?)?)
            .set_source(fields.source.or(source))
            .set_detail_type(fields.detail_type.or(detail_type))
            .set_resources(Some(fields.resources).filter(|resources| !resources.is_empty()))
            .set_time(time.transpose()?);
        Ok(event.build())
    }
}

/// EventBridge accepts only a JSON object as the detail.
fn checked(detail: String) -> Result<String, Flaw> {
    let is_object = detail.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(&detail).is_ok();
    if is_object {
        Ok(detail)
    } else {
        Err(Flaw::new(
            "the detail of an event is a JSON object, but this is not one",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(is_json: bool) -> EventLines {
        let otherwise = EventDefaults {
            source: Some("given".to_owned()),
            detail_type: Some("order".to_owned()),
        };
        EventLines { is_json, otherwise }
    }

    #[test]
    fn a_line_is_the_detail() {
        let event = lines(false).parse(br#"{"id":1}"#).unwrap();
        let parts = (event.detail(), event.source(), event.detail_type());
        assert_eq!(parts, (Some(r#"{"id":1}"#), Some("given"), Some("order")));
    }

    #[test]
    fn a_json_line_has_what_goes_with_the_detail() {
        let line = r#"{"detail":{"id":1},"source":"own","resources":["r"],"time":"1970-01-01T01:00:01+01:00"}"#;
        let event = lines(true).parse(line.as_bytes()).unwrap();
        let parts = (event.detail(), event.source(), event.detail_type());
        assert_eq!(parts, (Some(r#"{"id":1}"#), Some("own"), Some("order")));
        assert_eq!(
            (event.resources(), event.time().unwrap().secs()),
            (&["r".to_owned()][..], 1)
        );
        let event = lines(true).parse(br#"{"detail":"{\"id\":1}"}"#).unwrap();
        assert_eq!((event.detail(), event.time()), (Some(r#"{"id":1}"#), None));
    }

    #[test]
    fn a_detail_that_is_no_object_is_a_flaw() {
        for (is_json, line) in [
            (false, "[1]"),
            (false, "{oops}"),
            (true, r#"{"detail":"text"}"#),
            (true, r#"{"detail":[1]}"#),
        ] {
            let flaw = lines(is_json).parse(line.as_bytes()).unwrap_err().to_string();
            assert!(flaw.contains("the detail of an event is a JSON object"), "{flaw}");
        }
    }

    #[test]
    fn a_flaw_does_not_quote() {
        for line in [r#"{"text":"secret"}"#, r#"{"detail":{},"time":"secret"}"#, "secret"] {
            let flaw = lines(true).parse(line.as_bytes()).unwrap_err().to_string();
            assert!(!flaw.contains("secret"), "{flaw}");
        }
    }
}
