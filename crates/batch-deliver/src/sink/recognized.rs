//! By what a journal recognizes the place of a delivery.

/// The value of a setting that could not be looked up. It is not compared.
pub(crate) const UNKNOWN: &str = "not known";

pub(super) const ACCOUNT: &str = "account";

/// The key of the table. It says what the records are, and a table that may not be described has it only if it is given.
pub(crate) const KEY: &str = "key";

pub(crate) const TABLE_ARN: &str = "ARN of the table";
pub(super) const TABLE_ID: &str = "id of the table";

pub(super) const QUEUE_URL: &str = "URL of the queue";
pub(super) const QUEUE_ARN: &str = "ARN of the queue";
pub(super) const QUEUE_CREATED: &str = "time of the queue's creation";

/// Those of a table that is read.
pub(super) const SOURCE_ARN: &str = "ARN of the source";
pub(super) const SOURCE_ID: &str = "id of the source";

/// What identifies a service, and the same of a table that is read.
const OF_SOURCE: [(&str, &str); 3] = [
    (ACCOUNT, "account of the source"),
    ("region", "region of the source"),
    ("endpoint", "endpoint of the source"),
];

const GIVE: &str = "to continue, give it as before";
const OTHER: &str = "it is another one, or was created again";

/// The settings that say where a delivery leads to, each with what to do about another value. The user may know that another place has the
/// same content. Those that only one of two runs knows are not compared.
pub(crate) const OF_PLACE: [(&str, &str); 14] = [
    (TABLE_ID, OTHER),
    (TABLE_ARN, OTHER),
    (ACCOUNT, GIVE),
    ("region", GIVE),
    ("endpoint", GIVE),
    (QUEUE_URL, OTHER),
    (QUEUE_ARN, OTHER),
    (QUEUE_CREATED, OTHER),
    (SOURCE_ARN, OTHER),
    (SOURCE_ID, OTHER),
    (OF_SOURCE[0].1, GIVE),
    (OF_SOURCE[1].1, GIVE),
    (OF_SOURCE[2].1, GIVE),
    (ENDPOINT_OF_INPUTS, GIVE),
];

/// The endpoint from which objects are read.
pub(crate) const ENDPOINT_OF_INPUTS: &str = "endpoint of S3";

/// The name of a setting of the service that has the source.
pub(super) fn of_source(name: &'static str) -> &'static str {
    let known = OF_SOURCE.iter().find(|(own, _)| *own == name);
    known.map_or(name, |(_, of_source)| of_source)
}
