//! `batch-deliver`: files into DynamoDB tables and SQS queues.

use std::process::ExitCode;

use batch_deliver::Arguments;

#[tokio::main]
async fn main() -> ExitCode {
    batch_deliver::run(Arguments::of_command_line()).await
}
