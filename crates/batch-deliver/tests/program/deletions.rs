//! Objects of a bucket that are deleted.

use aws_batch_simulator::{Bucket, InjectedFault, Server, Simulator};
use tokio::runtime::Runtime;

use crate::http::{Response, serve};
use crate::program::{Folder, Run};

/// A simulated bucket that the program reaches as it reaches S3.
struct Service {
    bucket: Bucket,
    server: Server,
    _runtime: Runtime,
}

impl Service {
    /// With objects of these numbers, in ten folders.
    fn with(objects: usize) -> Self {
        let runtime = Runtime::new().unwrap();
        let simulator = Simulator::new(7);
        let bucket = simulator.bucket("logs");
        for key in keys(objects).lines() {
            bucket.insert(key, "body");
        }
        let server = runtime.block_on(simulator.serve("127.0.0.1:0")).unwrap();
        Self {
            bucket,
            server,
            _runtime: runtime,
        }
    }

    fn delete(&self, arguments: &str) -> String {
        let endpoint = self.server.endpoint();
        format!("delete-objects --s3-region us-east-1 --endpoint-url {endpoint} {arguments}")
    }
}

fn keys(objects: usize) -> String {
    let keys = (0..objects).map(|number| format!("2026/{}/{number}\n", number % 10));
    keys.collect::<Vec<_>>().concat()
}

#[test]
fn keys_on_lines_are_deleted_whatever_fails_meanwhile() {
    let folder = Folder::new();
    let service = Service::with(3_000);
    service.bucket.insert("kept", "body");
    service.bucket.script([
        InjectedFault::Unprocessed(5),
        InjectedFault::Throttle,
        InjectedFault::internal_error(true),
    ]);
    folder.write("keys.txt", keys(3_000));
    folder
        .run(&service.delete("--bucket logs keys.txt"))
        .expect(0, "3,000 delivered to logs");
    assert_eq!(service.bucket.objects().into_keys().collect::<Vec<_>>(), ["kept"]);
}

#[test]
fn a_listing_on_the_standard_input_is_deleted() {
    let folder = Folder::new();
    let service = Service::with(2);
    let listing = "{\"Key\":\"2026/0/0\",\"Size\":4}\n{\"Key\":\"2026/1/1\",\"VersionId\":\"null\"}\n";
    folder
        .run_with(&service.delete("--bucket logs --format json -"), listing)
        .expect(0, "2 delivered");
    assert!(service.bucket.is_empty());
}

#[test]
fn what_s3_does_not_delete_is_a_dead_letter() {
    let folder = Folder::new();
    let service = Service::with(20);
    service.bucket.poison(|deletion| deletion["Key"] == "2026/7/7");
    folder.write("keys.txt", keys(20));
    folder
        .run(&service.delete("--bucket logs --dead-letter dead.txt keys.txt"))
        .expect(1, "AccessDenied");
    assert_eq!(service.bucket.objects().into_keys().collect::<Vec<_>>(), ["2026/7/7"]);
    assert!(folder.read("dead.txt").contains("2026/7/7"));
}

#[test]
fn a_key_outside_of_the_prefix_is_not_deleted() {
    let folder = Folder::new();
    let service = Service::with(20);
    folder.write("keys.txt", "2026/0/0\n2026/1/1\n");
    folder
        .run(&service.delete("--bucket s3://logs/2026/0/ --keep-going 1 keys.txt"))
        .expect(1, "keys.txt:2");
    assert_eq!(service.bucket.len(), 19);
    assert!(service.bucket.objects().contains_key("2026/1/1"));
}

#[test]
fn a_run_that_stopped_goes_on_with_what_is_left() {
    let folder = Folder::new();
    let service = Service::with(20);
    folder.write("keys.txt", format!("{}s3://logs/2026/0/0\n", keys(10)));
    let arguments = service.delete("--bucket logs --resume journal keys.txt");
    folder.run(&arguments).expect(1, "URL");
    folder.write("keys.txt", keys(20));
    folder.run(&arguments).expect(0, "delivered");
    assert!(service.bucket.is_empty());
}

#[test]
fn a_dry_run_and_a_simulation_need_no_account() {
    let folder = Folder::new();
    folder.write("keys.txt", keys(50));
    folder
        .run("delete-objects --bucket logs --dry-run keys.txt")
        .expect(0, "50");
    folder
        .run("delete-objects --bucket logs --simulate 5000 keys.txt")
        .expect(0, "the simulator stored what was delivered: 50 deletions");
}

/// Deletes the keys of this list from a bucket with 30 objects.
fn deleted(list: &str, options: &str) -> (Service, Run) {
    let (folder, service) = (Folder::new(), Service::with(30));
    folder.write("list", list);
    let run = folder.run(&service.delete(&format!("--bucket logs {options} list")));
    (service, run)
}

#[test]
fn a_list_in_another_shape_ends_with_an_error_and_no_call() {
    for list in [
        "2026/0/0\t2026/1/1\n",
        "[\"2026/0/0\",\"2026/1/1\"]\n",
        "\"2026/0/0\"\n\"2026/1/1\"\n",
        "2026-11-28 10:00         4  s3://logs/2026/0/0\n",
        "2026/11/28 10:00:00                 4  2026/0/0\n",
        "                                  DIR  2026/\n",
        "[2026-11-28 10:00:00 UTC]     4B STANDARD 2026/0/0\n",
        "        4 2026/0/0\n",
        "        4 2026-11-28 10:00:00.000000000 2026/0/0\n",
        "(dryrun) delete: s3://logs/2026/0/0\n",
        "rm s3://logs/2026/0/0\n",
        "https://logs.s3.amazonaws.com/2026/0/0\n",
        "arn:aws:s3:::logs/2026/0/0\n",
        "\"other\",\"2026/0/0\"\n",
        "/2026/0/0\n/2026/1/1\n",
        "logs/2026/0/0\nlogs/2026/1/1\n",
        "- 2026/0/0\n- 2026/1/1\n",
        "- Key: 2026/0/0\n",
        "<Key>2026/0/0</Key>\n",
    ] {
        let (service, run) = deleted(list, "");
        assert_ne!(run.code, 0, "{list}");
        assert_eq!(service.bucket.statistics().calls, 0, "{list}: {}", run.stderr);
    }
}

#[test]
fn keys_of_which_none_exists_are_not_deleted_unless_that_is_said() {
    let unknown = (0..40).map(|number| format!("logs/2026/{number}\n"));
    let unknown = unknown.collect::<Vec<_>>().concat();
    let (service, run) = deleted(&unknown, "");
    run.expect(2, "none of the first 20 keys exists in logs, so nothing was deleted")
        .expect(2, "begin with the name of the bucket")
        .expect(2, "--no-check");
    assert_eq!(service.bucket.statistics().calls, 0);
    deleted(&unknown, "--no-check").1.expect(0, "40 delivered");
    deleted("/2026/0/0\n", "")
        .1
        .expect(2, "the first key does not exist in logs");
    // Some that are gone are not all.
    let (service, run) = deleted("Key\n2026/0/0\n2026/1/1\n", "");
    run.expect(0, "1 of the first 3 keys does not exist in logs");
    assert_eq!(service.bucket.len(), 28);
}

#[test]
fn keys_on_the_standard_input_are_looked_up_as_well() {
    let (folder, service) = (Folder::new(), Service::with(30));
    folder
        .run_with(&service.delete("--bucket logs -"), "logs/2026/0/0\nlogs/2026/1/1\n")
        .expect(2, "none of the first 2 keys exists");
    folder
        .run_with(&service.delete("--bucket logs -"), &keys(30))
        .expect(0, "30 delivered");
    assert!(service.bucket.is_empty());
}

#[test]
fn an_inventory_and_a_batch_manifest_are_read() {
    let (folder, service) = (Folder::new(), Service::with(0));
    let names = ["a b/c+d%", "\u{e9}/\"q\"", "x,y", "plain", "current", "sized"];
    for name in names {
        service.bucket.insert(name, "body");
    }
    folder.write(
        "inventory.csv",
        "\"logs\",\"a+b/c%2Bd%25\",\"null\",\"true\",\"false\",\"4\"\n\
         \"logs\",\"%C3%A9/%22q%22\",\"\",\"true\",\"false\",\"4\"\n\
         \"logs\",\"sized\",\"4\",\"2026-11-28T10:00:00.000Z\"\n",
    );
    folder.write("manifest.csv", "logs,x%2Cy\nlogs,plain,null\n\"logs\",current\n");
    folder
        .run(&service.delete("--bucket logs inventory.csv manifest.csv"))
        .expect(0, "6 delivered");
    assert!(service.bucket.is_empty(), "{:?}", service.bucket.objects());
    folder.write("manifest.csv", "logs,100%\n");
    folder
        .run(&service.delete("--bucket logs manifest.csv"))
        .expect(1, "not URL-encoded");
}

#[test]
fn a_run_that_is_continued_does_not_miss_the_keys_that_it_has_deleted() {
    let (folder, service) = (Folder::new(), Service::with(3_000));
    folder.write("keys.txt", keys(3_000));
    let arguments = service.delete("--bucket logs --resume journal keys.txt");
    // The call is applied, and its answer never comes: the run is killed before its journal has it.
    service.bucket.script([InjectedFault::Hung { applied: true }]);
    let mut child = folder.command(&arguments).spawn().unwrap();
    crate::program::until_there("a deletion", || (service.bucket.len() < 3_000).then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    folder.run(&arguments).expect(0, "delivered");
    assert!(service.bucket.is_empty());
    // The same list again, which nothing tells from a wrong one.
    folder
        .run(&service.delete("--bucket logs keys.txt"))
        .expect(2, "none of the first 20 keys exists");
}

#[test]
fn a_run_that_was_refused_is_refused_again_with_its_journal() {
    let (folder, service) = (Folder::new(), Service::with(30));
    folder.write("keys.txt", "logs/2026/0/0\n");
    let arguments = service.delete("--bucket logs --resume journal keys.txt");
    for _ in 0..2 {
        let refused = folder.run(&format!("{arguments} --dead-letter dead.jsonl"));
        refused.expect(2, "the first key does not exist");
    }
    assert_eq!(service.bucket.len(), 30);
    let files = std::fs::read_dir(folder.path("keys.txt").parent().unwrap()).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = files.filter(|name| name.starts_with("dead")).collect();
    assert!(left.is_empty(), "{left:?}");
    folder.write("keys.txt", keys(30));
    folder.run(&arguments).expect(0, "30 delivered");
}

#[test]
fn a_run_that_was_killed_before_it_began_looks_again() {
    let (folder, service) = (Folder::new(), Service::with(30));
    folder.write("keys.txt", "logs/2026/0/0\n");
    let silent = serve(|_| None);
    let silent = format!("delete-objects --s3-region us-east-1 --endpoint-url http://{silent} --bucket logs");
    let mut looking = folder
        .command(&format!("{silent} --resume journal keys.txt"))
        .spawn()
        .unwrap();
    let journal = folder.path("journal");
    let has_journal = || {
        std::fs::metadata(&journal)
            .is_ok_and(|file| file.len() > 0)
            .then_some(())
    };
    crate::program::until_there("a journal", has_journal);
    looking.kill().unwrap();
    looking.wait().unwrap();
    folder
        .run(&service.delete("--bucket logs --resume journal keys.txt"))
        .expect(2, "the first key does not exist");
}

#[test]
fn a_bucket_that_does_not_exist_is_told_from_keys_that_do_not() {
    let address = serve(|_| Some(Response(404, String::new(), Vec::new())));
    let folder = Folder::new();
    folder.write("keys.txt", keys(5));
    let delete = format!("delete-objects --s3-region us-east-1 --endpoint-url http://{address} --bucket logs keys.txt");
    folder.run(&delete).expect(2, "there is no bucket logs");
}

#[test]
fn without_permission_to_look_keys_up_that_is_said_once_and_they_are_deleted() {
    let address = serve(|request| {
        let body = String::from_utf8_lossy(&request.body);
        let keys = body
            .split("<Key>")
            .skip(1)
            .filter_map(|rest| rest.split("</Key>").next());
        let deleted = keys.map(|key| format!("<Deleted><Key>{key}</Key></Deleted>"));
        let deleted = deleted.collect::<Vec<_>>().concat();
        Some(match request.method.as_str() {
            "HEAD" => Response(403, String::new(), Vec::new()),
            _ => Response(
                200,
                String::new(),
                format!("<DeleteResult>{deleted}</DeleteResult>").into_bytes(),
            ),
        })
    });
    let folder = Folder::new();
    folder.write("keys.txt", keys(25));
    let run = folder.run(&format!(
        "delete-objects --s3-region us-east-1 --endpoint-url http://{address} --bucket logs keys.txt"
    ));
    run.expect(0, "25 delivered").expect(0, "s3:GetObject");
    assert_eq!(run.stderr.matches("s3:GetObject").count(), 1, "{}", run.stderr);
}
