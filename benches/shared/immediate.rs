//! A service that answers at once and takes everything.

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;

/// Gives the same answer to every call.
#[derive(Debug, Clone)]
pub(crate) struct Immediate(pub(crate) String);

impl HttpConnector for Immediate {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        let ok = 200_u16.try_into().expect("a status");
        HttpConnectorFuture::ready(Ok(HttpResponse::new(ok, SdkBody::from(self.0.clone()))))
    }
}

impl HttpClient for Immediate {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

/// What DynamoDB says when it took everything.
pub(crate) fn all_written() -> Immediate {
    Immediate(r#"{"UnprocessedItems":{}}"#.to_owned())
}

#[allow(dead_code, reason = "not every bench has a queue")]
/// What SQS says when it took ten messages with the ids 0 to 9.
pub(crate) fn all_sent() -> Immediate {
    let entries: Vec<String> = (0..10)
        .map(|id| {
            format!(
                r#"{{"Id":"{id}","MessageId":"5fea7756-0ea4-451a-a703-a558b933e27{id}","MD5OfMessageBody":"fafb00f5732ab283681e124bf8747ed{id}"}}"#
            )
        })
        .collect();
    Immediate(format!(r#"{{"Successful":[{}]}}"#, entries.join(",")))
}
