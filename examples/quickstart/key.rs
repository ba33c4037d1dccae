//! The key of the items: one attribute or two that all items have and that identify an item.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use aws_batch_simulator::{KeyType, TableOptions};
use aws_sdk_dynamodb::types::AttributeValue;

use crate::input::Items;
use crate::{Failure, Item};

/// The attributes of the key, with their types.
pub(crate) struct Key {
    attributes: Vec<(String, KeyType)>,
}

impl Key {
    /// The key with these names, `year` or `year,title`, if it is a key of the items.
    pub(crate) fn of(names: &str, items: &Items) -> Result<Self, Failure> {
        let names: Vec<&str> = names.split(',').map(str::trim).collect();
        match names[..] {
            [partition] if !partition.is_empty() => {}
            [partition, sort] if !partition.is_empty() && !sort.is_empty() && partition != sort => {}
            _ => return Err("--key takes one name, or two different ones: --key year,title".into()),
        }
        let attributes = names
            .into_iter()
            .map(|name| Ok((name.to_owned(), type_of(name, items)?)))
            .collect::<Result<_, Failure>>()?;
        let key = Self { attributes };
        key.check_unique(items)?;
        Ok(key)
    }

    /// A table with this key.
    pub(crate) fn table(&self) -> TableOptions {
        let (partition, kind) = &self.attributes[0];
        let table = TableOptions::key(partition, *kind);
        match self.attributes.get(1) {
            Some((sort, kind)) => table.sort_key(sort, *kind),
            None => table,
        }
    }

    /// The values that identify an item of this key.
    pub(crate) fn value(&self, item: &Item) -> Vec<String> {
        let value = |(name, _): &(String, KeyType)| comparable(item.get(name));
        self.attributes.iter().map(value).collect()
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.attributes.iter().map(|(name, _)| name.as_str()).collect();
        names.join(",")
    }

    /// DynamoDB keeps only the last item of a key, which a load does not expect.
    fn check_unique(&self, items: &Items) -> Result<(), Failure> {
        let mut first_with = HashMap::with_capacity(items.len());
        let mut repeated = None;
        for (number, item) in items.iter().enumerate() {
            match first_with.entry(self.value(item)) {
                Entry::Vacant(vacant) => _ = vacant.insert(number),
                Entry::Occupied(first) => {
                    repeated.get_or_insert((*first.get(), number));
                }
            }
        }
        let Some((first, second)) = repeated else {
            return Ok(());
        };
        let advice = match self.unique_with_another(items) {
            Some(key) => format!("Unique is --key {}", key.names()),
            None => "Name attributes whose values no two items share".to_owned(),
        };
        Err(format!(
            "--key {} is not unique in {}: {} items have {} keys, {} and {} the same one, and a table keeps only the last \
             item of a key. {advice}",
            self.names(),
            items.source(),
            items.len(),
            first_with.len(),
            items.place(first),
            items.place(second),
        )
        .into())
    }

    /// This key and one more attribute, if that is unique.
    fn unique_with_another(&self, items: &Items) -> Option<Self> {
        let [partition] = &self.attributes[..] else {
            return None;
        };
        let mut others: Vec<&String> = items.iter().next()?.keys().collect();
        others.sort();
        let with = |sort: &String| {
            let sort = (sort.clone(), type_of(sort, items).ok()?);
            let key = Self {
                attributes: vec![partition.clone(), sort],
            };
            let mut values: Vec<_> = items.iter().map(|item| key.value(item)).collect();
            values.sort_unstable();
            values.dedup();
            (values.len() == items.len()).then_some(key)
        };
        others.into_iter().filter(|name| **name != partition.0).find_map(with)
    }
}

/// The type that this attribute has in all items.
fn type_of(name: &str, items: &Items) -> Result<KeyType, Failure> {
    let mut kind = KeyType::S;
    for (number, item) in items.iter().enumerate() {
        let problem = match item.get(name) {
            Some(AttributeValue::S(text)) if text.is_empty() => format!("{name} is empty, which no key may be"),
            Some(AttributeValue::S(_)) if number == 0 || kind == KeyType::S => continue,
            Some(AttributeValue::N(_)) if number == 0 || kind == KeyType::N => {
                kind = KeyType::N;
                continue;
            }
            Some(AttributeValue::S(_)) => format!("{name} is a text, and a number at {}", items.place(0)),
            Some(AttributeValue::N(_)) => format!("{name} is a number, and a text at {}", items.place(0)),
            Some(_) => format!("{name} is neither a text nor a number, so that it cannot be a key"),
            None => format!("there is no {name}, which --key names; there is {}", names_of(item)),
        };
        return Err(format!("{}: {problem}", items.place(number)).into());
    }
    Ok(kind)
}

/// Some of the names that an item has.
fn names_of(item: &Item) -> String {
    const NAMED: usize = 8;
    let mut names: Vec<&str> = item.keys().map(String::as_str).collect();
    names.sort_unstable();
    match names.len() {
        0 => "nothing".to_owned(),
        count if count > NAMED => format!("{} and {} more", names[..NAMED].join(", "), count - NAMED),
        _ => names.join(", "),
    }
}

/// A value for comparison: 1.0 and 1e0 are the number 1.
fn comparable(value: Option<&AttributeValue>) -> String {
    match value {
        Some(AttributeValue::N(number)) if number.contains(['.', 'e', 'E']) => match number.parse::<f64>() {
            Ok(parsed) if parsed.fract() == 0.0 => format!("N{parsed:.0}"),
            _ => format!("N{number}"),
        },
        Some(AttributeValue::N(number)) => format!("N{number}"),
        Some(AttributeValue::S(text)) => format!("S{text}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::input;

    fn key(names: &str, lines: &str) -> Result<Vec<(String, KeyType)>, String> {
        let items = input::read_lines(lines.as_bytes(), Path::new("films.jsonl")).unwrap();
        let key = Key::of(names, &items).map(|key| key.attributes);
        key.map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_key_has_the_types_of_the_items() {
        let key = key("year, title", r#"{"year":2013,"title":"Rush"}"#).unwrap();
        assert_eq!(key, [("year".to_owned(), KeyType::N), ("title".to_owned(), KeyType::S)]);
    }

    #[test]
    fn names_that_make_no_key_are_refused() {
        for names in ["", "a,b,c", "a,a", "a,", ",b"] {
            let refused = key(names, r#"{"a":1,"b":2,"c":3}"#).unwrap_err();
            assert!(refused.starts_with("--key takes one name"), "{names}: {refused}");
        }
    }

    #[test]
    fn an_item_without_the_key_is_named_with_what_it_has() {
        let refused = key("yaer", "{\"year\":1,\"title\":\"a\"}").unwrap_err();
        assert_eq!(
            refused,
            "films.jsonl:1: there is no yaer, which --key names; there is title, year"
        );
        let refused = key("year", "{\"year\":1}\n\n{\"title\":\"a\"}").unwrap_err();
        assert!(refused.starts_with("films.jsonl:3: there is no year"), "{refused}");
    }

    #[test]
    fn a_key_is_a_text_that_is_not_empty_or_a_number_in_all_items() {
        for (second, problem) in [
            (r#"{"id":"7"}"#, "id is a text, and a number at films.jsonl:1"),
            (
                r#"{"id":[7]}"#,
                "id is neither a text nor a number, so that it cannot be a key",
            ),
            (r#"{"id":""}"#, "id is empty, which no key may be"),
        ] {
            let refused = key("id", &format!("{{\"id\":6}}\n{second}")).unwrap_err();
            assert_eq!(refused, format!("films.jsonl:2: {problem}"));
        }
    }

    #[test]
    fn a_key_that_repeats_is_refused_with_one_that_does_not() {
        let lines = "{\"year\":1,\"title\":\"a\"}\n{\"year\":2,\"title\":\"a\"}\n{\"year\":1.0,\"title\":\"b\"}";
        let refused = key("year", lines).unwrap_err();
        assert_eq!(
            refused,
            "--key year is not unique in films.jsonl: 3 items have 2 keys, films.jsonl:1 and films.jsonl:3 the same one, \
             and a table keeps only the last item of a key. Unique is --key year,title"
        );
        let refused = key("year", "{\"year\":1}\n{\"year\":1}").unwrap_err();
        assert!(
            refused.ends_with("Name attributes whose values no two items share"),
            "{refused}"
        );
    }
}
