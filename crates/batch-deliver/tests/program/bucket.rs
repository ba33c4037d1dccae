//! A bucket over HTTP: lists of objects, and ranges of them.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use super::http::{Request, Response, serve};

/// How an object begins that is refused with the code behind it.
const REFUSED: &str = "refused ";

/// What is listed with another tag than it has when it is read.
const UNSTEADY: &str = "unsteady";

pub(crate) type Objects = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// Serves a bucket `b`, which is also called `bucket`, as S3 does, as far as the program asks for it.
pub(crate) struct Bucket {
    objects: Objects,
    pub(crate) endpoint: String,
}

impl Bucket {
    pub(crate) fn new() -> Self {
        Self::answering(answer)
    }

    /// A bucket in Ireland, which sends requests to other regions away.
    pub(crate) fn elsewhere() -> Self {
        Self::answering(|request, objects| {
            let signature = request.header("authorization").unwrap_or_default();
            let mut answer = if signature.contains("/eu-west-1/s3/") {
                answer(request, objects)
            } else {
                refusal(301, "PermanentRedirect", "elsewhere")
            };
            answer.1 += "x-amz-bucket-region: eu-west-1\r\n";
            answer
        })
    }

    /// A bucket with Requester Pays.
    pub(crate) fn with_requester_pays() -> Self {
        Self::answering(|request, objects| match request.header("x-amz-request-payer") {
            Some("requester") => answer(request, objects),
            _ => refusal(403, "AccessDenied", "the requester pays"),
        })
    }

    /// A bucket in which another worker takes each object over when it was put for the first time.
    pub(crate) fn taken_over() -> Self {
        Self::answering(|request, objects| {
            let is_first = request.method == "PUT" && request.header("if-none-match").is_some();
            let answer = answer(request, objects);
            if is_first && answer.0 == 200 {
                for object in objects.lock().unwrap().values_mut() {
                    object.extend(b"{}\n");
                }
            }
            answer
        })
    }

    /// A bucket in which another process puts each object that was looked for and is not there.
    pub(crate) fn shared() -> Self {
        Self::answering(|request, objects| {
            let answer = answer(request, objects);
            if request.method == "HEAD" && answer.0 == 404 {
                let key = decoded(&request.target["/b/".len()..]);
                objects.lock().unwrap().insert(key, b"of another".to_vec());
            }
            answer
        })
    }

    /// A bucket that completes the first object and says that it has failed, so that the call is repeated. Each object has the metadata of
    /// the one that was put last.
    pub(crate) fn losing_an_answer() -> Self {
        let (metadata, has_lost) = (Mutex::new(String::new()), AtomicBool::new(false));
        Self::answering(move |request, objects| {
            let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
            let is_of_parts = query.contains("uploadId");
            let (begins, completes) = match request.method.as_str() {
                "POST" => (query.contains("uploads"), is_of_parts),
                "PUT" => (!is_of_parts, !is_of_parts),
                _ => (false, false),
            };
            let parts = format!("{}/parts/", decoded(&path["/b/".len()..]));
            let is_of_upload = |name: &String| name.starts_with(&parts);
            if completes && is_of_parts && !objects.lock().unwrap().keys().any(is_of_upload) {
                return refusal(404, "NoSuchUpload", "completed or aborted");
            }
            let mut answer = answer(request, objects);
            if begins && answer.0 == 200 {
                let lines = request.headers.iter().filter(|line| line.starts_with("x-amz-meta-"));
                *metadata.lock().unwrap() = lines.flat_map(|line| [line, "\r\n"]).collect();
            }
            if request.method == "HEAD" {
                answer.1 += &metadata.lock().unwrap();
            }
            if completes && answer.0 == 200 && !has_lost.swap(true, Relaxed) {
                return refusal(500, "InternalError", "the answer is lost");
            }
            answer
        })
    }

    /// A bucket that does not answer what is asked below this prefix.
    pub(crate) fn silent(prefix: &'static str) -> Self {
        let is_silent = move |request: &Request| request.target.starts_with(&format!("/b/{prefix}"));
        Self::answering_some(move |request, objects| (!is_silent(request)).then(|| answer(request, objects)))
    }

    /// A bucket that stores nothing below this prefix.
    pub(crate) fn refusing(prefix: &'static str) -> Self {
        Self::answering(move |request, objects| {
            if request.method == "PUT" && request.target.starts_with(&format!("/b/{prefix}")) {
                return refusal(403, "AccessDenied", "not there");
            }
            answer(request, objects)
        })
    }

    fn answering(answer: impl Fn(&Request, &Objects) -> Response + Send + Sync + 'static) -> Self {
        Self::answering_some(move |request, objects| Some(answer(request, objects)))
    }

    fn answering_some(answer: impl Fn(&Request, &Objects) -> Option<Response> + Send + Sync + 'static) -> Self {
        let objects = Objects::default();
        let served = Arc::clone(&objects);
        let address = serve(move |request| answer(request, &served));
        Self {
            objects,
            endpoint: format!("http://{address}"),
        }
    }

    pub(crate) fn put(&self, key: &str, content: impl Into<Vec<u8>>) {
        self.objects.lock().unwrap().insert(key.to_owned(), content.into());
    }

    pub(crate) fn remove(&self, key: &str) {
        self.objects.lock().unwrap().remove(key);
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
            .map(|(key, content)| (key.clone(), String::from_utf8_lossy(content).into_owned()))
            .collect()
    }

    pub(crate) fn arguments(&self) -> String {
        format!("--endpoint-url {}", self.endpoint)
    }
}

/// The calls of a multipart upload, whose parts are objects until it is complete.
fn part(request: &Request, query: &str, key: &str, objects: &mut BTreeMap<String, Vec<u8>>) -> Response {
    let parts = format!("{key}/parts/");
    let number = query
        .split('&')
        .find_map(|parameter| parameter.strip_prefix("partNumber="));
    match (request.method.as_str(), number) {
        ("PUT", Some(number)) => {
            objects.insert(format!("{parts}{number:0>5}"), request.body.clone());
            Response(200, format!("etag: {}\r\n", etag(&request.body)), Vec::new())
        }
        ("POST", _) if query.contains("uploads") => {
            let id = "<InitiateMultipartUploadResult><UploadId>7</UploadId></InitiateMultipartUploadResult>";
            Response(200, String::new(), id.into())
        }
        (method, _) => {
            let is_of_upload = |name: &String| name.starts_with(&parts);
            let whole: Vec<u8> = objects
                .iter()
                .filter(|(name, _)| is_of_upload(name))
                .flat_map(|(_, part)| part.clone())
                .collect();
            objects.retain(|name, _| !is_of_upload(name));
            if method == "POST" {
                objects.insert(key.to_owned(), whole);
            }
            let done = "<CompleteMultipartUploadResult><Key>k</Key></CompleteMultipartUploadResult>";
            Response(200, String::new(), done.into())
        }
    }
}

pub(crate) fn answer(request: &Request, objects: &Objects) -> Response {
    let mut objects = objects.lock().unwrap();
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let path = &path.replacen("/bucket", "/b", 1);
    if request.method != "PUT" && path.trim_end_matches('/') == "/b" {
        return Response(200, String::new(), list(&objects, query).into_bytes());
    }
    if path.trim_end_matches('/') == "/none" {
        return refusal(404, "NoSuchBucket", "there is none");
    }
    let Some(key) = path.strip_prefix("/b/") else {
        return refusal(403, "AccessDenied", "not yours");
    };
    let key = decoded(key);
    let tag = objects.get(&key).map(|content| etag(content));
    let is_met = match (request.header("if-match"), request.header("if-none-match")) {
        (Some(wanted), _) => tag.as_deref() == Some(wanted),
        (None, Some(_)) => tag.is_none(),
        (None, None) => true,
    };
    match request.method.as_str() {
        "POST" if query.contains("uploadId") && !is_met => refusal(412, "PreconditionFailed", "another one"),
        "POST" | "PUT" | "DELETE" if query.contains("upload") => part(request, query, &key, &mut objects),
        "PUT" if !is_met => refusal(412, "PreconditionFailed", "another one"),
        "PUT" => {
            let headers = format!("etag: {}\r\n", etag(&request.body));
            objects.insert(key, request.body.clone());
            Response(200, headers, Vec::new())
        }
        "DELETE" => {
            objects.remove(&key);
            Response(204, String::new(), Vec::new())
        }
        _ => match (objects.get(&key), tag) {
            (Some(_), _) if !is_met => refusal(412, "PreconditionFailed", "another one"),
            (Some(content), _) if content.starts_with(REFUSED.as_bytes()) => {
                refusal(403, &String::from_utf8_lossy(&content[REFUSED.len()..]), "no")
            }
            (Some(content), Some(tag)) => {
                let headers = format!("etag: {tag}\r\n");
                match request.header("range") {
                    // As S3 does.
                    Some(_) if content.is_empty() => refusal(416, "InvalidRange", "not satisfiable"),
                    Some(asked) => Response(206, headers, range(content, asked).to_vec()),
                    None => Response(200, headers, content.clone()),
                }
            }
            _ => refusal(404, "NoSuchKey", "there is none"),
        },
    }
}

fn refusal(status: u16, code: &str, message: &str) -> Response {
    let error = format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>");
    Response(status, String::new(), error.into_bytes())
}

/// The objects with a prefix, up to their next delimiter if there is one, in the order of their keys.
fn list(objects: &BTreeMap<String, Vec<u8>>, query: &str) -> String {
    let parameter = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let value = pairs.find(|(found, _)| *found == name).map(|(_, value)| decoded(value));
        value.unwrap_or_default()
    };
    let (prefix, delimiter) = (parameter("prefix"), parameter("delimiter"));
    let is_encoded = parameter("encoding-type") == "url";
    let shown = |key: &str| if is_encoded { encoded(key) } else { key.to_owned() };
    let mut contents = Vec::new();
    let mut folders = BTreeSet::new();
    for (key, content) in objects.iter().filter(|(key, _)| key.starts_with(&prefix)) {
        let rest = &key[prefix.len()..];
        if let (false, Some(end)) = (delimiter.is_empty(), rest.find(&delimiter)) {
            folders.insert(format!("{prefix}{}", &rest[..end + delimiter.len()]));
            continue;
        }
        let is_unsteady = content == UNSTEADY.as_bytes();
        let (size, etag) = (
            content.len(),
            if is_unsteady { "old".to_owned() } else { etag(content) },
        );
        contents.push(format!(
            "<Contents><Key>{}</Key><Size>{size}</Size><ETag>{etag}</ETag></Contents>",
            shown(key)
        ));
    }
    let folders = folders
        .iter()
        .map(|folder| format!("<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>", shown(folder)));
    contents.extend(folders);
    if is_encoded {
        contents.push("<EncodingType>url</EncodingType>".to_owned());
    }
    format!("<ListBucketResult>{}</ListBucketResult>", contents.concat())
}

/// As S3 encodes a key in a listing.
fn encoded(key: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' | b'/' => char::from(byte).to_string(),
        b' ' => "+".to_owned(),
        other => format!("%{other:02X}"),
    };
    key.bytes().map(byte).collect()
}

/// Without its percent signs.
pub(crate) fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).unwrap()
}

fn etag(content: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    format!("\"{:x}\"", hasher.finish())
}

fn range<'a>(content: &'a [u8], header: &str) -> &'a [u8] {
    let (first, last) = header.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    &content[first.parse().unwrap()..=last.parse().unwrap()]
}
