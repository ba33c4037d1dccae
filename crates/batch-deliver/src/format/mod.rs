//! The formats of inputs: how their bytes become entries.

mod container;
mod csv;
mod document;
mod dumps;
mod dynamo_json;
mod items;
mod line_records;
mod lines;
mod messages;
mod table;
mod text;

pub(crate) use self::csv::{Character, CsvItems, Options as CsvOptions, Quote, Types};
pub(crate) use self::items::{
    Item, ItemFormat, JsonItems, Key, KeyType, Purpose, Typing, Writes, comparable, value_of_json,
};
pub(crate) use self::line_records::LineFormat;
#[cfg(any(feature = "put", test))]
pub(crate) use self::line_records::LineParser;
#[cfg(test)]
pub(crate) use self::line_records::LineRecords;
#[cfg(feature = "put")]
pub(crate) use self::messages::put::{DeliveryRecords, EventDefaults, EventLines, Notifications, StreamRecords};
pub(crate) use self::messages::{Groups, Keys, Messages, traced};
pub(crate) use self::table::{TableFormat, TableItems, named_as_rows};
pub(crate) use self::text::{TextFormat, refusal};
