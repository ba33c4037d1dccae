//! What earlier runs have left.

use anyhow::{Context, Result};
use aws_sdk_dynamodb::operation::describe_table::DescribeTableError;
use aws_sdk_dynamodb::types::TableStatus;
use aws_sdk_sqs::operation::list_queue_tags::ListQueueTagsError;

use crate::belongings::{Belonging, Belongings, failed};
use crate::name::{PREFIX, RunId, TAG};
use crate::tell::tell;

/// Queues on a page at most, from the reference of `ListQueues`, which has further pages only if a number is given.
const PAGE: i32 = 1_000;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    pub(crate) ours: Vec<Belonging>,
    /// Named like what belongs to a run, without its tag.
    pub(crate) untagged: Vec<Belonging>,
    /// Whether some have no tags that could be read, so that their names alone decide.
    pub(crate) by_name_alone: bool,
}

/// What the service says about the tag of something that was listed.
enum Tagged {
    As(Option<String>),
    /// It is listed for a while after it was deleted.
    Gone,
}

impl Leftovers {
    /// Looks for what belongs to any run: by name, and then by tag.
    pub(crate) async fn find(at: &Belongings) -> Result<Self> {
        let mut found = Self::default();
        found.tables(at).await?;
        match found.queues(at).await {
            // An emulator of tables has no queues.
            Err(error) if !at.is_aws => tell!("Only tables are looked for: {error:#}"),
            looked => looked?,
        }
        Ok(found)
    }

    async fn tables(&mut self, at: &Belongings) -> Result<()> {
        let mut names = at.dynamo.list_tables().into_paginator().items().send();
        while let Some(name) = names.next().await {
            let name = name.map_err(|error| failed("ListTables", PREFIX, error))?;
            if let Some(run) = RunId::of(&name) {
                let tagged = tag_of_table(at, &name).await;
                self.sort(at, Belonging::Table(name), run, tagged)?;
            }
        }
        Ok(())
    }

    async fn queues(&mut self, at: &Belongings) -> Result<()> {
        let listed = at.sqs.list_queues().queue_name_prefix(PREFIX).max_results(PAGE);
        let mut urls = listed.into_paginator().items().send();
        while let Some(url) = urls.next().await {
            let url = url.map_err(|error| failed("ListQueues", PREFIX, error))?;
            let name = url.rsplit('/').next().unwrap_or_default().to_owned();
            if let Some(run) = RunId::of(&name) {
                let tagged = tag_of_queue(at, &url, &name).await;
                self.sort(at, Belonging::Queue(name), run, tagged)?;
            }
        }
        Ok(())
    }

    /// Decides whether it is ours.
    fn sort(&mut self, at: &Belongings, belonging: Belonging, run: RunId, tagged: Result<Tagged>) -> Result<()> {
        match tagged {
            Ok(Tagged::Gone) => {}
            Ok(Tagged::As(Some(tag))) if tag == run.to_string() => self.ours.push(belonging),
            Ok(Tagged::As(_)) if at.is_aws => self.untagged.push(belonging),
            Err(error) if at.is_aws => return Err(error),
            Ok(Tagged::As(_)) | Err(_) => {
                self.by_name_alone = true;
                self.ours.push(belonging);
            }
        }
        Ok(())
    }
}

async fn tag_of_table(at: &Belongings, name: &str) -> Result<Tagged> {
    let described = match at.dynamo.describe_table().table_name(name).send().await {
        Err(error)
            if error
                .as_service_error()
                .is_some_and(DescribeTableError::is_resource_not_found_exception) =>
        {
            return Ok(Tagged::Gone);
        }
        described => described.map_err(|error| failed("DescribeTable", name, error))?,
    };
    let table = described.table.with_context(|| format!("{name} has no description"))?;
    if table.table_status == Some(TableStatus::Deleting) {
        return Ok(Tagged::Gone);
    }
    let arn = table.table_arn.with_context(|| format!("{name} has no ARN"))?;
    let listed = at.dynamo.list_tags_of_resource().resource_arn(arn).send().await;
    let listed = listed.map_err(|error| failed("ListTagsOfResource", name, error))?;
    let tag = listed.tags.into_iter().flatten().find(|tag| tag.key == TAG);
    Ok(Tagged::As(tag.map(|tag| tag.value)))
}

async fn tag_of_queue(at: &Belongings, url: &str, name: &str) -> Result<Tagged> {
    let listed = match at.sqs.list_queue_tags().queue_url(url).send().await {
        Err(error)
            if error
                .as_service_error()
                .is_some_and(ListQueueTagsError::is_queue_does_not_exist) =>
        {
            return Ok(Tagged::Gone);
        }
        listed => listed.map_err(|error| failed("ListQueueTags", name, error))?,
    };
    Ok(Tagged::As(listed.tags.and_then(|mut tags| tags.remove(TAG))))
}

#[cfg(test)]
mod tests {
    use throttled_aws::{Config, Server};

    use super::*;
    use crate::belongings::{Billing, Key};
    use crate::place::Place;

    async fn emulator() -> Server {
        Server::alone(Config::default(), "127.0.0.1:0").await.unwrap()
    }

    #[tokio::test]
    async fn what_a_run_makes_is_found_by_another_and_deleted() {
        let server = emulator().await;
        let place = Place::emulator("emulator", &server.endpoint()).await;
        place
            .belongings
            .table("bucket", Key::Id, Billing::OnDemand)
            .await
            .unwrap();
        place.belongings.queue("jobs", true).await.unwrap();

        let other = Place::emulator("emulator", &server.endpoint()).await;
        other
            .dynamo
            .create_table()
            .table_name("orders")
            .send()
            .await
            .unwrap_err();
        let found = Leftovers::find(&other.belongings).await.unwrap();
        assert_eq!(found.ours.len(), 2, "{found:?}");
        assert!(found.by_name_alone, "tables have no tags there");
        assert!(other.belongings.delete(&found.ours).await.is_empty());
        assert!(Leftovers::find(&other.belongings).await.unwrap().ours.is_empty());
        // What is gone already is no error.
        assert!(place.belongings.delete_all().await.is_empty());
    }

    #[tokio::test]
    async fn what_is_named_alike_without_the_tag_stays() {
        let server = emulator().await;
        let place = Place::emulator("emulator", &server.endpoint()).await;
        let careful = Belongings::new(RunId::random(), place.dynamo.clone(), place.sqs.clone(), true);
        let name = RunId::random().name("jobs");
        place.sqs.create_queue().queue_name(&name).send().await.unwrap();
        let found = Leftovers::find(&careful).await.unwrap();
        assert!(found.ours.is_empty(), "{found:?}");
        assert_eq!(found.untagged, [Belonging::Queue(name)]);
    }
}
