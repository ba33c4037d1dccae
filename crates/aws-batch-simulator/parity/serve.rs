//! Serves an empty simulator over HTTP, and does what each line of the standard input says: the members of a `CreateTable`,
//! `CreateQueue`, `CreateStream` or `CreateDeliveryStream` request as JSON create it, and so do `{"Topic": NAME}`,
//! `{"EventBus": NAME}` and `{"Bucket": NAME}`. `{"RecordsOf": STREAM}` shows the records of a stream, for which the simulator has
//! no operation. Prints the endpoint, and an answer for each line. Ends with the input.

use std::error::Error;
use std::io::{BufRead, stdin};
use std::time::Duration;

use aws_batch_simulator::{
    Capacity, DeliveryStreamOptions, EventBusOptions, IndexOptions, KeyType, QueueOptions, Simulator, Stream,
    StreamOptions, StreamRecord, TableOptions, TopicOptions, Value, json,
};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let simulator = Simulator::new(1);
    let server = simulator.serve("127.0.0.1:0").await?;
    println!("{}", server.endpoint());
    let lines = tokio::task::spawn_blocking(move || {
        let mut streams: Vec<Stream> = Vec::new();
        for line in stdin().lock().lines() {
            let request: Value = line?.parse()?;
            if let Some(name) = request["RecordsOf"].as_str() {
                println!("{}", records(&streams, name));
                continue;
            }
            let created = if request["QueueName"].is_string() {
                create_queue(&simulator, &request)
            } else if let Some(created) = create_other(&simulator, &request) {
                Some(created)
            } else if request["StreamName"].is_string() {
                create_stream(&simulator, &request).map(|stream| streams.push(stream))
            } else {
                create_table(&simulator, &request)
            };
            println!("{}", if created.is_some() { "created" } else { "refused" });
        }
        Ok::<(), Box<dyn Error + Send + Sync>>(())
    });
    lines.await?.map_err(|error| error.to_string())?;
    drop(server);
    Ok(())
}

/// A topic, an event bus, a bucket or a delivery stream. `None` if the request is about something else.
fn create_other(simulator: &Simulator, request: &Value) -> Option<()> {
    if let Some(name) = request["Topic"].as_str() {
        let by_content = request["Attributes"]["ContentBasedDeduplication"] == "true";
        let options = TopicOptions::default();
        simulator.topic(
            name,
            if by_content {
                options.content_based_deduplication()
            } else {
                options
            },
        );
    } else if let Some(name) = request["EventBus"].as_str() {
        simulator.event_bus(name, EventBusOptions::default());
    } else if let Some(name) = request["Bucket"].as_str() {
        simulator.bucket(name);
    } else if let Some(name) = request["DeliveryStreamName"].as_str() {
        simulator.delivery_stream(name, DeliveryStreamOptions::default());
    } else {
        return None;
    }
    Some(())
}

/// `None` if an attribute is no number, or one that the simulator does not know.
fn create_queue(simulator: &Simulator, request: &Value) -> Option<()> {
    let mut options = QueueOptions::default();
    for (name, value) in request["Attributes"].as_object().into_iter().flatten() {
        let value = value.as_str()?;
        options = match (name.as_str(), value) {
            ("MaximumMessageSize", _) => options.maximum_message_size(value.parse().ok()?),
            ("VisibilityTimeout", _) => options.visibility_timeout(Duration::from_secs(value.parse().ok()?)),
            ("DelaySeconds", _) => options.delay(Duration::from_secs(value.parse().ok()?)),
            ("ContentBasedDeduplication", "true") => options.content_based_deduplication(),
            ("FifoQueue" | "ContentBasedDeduplication", _) => options,
            _ => return None,
        };
    }
    simulator.queue(request["QueueName"].as_str()?, options);
    Some(())
}

/// Without a limit for the throughput, which few emulators have.
fn create_stream(simulator: &Simulator, request: &Value) -> Option<Stream> {
    let shards = usize::try_from(request["ShardCount"].as_u64()?).ok()?;
    let options = StreamOptions::shards(shards)
        .capacity(Capacity::unlimited())
        .byte_capacity(Capacity::unlimited());
    Some(simulator.stream(request["StreamName"].as_str()?, options))
}

/// The records of a stream in the order of acceptance.
fn records(streams: &[Stream], name: &str) -> Value {
    let records = streams.iter().find(|stream| stream.name() == name).map(Stream::records);
    let show = |record: &StreamRecord| json!({"Shard": record.shard, "PartitionKey": record.partition_key, "Data": record.data});
    records.iter().flatten().map(show).collect()
}

/// `None` if the simulator cannot have such a table. Local indexes are left out: it has none.
fn create_table(simulator: &Simulator, request: &Value) -> Option<()> {
    let keys = keys(request, &request["KeySchema"])?;
    let mut options = match keys.as_slice() {
        [(name, kind)] => TableOptions::key(*name, *kind),
        [(name, kind), (sort, of_sort)] => TableOptions::key(*name, *kind).sort_key(*sort, *of_sort),
        _ => return None,
    };
    for index in request["GlobalSecondaryIndexes"].as_array().into_iter().flatten() {
        let keys = self::keys(request, &index["KeySchema"])?;
        let of_index = match keys.as_slice() {
            [(name, kind)] => IndexOptions::key(*name, *kind),
            [(name, kind), (sort, of_sort)] => IndexOptions::key(*name, *kind).sort_key(*sort, *of_sort),
            _ => return None,
        };
        options = options.index(index["IndexName"].as_str()?, of_index);
    }
    simulator.table(request["TableName"].as_str()?, options);
    Some(())
}

/// The names and the types of a key, the partition key first.
fn keys<'a>(request: &'a Value, schema: &'a Value) -> Option<Vec<(&'a str, KeyType)>> {
    let of_role = |role: &str| schema.as_array()?.iter().find(|key| key["KeyType"] == role);
    let keys = ["HASH", "RANGE"].into_iter().filter_map(of_role);
    let typed = keys.map(|key| {
        let name = key["AttributeName"].as_str()?;
        let definitions = request["AttributeDefinitions"].as_array()?;
        let definition = definitions
            .iter()
            .find(|definition| definition["AttributeName"] == name)?;
        let kind = match definition["AttributeType"].as_str()? {
            "S" => KeyType::S,
            "N" => KeyType::N,
            "B" => KeyType::B,
            _ => return None,
        };
        Some((name, kind))
    });
    typed.collect()
}
