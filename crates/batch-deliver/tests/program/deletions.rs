//! Objects of a bucket that are deleted.

use aws_batch_simulator::{Bucket, InjectedFault, Server, Simulator};
use tokio::runtime::Runtime;

use crate::program::Folder;

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
