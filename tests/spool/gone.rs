//! A folder that is removed while it is open, one that is for another destination, and whose files they are.

use std::fs;
use std::path::Path;
use std::time::Duration;

use aws_batch_delivery::spool::{SpoolError, SpoolOptions, SyncPolicy};
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Verdict};
use aws_batch_delivery::{Delivery, InvalidEntry};
use tempfile::tempdir;

use crate::numbers::{accept, numbers, sent};
use crate::options::no_delay;

const POLICIES: [SyncPolicy; 3] = [
    SyncPolicy::EachGroup,
    SyncPolicy::Every(Duration::from_millis(10)),
    SyncPolicy::Never,
];

/// What a cleaner of temporary files does, or a deployment.
const WAYS: [fn(&Path); 5] = [
    |folder| fs::remove_dir_all(folder).unwrap(),
    |folder| fs::remove_file(folder.join("spool.sqlite3")).unwrap(),
    |folder| fs::remove_file(folder.join("spool.sqlite3-wal")).unwrap(),
    |folder| fs::rename(folder, folder.with_extension("old")).unwrap(),
    |folder| {
        let file = folder.join("spool.sqlite3");
        fs::copy(&file, folder.join("copy")).unwrap();
        fs::rename(folder.join("copy"), file).unwrap();
    },
];

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn nothing_is_acknowledged_once_the_folder_or_its_file_is_gone() {
    for policy in POLICIES {
        for (way, remove) in WAYS.iter().enumerate() {
            let temporary = tempdir().unwrap();
            let folder = temporary.path().join("spool");
            let (target, calls) = numbers(|_, chunk| accept(chunk));
            let delivery = Delivery::new(target).options(no_delay());
            let spool = delivery.spooled(SpoolOptions::at(&folder).sync(policy)).await.unwrap();
            for number in 0..10 {
                spool.enqueue(&number).await.unwrap();
            }
            remove(&folder);
            for number in 10..20 {
                let error = spool.enqueue(&number).await.unwrap_err();
                assert!(
                    error.to_string().contains("was removed or replaced"),
                    "{policy:?}, {way}: {error}"
                );
            }
            // What was acknowledged before is delivered, as long as the process lives.
            spool.flush().await.unwrap();
            assert_eq!(sent(&calls), (0..10).collect::<Vec<_>>(), "{policy:?}, {way}");
            assert!(
                matches!(spool.close().await, Err(SpoolError::Storage { .. })),
                "{policy:?}, {way}"
            );
        }
    }
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn the_files_are_those_of_their_owner_alone_also_if_they_were_not() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempdir().unwrap();
    for _ in 0..2 {
        let (target, _) = numbers(|_, _| Answer::Stop(Fault::new("no such queue")));
        let spool = crate::numbers::spooled(target, no_delay(), folder.path()).await;
        spool.enqueue(&1).await.unwrap();
        let mut files = 0;
        for file in folder.path().read_dir().unwrap() {
            let file = file.unwrap();
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
            files += 1;
        }
        assert_eq!(files, 5);
        spool.close().await.unwrap();
        for file in folder.path().read_dir().unwrap() {
            fs::set_permissions(file.unwrap().path(), fs::Permissions::from_mode(0o644)).unwrap();
        }
    }
}

/// Takes nothing, or everything.
struct Named(&'static str, bool);

impl BatchTarget for Named {
    type Entry = usize;

    fn name(&self) -> std::borrow::Cow<'_, str> {
        self.0.into()
    }

    fn limits(&self) -> Limits {
        Limits::new(10, 1_000)
    }

    fn check(&self, _: &usize) -> Result<usize, InvalidEntry> {
        Ok(8)
    }

    async fn send(&self, _: &[usize]) -> Answer {
        if self.1 {
            Answer::Whole(Verdict::Accepted)
        } else {
            Answer::Stop(Fault::new("no such queue"))
        }
    }
}

#[tokio::test(start_paused = true)]
async fn entries_for_one_destination_do_not_go_to_another_unless_they_may() {
    let folder = tempdir().unwrap();
    let options = || SpoolOptions::at(folder.path());
    let spool = Delivery::new(Named("sqs/orders", false))
        .spooled(options())
        .await
        .unwrap();
    spool.enqueue(&1).await.unwrap();
    spool.close().await.unwrap();

    let other = || Delivery::new(Named("sqs/invoices", true));
    let error = other().spooled(options()).await.unwrap_err();
    assert!(matches!(error, SpoolError::OtherDestination { .. }), "{error}");
    let words = error.to_string();
    assert!(
        words.contains("sqs/orders") && words.contains("sqs/invoices"),
        "{words}"
    );

    let spool = other().spooled(options().any_destination()).await.unwrap();
    spool.flush().await.unwrap();
    assert_eq!(spool.close().await.unwrap().report.delivered, 1);
    // A spool without entries is for whatever opens it.
    let spool = Delivery::new(Named("sqs/orders", true))
        .spooled(options())
        .await
        .unwrap();
    spool.close().await.unwrap();
}
