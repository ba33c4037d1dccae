//! The endpoints that the environment and the profile name.

use std::env;

use aws_config::SdkConfig;
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};

use crate::outcome::Failure;

/// The variable for all services. Behind it and `_`, the name of a service makes the variable for that one.
const VARIABLE: &str = "AWS_ENDPOINT_URL";

/// The same in the profile.
const SETTING: &str = "endpoint_url";

/// The services that are called, by their names in AWS's configuration.
const SERVICES: [&str; 9] = [
    "DynamoDB",
    "EventBridge",
    "Firehose",
    "Kinesis",
    "S3",
    "SFN",
    "SNS",
    "SQS",
    "STS",
];

/// A URL with a host.
pub(crate) fn url(text: &str) -> Result<String, String> {
    let behind = ["http://", "https://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    match behind {
        Some(host) if !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(text.to_owned()),
        _ => Err("a URL is needed, such as http://127.0.0.1:4566".to_owned()),
    }
}

/// The URL without a user and a password, which are kept nowhere.
pub(crate) fn without_user(url: &str) -> String {
    let begin = url.find("://").map_or(0, |scheme| scheme + 3);
    let (scheme, behind) = url.split_at(begin);
    let end = behind.find(['/', '?', '#']).unwrap_or(behind.len());
    let host = behind[..end].rfind('@').map_or(0, |user| user + 1);
    format!("{scheme}{}", &behind[host..])
}

/// The same configuration, in which an empty setting is none, as for AWS's own tools. The SDK takes it for an endpoint, and panics. Those
/// of a profile that is named come before variables.
pub(super) fn checked(config: SdkConfig, is_profile_named: bool) -> Result<SdkConfig, Failure> {
    let builder = config.to_builder();
    let settings = EndpointSettings {
        config,
        is_profile_first: is_profile_named,
    };
    let config = builder.service_config(settings).build();
    for service in SERVICES {
        if let Some(endpoint) = endpoint(&config, service)
            && let Err(words) = url(&endpoint)
        {
            let words = format!("{} is not an endpoint: {words}", place(service, &endpoint));
            return Err(Failure::Unequipped(words));
        }
    }
    Ok(config)
}

/// The endpoint of a service.
pub(super) fn endpoint(config: &SdkConfig, service: &str) -> Option<String> {
    let key = ServiceConfigKey::builder()
        .service_id(service)
        .env(VARIABLE)
        .profile(SETTING);
    config.service_config()?.load_config(key.build().ok()?)
}

/// Where the endpoint is set.
fn place(service: &str, endpoint: &str) -> String {
    let of_service = format!("{VARIABLE}_{}", service.to_uppercase());
    let variables = [of_service, VARIABLE.to_owned()];
    let mut named = variables
        .into_iter()
        .filter(|name| env::var(name).is_ok_and(|value| value == endpoint));
    named.next().unwrap_or_else(|| format!("{SETTING} in the profile"))
}

/// The settings of the environment and the profile of this configuration, without empty ones.
#[derive(Debug)]
struct EndpointSettings {
    config: SdkConfig,
    /// Whether those of the profile come before those of the environment.
    is_profile_first: bool,
}

impl LoadServiceConfig for EndpointSettings {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        let (service, variable, setting) = (key.service_id(), key.env(), key.profile());
        let settings = self.config.service_config()?;
        // There is none at all, or they are to be ignored.
        let found = settings.load_config(key)?;
        let of_profile = || {
            let of_profile = ServiceConfigKey::builder().service_id(service).env("").profile(setting);
            let found = settings.load_config(of_profile.build().ok()?)?;
            (!found.is_empty()).then_some(found)
        };
        if self.is_profile_first
            && let Some(found) = of_profile()
        {
            return Some(found);
        }
        if !found.is_empty() {
            return Some(found);
        }
        // Behind an empty variable of the service come that of all services and the profile.
        let of_all = env::var(variable).ok().filter(|value| !value.is_empty());
        of_all.or_else(of_profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_and_a_password_are_left_out_of_an_endpoint() {
        for (url, expected) in [
            ("http://127.0.0.1:4566", "http://127.0.0.1:4566"),
            ("http://user:password@host:1", "http://host:1"),
            ("https://user:p@ss@host/a@b", "https://host/a@b"),
            ("http://host?a@b", "http://host?a@b"),
        ] {
            assert_eq!(without_user(url), expected);
        }
    }
}
