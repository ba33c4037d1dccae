use aws_sdk_dynamodb::types::{
    AttributeDefinition, KeySchemaElement, KeyType, Projection, ScalarAttributeType, SearchSchemaElement,
    VectorAttributeDefinition,
};
use proptest::prelude::*;

use super::super::testing::{delete, put, text};
use super::*;

const KEY: SearchSchemaElementType = SearchSchemaElementType::Hash;
const FILTER: SearchSchemaElementType = SearchSchemaElementType::InlineFilter;

fn index(
    name: &str,
    attribute: &str,
    schema: &[(&str, SearchSchemaElementType)],
    projection: Projection,
) -> VectorIndexDescription {
    let elements = schema.iter().map(|(attribute, type_)| {
        let element = SearchSchemaElement::builder().attribute_name(*attribute);
        element.search_schema_element_type(type_.clone()).build().unwrap()
    });
    let vector = VectorAttributeDefinition::builder().attribute_name(attribute);
    VectorIndexDescription::builder()
        .index_name(name)
        .vector_attribute(vector.build().unwrap())
        .set_search_schema(Some(elements.collect()))
        .projection(projection)
        .dimensions(3)
        .build()
}

fn projection(type_: ProjectionType, others: &[&str]) -> Projection {
    let others = others.iter().map(|name| (*name).to_owned()).collect();
    Projection::builder()
        .projection_type(type_)
        .set_non_key_attributes(Some(others))
        .build()
}

fn all() -> Projection {
    projection(ProjectionType::All, &[])
}

/// A table with the key `id`, and these indexes of vectors.
fn table(indexes: Vec<VectorIndexDescription>) -> TableDescription {
    let key = KeySchemaElement::builder().attribute_name("id").key_type(KeyType::Hash);
    let types = [("id", "S"), ("tenant", "S"), ("year", "N")];
    let definitions = types.map(|(name, type_)| {
        let definition = AttributeDefinition::builder().attribute_name(name);
        definition
            .attribute_type(ScalarAttributeType::from(type_))
            .build()
            .unwrap()
    });
    TableDescription::builder()
        .key_schema(key.build().unwrap())
        .set_attribute_definitions(Some(definitions.to_vec()))
        .set_vector_indexes(Some(indexes))
        .build()
}

/// An index of the attribute `meaning`, by tenant and with a filter.
fn by_tenant() -> TableDescription {
    table(vec![index(
        "by_meaning",
        "meaning",
        &[("tenant", KEY), ("year", FILTER)],
        all(),
    )])
}

fn number(number: &str) -> AttributeValue {
    AttributeValue::N(number.to_owned())
}

fn vector(numbers: [&str; 3]) -> AttributeValue {
    AttributeValue::L(numbers.map(number).to_vec())
}

/// Checks an item with a tenant and these attributes.
fn checked<const N: usize>(attributes: [(&'static str, AttributeValue); N]) -> Result<(), String> {
    let described = by_tenant();
    let item = [("id", text("a")), ("tenant", text("t"))].into_iter().chain(attributes);
    let put = put(item);
    let checked = VectorIndexes::described(&described).check(&put);
    checked.map_err(|invalid| invalid.to_string())
}

#[test]
fn what_a_vector_index_cannot_take_is_named_by_index_attribute_and_numbers() {
    let three = || vector(["0.25", "-1", "3.4028235E38"]);
    assert_eq!(checked([("meaning", three())]), Ok(()));
    assert_eq!(checked([("meaning", three()), ("year", number("1984"))]), Ok(()));
    // Items without a vector, and attributes that no index has.
    assert_eq!(checked([("year", number("1984"))]), Ok(()));
    assert_eq!(checked([("others", AttributeValue::L(vec![text("a")]))]), Ok(()));
    // An element that is too close to 0 for a 32-bit float is 0.
    assert_eq!(checked([("meaning", vector(["1E-60", "+.5", "1e2"]))]), Ok(()));

    for (value, words) in [
        (
            AttributeValue::L(vec![number("1"), number("0")]),
            "the index `by_meaning` needs `meaning` with 3 dimensions, the item has 2",
        ),
        (
            AttributeValue::L(Vec::new()),
            "the index `by_meaning` needs `meaning` with 3 dimensions, the item has 0",
        ),
        (
            AttributeValue::Ns(["1", "2", "3"].map(str::to_owned).to_vec()),
            "the index `by_meaning` needs `meaning` as L, the item has NS",
        ),
        (
            AttributeValue::L(vec![number("1"), text("oops"), number("0")]),
            "the index `by_meaning` needs `meaning[1]` as N, the item has S",
        ),
        (
            vector(["1", "0", "-1E39"]),
            "the index `by_meaning` needs `meaning[2]` as a 32-bit float from -3.4028235E38 to 3.4028235E38, the item has a \
             number beyond",
        ),
    ] {
        assert_eq!(checked([("meaning", value)]), Err(words.to_owned()));
    }
    for (attribute, value, words) in [
        (
            "tenant",
            number("7"),
            "the index `by_meaning` needs `tenant` as S, the item has N",
        ),
        (
            "tenant",
            text(""),
            "the index `by_meaning` needs `tenant` as S, the item has an empty value",
        ),
        (
            "year",
            text("1984"),
            "the index `by_meaning` needs `year` as N, the item has S",
        ),
    ] {
        let item = [("meaning", three()), (attribute, value)];
        assert_eq!(checked(item), Err(words.to_owned()));
    }
    let long = checked([("tenant", text(&"t".repeat(2_049)))]).unwrap_err();
    assert_eq!(long, "`tenant`: the index key has 2049 bytes, the limit is 2048");
}

#[test]
fn an_index_that_is_being_deleted_takes_any_item() {
    let mut going = index("by_meaning", "meaning", &[], all());
    going.index_status = Some(IndexStatus::Deleting);
    let vectors = VectorIndexes::described(&table(vec![going]));
    assert_eq!(
        vectors.check(&put([("id", text("a")), ("meaning", text("none"))])),
        Ok(())
    );
}

fn counted(refuses: bool) -> VectorCounts {
    let mut counts = VectorCounts::default();
    counts.set_refuses(refuses);
    counts
}

#[tokio::test(start_paused = true)]
async fn items_that_an_index_silently_leaves_out_are_counted_or_refused() {
    let vectors = VectorIndexes::described(&by_tenant());
    let with = |tenant: &'static str| {
        let key = [("id", text("a")), ("meaning", vector(["1", "0", "0"]))];
        put(key
            .into_iter()
            .chain((!tenant.is_empty()).then(|| ("tenant", text(tenant)))))
    };
    let without_vector = put([("id", text("a"))]);
    let counts = counted(false);
    for write in [with("t"), with(""), without_vector.clone(), delete([("id", text("a"))])] {
        assert_eq!(vectors.count(&write, "films", &counts), Ok(()));
    }
    let figures = counts.figures();
    assert_eq!((figures.unindexed, figures.write_bytes), (1, 1_024));

    let counts = counted(true);
    assert_eq!(vectors.count(&with("t"), "films", &counts), Ok(()));
    assert_eq!(vectors.count(&without_vector, "films", &counts), Ok(()));
    let refused = vectors.count(&with(""), "films", &counts).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the index `by_meaning` would leave the item out: it has the vector `meaning`, but not the key `tenant`"
    );
    assert_eq!(counts.figures().unindexed, 0);
}

/// The rule that what DynamoDB reports follows, as captured in August 2026.
#[tokio::test(start_paused = true)]
async fn a_write_to_an_index_has_the_bytes_of_the_vector_and_of_what_is_projected() {
    let bytes = |projection: Projection| {
        let described = table(vec![index("by_meaning", "meaning", &[("tenant", KEY)], projection)]);
        let item = [
            ("id", text("a")),
            ("tenant", text("t")),
            ("meaning", vector(["0.123456789", "0.123456789", "0.123456789"])),
            ("title", text(&"x".repeat(3_000))),
            ("notes", text(&"x".repeat(5_000))),
        ];
        let counts = counted(false);
        VectorIndexes::described(&described)
            .count(&put(item), "films", &counts)
            .unwrap();
        counts.figures().write_bytes
    };
    let vector = 4 * 3 + "meaning".len() as u64;
    let keys = "ida".len() as u64 + "tenantt".len() as u64;
    assert_eq!(bytes(projection(ProjectionType::KeysOnly, &[])), 1_024);
    let title = "title".len() as u64 + 3_000;
    assert_eq!(
        bytes(projection(ProjectionType::Include, &["title"])),
        vector + keys + title
    );
    let notes = "notes".len() as u64 + 5_000;
    assert_eq!(bytes(all()), vector + keys + title + notes);
}

proptest! {
    /// The numbers of a vector count four bytes each, however long they are, in however many indexes the vector is.
    #[test]
    fn an_item_is_billed_with_four_bytes_for_each_dimension(
        numbers in proptest::collection::vec(any::<f32>().prop_filter("finite", |number| number.is_finite()), 3),
        title in ".{0,40}",
        indexes in 1_usize..4,
    ) {
        let numbers = numbers.iter().map(|element| number(&format!("{element:e}")));
        let vector = AttributeValue::L(numbers.collect());
        let item: Attributes = [("id", text("a")), ("title", text(&title)), ("meaning", vector)]
            .map(|(name, value)| (name.to_owned(), value))
            .into();
        let of = |number: usize| index(&format!("index {number}"), "meaning", &[], all());
        let vectors = VectorIndexes::described(&table((0..indexes).map(of).collect()));
        let others = "ida".len() + "title".len() + title.len();
        prop_assert_eq!(vectors.billed_size(&item), others + "meaning".len() + 4 * 3);
        prop_assert_eq!(VectorIndexes::default().billed_size(&item), item_size(&item));
        let write = put(item.iter().map(|(name, value)| (name.as_str(), value.clone())));
        prop_assert_eq!(vectors.check(&write), Ok(()));
    }
}
