//! Gives requests with one token the same bytes, whichever delivery or process makes them.

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::BeforeTransmitInterceptorContextMut;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::ConfigBag;
use serde_json::Value;

/// The types of sets, in which the order of the members means nothing.
const SETS: [&str; 3] = ["SS", "NS", "BS"];

/// An interceptor that sorts the members of objects and sets in the body of a request.
///
/// The SDK writes a map in the order of its hashes, which is another one each time that the map is made of what is on disk. DynamoDB Local
/// refuses a request whose token it knows from one with another order, and the documentation of DynamoDB only says that the
/// parameters must be the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct SortedBody;

impl Intercept for SortedBody {
    fn name(&self) -> &'static str {
        "SortedBody"
    }

    fn modify_before_retry_loop(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        let body = request.body().bytes().map(serde_json::from_slice);
        let Some(Ok(mut body)) = body else {
            return Ok(());
        };
        sort(&mut body);
        let body = serde_json::to_vec(&body)?;
        // The same characters may be escaped in another way.
        request.headers_mut().insert("content-length", body.len().to_string());
        *request.body_mut() = SdkBody::from(body);
        Ok(())
    }
}

fn sort(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.sort_keys();
            for (name, member) in members {
                match member {
                    Value::Array(set) if SETS.contains(&&**name) => {
                        set.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
                    }
                    member => sort(member),
                }
            }
        }
        Value::Array(members) => members.iter_mut().for_each(sort),
        _ => {}
    }
}
