//! How the services are reached, and what is said where they are not.

use crate::http::{Response, serve};
use crate::program::{Folder, Run, items};
use crate::served::Served;

/// A load of three items with these variables and this profile.
fn load(arguments: &str, variables: &[(&str, &str)], profile: &str) -> Run {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..3));
    folder.write("config", format!("[default]\n{profile}\n"));
    let mut load = folder.command(&format!("load --table items {arguments} a.jsonl"));
    load.env("AWS_CONFIG_FILE", folder.path("config"));
    load.envs(variables.iter().copied());
    Run::from(load.output().unwrap())
}

#[test]
fn a_credential_with_a_line_feed_is_named_before_anything_is_begun() {
    let served = Served::new(1e6);
    let id = ("AWS_ACCESS_KEY_ID", "AKIA-OF-A-TEST\n");
    for key in ["", "--key id:N"] {
        let run = load(&format!("{} {key}", served.arguments()), &[id], "");
        run.expect(2, "error: the access key id has a line feed at the end");
        assert!(!run.stderr.contains("AKIA"), "{}", run.stderr);
    }
    assert!(served.items().is_empty());
}

#[test]
fn an_endpoint_of_the_environment_that_is_empty_is_ignored_and_one_without_a_scheme_is_refused_by_its_variable() {
    let served = Served::new(1e6);
    let (all, table, endpoint) = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", served.endpoint());
    for key in ["", "--key id:N"] {
        for variables in [
            [(all, ""), (table, &endpoint)],
            [(all, &endpoint), (table, "")],
            [(all, &endpoint), ("AWS_ENDPOINT_URL_S3", "")],
        ] {
            load(key, &variables, "").expect(0, "3 delivered to items");
        }
        for variable in [all, table, "AWS_ENDPOINT_URL_S3"] {
            let run = load(key, &[(variable, "localhost:8000")], "");
            run.expect(2, &format!("error: {variable} is not an endpoint: a URL is needed"));
        }
        let arguments = format!("{key} {}", served.arguments());
        load(&arguments, &[(all, "localhost:8000")], "").expect(0, "3 delivered to items");
    }
}

#[test]
fn an_endpoint_of_the_profile_is_used_behind_empty_variables_and_refused_without_a_scheme() {
    let served = Served::new(1e6);
    let empty = [("AWS_ENDPOINT_URL", ""), ("AWS_ENDPOINT_URL_DYNAMODB", "")];
    let profile = format!("endpoint_url = {}", served.endpoint());
    load("", &empty, &profile).expect(0, "3 delivered to items");
    let wrong = load("", &[], "endpoint_url = localhost:8000");
    wrong.expect(
        2,
        "error: endpoint_url in the profile is not an endpoint: a URL is needed",
    );
}

#[test]
fn a_deadline_also_ends_a_lookup_that_is_never_answered() {
    let endpoint = format!("http://{}", serve(|_| None));
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..3));
    for (command, what) in [
        ("load --table items", "the table items"),
        ("copy --from items --to copy", "the table items"),
        ("delete --table items --all --yes", "the table items"),
        ("send --queue q", "the queue q"),
        ("move --from q --to other", "the queue q"),
        ("redrive --queue q", "the queue q"),
        ("delete-objects --bucket b", "the bucket b"),
        ("load --table items --key id:N s3://b/a.jsonl", "the bucket b"),
    ] {
        let run = folder.run(&format!("{command} --endpoint-url {endpoint} --deadline 100ms"));
        run.expect(1, &format!("{what} cannot be looked up: no answer within 0.1 s"));
    }
}

#[test]
fn a_table_of_a_copy_that_does_not_exist_is_told_with_the_option_that_names_it() {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    for (command, option) in [
        ("copy --from none --to items", "--from"),
        ("copy --from items --to none", "--to"),
        ("diff none items", "FROM"),
        ("diff items none", "TO"),
        ("plan --from-table none --segments 2", "--from-table"),
        ("export --table none -", "--table"),
        ("load --table none", "--table"),
    ] {
        let run = folder.run(&format!("{command} {}", served.arguments()));
        run.expect(
            2,
            &format!("in this account and region: check {option}, --region and --profile"),
        );
    }
}

/// A load into a table that is not there for writes, and whose lookup is answered so.
fn looked_up(options: &str, status: u16, body: &'static str) -> Run {
    let address = serve(move |request| {
        let is_lookup = request
            .header("x-amz-target")
            .is_some_and(|target| target.ends_with(".DescribeTable"));
        let missing = (400, r#"{"__type": "ResourceNotFoundException", "message": "none"}"#);
        let (status, body) = if is_lookup { (status, body) } else { missing };
        Some(Response(
            status,
            "content-type: application/x-amz-json-1.0\r\n".to_owned(),
            body.into(),
        ))
    });
    load(&format!("--endpoint-url http://{address} {options}"), &[], "")
}

#[test]
fn a_lookup_that_is_answered_by_html_names_the_http_status() {
    for status in [200, 302, 403] {
        let run = looked_up("", status, "<html><body>secret</body></html>");
        run.expect(
            1,
            &format!("the table items cannot be looked up: HTTP {status} without an error code"),
        );
        assert!(!run.stderr.contains("secret"), "{}", run.stderr);
    }
}

#[test]
fn a_lookup_with_expired_credentials_tells_to_renew_them() {
    let expired = r#"{"__type": "ExpiredTokenException", "message": "The security token is expired."}"#;
    looked_up("", 400, expired).expect(
        1,
        "ExpiredTokenException: the AWS credentials have expired: The security token is expired. Renew them",
    );
}

#[test]
fn a_region_that_is_no_host_label_is_refused_by_its_value() {
    for key in ["", "--key id:N"] {
        for (region, shown) in [
            ("us-east-1\n", r#""us-east-1\n""#),
            ("us-east-1 ", r#""us-east-1 ""#),
            ("us_east_1", r#""us_east_1""#),
        ] {
            let run = load(key, &[("AWS_REGION", region)], "");
            run.expect(2, &format!("error: {shown} is not an AWS region"));
        }
    }
}

#[test]
fn an_empty_region_is_none() {
    load("", &[("AWS_REGION", "")], "").expect(2, "error: no AWS region is set");
}

#[test]
fn a_denied_describe_table_tells_to_give_the_key() {
    let denied = r#"{"__type": "AccessDeniedException", "message": "no"}"#;
    let run = looked_up("", 400, denied);
    run.expect(1, "allow dynamodb:DescribeTable, or give the key\"");
    assert!(!run.stderr.contains("key_with_sort"), "{}", run.stderr);
    looked_up("--refuse-unindexed", 400, denied).expect(
        2,
        "--refuse-unindexed needs the indexes of the table: allow dynamodb:DescribeTable",
    );
}
