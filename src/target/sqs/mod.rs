//! SQS.
