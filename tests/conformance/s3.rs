//! S3: deletions of objects, in XML.

use aws_batch_delivery::conformance::{Fixture, Reply, Service, Statement, check};
use aws_batch_delivery::targets::Limits;
use aws_batch_delivery::targets::s3::S3Deletions;
use aws_sdk_s3::Client;
use aws_sdk_s3::types::ObjectIdentifier;

use crate::conformance::throttles::paces;
use crate::conformance::wire::{Response, Wire, config};
use crate::conformance::{cases, number, text};

/// From "Error responses" in S3's API reference, and from the errors that all services share.
const THROTTLES: &[&str] = &["SlowDown", "ThrottlingException"];

/// What of a key is in its version id, so that an entry can be larger than a key.
const LONGEST_KEY: usize = 900;

fn client(throttled: &'static str, answer: impl Fn(&[usize]) -> Reply + Send + Sync + 'static) -> Client {
    let wire = Wire::new(move |request| {
        let is_quiet = request.contains("<Quiet>true</Quiet>");
        let names: Vec<&str> = request
            .split("<Object>")
            .skip(1)
            .filter_map(|object| object.split("</Object>").next())
            .collect();
        let key = |name: &&str| number(name.strip_prefix("<Key>").expect("an object has a key"));
        let numbers: Vec<usize> = names.iter().map(key).collect();
        match answer(&numbers) {
            Reply::Each { said, strangers } => of_each(&names, &said, strangers, throttled, is_quiet),
            Reply::Whole(Statement::Throttled) => error(503, throttled),
            Reply::Whole(Statement::Failed) => error(500, "InternalError"),
            Reply::Whole(Statement::Refused) => error(400, "MalformedXML"),
            Reply::Whole(_) => (200, "<html>".to_owned()),
        }
    });
    Client::from_conf(config!(aws_sdk_s3, wire))
}

fn error(status: u16, code: &str) -> Response {
    (status, format!("<Error><Code>{code}</Code></Error>"))
}

fn of_each(names: &[&str], said: &[Statement], strangers: usize, throttled: &str, is_quiet: bool) -> Response {
    let strange = "<Deleted><Key>never sent</Key></Deleted>".repeat(strangers);
    let told = |(name, said): (&&str, &Statement)| {
        let code = match said {
            Statement::Accepted if is_quiet => return None,
            Statement::Accepted => return Some(format!("<Deleted>{name}</Deleted>")),
            Statement::Throttled => throttled,
            Statement::Failed => "InternalError",
            Statement::Refused => "AccessDenied",
            Statement::Unknown => "NeverHeardOf",
            _ => return None,
        };
        Some(format!("<Error>{name}<Code>{code}</Code></Error>"))
    };
    let told: String = names.iter().zip(said).filter_map(told).collect();
    (200, format!("<DeleteResult>{strange}{told}</DeleteResult>"))
}

struct Deletions {
    is_quiet: bool,
}

impl Fixture for Deletions {
    type Target = S3Deletions;

    fn target(&self, service: Service, limits: Option<Limits>) -> S3Deletions {
        let target = S3Deletions::new(client(THROTTLES[0], move |numbers| service.call(numbers)), "logs");
        let target = if self.is_quiet { target.quiet() } else { target };
        limits.into_iter().fold(target, S3Deletions::with_limits)
    }

    fn entry(&self, number: usize, bytes: usize) -> ObjectIdentifier {
        let object = ObjectIdentifier::builder().key(text(number, bytes.min(LONGEST_KEY)));
        let rest = bytes.saturating_sub(LONGEST_KEY);
        let version_id = (rest > 0).then(|| "v".repeat(rest));
        object.set_version_id(version_id).build().unwrap()
    }

    fn number(&self, object: &ObjectIdentifier) -> usize {
        number(object.key())
    }

    fn entry_replies(&self) -> &[Statement] {
        let all = &[
            Statement::Throttled,
            Statement::Failed,
            Statement::Refused,
            Statement::Unknown,
            Statement::Accepted,
            Statement::Nothing,
        ];
        // In quiet mode to say nothing is to accept.
        if self.is_quiet { &all[..5] } else { all }
    }

    fn answers_for_unsent_entries(&self) -> bool {
        true
    }
}

#[tokio::test(start_paused = true)]
async fn deletions_keep_the_contract() {
    check(Deletions { is_quiet: false }, cases()).await;
}

#[tokio::test(start_paused = true)]
async fn quiet_deletions_keep_the_contract() {
    check(Deletions { is_quiet: true }, cases()).await;
}

#[tokio::test(start_paused = true)]
async fn deletions_are_paced_by_every_throttle() {
    for code in THROTTLES {
        let deletions = Deletions { is_quiet: false };
        paces(code, &deletions, |bucket, limits| {
            S3Deletions::new(client(code, bucket), "logs").with_limits(limits)
        })
        .await;
    }
}
