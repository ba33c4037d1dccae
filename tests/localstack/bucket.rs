//! A bucket of a test's own.

use std::collections::BTreeMap;

use aws_sdk_s3::Client;

use crate::emulators::{Emulators, unique};

pub(crate) struct Bucket {
    pub(crate) client: Client,
    pub(crate) name: String,
}

impl Bucket {
    pub(crate) async fn create(emulators: &Emulators, name: &str) -> Self {
        let client = emulators.s3();
        let name = unique(name);
        client.create_bucket().bucket(&name).send().await.unwrap();
        Self { client, name }
    }

    /// All objects by their keys.
    pub(crate) async fn objects(&self) -> BTreeMap<String, String> {
        let mut objects = BTreeMap::new();
        // None of these tests leaves more than a page of them.
        let page = self.client.list_objects_v2().bucket(&self.name).send().await.unwrap();
        for key in page.contents().iter().filter_map(aws_sdk_s3::types::Object::key) {
            let object = self
                .client
                .get_object()
                .bucket(&self.name)
                .key(key)
                .send()
                .await
                .unwrap();
            let body = object.body.collect().await.unwrap().to_vec();
            objects.insert(key.to_owned(), String::from_utf8(body).unwrap());
        }
        objects
    }

    pub(crate) async fn remove(self) {
        for key in self.objects().await.into_keys() {
            self.client
                .delete_object()
                .bucket(&self.name)
                .key(key)
                .send()
                .await
                .unwrap();
        }
        self.client.delete_bucket().bucket(self.name).send().await.unwrap();
    }
}
