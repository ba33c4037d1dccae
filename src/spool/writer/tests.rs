use std::pin::pin;

use tempfile::{TempDir, tempdir};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::{advance, timeout};

use super::*;
use crate::spool::settlement::OpenedStore;
use crate::spool::store::Refusal;

const TIME: Duration = Duration::from_millis(10);

/// A writer to an empty folder, and its requests.
async fn writer(policy: SyncPolicy, drops_oldest: bool) -> (TempDir, Writer, UnboundedSender<Request>) {
    let folder = tempdir().unwrap();
    let path = folder.path().to_owned();
    let store = StoreHandle::open(move || Store::open(&path)).await.unwrap();
    let (requests, received) = unbounded_channel();
    let writer = Writer::new(
        store,
        received,
        Arc::new(Room::new(1_000, 0)),
        Arc::new(Settlement::new(OpenedStore::default(), 100)),
        (policy, drops_oldest),
        Totals::default(),
    );
    (folder, writer, requests)
}

async fn request(writer: &Writer) -> Request {
    let json = "1".to_owned();
    Request::Write {
        place: writer.room.place(cost(json.len()), json.len()).await.unwrap(),
        entry: NewEntry {
            spooled_at: 0,
            json,
            form: 0,
        },
        written: oneshot::channel().0,
    }
}

#[tokio::test]
async fn a_write_waits_for_the_device_as_the_policy_says() {
    for (policy, level) in [
        (SyncPolicy::EachGroup, 2),
        (SyncPolicy::Every(TIME), 1),
        (SyncPolicy::Never, 1),
    ] {
        let (_folder, mut writer, requests) = writer(policy, false).await;
        requests.send(request(&writer).await).ok().unwrap();
        let group = writer.group().await;
        writer.write(group, None).await.unwrap();
        let has = writer.store.with(|store| Ok(store.synchronous())).await.unwrap();
        assert_eq!(has, level, "{policy:?}");
        assert_eq!(writer.unsynced_since.is_some(), level == 1);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_window_moves_only_when_the_device_was_asked_although_nothing_was_removed() {
    let (folder, mut writer, requests) = writer(SyncPolicy::Every(Duration::from_secs(60 * 60)), false).await;
    requests.send(request(&writer).await).ok().unwrap();
    let group = writer.group().await;
    writer.write(group, None).await.unwrap();
    // A quarter of the window was dropped, so there is nothing to remove.
    writer.settlement.read(1..26, std::iter::once(1..26));
    writer.settlement.handled(0);
    let unwritten = writer.settlement.unwritten().unwrap();
    assert!(unwritten.is_urgent);
    writer.write(Group::default(), Some(unwritten)).await.unwrap();
    writer.settlement.read(26..51, std::iter::once(26..51));
    let unwritten = writer.settlement.unwritten().unwrap();
    assert!(unwritten.is_urgent);
    // What is synced is the log, which is not there any more.
    std::fs::remove_file(folder.path().join("spool.sqlite3-wal")).unwrap();
    let error = writer.write(Group::default(), Some(unwritten)).await.unwrap_err();
    assert!(matches!(error, SpoolError::Storage { .. }), "{error}");
    assert_eq!(writer.settlement.readable_until(futures::task::noop_waker_ref()), 1);
}

#[tokio::test]
async fn nothing_is_acknowledged_from_a_sync_that_fails_until_one_succeeds() {
    let (_folder, mut writer, requests) = writer(SyncPolicy::Every(TIME), false).await;
    let mut write = async |fails: bool| {
        writer
            .store
            .with(move |store| {
                store.set_fails_to_sync(fails);
                Ok(())
            })
            .await
            .unwrap();
        requests.send(request(&writer).await).ok().unwrap();
        let group = writer.group().await;
        let written = writer.write(group, None).await;
        if writer.sync.is_none() {
            writer.begin_sync();
        }
        let ended = ended(&mut writer.sync).await;
        (written.is_ok(), writer.synced(ended).is_ok())
    };
    // Those of one interval are acknowledged before it is known.
    assert_eq!(write(true).await, (true, false));
    assert_eq!(write(true).await, (false, false));
    assert_eq!(write(false).await, (true, true));
}

#[tokio::test]
async fn refused_entries_make_room_before_others_are_dropped() {
    let (_folder, writer, requests) = writer(SyncPolicy::EachGroup, true).await;
    let (room, settlement) = (Arc::clone(&writer.room), Arc::clone(&writer.settlement));
    let entries = 1_000 / cost(1);
    for _ in 0..entries {
        requests.send(request(&writer).await).ok().unwrap();
    }
    let running = tokio::spawn(writer.run());
    while settlement.readable_until(futures::task::noop_waker_ref()) < entries {
        tokio::task::yield_now().await;
    }
    for number in 0..entries {
        settlement.refuse(Refusal {
            number,
            cause: String::new(),
        });
    }
    let waiting: Vec<_> = (0..entries).map(|_| room.place(cost(1), 1)).collect();
    let places = timeout(Duration::from_secs(60), futures::future::join_all(waiting))
        .await
        .unwrap();
    assert!(places.iter().all(Result::is_ok));
    requests.send(Request::Close).ok().unwrap();
    let (totals, dropped) = running.await.unwrap().unwrap();
    assert_eq!((totals.entries, totals.refused, dropped), (0, 0, entries));
}

#[tokio::test(start_paused = true)]
async fn a_sync_that_is_due_begins_although_requests_wait() {
    let (_folder, mut writer, requests) = writer(SyncPolicy::Every(TIME), false).await;
    for _ in 0..3 {
        requests.send(request(&writer).await).ok().unwrap();
    }
    let group = writer.group().await;
    writer.write(group, None).await.unwrap();
    requests.send(request(&writer).await).ok().unwrap();
    advance(TIME).await;
    let group = writer.group().await;
    assert_eq!(group.entries.len(), 1);
    assert!(writer.sync.is_some());
}

#[tokio::test]
async fn the_error_of_the_last_write_is_that_of_the_close() {
    let (folder, mut writer, requests) = writer(SyncPolicy::EachGroup, false).await;
    requests.send(request(&writer).await).ok().unwrap();
    let group = writer.group().await;
    writer.write(group, None).await.unwrap();
    writer.store.with(|store| store.limit_pages(1)).await.unwrap();
    writer.settlement.refuse(Refusal {
        number: 0,
        cause: "x".repeat(100_000),
    });
    requests.send(Request::Close).ok().unwrap();
    let error = writer.run().await.unwrap_err();
    assert!(matches!(error, SpoolError::Storage { .. }), "{error}");
    // The folder is free all the same, and has the entry.
    assert_eq!(Store::open(folder.path()).unwrap().totals().entries, 1);
}

#[tokio::test]
async fn what_is_settled_makes_room_before_entries_are_dropped() {
    let (_folder, writer, requests) = writer(SyncPolicy::EachGroup, true).await;
    let (room, settlement) = (Arc::clone(&writer.room), Arc::clone(&writer.settlement));
    let entries = 1_000 / cost(1);
    for _ in 0..entries {
        requests.send(request(&writer).await).ok().unwrap();
    }
    let running = tokio::spawn(writer.run());
    // All are on disk, and half of them are settled.
    while settlement.readable_until(futures::task::noop_waker_ref()) < entries {
        tokio::task::yield_now().await;
    }
    settlement.settle(0..entries / 2);
    let waiting: Vec<_> = (0..entries / 2).map(|_| room.place(cost(1), 1)).collect();
    let places = futures::future::join_all(waiting).await;
    assert!(places.iter().all(Result::is_ok));
    // What wants more than that takes the place of others.
    let more = [room.place(cost(1), 1), room.place(cost(1), 1)];
    let more = futures::future::join_all(more).await;
    assert!(more.iter().all(Result::is_ok));
    requests.send(Request::Close).ok().unwrap();
    let (totals, dropped) = running.await.unwrap().unwrap();
    assert_eq!((totals.entries, dropped), (entries - entries / 2 - 2, 2));
}

#[tokio::test(start_paused = true)]
async fn room_that_could_not_be_made_is_made_later() {
    let (_folder, writer, requests) = writer(SyncPolicy::EachGroup, true).await;
    let (room, store) = (Arc::clone(&writer.room), writer.store.clone());
    let entries = 1_000 / cost(1);
    for _ in 0..entries {
        requests.send(request(&writer).await).ok().unwrap();
    }
    let running = tokio::spawn(writer.run());
    while store.with(|store| Ok(store.totals().entries)).await.unwrap() < entries {
        tokio::task::yield_now().await;
    }
    store.with(|store| store.set_writable(false)).await.unwrap();
    let mut waiting = pin!(room.place(cost(1), 1));
    assert!(timeout(5 * PAUSE, &mut waiting).await.is_err());
    store.with(|store| store.set_writable(true)).await.unwrap();
    assert!(timeout(5 * PAUSE, &mut waiting).await.unwrap().is_ok());
    requests.send(Request::Close).ok().unwrap();
    let (totals, dropped) = running.await.unwrap().unwrap();
    assert_eq!((totals.entries, dropped), (entries - 1, 1));
}
