//! The name of a queue: its URL, its ARN or its plain name.

use std::fmt;
use std::str::FromStr;

use crate::connection::{is_region, without_user};

/// The most characters of a name, with the suffix of a FIFO queue. From the API reference of `CreateQueue`.
const LONGEST: usize = 80;

/// The suffix of a FIFO queue's name.
const FIFO: &str = ".fifo";

/// The ends of AWS's hosts, one for each of its partitions and of their dual-stack endpoints. From the SDK's partitions.
const AWS: [&str; 9] = [
    "amazonaws.com",
    "amazonaws.com.cn",
    "amazonaws.eu",
    "api.aws",
    "api.amazonwebservices.com.cn",
    "c2s.ic.gov",
    "sc2s.sgov.gov",
    "cloud.adc-e.uk",
    "csp.hci.ic.gov",
];

/// The name of a queue, as it is given, but without the user and the password of a URL: calls go to the endpoint, and the URL is printed
/// and kept in journals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueueName {
    text: String,
    pub(crate) name: String,
    /// The region that it is in, if its URL or ARN says so.
    pub(crate) region: Option<String>,
    pub(crate) given: QueueNameForm,
}

/// How a queue is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum QueueNameForm {
    Url,
    /// The account is that of the owner.
    Arn {
        account: String,
    },
    Name,
}

impl QueueName {
    pub(crate) fn is_fifo(&self) -> bool {
        self.name.ends_with(FIFO)
    }

    /// The region, the account and the name that the URL of a queue of AWS says. One queue has several of them.
    pub(super) fn place(&self) -> Option<[&str; 3]> {
        let region = self.region.as_deref()?;
        let account = match &self.given {
            QueueNameForm::Url => self.text.rsplit('/').nth(1)?,
            QueueNameForm::Arn { account } => account,
            QueueNameForm::Name => return None,
        };
        Some([region, account, &self.name])
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for QueueName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = &*without_user(text);
        let (name, region, given) = if let Some((scheme, rest)) = text.split_once("://") {
            if !["http", "https"].contains(&scheme) {
                return Err("the URL of a queue begins with https://".to_owned());
            }
            let (name, region) = url(rest)?;
            (name, region, QueueNameForm::Url)
        } else if text.starts_with("arn:") {
            let (name, region, account) = arn(text)?;
            let account = account.to_owned();
            (name, Some(region), QueueNameForm::Arn { account })
        } else {
            (text, None, QueueNameForm::Name)
        };
        check(name)?;
        Ok(Self {
            text: text.to_owned(),
            name: name.to_owned(),
            region: region.map(ToOwned::to_owned),
            given,
        })
    }
}

/// The name, and the region if the host is one of AWS. Emulators have any host, and put the name at the end.
fn url(rest: &str) -> Result<(&str, Option<&str>), String> {
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let name = path.rsplit('/').next().unwrap_or_default();
    let labels = AWS.iter().find_map(|end| host.strip_suffix(end)?.strip_suffix('.'));
    let Some(labels) = labels else {
        return if host.is_empty() || host.ends_with("amazon.com") {
            Err(not_an_url())
        } else {
            Ok((name, None))
        };
    };
    let labels: Vec<&str> = labels.split('.').collect();
    let region = match *labels.as_slice() {
        ["sqs" | "sqs-fips", region] | [region, "queue"] | [_, "sqs", region, "vpce"] => region,
        ["queue"] => "us-east-1",
        _ => return Err(not_an_url()),
    };
    let account = path.split('/').next().unwrap_or_default();
    if !is_region(region) || !is_account(account) || path != format!("{account}/{name}") {
        return Err(not_an_url());
    }
    Ok((name, Some(region)))
}

/// The name, the region and the account.
fn arn(text: &str) -> Result<(&str, &str, &str), String> {
    let parts: Vec<&str> = text.split(':').collect();
    match *parts.as_slice() {
        ["arn", _, "sqs", region, account, name] if is_region(region) && is_account(account) => {
            Ok((name, region, account))
        }
        _ => Err("the ARN of a queue is one such as arn:aws:sqs:eu-central-1:123456789012:orders".to_owned()),
    }
}

fn not_an_url() -> String {
    "the URL of a queue is one such as https://sqs.eu-central-1.amazonaws.com/123456789012/orders".to_owned()
}

fn is_account(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

/// Checks a name by the rules of SQS.
fn check(name: &str) -> Result<(), String> {
    let stem = name.strip_suffix(FIFO).unwrap_or(name);
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    if stem.is_empty() || name.len() > LONGEST || !stem.chars().all(is_allowed) {
        return Err(format!(
            "the name of a queue has 1 to {LONGEST} of the characters a-z, A-Z, 0-9, _ and -, and may end in {FIFO}; a URL or an \
             ARN ends in the name"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn queue(text: &str) -> Result<QueueName, String> {
        text.parse()
    }

    #[test]
    fn the_url_or_the_arn_of_a_queue_has_its_name_and_its_region() {
        for (text, name, region) in [
            ("orders", "orders", None),
            ("orders.fifo", "orders.fifo", None),
            (
                "https://sqs.eu-west-1.amazonaws.com/123456789012/orders",
                "orders",
                Some("eu-west-1"),
            ),
            (
                "https://sqs.us-gov-west-1.amazonaws.com/1/a_b-C",
                "a_b-C",
                Some("us-gov-west-1"),
            ),
            ("https://sqs.cn-north-1.amazonaws.com.cn/1/a", "a", Some("cn-north-1")),
            ("https://sqs-fips.us-east-2.amazonaws.com/1/a", "a", Some("us-east-2")),
            ("https://sqs.eu-north-1.api.aws/1/a", "a", Some("eu-north-1")),
            ("https://eu-west-1.queue.amazonaws.com/1/a", "a", Some("eu-west-1")),
            ("https://queue.amazonaws.com/1/a", "a", Some("us-east-1")),
            (
                "https://vpce-0a-b.sqs.us-west-2.vpce.amazonaws.com/1/a",
                "a",
                Some("us-west-2"),
            ),
            ("http://localhost:4566/000000000000/orders", "orders", None),
            (
                "http://sqs.us-east-1.localhost.localstack.cloud:4566/000000000000/a",
                "a",
                None,
            ),
            ("http://elasticmq:9324/queue/a", "a", None),
            (
                "arn:aws:sqs:eu-west-1:123456789012:orders.fifo",
                "orders.fifo",
                Some("eu-west-1"),
            ),
            ("arn:aws-cn:sqs:cn-north-1:1:a", "a", Some("cn-north-1")),
        ] {
            let queue = queue(text).unwrap();
            assert_eq!((queue.name.as_str(), queue.region.as_deref()), (name, region), "{text}");
            assert_eq!(
                (queue.to_string().as_str(), queue.is_fifo()),
                (text, name.ends_with("fifo"))
            );
        }
    }

    #[test]
    fn a_user_and_a_password_are_left_out_of_a_url() {
        for (text, expected) in [
            ("http://user:secret@localhost:4566/0/a", "http://localhost:4566/0/a"),
            (
                "https://user:secret@sqs.eu-west-1.amazonaws.com/1/a",
                "https://sqs.eu-west-1.amazonaws.com/1/a",
            ),
        ] {
            let queue = queue(text).unwrap();
            assert_eq!((queue.to_string().as_str(), queue.name.as_str()), (expected, "a"));
            assert!(!format!("{queue:?}").contains("secret"));
        }
    }

    #[test]
    fn a_queue_of_aws_has_one_place_and_several_urls() {
        let place = |text: &str| queue(text).unwrap().place().map(|place| place.map(str::to_owned));
        let orders = Some(["eu-west-1", "123456789012", "orders"].map(str::to_owned));
        for text in [
            "https://sqs.eu-west-1.amazonaws.com/123456789012/orders",
            "https://eu-west-1.queue.amazonaws.com/123456789012/orders",
            "https://sqs.eu-west-1.api.aws/123456789012/orders",
            "https://vpce-0a-b.sqs.eu-west-1.vpce.amazonaws.com/123456789012/orders",
            "arn:aws:sqs:eu-west-1:123456789012:orders",
        ] {
            assert_eq!(place(text), orders, "{text}");
        }
        assert_ne!(place("https://sqs.eu-west-1.amazonaws.com/123456789013/orders"), orders);
        assert_eq!(
            (place("orders"), place("http://localhost:4566/000000000000/orders")),
            (None, None)
        );
    }

    #[test]
    fn what_is_no_queue_is_refused_with_an_example() {
        for (text, words) in [
            ("", "1 to 80"),
            (".fifo", "1 to 80"),
            ("secret name", "1 to 80"),
            ("secret.fifo.fifo", "1 to 80"),
            (&"x".repeat(81), "1 to 80"),
            ("sqs://secret/orders", "begins with https://"),
            ("https://", "is one such as https://sqs."),
            (
                "https://sqs.eu-west-1.amazonaws.com/secret",
                "is one such as https://sqs.",
            ),
            (
                "https://sqs.eu-west-1.amazonaws.com/1/secret/",
                "is one such as https://sqs.",
            ),
            (
                "https://sqs.eu-west-1.amazonaws.com/1/a/secret",
                "is one such as https://sqs.",
            ),
            ("https://sqs.eu-west-1.amazonaws.com/1/a?secret", "1 to 80"),
            (
                "https://sns.eu-west-1.amazonaws.com/1/secret",
                "is one such as https://sqs.",
            ),
            ("https://sqs.eu.amazonaws.com/1/secret", "is one such as https://sqs."),
            (
                "https://eu-west-1.console.aws.amazon.com/sqs/v3/home#/queues/secret",
                "is one such as https://sqs.",
            ),
            ("http://localhost:4566/", "1 to 80"),
            ("arn:aws:sns:eu-west-1:1:secret", "the ARN of a queue is one such as"),
            ("arn:aws:sqs:eu-west-1:secret", "the ARN of a queue is one such as"),
            ("arn:aws:sqs::1:secret", "the ARN of a queue is one such as"),
            ("arn:aws:sqs:eu-west-1:1:a:secret", "the ARN of a queue is one such as"),
        ] {
            let refused = queue(text).unwrap_err();
            assert!(
                refused.contains(words) && !refused.contains("secret"),
                "{text}: {refused}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_queue_with_a_lawful_name_or_refused(text in "(https://|arn:|)[a-z0-9.:/_ -]{0,40}") {
            if let Ok(queue) = queue(&text) {
                prop_assert!(check(&queue.name).is_ok() && text.ends_with(&queue.name));
            }
        }
    }
}
