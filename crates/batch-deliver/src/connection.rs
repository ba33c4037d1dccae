//! The connection to the services: credentials, region, endpoints and the time of lookups, and the clients of buckets.

mod account;
mod credentials;
mod endpoints;
mod lookup_time;
mod profile;
mod site;

use std::error::Error;
use std::time::Duration;

pub(crate) use aws_batch_delivery::targets::AnswerLimit;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::interceptors::BeforeTransmitInterceptorContextMut;
use aws_sdk_s3::config::{Builder, ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_s3::error::BoxError;

pub(crate) use self::account::{account, account_of_arn, account_of_queue};
pub(crate) use self::credentials::can_be_renewed;
pub(crate) use self::endpoints::{url, without_user};
pub(crate) use self::lookup_time::LookupTime;
use self::profile::Profile;
pub(crate) use self::site::Site;
use crate::outcome::Failure;

/// How the services are reached. What is not given is found as by AWS's own tools, except that what a profile has that is given comes
/// before variables of the environment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connection {
    /// The profile of the shared AWS configuration.
    pub(crate) profile: Option<String>,
    pub(crate) region: Option<String>,
    /// The region of buckets; without it, S3 is asked.
    pub(crate) s3_region: Option<String>,
    /// Whether requests to buckets with Requester Pays are paid.
    pub(crate) request_payer: bool,
    /// Another endpoint, such as that of an emulator.
    pub(crate) endpoint_url: Option<String>,
    /// How long what is looked up may take.
    pub(crate) lookup_time: LookupTime,
}

/// How long a request may wait for its answer, which includes the time in which it is sent: 8 MiB at most, except for parts of uploads.
/// The SDK would wait forever if the other side is gone without a word, as behind a router that has forgotten the connection.
const ANSWER: Duration = Duration::from_mins(5);

/// Bytes that may take as long as that: 28 kB a second.
const SENT_MEANWHILE: usize = 8 << 20;

/// How long a request with this many bytes may wait for its answer.
pub(crate) fn answer_within(bytes: usize) -> TimeoutConfig {
    let times = u32::try_from(bytes.div_ceil(SENT_MEANWHILE)).unwrap_or(u32::MAX);
    TimeoutConfig::builder()
        .read_timeout(ANSWER.saturating_mul(times.max(1)))
        .build()
}

/// Attempts at a call whose failure ends a load or a worker.
const MANY_ATTEMPTS: u32 = 6;

/// The same client with [many attempts](MANY_ATTEMPTS), unless more are configured.
pub(crate) fn patient(client: &Client) -> Client {
    let config = client.config();
    let retries = config.retry_config().cloned().unwrap_or_else(RetryConfig::standard);
    let attempts = retries.max_attempts().max(MANY_ATTEMPTS);
    let config = config.to_builder().retry_config(retries.with_max_attempts(attempts));
    Client::from_conf(config.build())
}

impl Connection {
    /// The same in the region that the name of a destination says, if it does. A region that is given must be the same one,
    /// but an emulator may have everything in any region.
    pub(crate) fn within(&self, region: Option<&str>, destination: &str) -> Result<Self, Failure> {
        let Some(region) = region else { return Ok(self.clone()) };
        match &self.region {
            Some(given) if given != region && self.endpoint_url.is_none() => Err(Failure::WrongUse(format!(
                "{destination} is in {region}, but --region is {given}: leave out --region"
            ))),
            Some(_) => Ok(self.clone()),
            None => Ok(Self {
                region: Some(region.to_owned()),
                ..self.clone()
            }),
        }
    }

    /// The same for a run with this deadline.
    pub(crate) fn until(self, deadline: Option<Duration>) -> Self {
        Self {
            lookup_time: LookupTime::of_run(deadline),
            ..self
        }
    }

    /// That the profile exists, for a command that reaches something else first.
    pub(crate) async fn check_profile(&self) -> Result<(), Failure> {
        Profile::find(self.profile.as_deref()).await.map(drop)
    }

    /// The AWS configuration.
    pub(crate) async fn config(&self) -> Result<SdkConfig, Failure> {
        #[cfg(test)]
        if let Some(config) = crate::fleet::config() {
            return Ok(config);
        }
        let profile = Profile::find(self.profile.as_deref()).await?;
        let timeouts = TimeoutConfig::builder().read_timeout(ANSWER).build();
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .timeout_config(timeouts)
            .profile_name(&profile.name);
        if let Some(region) = self.region.clone().or_else(|| profile.region()) {
            loader = loader.region(Region::new(region));
        }
        if let Some(url) = &self.endpoint_url {
            loader = loader.endpoint_url(url);
        }
        let config = loader.load().await;
        let Some(region) = config.region().filter(|region| !region.as_ref().is_empty()) else {
            let words = "no AWS region is set: give --region, set AWS_REGION, or set it in the profile";
            return Err(Failure::Unequipped(words.to_owned()));
        };
        check_region(region.as_ref())?;
        let config = match self.endpoint_url {
            Some(_) => config,
            None => endpoints::checked(config, profile.is_named)?,
        };
        let config = profile.with_its_credentials(config);
        credentials::check(&config, &profile).await?;
        Ok(config)
    }

    /// Where what this service has is, reached with the configuration of this connection, in this account if that is known.
    pub(crate) fn site(&self, config: &SdkConfig, service: &'static str, account: Option<&str>) -> Site {
        Site::new(config, self.endpoint_url.as_deref(), service, account)
    }

    /// The client for this bucket. The SDK does not follow S3 to another region, so the region is looked up if it is not given.
    pub(crate) async fn bucket(&self, bucket: &str) -> Result<Client, Failure> {
        let config = self.config().await?;
        // Emulators do not resolve bucket names as hosts.
        let is_emulator = config.endpoint_url().is_some() || endpoints::endpoint(&config, "S3").is_some();
        let mut builder = Builder::from(&config)
            .force_path_style(is_emulator)
            .interceptor(AnswerLimit);
        if self.request_payer {
            builder = builder.interceptor(RequestPayer);
        }
        if let Some(region) = &self.s3_region {
            check_region(region)?;
            return Ok(Client::from_conf(builder.region(Region::new(region.clone())).build()));
        }
        let client = Client::from_conf(builder.clone().build());
        match region_of_bucket(&client, bucket, self.lookup_time).await? {
            Some(region) => Ok(Client::from_conf(builder.region(Region::new(region)).build())),
            None => Ok(client),
        }
    }
}

/// Checks that a region can be part of the name of a host.
fn check_region(region: &str) -> Result<(), Failure> {
    let is_label = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if region.bytes().all(is_label) && !region.starts_with('-') && (1..=63).contains(&region.len()) {
        return Ok(());
    }
    Err(Failure::Unequipped(format!(
        "{region:?} is not an AWS region, such as eu-west-1: see --region, AWS_REGION and the profile"
    )))
}

/// Whether this looks like a region, such as `us-gov-west-1`.
pub(crate) fn is_region(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    text.split('-').count() >= 3 && text.split('-').all(is_part) && text.ends_with(|last: char| last.is_ascii_digit())
}

/// The region in an ARN. `None` if it is a plain name.
pub(crate) fn region_of_arn(text: &str) -> Option<&str> {
    let region = text.strip_prefix("arn:")?.split(':').nth(2)?;
    is_region(region).then_some(region)
}

/// The settings that identify this service, which has a name in AWS's configuration.
pub(crate) fn settings(config: &SdkConfig, service: &str) -> Vec<(&'static str, String)> {
    let region = config.region().map(|region| ("region", region.to_string()));
    let endpoint = ("endpoint", endpoint_of(config, service));
    region.into_iter().chain([endpoint]).collect()
}

/// The endpoint of this service, as the arguments, the environment or the profile give it, without a user and a password; or that it is the
/// one of AWS.
pub(crate) fn endpoint_of(config: &SdkConfig, service: &str) -> String {
    let given = config.endpoint_url().map(ToOwned::to_owned);
    let endpoint = given.or_else(|| endpoints::endpoint(config, service));
    endpoint.map_or_else(|| OF_AWS.to_owned(), |url| without_user(url.trim_end_matches('/')))
}

/// An endpoint that nothing else is given for.
const OF_AWS: &str = "that of AWS";

/// The code and message of the service, or the error and its sources.
pub(crate) fn words<E>(error: &E) -> String
where
    E: Error + ProvideErrorMetadata,
{
    if let (Some(code), Some(message)) = (error.code(), error.message()) {
        return format!("{code}: {message}");
    }
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !words.contains(&cause) {
            words = format!("{words}: {cause}");
        }
        source = error.source();
    }
    words
}

/// The header in which S3 names the region of a bucket, even if the request was sent to another region or is not permitted.
const REGION: &str = "x-amz-bucket-region";

/// The region that S3 names; `None` if it names none, as for a bucket that does not exist.
async fn region_of_bucket(client: &Client, bucket: &str, time: LookupTime) -> Result<Option<String>, Failure> {
    let ask = client.head_bucket().bucket(bucket).send();
    let error = match time.wait(&format!("the bucket {bucket}"), ask).await? {
        Ok(answer) => return Ok(answer.bucket_region),
        Err(error) => error,
    };
    match error.raw_response() {
        Some(answer) => Ok(answer.headers().get(REGION).map(ToOwned::to_owned)),
        None => Err(Failure::Failed(format!(
            "the bucket {bucket} cannot be reached: {}",
            words(&error)
        ))),
    }
}

/// The header of a request that its sender pays for.
const PAYER: (&str, &str) = ("x-amz-request-payer", "requester");

/// Says in each request that its sender pays, as buckets with Requester Pays demand. Other buckets ignore it.
#[derive(Debug)]
struct RequestPayer;

impl Intercept for RequestPayer {
    fn name(&self) -> &'static str {
        "RequestPayer"
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let (name, value) = PAYER;
        context.request_mut().headers_mut().insert(name, value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_part_has_as_much_time_for_each_byte_as_a_small_one() {
        let minutes = |bytes: usize| answer_within(bytes).read_timeout().unwrap().as_secs() / 60;
        assert_eq!([0, 1 << 20, 8 << 20, 80 << 20].map(minutes), [5, 5, 5, 50]);
    }

    #[test]
    fn the_region_of_an_arn_is_used_unless_another_one_is_given() {
        let arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/films";
        assert_eq!((region_of_arn(arn), region_of_arn("films")), (Some("eu-west-1"), None));
        let connection = |region: Option<&str>, endpoint: Option<&str>| Connection {
            region: region.map(ToOwned::to_owned),
            endpoint_url: endpoint.map(ToOwned::to_owned),
            ..Connection::default()
        };
        let within = |connection: Connection| {
            let within = connection.within(region_of_arn(arn), arn);
            within.map(|connection| connection.region.unwrap())
        };
        assert_eq!(within(connection(None, None)).unwrap(), "eu-west-1");
        assert_eq!(within(connection(Some("eu-west-1"), None)).unwrap(), "eu-west-1");
        assert_eq!(
            within(connection(Some("us-east-1"), Some("http://e"))).unwrap(),
            "us-east-1"
        );
        let refused = within(connection(Some("us-east-1"), None)).unwrap_err().to_string();
        assert!(
            refused.ends_with("is in eu-west-1, but --region is us-east-1: leave out --region"),
            "{refused}"
        );
        let plain = connection(Some("us-east-1"), None)
            .within(region_of_arn("films"), "films")
            .unwrap();
        assert_eq!(plain.region.as_deref(), Some("us-east-1"));
    }
}
