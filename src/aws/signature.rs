//! What the answer to a request shows about the request's signature.

use std::time::{Duration, SystemTime};

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;

use super::renewal::CredentialsUse;

/// The clock difference from which a signature may be refused. The SDK corrects its clock from the same difference on:
/// `SKEW_DETECTION_THRESHOLD` in `aws-runtime`.
const SKEW: Duration = Duration::from_secs(4 * 60);

/// The header by which the interceptor adds it to an answer. Not each version of the SDK that the crate supports lets an extension of an
/// answer be read.
const HEADER: &str = "x-aws-batch-delivery-signature";

/// What the answer shows about the signature of its request.
#[derive(Debug, Clone, Default)]
pub(super) struct Signature {
    pub(super) clock: Clock,
    /// The credentials that it was made with, if they can be renewed.
    pub(super) credentials: Option<CredentialsUse>,
}

/// Whether a request was signed with the right time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Clock {
    /// The request or the answer has no time.
    #[default]
    Unknown,
    Right,
    /// The next request will have the right time.
    Corrected,
    /// It was wrong although the SDK had seen an earlier answer.
    Wrong,
}

impl Clock {
    /// By the time of the signature, as in its header, and the date of the answer. `skew_known` is whether the SDK had corrected its clock
    /// before it signed.
    pub(super) fn of(signed_at: Option<&[u8]>, answer: &HttpResponse, skew_known: bool) -> Self {
        let signed_at = signed_at.and_then(|text| signing_time(str::from_utf8(text).ok()?));
        let answered_at = answer.headers().get("date").and_then(http_date);
        let Some((signed_at, answered_at)) = signed_at.zip(answered_at) else {
            return Self::Unknown;
        };
        match (distance(signed_at, answered_at) > SKEW, skew_known) {
            (false, _) => Self::Right,
            (true, false) => Self::Corrected,
            (true, true) => Self::Wrong,
        }
    }

    /// Whether the date of the answer was far from the time of the signature, if both are known.
    pub(super) fn is_skewed(self) -> Option<bool> {
        match self {
            Self::Unknown => None,
            Self::Right => Some(false),
            Self::Corrected | Self::Wrong => Some(true),
        }
    }
}

impl Signature {
    /// Adds it to the answer.
    pub(super) fn attach(&self, answer: &mut HttpResponse) {
        let clock = match self.clock {
            Clock::Unknown => "unknown",
            Clock::Right => "right",
            Clock::Corrected => "corrected",
            Clock::Wrong => "wrong",
        };
        let text = match &self.credentials {
            Some(used) => format!("{clock} {} {}", used.number(), used.times()),
            None => clock.to_owned(),
        };
        answer.headers_mut().insert(HEADER, text);
    }

    /// What was added to the answer; nothing is known of any other.
    pub(super) fn of(answer: &HttpResponse) -> Self {
        let text = answer.headers().get(HEADER).unwrap_or_default();
        let mut words = text.split(' ');
        let clock = match words.next() {
            Some("right") => Clock::Right,
            Some("corrected") => Clock::Corrected,
            Some("wrong") => Clock::Wrong,
            _ => Clock::Unknown,
        };
        let mut number = || words.next()?.parse().ok();
        let used = number().zip(number());
        Self {
            clock,
            credentials: used.and_then(|(number, times)| CredentialsUse::numbered(number, times)),
        }
    }
}

fn distance(one: SystemTime, other: SystemTime) -> Duration {
    one.duration_since(other).unwrap_or_else(|earlier| earlier.duration())
}

/// The time of a signature, such as `20260921T141320Z`.
fn signing_time(text: &str) -> Option<SystemTime> {
    if !text.is_ascii() {
        return None;
    }
    let (date, time) = (text.get(..8)?, text.get(9..15)?);
    let text = format!(
        "{}-{}-{}T{}:{}:{}Z",
        &date[..4],
        &date[4..6],
        &date[6..],
        &time[..2],
        &time[2..4],
        &time[4..]
    );
    SystemTime::try_from(DateTime::from_str(&text, Format::DateTime).ok()?).ok()
}

pub(super) fn http_date(text: &str) -> Option<SystemTime> {
    SystemTime::try_from(DateTime::from_str(text, Format::HttpDate).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use aws_smithy_types::body::SdkBody;

    use super::super::renewal::Renewal;
    use super::*;

    fn answer() -> HttpResponse {
        HttpResponse::new(403.try_into().unwrap(), SdkBody::empty())
    }

    #[test]
    fn the_time_of_a_signature_is_read() {
        let read = signing_time("20260921T141320Z").unwrap();
        assert_eq!(Some(read), http_date("Mon, 21 Sep 2026 14:13:20 GMT"));
        for other in [
            "",
            "20260921",
            "20260921T1413é0Z",
            "2026é921T141320Z",
            "20261321T141320Z",
        ] {
            assert_eq!(signing_time(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_added_to_an_answer_is_read_from_it() {
        assert_eq!(Signature::of(&answer()).clock, Clock::Unknown);
        assert!(Signature::of(&answer()).credentials.is_none());
        for clock in [Clock::Unknown, Clock::Right, Clock::Corrected, Clock::Wrong] {
            let renewal = Renewal::with(None);
            for credentials in [None, Some(renewal.used())] {
                let mut answer = answer();
                let attached = Signature { clock, credentials };
                attached.attach(&mut answer);
                assert_eq!(format!("{:?}", Signature::of(&answer)), format!("{attached:?}"));
            }
        }
    }

    /// The target that made the call may be gone when its answer is read.
    #[test]
    fn credentials_that_are_gone_are_not_renewed() {
        let renewal = Renewal::with(None);
        let mut answer = answer();
        let attached = Signature {
            clock: Clock::Right,
            credentials: Some(renewal.used()),
        };
        attached.attach(&mut answer);
        drop((renewal, attached));
        assert!(Signature::of(&answer).credentials.is_none());
        assert_eq!(Signature::of(&answer).clock, Clock::Right);
    }
}
