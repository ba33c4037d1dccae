//! A queue of SQS.

use std::hash::Hash;
use std::sync::Arc;

use aws_batch_delivery::targets::sqs::{SqsQueue, message_size};
use aws_batch_simulator::Simulator;
use aws_config::SdkConfig;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::Builder;
use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::operation::get_queue_attributes::GetQueueAttributesOutput;
use aws_sdk_sqs::types::{QueueAttributeName, SendMessageBatchRequestEntry};

use super::destination::{Access, Destination, EntrySize, NOT_PERMITTED, Settings, not_looked_up, simulated_settings};
use super::duplicates::{hash, sorted_attributes};
use super::queue_name::{QueueName, QueueNameForm};
use super::recognized::{ACCOUNT, QUEUE_ARN, QUEUE_CREATED, QUEUE_URL, UNKNOWN};
use super::simulated::SimulatedService;
use crate::connection::{AnswerLimit, Connection, LookupTime, Site, account_of_arn, account_of_queue, settings};
use crate::outcome::Failure;

/// Bytes that SQS bills as one request. From its pricing page.
const REQUEST: usize = 64 << 10;

/// The name of the service in AWS's configuration.
const SERVICE: &str = "SQS";

/// The queue with this name. A call to a FIFO queue carries one message of a group at most, unless the order may be loose.
pub(crate) async fn queue(
    queue: &QueueName,
    is_loose: bool,
    access: &Access,
) -> Result<Destination<SqsQueue>, Failure> {
    let connection = access.connection.within(queue.region.as_deref(), "the queue")?;
    let (client, url, settings, simulated, site) = if let Some(rate) = access.simulate {
        let (simulated, url) = SimulatedService::queue(&queue.name, rate);
        let client = simulated.simulator.sqs_client();
        (client, url, simulated_settings(rate), Some(Arc::new(simulated)), None)
    } else if access.is_dry_run {
        (
            Simulator::new(1).sqs_client(),
            queue.name.clone(),
            Vec::new(),
            None,
            None,
        )
    } else {
        let existing = existing_queue(queue, &connection, "--queue").await?;
        let (client, url, site) = (existing.client, existing.url, existing.site);
        let mut settings = existing.settings;
        if access.has_journal {
            let identity = identity(&client, &url, existing.lookup_time).await?;
            let arn = identity.iter().find(|(name, _)| *name == QUEUE_ARN);
            let account = arn.and_then(|(_, arn)| account_of_arn(arn)).map(ToOwned::to_owned);
            let account = match (account, &site) {
                (None, Some(site)) => site.account().await,
                (account, _) => account,
            };
            settings.extend(account.map(|account| (ACCOUNT, account)));
            settings.extend(identity);
        }
        (client, url, settings, None, site)
    };
    let target = SqsQueue::new(client, url);
    Ok(Destination {
        name: queue.to_string(),
        target: if is_loose { target } else { target.strict_order() },
        measure: |_, message| EntrySize::in_units(message_size(message), REQUEST),
        content: queue
            .is_fifo()
            .then_some(|message: &SendMessageBatchRequestEntry| hash(&content(message))),
        unit: "requests' worth of 64 KiB",
        settings,
        site,
        simulated,
        vectors: None,
    })
}

/// What the receiver of a message gets, without its ids.
fn content(message: &SendMessageBatchRequestEntry) -> impl Hash {
    let attributes = sorted_attributes!(message);
    (message.message_body(), message.message_group_id(), attributes)
}

/// A queue that messages are taken from or moved to.
#[derive(Debug, Clone)]
pub(crate) struct ExistingQueue {
    pub(super) client: Client,
    pub(crate) url: String,
    pub(crate) is_fifo: bool,
    /// What identifies the service.
    settings: Settings,
    pub(super) lookup_time: LookupTime,
    /// Where it is; `None` if a simulator has it.
    pub(crate) site: Option<Site>,
}

/// The queue of a simulator with this URL, which messages are taken from or moved to.
pub(crate) fn existing_queue_in(simulated: &SimulatedService, url: String, queue: &QueueName) -> ExistingQueue {
    ExistingQueue {
        client: simulated.simulator.sqs_client(),
        url,
        is_fifo: queue.is_fifo(),
        settings: Vec::new(),
        lookup_time: LookupTime::default(),
        site: None,
    }
}

/// The queue with this name, which the option gives.
pub(crate) async fn existing_queue(
    queue: &QueueName,
    connection: &Connection,
    option: &str,
) -> Result<ExistingQueue, Failure> {
    let connection = connection.within(queue.region.as_deref(), "the queue")?;
    let config = connection.config().await?;
    let client = client(&config);
    let url = url(&client, queue, option, connection.lookup_time).await?;
    Ok(ExistingQueue {
        site: Some(connection.site(&config, SERVICE, account_of_queue(&url))),
        url,
        client,
        is_fifo: queue.is_fifo(),
        settings: settings(&config, SERVICE),
        lookup_time: connection.lookup_time,
    })
}

impl ExistingQueue {
    /// The queues whose dead letters it has.
    pub(crate) async fn dead_letter_sources(&self) -> Result<Vec<String>, Failure> {
        let mut pages = self
            .client
            .list_dead_letter_source_queues()
            .queue_url(&self.url)
            .into_paginator()
            .items()
            .send();
        let mut urls = Vec::new();
        let what = format!("the sources of the queue {}", self.url);
        while let Some(url) = self.lookup_time.wait(&what, pages.next()).await? {
            urls.push(url.map_err(|error| not_looked_up(&what, error))?);
        }
        Ok(urls)
    }

    /// Another queue of the same account and region.
    pub(crate) fn beside(&self, url: &str) -> Result<Self, Failure> {
        let name: QueueName = url.parse().map_err(Failure::Failed)?;
        Ok(Self {
            url: url.to_owned(),
            is_fifo: name.is_fifo(),
            ..self.clone()
        })
    }

    /// Whether both are the same queue, whose URL may be written in several ways.
    pub(crate) async fn is_same(&self, other: &Self) -> Result<bool, Failure> {
        if self.url == other.url {
            return Ok(true);
        }
        let name = |url: &str| url.parse::<QueueName>().ok();
        if let (Some(own), Some(other)) = (name(&self.url), name(&other.url))
            && let (Some(own), Some(other)) = (own.place(), other.place())
        {
            return Ok(own == other);
        }
        // Other services, such as emulators, have the same ARNs.
        if self.settings != other.settings {
            return Ok(false);
        }
        let (own, other) = futures::try_join!(self.arn(), other.arn())?;
        Ok(own.is_some() && own == other)
    }

    /// `None` if the service does not say.
    async fn arn(&self) -> Result<Option<String>, Failure> {
        let ask = self.client.get_queue_attributes().queue_url(&self.url);
        let answer = ask.attribute_names(QueueAttributeName::QueueArn).send();
        let answer = self.lookup_time.wait(&self.url, answer).await?.ok();
        let of_queue =
            |answer: &GetQueueAttributesOutput| answer.attributes()?.get(&QueueAttributeName::QueueArn).cloned();
        Ok(answer.as_ref().and_then(of_queue))
    }
}

/// What identifies a queue. One that is created again has another time of its creation.
async fn identity(client: &Client, url: &str, time: LookupTime) -> Result<Settings, Failure> {
    use QueueAttributeName::{CreatedTimestamp, QueueArn};

    let ask = client.get_queue_attributes().queue_url(url);
    let answer = ask.attribute_names(QueueArn).attribute_names(CreatedTimestamp).send();
    let of_url = (QUEUE_URL, url.to_owned());
    Ok(match time.wait(url, answer).await? {
        Ok(answer) => {
            let known = |(name, of)| Some((name, answer.attributes()?.get(&of)?.clone()));
            let of_queue = [(QUEUE_ARN, QueueArn), (QUEUE_CREATED, CreatedTimestamp)];
            [of_url]
                .into_iter()
                .chain(of_queue.into_iter().filter_map(known))
                .collect()
        }
        Err(_) => vec![of_url, (QUEUE_CREATED, UNKNOWN.to_owned())],
    })
}

/// The client of the service.
fn client(config: &SdkConfig) -> Client {
    Client::from_conf(Builder::from(config).interceptor(AnswerLimit).build())
}

/// The URL of a queue.
async fn url(client: &Client, queue: &QueueName, option: &str, time: LookupTime) -> Result<String, Failure> {
    let ask = client.get_queue_url().queue_name(&queue.name);
    let ask = match &queue.given {
        QueueNameForm::Url => return Ok(queue.to_string()),
        QueueNameForm::Arn { account } => ask.queue_owner_aws_account_id(account),
        QueueNameForm::Name => ask,
    };
    let what = format!("the queue {queue}");
    let error = match time.wait(&what, ask.send()).await? {
        Ok(answer) => return Ok(answer.queue_url().unwrap_or_default().to_owned()),
        Err(error) => error,
    };
    let code = error.code().unwrap_or_default();
    if code.ends_with("QueueDoesNotExist") || code.ends_with("NonExistentQueue") {
        return Err(Failure::WrongUse(format!(
            "there is no queue {queue} in this account and region: check {option}, --region and --profile"
        )));
    }
    if NOT_PERMITTED.contains(&code) {
        return Err(Failure::WrongUse(format!(
            "sqs:GetQueueUrl is not permitted for the queue {queue}: give {option} its URL"
        )));
    }
    Err(not_looked_up(&what, error))
}
