//! Queues as the input of a delivery: [`Receive`].
//!
//! # How it works
//! A receive is an entry of a delivery whose target receives: pace, retries, time limits, outages, logs and metrics are those of every
//! delivery. What was received is [held](held): in one table behind one lock, from the answer that brought the message until its
//! deletion was accepted or it was made visible again. A task works off what the table has due: deletions and changes of the visibility
//! timeout, each through a producer of the existing target, in calls of ten.
//!
//! A message of a FIFO group is handed out when the one before it was settled, and never earlier. So nothing has to be called back
//! when a message is released: the later ones of its group are still here, hidden, and wait for it. SQS gives it out again alone, because a
//! message that is visible again makes its group visible, but none behind a hidden one. When it has had its last receive it does not
//! come again, and the next one is handed out. If it does not come although it has some left, another receiver has it, and the later ones
//! are released.
//!
//! Each receive of a message counts, whether it is handed out or not: a redrive policy moves it to the dead letters after
//! `maxReceiveCount`. So what is received in advance follows what is settled, and the policy is asked for.
//!
//! | file | what it is |
//! |---|---|
//! | `receive` | what is received, and how |
//! | `messages` | the stream of the messages: when it receives, and when it ends |
//! | `receive_call` | one receive, and what becomes of it |
//! | `ticket` | what settles a message, and the wait for the last settlement |
//! | `held` | the messages that are held, behind one lock |
//! | `held/state` | what is held, and what is due for it |
//! | `held/groups` | the groups of a FIFO queue, and what waits in them |
//! | `held/reading_ahead` | how much is received before it is asked for |
//! | `held_message` | one of them: its phase, and its visibility timeout |
//! | `settling` | the task that deletes, hides and releases, and asks for the redrive policy |
//! | `progress` | the counts |

mod held;
mod held_message;
mod messages;
mod progress;
mod receive;
mod receive_call;
mod settling;
mod ticket;

pub use messages::ReceivedMessages;
pub use progress::ReceiveFigures;
pub use receive::Receive;
pub use ticket::{ReceiveProgress, Received, Ticket};
