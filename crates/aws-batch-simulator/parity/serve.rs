//! Serves an empty simulator over HTTP, and creates a table for each line of the standard input: the members of a `CreateTable`
//! request as JSON. Prints the endpoint, and a line for each table. Ends with the input.

use std::error::Error;
use std::io::{BufRead, stdin};

use aws_batch_simulator::{IndexOptions, KeyType, Simulator, TableOptions, Value};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let simulator = Simulator::new(1);
    let server = simulator.serve("127.0.0.1:0").await?;
    println!("{}", server.endpoint());
    let tables = tokio::task::spawn_blocking(move || {
        for line in stdin().lock().lines() {
            let request: Value = line?.parse()?;
            let created = create(&simulator, &request);
            println!("{}", if created.is_some() { "created" } else { "refused" });
        }
        Ok::<(), Box<dyn Error + Send + Sync>>(())
    });
    tables.await?.map_err(|error| error.to_string())?;
    drop(server);
    Ok(())
}

/// `None` if the simulator cannot have such a table. Local indexes are left out: it has none.
fn create(simulator: &Simulator, request: &Value) -> Option<()> {
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
