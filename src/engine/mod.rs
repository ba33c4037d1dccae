//! The loop that every delivery goes through.
//!
//! ```text
//! input ─▶ lanes ─▶ fresh ─▶ pack ─▶ gate ─▶ call ──▶ ledger ─▶ delivered, or handed back
//!                             ▲               │
//!                             ├── retries ◀───┤ rejected
//!                             └── bisection ◀─┘ refused as a whole
//! ```
//!
//! - `input`: an iterator, a stream, or a producer's queue.
//! - `fresh`: entries as they come from the input, checked and measured once.
//! - `lanes`: the order of entries that must not pass each other; `held`: those that wait for it.
//! - `retry_queue`: rejected entries, first at rest, then ready.
//! - `bisection`: refused calls, halved until the entries at fault are found.
//! - `supply`: what there is to send; `pack`: a chunk of what is ready, topped up with fresh entries, as far as it has `space`.
//! - `confirmation`: what travels with an entry and is told its fate.
//! - `tracked_entry`: what is known of one entry, and the chunk; `history`: what came of sending an entry in vain.
//! - `key_lines`: entries that wait by their partition key; `key_counts`: what a call came to, key by key.
//! - `slots`: the calls that may be in flight at once, and when each may leave.
//! - `gate`: the way past the shared strategy; `queue`: the calls that wait there; `permit`: the permission for a call to leave, and the call that has left.
//! - `guarded`: code that is not this crate's, and may panic.
//! - `meter`: what entries count for with a strategy that counts units of capacity.
//! - `call`: one call and its answer; `call_pool`: the calls in flight; `call_queue`: those that wait for a task.
//! - `settle`: from the answer to the fate of each entry.
//! - `leftovers`: what becomes of a call's entries that were not accepted.
//! - `setup`: whether calls can be made at all, and the probes that find out.
//! - `refusals`: calls that are refused for a reason that all entries share.
//! - `ledger`: the fate of every entry; `delivered`: what it comes to in the end.
//! - `hand_backs`: undelivered entries on the way back, after the target has cleaned up.
//! - `watch`: notices that nothing is accepted, and logs it; `warnings`: so that deliveries that share a strategy log it once.
//! - `delivering`: all of that together; `deliver`: the loop itself; `ending`: its end before everything is delivered.
//!
//! It knows no AWS: the service is a [`BatchTarget`](crate::targets::BatchTarget). It has no clock but tokio's, so that
//! paused time works.

mod bisection;
mod call;
mod call_pool;
mod call_queue;
mod confirmation;
mod deliver;
mod delivered;
mod delivering;
mod ending;
mod fresh;
mod gate;
mod guarded;
mod hand_backs;
mod held;
mod history;
mod input;
mod key_counts;
mod key_lines;
mod lanes;
mod ledger;
mod leftovers;
mod meter;
mod pack;
mod permit;
mod queue;
mod refusals;
mod rests;
mod retry_queue;
mod settle;
mod setup;
mod slots;
mod space;
mod supply;
mod tracked_entry;
mod warnings;
mod watch;

pub(crate) use confirmation::{Confirmation, Confirms};
pub(crate) use deliver::deliver;
pub(crate) use delivered::Delivered;
pub(crate) use gate::Gate;
pub(crate) use input::{Batch, Incoming, Input, Streamed};
pub(crate) use watch::destination;
