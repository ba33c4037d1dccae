//! What is logged has neither credentials nor the content of entries, at any level.

use std::collections::BTreeMap;
use std::env;
use std::fmt::{Debug, Write};
use std::fs;
use std::process::Command;
use std::sync::{Arc, Mutex};

use aws_batch_simulator::{Capacity, KeyType, QueueOptions, Simulator, TableOptions};
use batch_deliver::Arguments;
use clap::Parser;
use tracing::field::Field;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// The variable by which the test knows that it runs in a process of its own, whose variables have the credentials.
const WITHIN: &str = "BATCH_DELIVER_TEST_OF_SECRETS";

const SECRET_KEY: &str = "wJalrXUtnFEMIsecretkey";
const TOKEN: &str = "IQoJb3JpZ2luX2VjEsessiontoken";
const CONTENT: &str = "contentofentries";

/// What must not be logged.
const SECRETS: [&str; 4] = [SECRET_KEY, TOKEN, CONTENT, "AWS4-HMAC-SHA256"];

/// The first parts of the targets of this repository.
const OURS: [&str; 2] = ["batch_deliver", "aws_batch_delivery"];

/// All that was logged, by the first part of the target.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<BTreeMap<String, String>>>);

impl Logged {
    fn add(&self, target: &str, record: impl FnOnce(&mut dyn FnMut(&Field, &dyn Debug))) {
        let first = target.split(':').next().unwrap().to_owned();
        let mut logged = self.0.lock().unwrap();
        let text = logged.entry(first).or_default();
        record(&mut |field, value| writeln!(text, "{field}={value:?}").unwrap());
    }
}

impl<S: Subscriber> Layer<S> for Logged {
    fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        self.add(span.metadata().target(), |mut visitor| span.record(&mut visitor));
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        // The target of the span is not known here, so it counts as one of ours.
        self.add(OURS[0], |mut visitor| values.record(&mut visitor));
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        self.add(event.metadata().target(), |mut visitor| event.record(&mut visitor));
    }
}

#[test]
fn nothing_that_is_logged_has_credentials_or_content() {
    if env::var_os(WITHIN).is_some() {
        tokio::runtime::Runtime::new().unwrap().block_on(deliver());
        return;
    }
    let within = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "nothing_that_is_logged_has_credentials_or_content",
            "--nocapture",
        ])
        .env(WITHIN, "1")
        .env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        .env("AWS_SESSION_TOKEN", TOKEN)
        .env("AWS_REGION", "us-east-1")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&within.stderr);
    print!("{}", String::from_utf8_lossy(&within.stdout));
    assert!(within.status.success(), "{said}");
    for secret in SECRETS {
        assert!(!said.contains(secret), "{secret} was printed:\n{said}");
    }
}

/// Delivers with retries, refusals, bad lines and dead letters, while everything is logged.
async fn deliver() {
    let logged = Logged::default();
    tracing_subscriber::registry().with(logged.clone()).init();
    let simulator = Simulator::new(3);
    let slow = Capacity::per_second(200.0).burst(5.0);
    let table = simulator.table("items", TableOptions::key("id", KeyType::S).capacity(slow));
    table.poison(|item| item["id"]["S"].as_str().is_some_and(|id| id.ends_with('7')));
    let queue = simulator.queue("q", QueueOptions::default());
    queue.poison(|message| {
        message["MessageBody"]
            .as_str()
            .is_some_and(|body| body.contains("\"id\":\"7"))
    });
    let server = simulator.serve("127.0.0.1:0").await.unwrap();

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let item = |id: u32| format!("{{\"id\":\"{id}\",\"text\":\"{CONTENT}\"}}\n");
    let bad = format!("{{\"id\":\"{CONTENT}\",\"{CONTENT}\n{CONTENT}\n");
    let large = format!("{{\"id\":\"large\",\"text\":\"{}\"}}\n", CONTENT.repeat(30_000));
    fs::write(path("a"), (0..100).map(item).collect::<String>() + &bad + &large).unwrap();
    let endpoint = server.endpoint();
    for command in ["load --table items --key id:S", "send --queue q"] {
        let (dead, state) = (path("dead"), path("state"));
        let options = format!(
            "{command} --endpoint-url {endpoint} --keep-going 9 --dead-letter {dead} --resume {state} --retries 50 {}",
            path("a")
        );
        let arguments = std::iter::once("batch-deliver").chain(options.split(' '));
        let _ = batch_deliver::run(Arguments::try_parse_from(arguments).unwrap()).await;
        fs::remove_file(path("state")).unwrap();
    }
    assert!(fs::read_to_string(path("dead")).unwrap().contains(CONTENT));

    let logged = logged.0.lock().unwrap();
    for (target, text) in &*logged {
        let found: Vec<&str> = SECRETS.into_iter().filter(|secret| text.contains(secret)).collect();
        println!("{target}: {} bytes, with {found:?}", text.len());
        if OURS.iter().any(|ours| target.starts_with(ours)) {
            assert!(found.is_empty(), "{target} logs {found:?}");
        }
    }
    assert!(
        OURS.iter().any(|ours| logged.contains_key(*ours)),
        "nothing of ours is logged"
    );
}
