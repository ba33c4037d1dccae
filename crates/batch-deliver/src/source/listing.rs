//! Finds the objects of a bucket that a name stands for.

use aws_sdk_s3::Client;
use aws_sdk_s3::operation::list_objects_v2::ListObjectsV2Output;
use aws_sdk_s3::operation::list_objects_v2::builders::ListObjectsV2FluentBuilder;
use aws_sdk_s3::types::{self, EncodingType};
use glob::Pattern;

use super::encoded_keys::decoded;
use super::export;
use super::input::Input;
use super::names::{IN_A_FOLDER, SCHEME, WILDCARDS, near_words, nearest, parts};
use super::object::Object;
use crate::connection::{self, Connection};
use crate::outcome::Failure;

/// The objects that `bucket/key` names: one object, those of a folder or pattern, or the data files of an export.
pub(super) async fn named(name: &str, connection: &Connection) -> Result<Vec<Input>, Failure> {
    let (bucket, key) = Bucket::of(name, connection).await?;
    let objects = bucket.named(key).await?;
    Ok(objects.into_iter().map(Input::object).collect())
}

/// The object `bucket/key`, and no other one, whatever its name looks like.
pub(super) async fn exactly(name: &str, connection: &Connection) -> Result<Input, Failure> {
    let (bucket, key) = Bucket::of(name, connection).await?;
    match bucket.object(key).await? {
        Some(object) => Ok(Input::object(object)),
        None => Err(bucket.missing(key).await),
    }
}

/// The code of S3 if there is no bucket with this name.
const NO_BUCKET: &str = "NoSuchBucket";

struct Bucket<'a> {
    client: Client,
    name: &'a str,
}

impl<'a> Bucket<'a> {
    /// The bucket of a name, and the key.
    async fn of(name: &'a str, connection: &Connection) -> Result<(Self, &'a str), Failure> {
        let (name, key) = parts(name).map_err(Failure::WrongUse)?;
        let client = connection.bucket(name).await?;
        Ok((Self { client, name }, key))
    }

    async fn named(&self, key: &str) -> Result<Vec<Object>, Failure> {
        if key.is_empty() || key.ends_with('/') {
            return self.folder(key).await;
        }
        if let Some(object) = self.object(key).await? {
            return Ok(vec![object]);
        }
        if key.contains(WILDCARDS) {
            return self.matching(key).await;
        }
        // Only the data files of an export are read, so its name is clear without a slash, too.
        let folder = format!("{key}/");
        match self.object(&format!("{folder}{}", export::FILES)).await? {
            Some(_) => self.folder(&folder).await,
            None => Err(self.missing(key).await),
        }
    }

    /// The object with this key. It is the first of those that begin so, which may be behind empty pages.
    async fn object(&self, key: &str) -> Result<Option<Object>, Failure> {
        let mut pages = self.list(key).into_paginator().send();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| self.unlisted(key, &error))?;
            if !page.contents().is_empty() {
                let mut objects = self.listed(&page);
                return Ok(objects.find(|object| object.key == key));
            }
        }
        Ok(None)
    }

    /// The objects of a folder, or the data files if it is an export.
    async fn folder(&self, folder: &str) -> Result<Vec<Object>, Failure> {
        let objects = self.all(folder).await?;
        let list = format!("{folder}{}", export::FILES);
        if let Some(list) = objects.iter().find(|object| object.key == list) {
            return self.exported(folder, list, &objects).await;
        }
        let below = format!("/{}", export::FILES);
        let exports = objects.iter().filter_map(|object| object.key.strip_suffix(&below));
        let exports: Vec<String> = exports.map(|export| self.name_of(&format!("{export}/"))).collect();
        if !exports.is_empty() {
            let shown = export::above(&exports);
            return Err(Failure::WrongUse(format!("{} {shown}", self.name_of(folder))));
        }
        if objects.is_empty() {
            return Err(self.missing(folder).await);
        }
        Ok(objects)
    }

    async fn matching(&self, key: &str) -> Result<Vec<Object>, Failure> {
        let name = self.name_of(key);
        let pattern =
            Pattern::new(key).map_err(|error| Failure::WrongUse(format!("{name} is not a valid pattern: {error}")))?;
        let fixed = key.split(WILDCARDS).next().unwrap_or_default();
        let mut objects = self.all(fixed).await?;
        objects.retain(|object| pattern.matches_with(&object.key, IN_A_FOLDER));
        if objects.is_empty() {
            return Err(Failure::WrongUse(format!("no object matches {name}")));
        }
        Ok(objects)
    }

    /// All objects with this prefix, except those that only mark a folder.
    async fn all(&self, prefix: &str) -> Result<Vec<Object>, Failure> {
        let mut pages = self.list(prefix).into_paginator().send();
        let mut objects = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| self.unlisted(prefix, &error))?;
            objects.extend(self.listed(&page));
        }
        objects.retain(|object| object.bytes > 0 || !object.key.ends_with('/'));
        Ok(objects)
    }

    fn list(&self, prefix: &str) -> ListObjectsV2FluentBuilder {
        let list = self.client.list_objects_v2().bucket(self.name).prefix(prefix);
        // XML cannot hold every character of a key.
        list.encoding_type(EncodingType::Url)
    }

    fn listed(&self, page: &ListObjectsV2Output) -> impl Iterator<Item = Object> {
        page.contents().iter().filter_map(|object| {
            let bytes = u64::try_from(object.size()?).unwrap_or_default();
            let etag = object.e_tag().unwrap_or_default();
            let key = decoded(object.key()?, page.encoding_type());
            Some(Object::new(&self.client, self.name, &key, bytes, etag))
        })
    }

    fn unlisted<E>(&self, prefix: &str, error: &E) -> Failure
    where
        E: std::error::Error + aws_sdk_s3::error::ProvideErrorMetadata,
    {
        if error.code() == Some(NO_BUCKET) {
            return Failure::WrongUse(format!("there is no bucket {}: check its name", self.name));
        }
        let (name, words) = (self.name_of(prefix), connection::words(error));
        Failure::Failed(format!("{name} cannot be listed: {words}"))
    }

    fn name_of(&self, key: &str) -> String {
        format!("{SCHEME}{}/{key}", self.name)
    }

    /// That there is no object with this name, and what may be meant.
    async fn missing(&self, key: &str) -> Failure {
        let name = self.name_of(key);
        // That something is missing is said even if its folder may not be listed.
        let mut near = self.near(key).await.unwrap_or_default();
        let folder = format!("{name}/");
        let is_folder = near.contains(&folder);
        near.retain(|near| *near != folder);
        let near = near_words(&near);
        Failure::WrongUse(if is_folder {
            format!("there is no object {name}: a folder ends in /, as in {folder}{near}")
        } else if key.is_empty() || key.ends_with('/') {
            format!("there is no object in {name}{near}")
        } else {
            format!("there is no object {name}{near}")
        })
    }

    /// The names near a key, in the last of its folders that exists, and those that begin with it.
    async fn near(&self, key: &str) -> Result<Vec<String>, Failure> {
        let plain = plain(key);
        if plain != key && self.object(&plain).await?.is_some() {
            return Ok(vec![self.name_of(&plain)]);
        }
        let mut names = self.children(key).await?;
        let mut wanted = key;
        let folder = loop {
            let folder = wanted
                .trim_end_matches('/')
                .rfind('/')
                .map_or("", |slash| &wanted[..=slash]);
            let children = self.children(folder).await?;
            if !children.is_empty() || folder.is_empty() {
                names.extend(children);
                break folder;
            }
            wanted = folder;
        };
        // A folder of which there is only its marker.
        names.retain(|name| name != key);
        let near = nearest(folder, wanted, names);
        Ok(near.iter().map(|key| self.name_of(key)).collect())
    }

    /// The keys that begin so, up to their next slash, of the first page.
    async fn children(&self, prefix: &str) -> Result<Vec<String>, Failure> {
        let list = self.list(prefix).delimiter("/").send().await;
        let page = list.map_err(|error| self.unlisted(prefix, &error))?;
        let objects = page.contents().iter().filter_map(types::Object::key);
        let folders = page.common_prefixes().iter().filter_map(types::CommonPrefix::prefix);
        let decoded = |key| decoded(key, page.encoding_type()).into_owned();
        Ok(objects.chain(folders).map(decoded).collect())
    }

    /// The data files of the export that this object lists.
    async fn exported(&self, folder: &str, list: &Object, objects: &[Object]) -> Result<Vec<Object>, Failure> {
        let failed = |words: String| Failure::WrongUse(format!("{} {words}", self.name_of(folder)));
        let of_key = |key: &str| objects.iter().find(|object| object.key == key);
        let is_full = match of_key(&format!("{folder}{}", export::SUMMARY)) {
            Some(summary) => export::is_full(&summary.text().await?).map_err(failed)?,
            None => true,
        };
        let names = export::names(&list.text().await?).ok_or_else(|| failed("has no list of data files".to_owned()))?;
        let own = format!("{folder}{}/", export::DATA);
        let exists = |name: &String| of_key(&format!("{own}{name}")).is_some();
        // The folder next to it, which incremental exports share, is listed only for them.
        let (data, beside) = if names.is_empty() || names.iter().any(exists) {
            (own, Vec::new())
        } else {
            let above = folder.trim_end_matches('/').rsplit_once('/');
            let above = above.map_or_else(String::new, |(above, _)| format!("{above}/"));
            let shared = format!("{above}{}/", export::DATA);
            let listed = self.all(&shared).await?;
            (shared, listed)
        };
        let files = names.iter().map(|name| {
            let key = format!("{data}{name}");
            let object = beside.iter().find(|object| object.key == key).or_else(|| of_key(&key));
            let object = object.cloned().map(|mut object| {
                object.has_own_keys = is_full && beside.is_empty();
                object
            });
            object.ok_or_else(|| {
                failed(format!(
                    "has no {key}: copy the whole export, and the folder {} next to it if it is incremental",
                    export::DATA
                ))
            })
        });
        files.collect()
    }
}

/// The key without empty parts and dots, as a path would be understood.
fn plain(key: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in key.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::super::object::tests::answering;
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn an_object_behind_an_empty_page_is_found() {
        let page = |content: &str| {
            let list = format!("<ListBucketResult>{content}</ListBucketResult>");
            let length = list.len();
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{list}");
            &*answer.leak()
        };
        let empty = page("<IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken>");
        let full =
            page("<Contents><Key>a</Key><Size>1</Size><ETag>t</ETag></Contents><Contents><Key>ab</Key></Contents>");
        let (client, server) = answering(&[empty, full, full]);
        let bucket = Bucket { client, name: "b" };
        assert_eq!(bucket.object("a").await.unwrap().unwrap().bytes, 1);
        // The first of those that begin so is another one.
        assert!(bucket.object("a/b").await.unwrap().is_none());
        server.join().unwrap();
    }
}
