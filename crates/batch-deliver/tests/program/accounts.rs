//! Whose tables and queues they are: what the user names wins over what is in the environment.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::http::{Request, Response, serve};
use crate::program::{Folder, Run, items};

/// The access keys of the environment and of three profiles, and their accounts.
const KEYS: [(&str, &str); 4] = [
    ("AKIAENV", "111111111111"),
    ("AKIASTAGING", "222222222222"),
    ("AKIAPROD", "333333333333"),
    ("AKIAPROCESS", "444444444444"),
];

/// Profiles of an account each, and those that have no credentials or cannot get any.
const PROFILES: &str = "\
[profile staging]
aws_access_key_id = AKIASTAGING
aws_secret_access_key = secret
[profile prod]
aws_access_key_id = AKIAPROD
aws_secret_access_key = secret
region = eu-west-1
[profile role]
role_arn = arn:aws:iam::123456789012:role/none
source_profile = none
[profile loop]
role_arn = arn:aws:iam::123456789012:role/none
source_profile = loop
[profile sso]
sso_start_url = https://example.awsapps.com/start
sso_region = us-east-1
sso_account_id = 123456789012
sso_role_name = none
[profile web]
role_arn = arn:aws:iam::123456789012:role/none
web_identity_token_file = /none
[profile half]
aws_access_key_id = AKIAHALF
[profile other]
region = us-west-2
[unprefixed]
aws_access_key_id = AKIAPROD
aws_secret_access_key = secret
[profile process]
credential_process = cat process.json
";

/// A call, by the access key and the region that it was signed with.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Call {
    operation: String,
    key: String,
    region: String,
}

/// A service of several accounts, each with the same table `films`, a queue `q` and its dead letters. Each access key has an account.
struct Accounts {
    endpoint: String,
    calls: Arc<Mutex<Vec<Call>>>,
    folder: Folder,
}

impl Accounts {
    fn new() -> Self {
        let calls = Arc::<Mutex<Vec<Call>>>::default();
        let seen = Arc::clone(&calls);
        let address = serve(move |request| {
            let call = call(request);
            let account = KEYS.iter().find(|(key, _)| *key == call.key);
            let answer = answer(request, &call, account.map_or("none", |(_, account)| account));
            if call.operation == "ReceiveMessage" {
                // A call to an empty queue waits, for as long as it asks for: here for a part of that.
                thread::sleep(Duration::from_millis(250));
            }
            seen.lock().unwrap().push(call);
            Some(answer)
        });
        let folder = Folder::new();
        folder.write("config", PROFILES);
        folder.write("credentials", "");
        folder.write(
            "process.json",
            r#"{"Version":1,"AccessKeyId":"AKIAPROCESS","SecretAccessKey":"secret"}"#,
        );
        folder.write("a.jsonl", items(0..3));
        Self {
            endpoint: format!("http://{address}"),
            calls,
            folder,
        }
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = self.folder.command(arguments);
        command.env("AWS_ACCESS_KEY_ID", "AKIAENV");
        command.env("AWS_CONFIG_FILE", self.folder.path("config"));
        command.env("AWS_SHARED_CREDENTIALS_FILE", self.folder.path("credentials"));
        for name in ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs the program with these variables.
    fn run_with(&self, arguments: &str, variables: &[(&str, &str)]) -> Run {
        self.calls.lock().unwrap().clear();
        let arguments = format!("{arguments} --endpoint-url {}", self.endpoint);
        let mut command = self.command(&arguments);
        Run::from(command.envs(variables.iter().copied()).output().unwrap())
    }

    fn run(&self, arguments: &str) -> Run {
        self.run_with(arguments, &[])
    }

    /// The access keys of the calls of these operations, each once.
    fn keys(&self, operations: &[&str]) -> Vec<String> {
        let calls = self.calls.lock().unwrap();
        let meant = calls.iter().filter(|call| operations.contains(&&*call.operation));
        let mut keys: Vec<String> = meant.map(|call| call.key.clone()).collect();
        keys.sort();
        keys.dedup();
        keys
    }

    fn regions(&self) -> Vec<String> {
        let mut regions: Vec<String> = self
            .calls
            .lock()
            .unwrap()
            .iter()
            .map(|call| call.region.clone())
            .collect();
        regions.dedup();
        regions
    }
}

fn call(request: &Request) -> Call {
    let signed = request.header("authorization").unwrap_or_default();
    let mut scope = signed.split("Credential=").nth(1).unwrap_or_default().split('/');
    let (key, region) = (scope.next().unwrap_or_default(), scope.nth(1).unwrap_or_default());
    let target = request.header("x-amz-target").unwrap_or("Sts.GetCallerIdentity");
    Call {
        operation: target.rsplit('.').next().unwrap().to_owned(),
        key: key.to_owned(),
        region: region.to_owned(),
    }
}

fn answer(request: &Request, Call { operation, region, .. }: &Call, account: &str) -> Response {
    let arn = format!("arn:aws:dynamodb:{region}:{account}:table/films");
    let body = match &**operation {
        "GetCallerIdentity" => format!(
            "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><GetCallerIdentityResult>\
             <Account>{account}</Account></GetCallerIdentityResult></GetCallerIdentityResponse>"
        ),
        "DescribeTable" => format!(
            r#"{{"Table":{{"TableName":"films","TableArn":"{arn}","TableStatus":"ACTIVE","ItemCount":1,
            "KeySchema":[{{"AttributeName":"id","KeyType":"HASH"}}],
            "AttributeDefinitions":[{{"AttributeName":"id","AttributeType":"N"}}]}}}}"#
        ),
        "Scan" => r#"{"Items":[{"id":{"N":"1"}}],"Count":1,"ScannedCount":1}"#.to_owned(),
        "BatchWriteItem" => UNPROCESSED.to_owned(),
        "GetQueueUrl" => {
            let asked: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
            let name = asked["QueueName"].as_str().unwrap();
            format!(r#"{{"QueueUrl":"http://sqs.test/{account}/{name}"}}"#)
        }
        _ => "{}".to_owned(),
    };
    Response(
        200,
        "content-type: application/x-amz-json-1.0\r\n".to_owned(),
        body.into(),
    )
}

/// The answer to a batch that was written.
const UNPROCESSED: &str = r#"{"UnprocessedItems":{}}"#;

/// Operations that write, and those that read.
const WRITES: [&str; 3] = ["BatchWriteItem", "UpdateItem", "DeleteItem"];
const READS: [&str; 1] = ["Scan"];

#[test]
fn the_profile_that_is_named_wins_over_the_credentials_of_the_environment() {
    let accounts = Accounts::new();
    let other = "--region us-east-1 --to-region eu-west-1";
    for (command, [written, read]) in [
        ("load --table films a.jsonl --profile staging", ["AKIASTAGING", ""]),
        (
            "load --table films --key id:N a.jsonl --profile staging",
            ["AKIASTAGING", ""],
        ),
        ("load --table films a.jsonl --profile process", ["AKIAPROCESS", ""]),
        ("load --table films a.jsonl", ["AKIAENV", ""]),
        (
            "delete --table films --all --yes --profile staging",
            ["AKIASTAGING", "AKIASTAGING"],
        ),
        (
            "delete --table films --yes a.jsonl --profile staging",
            ["AKIASTAGING", ""],
        ),
        ("export --table films - --profile staging", ["", "AKIASTAGING"]),
        (
            &format!("copy --from films --to films --overwrite {other} --to-profile staging"),
            ["AKIASTAGING", "AKIAENV"],
        ),
        (
            &format!("copy --from films --to films --overwrite {other} --from-profile staging"),
            ["AKIAENV", "AKIASTAGING"],
        ),
        (
            &format!("copy --from films --to films --overwrite {other} --profile prod --to-profile staging"),
            ["AKIASTAGING", "AKIAPROD"],
        ),
    ] {
        let run = accounts.run(command);
        assert_eq!(run.code, 0, "{command}: {}", run.stderr);
        for (operations, expected) in [(&WRITES[..], written), (&READS[..], read)] {
            assert_eq!(accounts.keys(operations).join(" "), expected, "{command}");
        }
    }
    accounts.run("diff films films --to-profile staging --to-region eu-west-1");
    assert_eq!(accounts.keys(&READS), ["AKIAENV", "AKIASTAGING"]);
    accounts.run("move --from q --to other --profile prod --to-profile staging");
    assert_eq!(accounts.keys(&["GetQueueUrl"]), ["AKIAPROD", "AKIASTAGING"]);
}

#[test]
fn a_named_profile_that_is_unknown_is_refused_before_anything_is_sent() {
    let accounts = Accounts::new();
    for command in [
        "load --table films a.jsonl --profile nothere",
        "load --table films --key id:N a.jsonl --profile nothere",
        "delete --table films --all --yes --profile nothere",
        "copy --from films --to films --from-profile nothere",
        "diff films films --from-profile nothere",
        "export --table films - --profile nothere",
        "move --from q --to other --profile nothere",
        "copy --from films --to films --to-profile nothere",
        "diff films films --to-profile nothere",
        "move --from q --to other --to-profile nothere",
        "drain --queue q out --profile nothere",
        "delete-objects --bucket b --yes a.jsonl --profile nothere",
        "load --table films --key id:N s3://b/a.jsonl --profile nothere",
    ] {
        accounts.run(command).expect(2, "error: there is no profile nothere");
        assert_eq!(accounts.regions(), [""; 0], "{command}");
    }
    // As AWS's own tools.
    for variable in ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"] {
        let run = accounts.run_with("load --table films a.jsonl", &[(variable, "nothere")]);
        run.expect(2, "error: there is no profile nothere").expect(2, variable);
        assert_eq!(accounts.regions(), [""; 0]);
    }
    accounts
        .run("load --table films a.jsonl --profile=")
        .expect(2, "--profile");
    accounts
        .run("load --table films a.jsonl --profile unprefixed")
        .expect(2, "it would be [profile unprefixed] in ~/.aws/config");
}

#[test]
fn a_named_profile_without_credentials_is_refused_instead_of_taking_those_of_the_environment() {
    let accounts = Accounts::new();
    // Other places of credentials that the chain of the SDK would search.
    let container = format!("{}/credentials", accounts.endpoint);
    let variables = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/none"),
        ("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/none"),
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &container),
    ];
    for profile in ["role", "loop", "sso", "web", "half", "other"] {
        let run = accounts.run_with(&format!("load --table films a.jsonl --profile {profile}"), &variables);
        run.expect(
            2,
            &format!("error: there are no AWS credentials in the profile {profile}"),
        );
        assert_eq!(accounts.regions(), [""; 0], "{profile}");
    }
}

#[test]
fn a_profile_of_the_environment_stands_behind_the_credentials_there_and_before_the_default() {
    let accounts = Accounts::new();
    for (variables, expected) in [
        (&[("AWS_PROFILE", "staging")][..], "AKIAENV"),
        (&[("AWS_PROFILE", ""), ("AWS_DEFAULT_PROFILE", "")], "AKIAENV"),
        (&[("AWS_PROFILE", "default")], "AKIAENV"),
        (&[("AWS_PROFILE", "staging"), ("AWS_ACCESS_KEY_ID", "")], "AKIASTAGING"),
        (
            &[("AWS_DEFAULT_PROFILE", "staging"), ("AWS_ACCESS_KEY_ID", "")],
            "AKIASTAGING",
        ),
        (
            &[
                ("AWS_PROFILE", "staging"),
                ("AWS_DEFAULT_PROFILE", "prod"),
                ("AWS_ACCESS_KEY_ID", ""),
            ],
            "AKIASTAGING",
        ),
    ] {
        let run = accounts.run_with("load --table films a.jsonl", variables);
        run.expect(0, "3 delivered to films");
        assert_eq!(accounts.keys(&WRITES), [expected], "{variables:?}");
    }
    let named = accounts.run_with(
        "load --table films a.jsonl --profile prod",
        &[("AWS_PROFILE", "staging")],
    );
    named.expect(0, "3 delivered to films");
    assert_eq!(accounts.keys(&WRITES), ["AKIAPROD"]);
}

#[test]
fn the_region_and_the_endpoint_of_a_named_profile_win_over_variables_and_options_over_both() {
    let accounts = Accounts::new();
    for (arguments, expected) in [
        ("--profile prod", "eu-west-1"),
        ("--profile prod --region us-west-1", "us-west-1"),
        // It has none of its own.
        ("--profile staging", "us-east-1"),
        ("", "us-east-1"),
    ] {
        accounts
            .run(&format!("load --table films a.jsonl {arguments}"))
            .expect(0, "3 delivered");
        assert_eq!(accounts.regions(), [expected], "{arguments}");
    }
    let ambient = accounts.run_with("load --table films a.jsonl", &[("AWS_PROFILE", "prod")]);
    ambient.expect(0, "3 delivered");
    assert_eq!(accounts.regions(), ["us-east-1"]);

    let nowhere = "http://127.0.0.1:1";
    let elsewhere = [
        ("AWS_ENDPOINT_URL", nowhere),
        ("AWS_ENDPOINT_URL_DYNAMODB", nowhere),
        ("AWS_MAX_ATTEMPTS", "1"),
    ];
    // Those of an option win over all variables.
    accounts
        .run_with("load --table films a.jsonl", &elsewhere)
        .expect(0, "3 delivered");
    let endpoint = &accounts.endpoint;
    for settings in [
        format!("endpoint_url = {endpoint}"),
        format!("endpoint_url = {nowhere}\nservices = own\n[services own]\ndynamodb =\n  endpoint_url = {endpoint}"),
    ] {
        let keys = "aws_access_key_id = AKIASTAGING\naws_secret_access_key = secret";
        accounts
            .folder
            .write("config", format!("[profile local]\n{keys}\n{settings}\n"));
        let run = |profile: &str, variables: &[(&str, &str)]| {
            let mut load = accounts.command(&format!("load --table films a.jsonl --deadline 1s {profile}"));
            Run::from(load.envs(variables.iter().copied()).output().unwrap())
        };
        run("--profile local", &elsewhere).expect(0, "3 delivered");
        let [all, ..] = elsewhere;
        run("", &[("AWS_PROFILE", "local"), all]).expect(1, "the table films cannot be looked up");
    }
}

#[test]
fn commands_that_destroy_say_first_whose_table_or_queue_it_is() {
    let accounts = Accounts::new();
    let endpoint = &accounts.endpoint;
    let of = |name: &str, account: &str, region: &str| format!("{name}: account {account}, {region}, {endpoint}");
    let (env, staging) = ("111111111111", "222222222222");
    for (command, expected) in [
        ("delete --table films --all --yes", of("films", env, "us-east-1")),
        (
            "delete --table films --all --yes --profile staging",
            of("films", staging, "us-east-1"),
        ),
        (
            "delete --table films --where id>:one --value :one=1 --yes",
            of("films", env, "us-east-1"),
        ),
        (
            "delete --table films --yes a.jsonl --profile prod",
            of("films", "333333333333", "eu-west-1"),
        ),
        // With the key, nothing else is asked of the table.
        (
            "delete --table films --key id:N --yes a.jsonl --profile staging",
            of("films", staging, "us-east-1"),
        ),
        (
            "update --table films --set name=:n --value :n=x a.jsonl",
            of("films", env, "us-east-1"),
        ),
        ("drain --queue q out --max 1", of("q", env, "us-east-1")),
        (
            "move --from q --to r --max 1 --to-profile staging",
            of("r", staging, "us-east-1"),
        ),
        (
            "move --from q --to r --max 1 --to-profile staging",
            of("q", env, "us-east-1"),
        ),
        (
            "redrive --queue q --to r --max 1 --profile staging",
            of("r", staging, "us-east-1"),
        ),
        (
            "copy --from films --to films --overwrite --to-profile staging --to-region eu-west-1",
            of("films", staging, "eu-west-1"),
        ),
        (
            "delete-objects --bucket b --yes a.jsonl --s3-region eu-west-1",
            of("b", env, "eu-west-1"),
        ),
    ] {
        let run = accounts.run(command);
        assert!(
            run.stderr.contains(&expected),
            "{command}: {expected} is not in:\n{}",
            run.stderr
        );
    }
    let command = "delete --table films --all --yes --profile staging";
    let machine = accounts.run(&format!("{command} --json"));
    machine.expect(0, &of("films", staging, "us-east-1"));
    assert!(!machine.stdout.contains("account"), "{}", machine.stdout);
    let quiet = accounts.run(&format!("{command} --quiet"));
    assert_eq!((quiet.code, &*quiet.stderr), (0, ""));
    // They change nothing that is there, or nothing at all.
    for command in [
        "load --table films a.jsonl",
        "delete --table films --dry-run a.jsonl",
        "export --table films -",
    ] {
        let run = accounts.run(command);
        assert!(!run.stderr.contains("account"), "{command}: {}", run.stderr);
    }
}

#[test]
fn an_account_that_is_not_known_stops_nothing() {
    // It knows neither an account nor the table's ARN.
    let address = serve(|request| {
        let is_table = request.header("x-amz-target").is_some();
        let (status, body) = if is_table { (200, UNPROCESSED) } else { (403, "no") };
        Some(Response(
            status,
            "content-type: application/x-amz-json-1.0\r\n".to_owned(),
            body.into(),
        ))
    });
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..3));
    let run = folder.run(&format!(
        "delete --table films --key id:N --yes a.jsonl --endpoint-url http://{address}"
    ));
    run.expect(0, &format!("films: account not known, us-east-1, http://{address}"));
    // One that is silent is not waited for.
    let address = serve(|request| {
        let is_table = request.header("x-amz-target").is_some();
        is_table.then(|| {
            Response(
                200,
                "content-type: application/x-amz-json-1.0\r\n".to_owned(),
                UNPROCESSED.into(),
            )
        })
    });
    let begun = Instant::now();
    let run = folder.run(&format!(
        "delete --table films --key id:N --yes a.jsonl --endpoint-url http://{address}"
    ));
    run.expect(0, &format!("films: account not known, us-east-1, http://{address}"));
    // The SDK would wait for five minutes.
    assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());
}
