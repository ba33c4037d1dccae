//! How to make shards.

use bytesize::ByteSize;
use clap::{Args, ValueEnum};

use super::Service;

#[derive(Debug, Args)]
pub(crate) struct ToPlan {
    /// Files, patterns, exports, or objects of S3
    #[arg(value_name = "INPUT", required = true)]
    pub(crate) inputs: Vec<String>,
    /// How large a shard is: 64MB, 1GiB. What is compressed or CSV is one shard, whatever its size
    #[arg(long, value_name = "SIZE", default_value = "64MB", value_parser = size)]
    pub(crate) shard_bytes: u64,
    /// Whether inputs can be cut: as their content says, or always, since each line is a record
    #[arg(long, value_enum, default_value_t = Cutting::Auto)]
    pub(crate) format: Cutting,
    /// Write a shard a line instead of one JSON array
    #[arg(long)]
    pub(crate) lines: bool,
    #[command(flatten)]
    pub(crate) service: Service,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cutting {
    Auto,
    Lines,
}

fn size(text: &str) -> Result<u64, String> {
    match text.parse::<ByteSize>() {
        Ok(size) if size.as_u64() > 0 => Ok(size.as_u64()),
        _ => Err("a size above 0 is needed, such as 64MB".to_owned()),
    }
}
