//! The client's own record of each attempt: its entries, and whether an answer was read to its end.

use std::sync::{Arc, Mutex, PoisonError};

use aws_batch_simulator::Value;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeTransmitInterceptorContextMut, FinalizerInterceptorContextRef,
};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::{ConfigBag, Storable, StoreReplace};

use super::load::Load;
use super::mix::Service;
use super::strike::ATTEMPT;

/// An attempt to write or to send. Its place is its number.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    /// The numbers of its entries.
    pub(crate) entries: Vec<usize>,
    /// An answer was read to its end.
    pub(crate) heard: bool,
    /// The answer is a success.
    pub(crate) succeeded: bool,
}

/// An interceptor of the SDK that records attempts. Clones share the state.
#[derive(Debug, Clone)]
pub(crate) struct Witness {
    load: Arc<Load>,
    attempts: Arc<Mutex<Vec<Attempt>>>,
}

/// The number of the attempt.
#[derive(Debug)]
struct Number(usize);

impl Storable for Number {
    type Storer = StoreReplace<Self>;
}

impl Witness {
    pub(crate) fn new(load: Arc<Load>) -> Self {
        Self {
            load,
            attempts: Arc::default(),
        }
    }

    pub(crate) fn attempts(&self) -> Vec<Attempt> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The numbers of the entries of a request, which has none if it neither writes nor sends.
    fn entries(&self, body: &[u8]) -> Vec<usize> {
        let body: Value = serde_json::from_slice(body).expect("the SDK writes JSON");
        if let Some(messages) = body["Entries"].as_array() {
            return messages
                .iter()
                .map(|message| self.load.number_on_wire(message))
                .collect();
        }
        if self.load.service == Service::Writes {
            return self.load.number_of_write(&body).into_iter().collect();
        }
        let tables = body["RequestItems"]
            .as_object()
            .into_iter()
            .flat_map(|tables| tables.values());
        let writes = tables.flat_map(|writes| writes.as_array().expect("writes"));
        let entry = |write: &Value| {
            let put = &write["PutRequest"]["Item"];
            let entry = if put.is_null() {
                &write["DeleteRequest"]["Key"]
            } else {
                put
            };
            self.load.number_on_wire(entry)
        };
        writes.map(entry).collect()
    }
}

impl Intercept for Witness {
    fn name(&self) -> &'static str {
        "Witness"
    }

    fn modify_before_transmit(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let entries = self.entries(context.request().body().bytes().expect("a body in memory"));
        if entries.is_empty() {
            return Ok(());
        }
        let number = {
            let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
            attempts.push(Attempt {
                entries,
                heard: false,
                succeeded: false,
            });
            attempts.len() - 1
        };
        context.request_mut().headers_mut().insert(ATTEMPT, number.to_string());
        bag.interceptor_state().store_put(Number(number));
        Ok(())
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let (heard, succeeded) = match context.output_or_error() {
            Some(Ok(_)) => (true, true),
            Some(Err(error)) => (error.is_operation_error(), false),
            None => (false, false),
        };
        if let Some(Number(number)) = bag.load::<Number>() {
            let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
            (attempts[*number].heard, attempts[*number].succeeded) = (heard, succeeded);
        }
        Ok(())
    }
}
