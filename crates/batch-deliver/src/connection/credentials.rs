//! The credentials with which the services are called.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::{Credentials, ProvideCredentials};

use super::profile::Profile;
use crate::outcome::Failure;

/// Whether any credentials of this process may be other ones when they are loaded again.
static CAN_BE_RENEWED: AtomicBool = AtomicBool::new(false);

/// Whether credentials that have expired may be followed by others without another run of the program.
pub(crate) fn can_be_renewed() -> bool {
    CAN_BE_RENEWED.load(Relaxed)
}

/// That there are credentials, and that they can be sent: the SDK panics where one has a character that no header can have.
pub(super) async fn check(config: &SdkConfig, profile: &Profile) -> Result<(), Failure> {
    let Some(provider) = config.credentials_provider() else {
        return Ok(());
    };
    match provider.provide_credentials().await {
        Ok(credentials) => {
            CAN_BE_RENEWED.fetch_or(!profile.has_read(&credentials), Relaxed);
            unsendable(&credentials).map_or(Ok(()), |words| Err(Failure::Unequipped(words)))
        }
        Err(error) => Err(Failure::Unequipped(missing(profile, &error))),
    }
}

/// What is wrong with the parts of the credentials that are sent as they are. It does not show them.
fn unsendable(credentials: &Credentials) -> Option<String> {
    let is_sendable = |text: &str| text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let sent = [
        ("access key id", Some(credentials.access_key_id())),
        ("session token", credentials.session_token()),
    ];
    let (name, value) = sent
        .into_iter()
        .find_map(|(name, value)| Some((name, value.filter(|value| !is_sendable(value))?)))?;
    let flaw = match value.trim_end_matches(['\n', '\r']) {
        rest if rest.len() < value.len() && is_sendable(rest) => {
            "a line feed at the end: remove it where the credentials come from, such as a variable or a secret"
        }
        _ => "a character that cannot be sent: see where the credentials come from, such as a variable or a secret",
    };
    Some(format!("the {name} has {flaw}"))
}

/// Why there are no credentials, and what to do.
fn missing(profile: &Profile, error: &dyn Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    let words = last.to_string();
    let why = reason(&words);
    if profile.is_named {
        return format!(
            "there are no AWS credentials in the profile {}: {why}. Name a --profile that has some, or none to take those of the \
             environment; renew an expired session with aws sso login",
            profile.name
        );
    }
    format!(
        "there are no AWS credentials: {why}. Name a --profile that has some, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; \
         renew an expired session with aws sso login"
    )
}

/// The first line of an error, without its full stop: the rest lists every place that was searched.
fn reason(words: &str) -> &str {
    let first = words.lines().next().unwrap_or_default();
    first.trim_end_matches(". Attempted:").trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_an_error_is_followed_by_one_full_stop() {
        assert_eq!(
            reason("the caller has no permission.\nAttempted: …"),
            "the caller has no permission"
        );
        assert_eq!(reason("none was found. Attempted:\n…"), "none was found");
    }

    #[test]
    fn what_cannot_be_sent_of_credentials_is_named_without_its_value() {
        let of = |id: &str, token: Option<&str>| {
            let token = token.map(str::to_owned);
            unsendable(&Credentials::new(id, "secret\n", token, None, "test"))
        };
        assert_eq!(of("AKIA", Some("a token/+=")), None);
        for (id, token, expected) in [
            ("AKIA\n", None, "the access key id has a line feed at the end"),
            ("AKIA\r\n", None, "the access key id has a line feed at the end"),
            (
                "AK\nIA\n",
                None,
                "the access key id has a character that cannot be sent",
            ),
            (
                "AKIA",
                Some("é"),
                "the session token has a character that cannot be sent",
            ),
        ] {
            let words = of(id, token).unwrap();
            assert!(words.starts_with(expected), "{words}");
            assert!(!words.contains("AK") && !words.contains('é'), "{words}");
        }
    }
}
