//! A bucket over HTTP: lists of objects, and ranges of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::http::{Request, Response, serve};

/// What is listed with another tag than it has when it is read.
const UNSTEADY: &str = "unsteady";

type Objects = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// Serves a bucket `b` as S3 does, as far as the program asks for it.
pub(crate) struct Bucket {
    objects: Objects,
    pub(crate) endpoint: String,
}

impl Bucket {
    pub(crate) fn new() -> Self {
        let objects = Objects::default();
        let served = Arc::clone(&objects);
        let address = serve(move |request| Some(answer(request, &served)));
        Self {
            objects,
            endpoint: format!("http://{address}"),
        }
    }

    pub(crate) fn put(&self, key: &str, content: impl Into<Vec<u8>>) {
        self.objects.lock().unwrap().insert(key.to_owned(), content.into());
    }

    /// An object that is another one by the time that it is read.
    pub(crate) fn put_unsteady(&self, key: &str) {
        self.put(key, UNSTEADY);
    }

    /// The objects whose keys begin so.
    pub(crate) fn objects(&self, prefix: &str) -> Vec<(String, String)> {
        let objects = self.objects.lock().unwrap();
        let named = objects.iter().filter(|(key, _)| key.starts_with(prefix));
        named
            .map(|(key, content)| (key.clone(), String::from_utf8(content.clone()).unwrap()))
            .collect()
    }

    pub(crate) fn arguments(&self) -> String {
        format!("--endpoint-url {}", self.endpoint)
    }
}

fn answer(request: &Request, objects: &Objects) -> Response {
    let mut objects = objects.lock().unwrap();
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let (status, body) = if request.method == "PUT" {
        put(&mut objects, path, &request.body)
    } else if path.trim_end_matches('/') == "/b" {
        (200, list(&objects, query).into_bytes())
    } else {
        match objects.get(path.trim_start_matches("/b/")) {
            None => (404, Vec::new()),
            Some(content) if request.header("if-match") != Some(&etag(content)) => (412, Vec::new()),
            Some(content) => (206, range(content, request.header("range").unwrap()).to_vec()),
        }
    };
    Response(status, String::new(), body)
}

/// Puts an object where that is allowed.
fn put(objects: &mut BTreeMap<String, Vec<u8>>, path: &str, content: &[u8]) -> (u16, Vec<u8>) {
    let Some(key) = path.strip_prefix("/b/") else {
        let error = "<Error><Code>AccessDenied</Code><Message>not yours</Message></Error>";
        return (403, error.into());
    };
    objects.insert(key.replace("%40", "@"), content.to_vec());
    (200, Vec::new())
}

fn list(objects: &BTreeMap<String, Vec<u8>>, query: &str) -> String {
    let prefix = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("prefix="))
        .unwrap_or_default();
    let prefix = prefix.replace("%2F", "/");
    let listed = objects.iter().filter(|(key, _)| key.starts_with(&prefix));
    let contents = listed.map(|(key, content)| {
        let is_unsteady = content == UNSTEADY.as_bytes();
        let (size, etag) = (
            content.len(),
            if is_unsteady { "old".to_owned() } else { etag(content) },
        );
        format!("<Contents><Key>{key}</Key><Size>{size}</Size><ETag>{etag}</ETag></Contents>")
    });
    format!("<ListBucketResult>{}</ListBucketResult>", contents.collect::<String>())
}

fn etag(content: &[u8]) -> String {
    format!("\"{}\"", content.len())
}

fn range<'a>(content: &'a [u8], header: &str) -> &'a [u8] {
    let (first, last) = header.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    &content[first.parse().unwrap()..=last.parse().unwrap()]
}
