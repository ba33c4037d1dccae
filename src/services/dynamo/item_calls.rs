//! The calls that write one item, or several in a transaction.

use std::pin::pin;
use std::slice::from_ref;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::RequestId;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::error::ConditionalCheckFailedException;
use aws_sdk_dynamodb::types::{ConsumedCapacity, ReturnConsumedCapacity, TransactWriteItem};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use tracing::Span;
use tracing::field::Empty;

use super::attempts::{FailedCondition, Reply, is_refusal};
use super::calls::{DynamoCalls, consumed, dynamo_span, short_name};
use super::cancellation::of_transaction;
use super::item_write::{ItemWrite, old_item};
#[cfg(feature = "spool")]
use super::sorted_body::SortedBody;
use super::throttling::{self, Throttled};
use crate::aws::request::{in_span, send};

/// An error of a call whose condition may not hold.
trait Conditional: Throttled {
    fn failed_condition(&self) -> Option<&ConditionalCheckFailedException>;
}

macro_rules! conditional {
    ($($error:ident)*) => {$(
        impl Conditional for $error {
            fn failed_condition(&self) -> Option<&ConditionalCheckFailedException> {
                match self {
                    Self::ConditionalCheckFailedException(failed) => Some(failed),
                    _ => None,
                }
            }
        }
    )*};
}

conditional! { PutItemError UpdateItemError DeleteItemError }

/// Makes a call whose builder has been given the item or the key, and the update: the rest is the same for all three.
macro_rules! send_write {
    ($calls:expr, $operation:literal, $call:expr, $table:expr, $write:expr, $returns_old:expr, $metered:expr) => {{
        let span = dynamo_span!($operation, short_name($table));
        let call = $call
            .table_name($table)
            .set_condition_expression($write.condition.clone())
            .set_expression_attribute_names($write.names())
            .set_expression_attribute_values($write.values())
            .set_return_values_on_condition_check_failure(old_item($returns_old))
            .set_return_consumed_capacity($metered.then_some(ReturnConsumedCapacity::Total));
        let result = send!(aws_sdk_dynamodb, call, $calls.changes, span);
        reply(result.map(|output| output.consumed_capacity), &span)
    }};
}

impl DynamoCalls {
    /// Puts an item. With `returns_old`, the answer to a failed condition has the item that is there.
    pub(super) async fn put_item(&self, table: &str, write: &ItemWrite, returns_old: bool, metered: bool) -> Reply {
        let call = self.client.put_item().set_item(write.attributes().cloned());
        send_write!(self, "PutItem", call, table, write, returns_old, metered)
    }

    /// Updates an item, or creates it.
    pub(super) async fn update_item(&self, table: &str, write: &ItemWrite, returns_old: bool, metered: bool) -> Reply {
        let call = self.client.update_item().set_key(write.attributes().cloned());
        let call = call.set_update_expression(write.update.clone());
        send_write!(self, "UpdateItem", call, table, write, returns_old, metered)
    }

    /// Deletes an item, if it is there.
    pub(super) async fn delete_item(&self, table: &str, write: &ItemWrite, returns_old: bool, metered: bool) -> Reply {
        let call = self.client.delete_item().set_key(write.attributes().cloned());
        send_write!(self, "DeleteItem", call, table, write, returns_old, metered)
    }

    /// Makes all of the actions or none. Requests with the same token are applied once.
    ///
    /// It always asks for the consumed capacity: requests with one token must not differ. Those of a spool's entry are built again by each
    /// delivery.
    pub(super) async fn transact(&self, actions: Vec<TransactWriteItem>, token: &str, is_spooled: bool) -> Reply {
        let span = dynamo_span!("TransactWriteItems", Empty, db.operation.batch.size = actions.len());
        let call = self
            .client
            .transact_write_items()
            .set_transact_items(Some(actions))
            .client_request_token(token)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let call = call.customize().config_override(self.changes.clone());
        #[cfg(feature = "spool")]
        let call = if is_spooled { call.interceptor(SortedBody) } else { call };
        #[cfg(not(feature = "spool"))]
        let _ = is_spooled;
        let request = pin!(call.send());
        let result: Result<_, SdkError<TransactWriteItemsError, HttpResponse>> =
            in_span(request, &span, RequestId::request_id).await;
        match result {
            Ok(output) => applied(consumed(output.consumed_capacity()), &span),
            Err(error) => of_transaction(error),
        }
    }
}

fn applied(units: Option<f64>, span: &Span) -> Reply {
    span.record("aws.dynamodb.consumed_capacity", units);
    Reply::Applied(units)
}

fn reply<E: Conditional>(result: Result<Option<ConsumedCapacity>, SdkError<E, HttpResponse>>, span: &Span) -> Reply {
    match result {
        Ok(capacity) => applied(
            capacity.as_ref().and_then(|capacity| consumed(from_ref(capacity))),
            span,
        ),
        Err(error) => match failed_condition(&error) {
            Some(failed) => Reply::ConditionFailed(vec![failed]),
            None => Reply::Failed(throttling::of_call(error)),
        },
    }
}

/// Whether the service says that the condition does not hold, and the existing item.
fn failed_condition<E: Conditional>(error: &SdkError<E, HttpResponse>) -> Option<FailedCondition> {
    let failed = error.as_service_error()?.failed_condition()?;
    is_refusal(error).then(|| FailedCondition::new(0, failed.item().cloned()))
}
