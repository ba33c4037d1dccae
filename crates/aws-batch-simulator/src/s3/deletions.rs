//! `DeleteObjects`.

use roxmltree::{Document, Node};

use super::answer::{self, SLOW_DOWN, ended, refuse, throttled, xml};
use super::bucket::Bucket;
use super::deletion::Deletion;
use crate::calls::{Call, Verdict};
use crate::fault::InjectedFault;
use crate::journal::AnswerReceipt;
use crate::wire::{CallEnd, Refusal, Request, Responder};

/// Keys in a call at most. From the API reference of `DeleteObjects`.
const MOST_KEYS: usize = 1_000;
/// Bytes of a key at most. From "Naming Amazon S3 objects" in the user guide.
const LONGEST_KEY: usize = 1_024;
/// The elements by which a deletion has a condition. They are not modelled.
const CONDITIONS: [&str; 3] = ["ETag", "LastModifiedTime", "Size"];
/// The version of objects in a bucket without versions, as all buckets here are.
const ONLY_VERSION: &str = "null";

/// The body of a request.
struct Deletions {
    all: Vec<Deletion>,
    is_quiet: bool,
}

pub(super) fn delete(
    bucket: &Bucket,
    responder: &Responder,
    request: &Request<'_>,
    answered: &AnswerReceipt,
) -> CallEnd {
    let mut call = bucket.call(answered);
    let Deletions { mut all, is_quiet } = match read(request) {
        Ok(deletions) => deletions,
        Err(refusal) => {
            bucket.count_refused_call();
            return refuse(responder, &refusal);
        }
    };
    // Outside of the lock, because the user's predicate may use this handle.
    for deletion in &mut all {
        deletion.failure = failure(bucket, deletion);
    }
    if is_quiet && matches!(call.fault, InjectedFault::Omitted { .. }) {
        // An answer that names failures alone leaves no success out.
        call.fault = InjectedFault::None;
    }
    match bucket.delete_all(&call, &all) {
        Err(fault) => ended_without_answer(fault, responder),
        Ok(verdicts) if verdicts.iter().all(Verdict::is_throttled) => {
            bucket.count_throttled_call();
            throttled(responder)
        }
        Ok(verdicts) => {
            let body = result(&all, &verdicts, &call, is_quiet);
            xml(responder, 200, body)
        }
    }
}

fn ended_without_answer(fault: InjectedFault, responder: &Responder) -> CallEnd {
    let body = match fault {
        InjectedFault::Garbage { .. } => "<DeleteRes",
        _ => "",
    };
    ended(fault, responder, || xml(responder, 200, body.to_owned()))
}

/// Reads the request, or returns the error by which it is refused.
fn read(request: &Request<'_>) -> Result<Deletions, Refusal> {
    if !request.headers.iter().any(|(name, _)| is_checksum(name)) {
        return Err(answer::NO_CHECKSUM);
    }
    let text = std::str::from_utf8(request.body).map_err(|_| answer::MALFORMED_XML)?;
    let document = Document::parse(text).map_err(|_| answer::MALFORMED_XML)?;
    let root = document.root_element();
    let objects = root
        .children()
        .filter(|node| node.has_tag_name(node_name(root, "Object")));
    let conditional = objects.clone().flat_map(|object| object.children());
    let mut conditional = conditional.filter(|node| CONDITIONS.contains(&node.tag_name().name()));
    if let Some(condition) = conditional.next() {
        let part = format!("the element {}", condition.tag_name().name());
        return Err(answer::not_implemented(&part));
    }
    let all = objects
        .map(deletion)
        .collect::<Option<Vec<_>>>()
        .ok_or(answer::MALFORMED_XML)?;
    if root.tag_name().name() != "Delete" || !(1..=MOST_KEYS).contains(&all.len()) {
        return Err(answer::MALFORMED_XML);
    }
    let is_quiet = child(root, "Quiet").as_deref() == Some("true");
    Ok(Deletions { all, is_quiet })
}

/// Whether a header has a checksum of the body, by which S3 recognizes damage.
fn is_checksum(header: &str) -> bool {
    header == "content-md5" || header.starts_with("x-amz-checksum-")
}

fn deletion(object: Node<'_, '_>) -> Option<Deletion> {
    Some(Deletion {
        key: child(object, "Key").filter(|key| !key.is_empty())?,
        version_id: child(object, "VersionId"),
        failure: None,
    })
}

/// The text of a child, whose name is in the namespace of its parent.
fn child(parent: Node<'_, '_>, name: &str) -> Option<String> {
    let child = parent
        .children()
        .find(|node| node.has_tag_name(node_name(parent, name)))?;
    Some(child.text().unwrap_or_default().to_owned())
}

fn node_name<'a>(parent: Node<'a, '_>, name: &'a str) -> roxmltree::ExpandedName<'a, 'a> {
    match parent.tag_name().namespace() {
        Some(namespace) => (namespace, name).into(),
        None => name.into(),
    }
}

fn failure(bucket: &Bucket, deletion: &Deletion) -> Option<&'static str> {
    if deletion.key.len() > LONGEST_KEY {
        return Some("KeyTooLongError");
    }
    if deletion.version_id.as_deref().is_some_and(|id| id != ONLY_VERSION) {
        return Some("NoSuchVersion");
    }
    bucket.denies(&deletion.json()).then_some("AccessDenied")
}

fn result(deletions: &[Deletion], verdicts: &[Verdict], call: &Call, is_quiet: bool) -> String {
    let mut xml =
        r#"<?xml version="1.0" encoding="UTF-8"?><DeleteResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">"#
            .to_owned();
    let error =
        |name: &str, code: &str| format!("<Error>{name}<Code>{code}</Code><Message>Simulated {code}</Message></Error>");
    for (deletion, verdict) in deletions.iter().zip(verdicts) {
        let name = deletion.name();
        let failed = match verdict {
            Verdict::Accepted if is_quiet => continue,
            Verdict::Accepted => {
                xml.extend(["<Deleted>", &*name, "</Deleted>"]);
                continue;
            }
            Verdict::Omitted { .. } => continue,
            Verdict::Failed { code, .. } => error(&name, code),
            Verdict::Throttled(_) | Verdict::ConditionFailed | Verdict::Canceled => error(&name, SLOW_DOWN),
        };
        xml += &failed;
        if matches!(call.fault, InjectedFault::Repeated(_)) {
            xml += &failed;
        }
    }
    if let InjectedFault::Unknown(count) = &call.fault {
        for number in 0..*count {
            let name = format!("<Key>never-sent-{number}</Key>");
            xml.extend(["<Deleted>", &*name, "</Deleted>"]);
        }
    }
    xml += "</DeleteResult>";
    xml
}
