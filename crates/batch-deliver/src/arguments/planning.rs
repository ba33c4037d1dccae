//! The options of `plan`.

use bytesize::ByteSize;
use clap::{Args, ValueEnum};

use super::Service;

#[derive(Debug, Args)]
pub(crate) struct ToPlan {
    /// Files, patterns, exports, or objects of S3
    #[arg(value_name = "INPUT", required = true)]
    pub(crate) inputs: Vec<String>,
    /// Size of a shard, such as 64MB or 1GiB; a compressed or CSV input is one shard, whatever its size
    #[arg(long, value_name = "SIZE", default_value = "64MB", value_parser = size)]
    pub(crate) shard_bytes: u64,
    /// Cut inputs if their content allows it (auto), or all of them at line ends (lines)
    #[arg(long, value_enum, default_value_t = Cutting::Auto)]
    pub(crate) format: Cutting,
    /// Print one shard on each line instead of a JSON array
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
        _ => Err("give a size above 0, such as 64MB".to_owned()),
    }
}
