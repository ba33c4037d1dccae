//! A Lambda function, which is invoked for each shard.

use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, UNIX_EPOCH};

use aws_batch_simulator::Capacity;
use serde_json::{Value, json};

use crate::http::{Response, serve};
use crate::program::{Folder, items};
use crate::served::Served;

/// A function at a runtime API that invokes it with these shards, each with so much time.
struct Function {
    process: Child,
    answers: Receiver<(String, Value)>,
}

impl Function {
    fn start(folder: &Folder, rate: u32, time: Duration, shards: impl IntoIterator<Item = Value>) -> Self {
        let command = folder.command(&format!("worker --table items --key id:N --simulate {rate}"));
        Self::of(command, time, shards)
    }

    fn of(mut command: Command, time: Duration, shards: impl IntoIterator<Item = Value>) -> Self {
        let mut shards: Vec<Value> = shards.into_iter().collect();
        shards.reverse();
        let shards = Mutex::new(shards);
        let (sender, answers) = channel();
        let api = serve(move |request| {
            let operation = request.target.rsplit('/').next().unwrap();
            if operation != "next" {
                let _ = sender.send((operation.to_owned(), serde_json::from_slice(&request.body).unwrap()));
                return Some(Response(202, String::new(), Vec::new()));
            }
            let shard = shards.lock().unwrap().pop()?;
            // The time of an invocation begins with it.
            let deadline = (UNIX_EPOCH.elapsed().unwrap() + time).as_millis();
            let headers = format!("lambda-runtime-aws-request-id: 1\r\nlambda-runtime-deadline-ms: {deadline}\r\n");
            Some(Response(200, headers, shard.to_string().into_bytes()))
        });
        command.env("AWS_LAMBDA_RUNTIME_API", api);
        for (name, value) in [("NAME", "f"), ("MEMORY_SIZE", "128"), ("VERSION", "1")] {
            command.env(format!("AWS_LAMBDA_FUNCTION_{name}"), value);
        }
        Self {
            process: command.stderr(Stdio::null()).spawn().unwrap(),
            answers,
        }
    }

    fn answer(&self) -> (String, Value) {
        self.answers.recv_timeout(Duration::from_mins(3)).unwrap()
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn an_invocation_is_answered_with_the_counts_of_its_shard_or_with_its_error() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..100));
    let shard = |input: &str| json!({"input": input, "begin": 0, "end": items(0..100).len()});
    let shards = [shard("a.jsonl"), shard("nowhere"), json!({"file": "a.jsonl"})];
    let function = Function::start(&folder, 1_000_000, Duration::from_mins(15), shards);
    let (operation, counts) = function.answer();
    assert_eq!((operation.as_str(), &counts["delivered"]), ("response", &json!(100)));
    for error in ["Unreadable", "NoShard"] {
        let (operation, answer) = function.answer();
        assert_eq!((operation.as_str(), &answer["errorType"]), ("error", &json!(error)));
    }
}

#[test]
fn a_shard_that_takes_longer_than_the_function_may_is_given_back_before_that() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..10_000));
    let shard = json!({"input": "a.jsonl", "begin": 0, "end": items(0..10_000).len()});
    let function = Function::start(&folder, 10, Duration::from_secs(27), [shard]);
    let (operation, answer) = function.answer();
    assert_eq!(
        (operation.as_str(), &answer["errorType"]),
        ("error", &json!("Interrupted"))
    );
}

/// The rate of the plan, and not that of the function, which is higher.
#[test]
fn a_shard_is_delivered_with_its_part_of_the_rate() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..400));
    let shard =
        |max_rate: Value| json!({"input": "a.jsonl", "begin": 0, "end": items(0..400).len(), "max_rate": max_rate});
    let shards = [
        shard(json!(100)),
        shard(Value::Null),
        shard(json!(0.5)),
        shard(json!("fast")),
    ];
    let function = Function::start(&folder, 1_000_000, Duration::from_mins(15), shards);
    let seconds = || {
        let (operation, counts) = function.answer();
        assert_eq!((operation.as_str(), &counts["delivered"]), ("response", &json!(400)));
        counts["seconds"].as_f64().unwrap()
    };
    let (limited, unlimited) = (seconds(), seconds());
    assert!(limited > 2.5, "{limited} s");
    assert!(unlimited < limited, "{unlimited} s");
    for _ in 0..2 {
        let (operation, answer) = function.answer();
        assert_eq!((operation.as_str(), &answer["errorType"]), ("error", &json!("NoShard")));
    }
}

/// Its shard would be given back before it begins, again and again. Lambda's default is 3 s.
#[test]
fn a_function_whose_timeout_leaves_no_time_says_so() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..2));
    let shard = json!({"input": "a.jsonl", "begin": 0, "end": items(0..2).len()});
    let function = Function::start(&folder, 10, Duration::from_secs(3), [shard]);
    let (_, answer) = function.answer();
    assert_eq!(answer["errorType"], "FunctionTimeout");
    let words = answer["errorMessage"].as_str().unwrap();
    assert!(words.contains("timeout must be above 25 s"), "{words}");
}

#[test]
fn a_segment_that_takes_longer_than_the_function_may_goes_on_in_the_next_invocation() {
    let (folder, from, to) = (Folder::new(), Served::new(1e6), Served::new(350.0));
    folder.write("items.jsonl", items(0..3_000));
    folder
        .run(&format!("load --table items {} items.jsonl", from.arguments()))
        .expect(0, "delivered");
    let shard = json!({"input": "dynamodb://items?segments=1", "begin": 0, "end": 1, "execution": "one"});
    let function = |seconds: u64| {
        let mut command = folder.command(&format!(
            "worker --table items --from-endpoint-url {} --dead-letters dead --checkpoints checkpoints",
            from.endpoint()
        ));
        command.env("AWS_ENDPOINT_URL_DYNAMODB", to.endpoint());
        Function::of(command, Duration::from_secs(seconds), [shard.clone()])
    };
    // Seven seconds before what is kept for the calls in flight and the answer: too few for all of them.
    let (operation, answer) = function(32).answer();
    assert_eq!(
        (operation.as_str(), &answer["errorType"]),
        ("error", &json!("Interrupted"))
    );
    let delivered = to.ids().len();
    assert!((1..3_000).contains(&delivered), "{delivered}");
    to.table.set_capacity(Capacity::unlimited());
    let (operation, counts) = function(900).answer();
    assert_eq!(operation, "response", "{counts}");
    // Those of complete pages; the others are read and delivered again.
    let number = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!(number("settled_before") + number("delivered"), 3_000, "{counts}");
    assert_eq!(to.items(), from.items());
    // A clean stop leaves at most the items of a page to be read again.
    assert!(to.table.statistics().applied <= 3_000 + 1_000);
}

/// Step Functions invokes it once more then.
#[test]
fn an_invocation_that_is_repeated_because_its_answer_was_lost_sends_nothing_again() {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    folder.write("a.jsonl", items(0..100));
    let lines = json!({"input": "a.jsonl", "begin": 0, "end": items(0..100).len(), "execution": "one"});
    let command = |to: &str| {
        let mut command = folder.command(&format!("worker {to} --checkpoints checkpoints"));
        command.env("AWS_ENDPOINT_URL_DYNAMODB", served.endpoint());
        command
    };
    let segment = json!({"input": "dynamodb://items?segments=1", "begin": 0, "end": 1, "execution": "one"});
    for (to, count, shard) in [
        ("--table items --dead-letters dead", "delivered", lines),
        ("--export out", "exported", segment),
    ] {
        let function = Function::of(command(to), Duration::from_mins(15), [shard.clone(), shard]);
        for expected in [(100, 0), (0, 100)] {
            let (operation, counts) = function.answer();
            assert_eq!(operation, "response", "{counts}");
            let number = |name: &str| counts[name].as_u64().unwrap();
            assert_eq!((number(count), number("settled_before")), expected, "{counts}");
        }
    }
    assert_eq!(served.table.statistics().applied, 100);
}

#[test]
fn the_definition_retries_each_error_that_aws_names_and_throttles_do_not_use_up_the_interruptions() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/distributed/state-machine-lambda.json"
    );
    let definition: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let retriers = &definition["States"]["Deliver"]["ItemProcessor"]["States"]["Shard"]["Retry"];
    let retrier = |error: &str| {
        let has = |retrier: &&Value| retrier["ErrorEquals"].as_array().unwrap().contains(&error.into());
        let found: Vec<&Value> = retriers.as_array().unwrap().iter().filter(has).collect();
        assert_eq!(found.len(), 1, "{error}");
        found[0]
    };
    // From "Best practices for Step Functions", and those with which an environment that breaks off is reported.
    for error in [
        "Lambda.ClientExecutionTimeoutException",
        "Lambda.ServiceException",
        "Lambda.AWSLambdaException",
        "Lambda.SdkClientException",
        "Lambda.TooManyRequestsException",
        "Lambda.Unknown",
        "Sandbox.Timedout",
        "Runtime.ExitError",
    ] {
        assert_ne!(retrier(error), retrier("Interrupted"), "{error}");
    }
    assert_eq!(
        retrier("Lambda.TooManyRequestsException")["ErrorEquals"],
        json!(["Lambda.TooManyRequestsException"])
    );
    assert!(retrier("Lambda.TooManyRequestsException")["BackoffRate"].as_f64() > Some(1.0));
}

/// A few failed shards do not fail the map. Whoever waits for the execution must see them all the same.
#[test]
fn an_execution_succeeds_only_if_each_of_its_shards_has() {
    let of_plan = |name: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/distributed/");
        let text = std::fs::read_to_string(format!("{folder}{name}")).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["States"].clone()
    };
    for name in ["state-machine.json", "state-machine-lambda.json"] {
        let states = of_plan(name);
        assert_eq!(ended(&states, &[]), "Succeed", "{name}");
        for unfinished in ["Failed", "TimedOut", "Aborted"] {
            assert_eq!(ended(&states, &[unfinished]), "Fail", "{name}: {unfinished}");
        }
        // The counts may be late.
        for late in ["Pending", "Running"] {
            assert_eq!(ended(&states, &[late]), "Wait", "{name}: {late}");
        }
    }
}

/// The type of the state that follows the comparison of the counts, if one of a hundred shards has each of these, and the others have succeeded.
fn ended(states: &Value, others: &[&str]) -> String {
    let count = |of: &str| match of {
        "Total" => 100,
        "Succeeded" => 100 - others.len(),
        of => usize::from(others.contains(&of)),
    };
    let named = |path: &Value| count(path.as_str().unwrap().rsplit('.').next().unwrap());
    let holds = |rule: &Value| match (&rule["NumericEqualsPath"], &rule["NumericGreaterThan"]) {
        (Value::Null, than) => named(&rule["Variable"]) as u64 > than.as_u64().unwrap(),
        (path, _) => named(&rule["Variable"]) == named(path),
    };
    let mut state = &states["Deliver"];
    loop {
        let next = match state["Type"].as_str().unwrap() {
            "Map" | "Task" => {
                assert!(state["End"].is_null(), "nothing compares the counts");
                &state["Next"]
            }
            "Choice" => {
                let rules = state["Choices"].as_array().unwrap().iter();
                let chosen = rules.clone().find(|rule| match rule["Or"].as_array() {
                    Some(rules) => rules.iter().any(holds),
                    None => holds(rule),
                });
                chosen.map_or(&state["Default"], |rule| &rule["Next"])
            }
            end => return end.to_owned(),
        };
        state = &states[next.as_str().unwrap()];
    }
}

/// The second one was answered as if its lines were settled, since the names of the checkpoints had only the first 80 characters.
#[test]
fn two_executions_with_a_long_name_have_two_checkpoints() {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    folder.write("a.jsonl", items(0..100));
    let shard = |execution: &str| {
        let machine = "arn:aws:states:eu-central-1:123456789012:execution:a-state-machine-with-a-long-name";
        let end = items(0..100).len();
        json!({"input": "a.jsonl", "begin": 0, "end": end, "execution": format!("{machine}:{execution}")})
    };
    let mut command = folder.command("worker --table items --dead-letters dead --checkpoints checkpoints");
    command.env("AWS_ENDPOINT_URL_DYNAMODB", served.endpoint());
    let function = Function::of(
        command,
        Duration::from_mins(15),
        ["first", "second", "second"].map(shard),
    );
    for expected in [100, 100, 0] {
        let (operation, counts) = function.answer();
        assert_eq!(
            (operation.as_str(), &counts["delivered"]),
            ("response", &json!(expected)),
            "{counts}"
        );
    }
}
