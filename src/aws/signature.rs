//! What the answer to a request shows about the request's signature.

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use super::renewal::CredentialsUse;

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

#[cfg(test)]
mod tests {
    use aws_smithy_types::body::SdkBody;

    use super::super::renewal::Renewal;
    use super::*;

    fn answer() -> HttpResponse {
        HttpResponse::new(403.try_into().unwrap(), SdkBody::empty())
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
