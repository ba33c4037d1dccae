//! A film collection arrives in a table as it was.

use std::collections::HashMap;
use std::env;
use std::fs;

use aws_batch_delivery::{DeliveryOptions, deliver_batch_to_dynamo};
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, ScalarAttributeType};

use crate::emulators::Emulators;
use crate::table::{Item, Table, put_item, text};

/// Names a file with a film a line, as JSON with `year` and `title`, to take instead of the made up ones.
const FILMS: &str = "AWS_BATCH_DELIVERY_FILMS";

/// As many as AWS's own sample of films has.
const COUNT: usize = 4_609;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn films_arrive_attribute_by_attribute() {
    let emulators = Emulators::find().await;
    let key = [("year", ScalarAttributeType::N), ("title", ScalarAttributeType::S)];
    let table = Table::create(&emulators, "films", &key).await;
    let films = films();

    let writes = films.iter().cloned().map(put_item);
    let report = deliver_batch_to_dynamo(&table.client, &table.name, writes, &DeliveryOptions::default())
        .await
        .unwrap();
    assert_eq!(report.delivered, films.len() as u64);
    // The first calls feel their way with fewer films.
    let fewest = films.len().div_ceil(25) as u64;
    assert!(report.calls <= fewest + fewest / 50, "{report}");
    assert_eq!(report.resubmitted, 0);

    let sent: HashMap<_, _> = films.into_iter().map(comparable).map(by_key).collect();
    let stored: HashMap<_, _> = table.items().await.into_iter().map(comparable).map(by_key).collect();
    assert_eq!(stored.len(), sent.len());
    for (key, film) in sent {
        assert_eq!(stored.get(&key), Some(&film), "{key:?}");
    }
    table.remove().await;
}

fn films() -> Vec<Item> {
    let Some(file) = env::var_os(FILMS) else {
        return (0..COUNT).map(film).collect();
    };
    let parse = |line: &str| serde_dynamo::to_item(serde_json::from_str::<serde_json::Value>(line).unwrap()).unwrap();
    fs::read_to_string(file).unwrap().lines().map(parse).collect()
}

/// The film with this number: every type of attribute, nested, and values that have gone wrong on some wire before.
fn film(number: usize) -> Item {
    let numbers = |parts: &[usize]| AttributeValue::Ns(parts.iter().map(usize::to_string).collect());
    let actor = |part: usize| {
        AttributeValue::M(HashMap::from([
            ("name".to_owned(), text(format!("Zoë {} O'Neill", number * 7 + part))),
            ("part".to_owned(), AttributeValue::N(part.to_string())),
            ("voice only".to_owned(), AttributeValue::Bool(part % 2 == 1)),
        ]))
    };
    let info = [
        ("loss", AttributeValue::N(format!("-{}.25", number + 1))),
        // 38 digits, as many as a number may have.
        ("longest", AttributeValue::N(format!("1{number:037}"))),
        ("tiny", AttributeValue::N(format!("0.0000{}", number * 10 + 1))),
        (
            "plot",
            text(format!(
                "{number}: \"quoted\" \\ tab\t newline\n nul\0 日本語 🎬 \u{10FFFF}"
            )),
        ),
        ("tagline", text("")),
        (
            "genres",
            AttributeValue::Ss(vec![
                "Drama".to_owned(),
                format!("Genre {}", number % 17),
                "é".to_owned(),
            ]),
        ),
        ("minutes", numbers(&[number + 60, number + 61, 0])),
        ("posters", AttributeValue::Bs(vec![bytes(number), bytes(number + 1)])),
        ("thumbnail", AttributeValue::B(bytes(number))),
        ("actors", AttributeValue::L((0..number % 5).map(actor).collect())),
        ("awards", AttributeValue::M(HashMap::new())),
        ("seen", AttributeValue::Bool(number.is_multiple_of(3))),
        ("sequel", AttributeValue::Null(true)),
        (
            "mixed",
            AttributeValue::L(vec![AttributeValue::Null(true), numbers(&[number]), actor(9)]),
        ),
    ];
    let info = info.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    HashMap::from([
        ("year".to_owned(), AttributeValue::N((1900 + number % 125).to_string())),
        ("title".to_owned(), text(format!("Film “{number}” für Élise"))),
        ("info".to_owned(), AttributeValue::M(info)),
    ])
}

/// Up to 255 bytes, every value among them, distinct for neighbours.
fn bytes(number: usize) -> Blob {
    Blob::new(
        (0..=(number % 255))
            .map(|place| (place + number).to_le_bytes()[0])
            .collect::<Vec<_>>(),
    )
}

fn by_key(film: Item) -> ((String, String), Item) {
    let year = film["year"].as_n().unwrap().clone();
    let title = film["title"].as_s().unwrap().clone();
    ((year, title), film)
}

/// The item as it compares: sets have no order, and a number may be written in more than one way.
fn comparable(item: Item) -> Item {
    let comparable = |(name, value)| (name, comparable_value(value));
    item.into_iter().map(comparable).collect()
}

fn comparable_value(value: AttributeValue) -> AttributeValue {
    match value {
        AttributeValue::N(number) => AttributeValue::N(shortest(&number)),
        AttributeValue::Ss(mut texts) => {
            texts.sort_unstable();
            AttributeValue::Ss(texts)
        }
        AttributeValue::Ns(numbers) => {
            let mut numbers: Vec<_> = numbers.iter().map(|number| shortest(number)).collect();
            numbers.sort_unstable();
            AttributeValue::Ns(numbers)
        }
        AttributeValue::Bs(mut blobs) => {
            blobs.sort_unstable_by(|one, other| one.as_ref().cmp(other.as_ref()));
            AttributeValue::Bs(blobs)
        }
        AttributeValue::L(values) => AttributeValue::L(values.into_iter().map(comparable_value).collect()),
        AttributeValue::M(item) => AttributeValue::M(comparable(item)),
        other => other,
    }
}

/// `1.50` is `1.5`, and `1.0` is `1`.
fn shortest(number: &str) -> String {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        number.to_owned()
    }
}
