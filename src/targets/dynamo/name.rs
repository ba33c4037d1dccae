//! The names of a table.

/// The name of a table for the log, without the account id of an ARN.
pub(super) fn short_name(table: &str) -> &str {
    let last = table.rsplit_once('/').filter(|_| table.starts_with("arn:"));
    last.map_or(table, |(_, name)| name)
}

/// The name of a table that may be given by its ARN, so that its writes keep their order with both spellings.
pub(super) fn table_name(table: &str) -> &str {
    match table.strip_prefix("arn:").and_then(|arn| arn.split_once(":table/")) {
        Some((_, name)) => name,
        None => table,
    }
}
