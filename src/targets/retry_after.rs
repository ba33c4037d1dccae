//! How long the service should not be asked again, by the headers of its answer.

use std::time::{Duration, SystemTime};

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use super::transmission::http_date;

/// The wait that an answer names: in milliseconds in AWS's own header, which the SDK reads too (`aws-runtime`), or as HTTP has
/// it, in seconds or as a date (RFC 9110, 10.2.3).
///
/// A date is compared with the date of the answer, because the clock of this machine may be wrong.
pub(super) fn named_wait(answer: &HttpResponse) -> Option<Duration> {
    let header = |name| answer.headers().get(name).map(str::trim);
    let milliseconds = header("x-amz-retry-after").and_then(|wait| wait.parse().ok());
    if let Some(milliseconds) = milliseconds {
        return Some(Duration::from_millis(milliseconds));
    }
    let wait = header("retry-after")?;
    if let Ok(seconds) = wait.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let now = header("date").and_then(http_date).unwrap_or_else(SystemTime::now);
    Some(http_date(wait)?.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use aws_smithy_types::body::SdkBody;

    use super::*;

    fn read(headers: &[(&'static str, &str)]) -> Option<Duration> {
        let mut answer = HttpResponse::new(503.try_into().unwrap(), SdkBody::empty());
        for (name, value) in headers {
            answer.headers_mut().insert(*name, (*value).to_owned());
        }
        named_wait(&answer)
    }

    #[test]
    fn a_wait_is_in_milliseconds_or_seconds_or_until_a_date() {
        const DATE: (&str, &str) = ("date", "Mon, 21 Sep 2026 14:13:20 GMT");
        let seconds = |count| Some(Duration::from_secs(count));
        for (headers, expected) in [
            (&[("x-amz-retry-after", "1500")][..], Some(Duration::from_millis(1_500))),
            (&[("retry-after", "3")], seconds(3)),
            (&[("retry-after", " 3 ")], seconds(3)),
            (&[("retry-after", "0")], seconds(0)),
            (&[("retry-after", "Mon, 21 Sep 2026 14:13:23 GMT"), DATE], seconds(3)),
            (&[("retry-after", "Mon, 21 Sep 2026 14:13:17 GMT"), DATE], seconds(0)),
            // Far in the past by any clock.
            (&[("retry-after", "Mon, 21 Sep 2020 14:13:20 GMT")], seconds(0)),
            (
                &[("x-amz-retry-after", "200"), ("retry-after", "3")],
                Some(Duration::from_millis(200)),
            ),
            (&[("x-amz-retry-after", "soon"), ("retry-after", "3")], seconds(3)),
            (&[("retry-after", "18446744073709551615")], seconds(u64::MAX)),
            (&[("retry-after", "soon"), DATE], None),
            (&[("retry-after", "-3")], None),
            (&[("retry-after", "1.5")], None),
            (&[("retry-after", "")], None),
            (&[], None),
        ] {
            assert_eq!(read(headers), expected, "{headers:?}");
        }
    }
}
