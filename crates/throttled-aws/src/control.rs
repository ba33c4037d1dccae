//! What a test asks and sets by HTTP: `/_throttled/…`.

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::body::{Body, answer};
use crate::front::Front;
use crate::registry::lock;
use crate::rule::Rule;

/// Paths that begin so are not forwarded.
pub(crate) const PREFIX: &str = "/_throttled/";
/// Of a body with faults.
const LARGEST: usize = 1024 * 1024;

/// The rules in a body, in the words of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    #[serde(deserialize_with = "crate::rule::all")]
    faults: Vec<Rule>,
}

pub(crate) async fn respond(front: &Front, request: Request<Incoming>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let parts = &parts;
    let path = &parts.uri.path()[PREFIX.len()..];
    match (&parts.method, path) {
        (&Method::GET, "faults") => json(200, &json!({"faults": lock(&front.shared.faults).rules()})),
        (&Method::POST, "faults") => match rules(parts, body).await {
            Ok(rules) => {
                lock(&front.shared.faults).replace(rules);
                json(200, &json!({"faults": lock(&front.shared.faults).rules()}))
            }
            Err(message) => json(400, &json!({ "error": message })),
        },
        (&Method::GET, "journal") => json(200, &lock(&front.shared.ledger).journal(destination(parts).as_deref())),
        (&Method::GET, "figures") => json(200, &lock(&front.shared.ledger).figures()),
        (&Method::POST, "reset") => {
            front.reset();
            json(200, &json!({}))
        }
        _ => {
            let known = "GET and POST faults, GET journal, GET figures, POST reset";
            json(
                404,
                &json!({"error": format!("throttled-aws has {known}; not {} {path}", parts.method)}),
            )
        }
    }
}

async fn rules(parts: &Parts, body: Incoming) -> Result<Vec<Rule>, String> {
    let body = Limited::new(body, LARGEST)
        .collect()
        .await
        .map_err(|error| error.to_string())?
        .to_bytes();
    let is_toml = parts
        .headers
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().ends_with(b"toml"));
    let rules: Rules = if is_toml {
        let text = std::str::from_utf8(&body).map_err(|error| error.to_string())?;
        toml::from_str(text).map_err(|error| error.to_string())?
    } else {
        serde_json::from_slice(&body).map_err(|error| error.to_string())?
    };
    Ok(rules.faults)
}

/// `?destination=orders`
fn destination(parts: &Parts) -> Option<String> {
    let mut pairs = parts.uri.query()?.split('&');
    pairs
        .find_map(|pair| pair.strip_prefix("destination="))
        .map(str::to_owned)
}

fn json(status: u16, value: &Value) -> Response<Body> {
    answer(status, "application/json", value.to_string())
}
