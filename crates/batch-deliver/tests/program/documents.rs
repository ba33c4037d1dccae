//! The shell blocks of the manual and of the library's documents run as they are, in the order in which they are on their page.
//!
//! `<!-- not run: … -->` above a block gives the reason why it is not run, `<!-- run with the feature … -->` the feature that it needs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use aws_batch_simulator::{KeyType, QueueOptions, Server, Simulator, TableOptions};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::bucket::Bucket;
use crate::program::{Folder, Run};

/// A block of commands, or of commands and what they print.
struct Block {
    is_console: bool,
    text: String,
    /// The line above it, if that is a comment.
    marker: String,
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The pages of the manual, and the documents of the library that have commands of the program.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<_> = fs::read_dir(package().join("docs"))
        .unwrap()
        .map(|page| page.unwrap().path())
        .collect();
    pages.push(package().join("README.md"));
    // A package has the program's documents alone.
    let others = ["../../README.md", "../../docs/recipes.md"].map(|page| package().join(page));
    pages.extend(others.into_iter().filter(|page| page.exists()));
    pages.sort();
    pages
}

fn blocks(page: &str) -> Vec<Block> {
    let lines: Vec<&str> = page.lines().collect();
    let starts = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| matches!(**line, "```sh" | "```console"));
    starts
        .map(|(start, line)| {
            let block = lines[start + 1..].iter().take_while(|line| **line != "```");
            let above = start.checked_sub(1).map_or("", |above| lines[above]);
            Block {
                is_console: *line == "```console",
                text: block.copied().collect::<Vec<_>>().join("\n"),
                marker: above.strip_prefix("<!-- ").unwrap_or_default().to_owned(),
            }
        })
        .collect()
}

/// What the pages speak of: files, tables, queues and buckets.
struct World {
    folder: Folder,
    tables: Server,
    bucket: Bucket,
    _runtime: Runtime,
}

/// The sample of the package, a film on each line.
fn films() -> Vec<Value> {
    let sample = fs::read_to_string(package().join("sample/films.jsonl")).unwrap();
    sample.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The films with another field, or another value of it.
fn with(name: &str, value: impl Into<Value>) -> String {
    let value = value.into();
    let mut films = films();
    films.truncate(20);
    for film in &mut films {
        film[name] = value.clone();
    }
    films.iter().map(|film| film.to_string() + "\n").collect()
}

/// The films as rows with this column.
fn rows(column: &str, value: &str) -> String {
    let row = |film: &Value| {
        format!(
            "{},{},{value}\n",
            film["year"],
            film["title"].to_string().replace("\\\"", "\"\"")
        )
    };
    let films = films();
    let rows = films.iter().take(20).map(row);
    std::iter::once(format!("year,title,{column}\n")).chain(rows).collect()
}

/// A line of an export.
fn exported(film: &Value) -> String {
    let item = json!({"year": {"N": film["year"].to_string()}, "title": {"S": film["title"]}});
    json!({ "Item": item }).to_string() + "\n"
}

impl World {
    /// `orders` is the type of the ids in the table `orders`.
    fn new(orders: KeyType) -> Self {
        let folder = Folder::new();
        let sample = fs::read_to_string(package().join("sample/films.jsonl")).unwrap();
        folder.write("films.jsonl", &sample);
        folder.write("crates/batch-deliver/sample/films.jsonl", &sample);
        folder.write("crates/batch-deliver/Cargo.toml", "");
        folder.write("old.jsonl", with("rating", 4));
        folder.write("versions.jsonl", with("version", 2));
        folder.write("views.jsonl", with("more", 3));
        folder.write("seen.csv", rows("seen", "true"));
        folder.write("ratings.csv", rows("rating", "4.5"));
        folder.write("messages.txt", "one\ntwo\nthree\n");
        folder.write("keys.txt", "2025/a\n2025/b\n");
        folder.write("export.csv", "id;cents;tags\na;7;\"[\"\"x\"\"]\"\nb;NULL;\n");
        let program = folder.path("bin/batch-deliver");
        fs::create_dir(folder.path("bin")).unwrap();
        symlink(env!("CARGO_BIN_EXE_batch-deliver"), program).unwrap();

        let bucket = Bucket::new();
        bucket.put("films/a.jsonl", sample.as_str());
        bucket.put("films/part-1.gz", sample.as_str());
        let export = "AWSDynamoDB/01693685827463-2d8752fd";
        let data = format!("{export}/data/x.json");
        let listed = json!({"itemCount": 774, "md5Checksum": "x", "etag": "y", "dataFileS3Key": data});
        bucket.put(&format!("{export}/manifest-files.json"), listed.to_string() + "\n");
        let summary = json!({"version": "2023-08-01", "outputFormat": "DYNAMODB_JSON", "exportType": "FULL_EXPORT"});
        bucket.put(&format!("{export}/manifest-summary.json"), summary.to_string());
        bucket.put(&data, films().iter().map(exported).collect::<String>());

        let runtime = Runtime::new().unwrap();
        let simulator = Simulator::new(7);
        let tables = runtime.block_on(async {
            let films = || TableOptions::key("year", KeyType::N).sort_key("title", KeyType::S);
            simulator.table("films", films());
            simulator.table("copy", films());
            simulator.table("orders", TableOptions::key("id", orders));
            simulator.queue(
                "orders",
                QueueOptions::default().dead_letter_queue("orders-dead-letters"),
            );
            simulator.queue("orders-copy", QueueOptions::default());
            simulator.queue("orders-dead-letters", QueueOptions::default());
            let logs = simulator.bucket("logs");
            logs.insert("2025/a", "body");
            logs.insert("2025/b", "body");
            simulator.serve("127.0.0.1:0").await.unwrap()
        });
        Self {
            folder,
            tables,
            bucket,
            _runtime: runtime,
        }
    }

    /// Runs commands in a shell. `cargo` does nothing: building the program again would take minutes.
    fn run(&self, commands: &str) -> Run {
        // What lists objects is served here, and what deletes them there.
        let objects = if commands.contains("delete-objects") {
            self.tables.endpoint()
        } else {
            self.bucket.endpoint.clone()
        };
        let script = format!("set -euo pipefail\ncargo() {{ :; }}\n{commands}");
        let path = format!(
            "{}:{}",
            self.folder.path("bin").display(),
            std::env::var("PATH").unwrap()
        );
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(self.folder.path(""))
            .env("PATH", path)
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_ENDPOINT_URL", self.tables.endpoint())
            .env("AWS_ENDPOINT_URL_S3", objects)
            .output();
        Run::from(output.unwrap())
    }
}

/// A line of a report, with its counts but without what depends on the time that it took.
fn counts(line: &str) -> &str {
    let line = line.split(" in ").next().unwrap_or(line);
    // How much was throttled depends on it, too.
    line.split(", ").next().unwrap_or(line)
}

fn has(feature: &str) -> bool {
    match feature {
        "put" => cfg!(feature = "put"),
        "spool" => cfg!(feature = "spool"),
        other => panic!("there is no feature {other}"),
    }
}

/// Runs the blocks of a page, and returns how many.
fn run_page(page: &Path) -> usize {
    let text = fs::read_to_string(page).unwrap();
    let is_of_spools = page.ends_with("spool.md");
    let world = World::new(if is_of_spools { KeyType::N } else { KeyType::S });
    let mut run = 0;
    for block in blocks(&text) {
        if let Some(reason) = block.marker.strip_prefix("not run: ") {
            assert!(reason.len() > 15, "{}: {reason}", page.display());
            continue;
        }
        let feature = block.marker.strip_prefix("run with the feature ");
        if feature.is_some_and(|feature| !has(feature.trim_end_matches(" -->"))) {
            continue;
        }
        if let Some((command, shown)) = block.text.split_once('\n').filter(|_| block.is_console) {
            let ended = world.run(command.strip_prefix("$ ").unwrap());
            let said = format!("{}{}", ended.stdout, ended.stderr);
            assert_eq!(ended.code, 0, "{}: {command}\n{said}", page.display());
            let mut printed = said.lines().map(counts);
            let is_printed = |shown: &str| printed.any(|line| line == counts(shown));
            assert!(shown.lines().all(is_printed), "{}: {shown}\n{said}", page.display());
        } else {
            #[cfg(feature = "spool")]
            let commands = with_a_spool(&world, &block.text);
            #[cfg(not(feature = "spool"))]
            let commands = block.text;
            let ended = world.run(&commands);
            assert_eq!(ended.code, 0, "{}: {commands}\n{}", page.display(), ended.stderr);
        }
        run += 1;
    }
    run
}

/// The commands, with a spool in the folder of the test in the place of the one of a service.
#[cfg(feature = "spool")]
fn with_a_spool(world: &World, commands: &str) -> String {
    let spool = world.folder.path("spool");
    if commands.contains("/var/lib/orders") && !spool.exists() {
        crate::spool::copy_spooled(&spool);
    }
    commands.replace("/var/lib/orders", &spool.display().to_string())
}

#[test]
fn every_shell_block_of_the_documents_runs_as_it_is_or_has_a_reason_why_not() {
    let pages = pages();
    assert!(pages.len() > 10, "{pages:?}");
    // Side by side, because a queue is empty only when nothing has come for seconds.
    std::thread::scope(|scope| {
        let running: Vec<_> = pages.iter().map(|page| scope.spawn(move || run_page(page))).collect();
        let run: usize = running.into_iter().map(|page| page.join().unwrap()).sum();
        assert!(run > 15, "only {run} blocks were run");
    });
}
