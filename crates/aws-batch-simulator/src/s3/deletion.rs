//! One of the objects that a call deletes.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::wire::escaped;

/// An object to delete.
pub(super) struct Deletion {
    pub(super) key: String,
    pub(super) version_id: Option<String>,
    /// The code by which this deletion alone fails.
    pub(super) failure: Option<&'static str>,
}

impl Deletion {
    pub(super) fn json(&self) -> Value {
        let mut json = json!({"Key": self.key});
        if let Some(id) = &self.version_id {
            json["VersionId"] = json!(id);
        }
        json
    }

    /// The elements by which an answer names it.
    pub(super) fn name(&self) -> String {
        let mut name = format!("<Key>{}</Key>", escaped(&self.key));
        if let Some(id) = &self.version_id {
            // Writing to a string cannot fail.
            let _ = write!(name, "<VersionId>{}</VersionId>", escaped(id));
        }
        name
    }
}
