//! The body of a call, written from entries that stay with the delivery.
//!
//! The SDK keeps the input of a call, so that whoever may have to send an entry again gives it a copy. To copy entries and to
//! drop the copies takes as long as to write them, so the body is written here and the SDK gets an input without entries;
//! it signs and sends the body as if it were its own. Who watches the client's calls by an interceptor, as mocks do,
//! sees the input: for such a client the SDK writes, from copies.

use std::error::Error;
use std::iter::successors;
use std::pin::Pin;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::BeforeTransmitInterceptorContextMut;
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::ConfigBag;

/// The protocols whose bodies are plain JSON.
const JSON: &str = "application/x-amz-json-";

/// Bytes that a body has room for when its writing begins.
const ROOM: usize = 8 * 1024;

/// The body of one call.
#[derive(Debug)]
pub(crate) struct Body(Vec<u8>);

/// Why a request could not have the body. Nothing was sent.
#[derive(Debug, thiserror::Error)]
enum NotPlaced {
    /// A later version may do so.
    #[error("the SDK does not speak JSON")]
    OtherProtocol,
    /// A later version may poll the call where nobody has put one.
    #[error("the body of the call is not there")]
    NoBody,
}

impl Body {
    /// The body with the JSON that is written.
    pub(crate) fn written(write: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut json = Vec::with_capacity(ROOM);
        write(&mut json);
        Self(json)
    }

    /// The call, in whose request the [`Placer`] finds this body. It stays where it is: a call of the SDK has five kilobytes.
    pub(crate) fn sent_by<Call: Future>(self, call: Pin<&mut Call>) -> impl Future<Output = Call::Output> {
        BODY.scope(SdkBody::from(self.0), call)
    }
}

tokio::task_local! {
    /// The body of the call that is polled. A client's interceptors are the same for all its calls, so what belongs to one call
    /// reaches them like this. It is gone when the call is over or dropped.
    static BODY: SdkBody;
}

/// Gives the request of each call the call's body instead of the request's own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placer;

#[dyn_dispatch_hint]
impl Intercept for Placer {
    fn name(&self) -> &'static str {
        "Placer"
    }

    // Called for each attempt, whose request is as the SDK has written it.
    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        let kind = request.headers().get("content-type");
        if !kind.is_some_and(|kind| kind.starts_with(JSON)) {
            return Err(NotPlaced::OtherProtocol.into());
        }
        let body = BODY
            .try_with(SdkBody::try_clone)
            .ok()
            .flatten()
            .ok_or(NotPlaced::NoBody)?;
        let length = body.bytes().map_or(0, <[u8]>::len);
        request.headers_mut().insert("content-length", length.to_string());
        *request.body_mut() = body;
        Ok(())
    }
}

/// Whether a call failed because it could not have the body, before anything was sent.
pub(crate) fn was_not_placed(error: &(dyn Error + 'static)) -> bool {
    successors(Some(error), |&error| error.source()).any(<dyn Error>::is::<NotPlaced>)
}

/// Whether an entry has all that is known here, and no more: a later SDK may have given it a field that would not be
/// written. A field more makes it larger.
pub(crate) const fn is_known<Entry, Known>() -> bool {
    size_of::<Entry>() == size_of::<Known>()
}
