//! Names of inputs, tables and queues.
