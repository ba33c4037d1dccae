use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use tempfile::{TempDir, tempdir};

use super::*;

const LOG: &str = "spool.sqlite3-wal";

/// Milliseconds of the year 2026.
const NOW: i64 = 1_790_000_000_000;

fn new(texts: &[&str]) -> Vec<NewEntry> {
    let entry = |text: &&str| NewEntry {
        spooled_at: NOW,
        json: (*text).to_owned(),
        form: 0,
    };
    texts.iter().map(entry).collect()
}

fn append(store: &mut Store, texts: &[&str]) -> Totals {
    let change = Change {
        new: new(texts),
        ..Change::default()
    };
    store.apply(&change, true).unwrap()
}

fn texts(store: &mut Store) -> Vec<String> {
    let read = store.read(0, u64::MAX, usize::MAX, usize::MAX).unwrap();
    read.entries
        .into_iter()
        .map(|entry| String::from_utf8(entry.json).unwrap())
        .collect()
}

fn opened() -> (TempDir, Store) {
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    (folder, store)
}

/// What a killed process leaves: the files as they are, which another folder has.
fn killed(folder: &Path) -> TempDir {
    let copy = tempdir().unwrap();
    for file in [FILE, LOG] {
        fs::copy(folder.join(file), copy.path().join(file)).unwrap();
    }
    copy
}

#[test]
fn entries_come_back_in_order_with_their_numbers() {
    let (folder, mut store) = opened();
    append(&mut store, &["1", "2"]);
    append(&mut store, &["3"]);
    store.close().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    assert_eq!(append(&mut store, &["4"]).next, 4);
    assert_eq!(texts(&mut store), ["1", "2", "3", "4"]);
    assert_eq!(store.first().unwrap(), Some((0, NOW)));
    let some = store.read(1, 3, 10, usize::MAX).unwrap();
    assert_eq!(
        some.entries.iter().map(|entry| entry.number).collect::<Vec<_>>(),
        [1, 2]
    );
    assert_eq!(store.read(0, 9, 2, usize::MAX).unwrap().entries.len(), 2);
    assert_eq!(store.read(0, 9, 9, 1).unwrap().entries.len(), 1);
}

#[test]
fn numbers_go_on_after_all_entries_were_removed() {
    let (folder, mut store) = opened();
    append(&mut store, &["1", "2"]);
    let settled = Change {
        settled_until: 2,
        ..Change::default()
    };
    let totals = store.apply(&settled, true).unwrap();
    assert_eq!((totals.entries, totals.bytes, totals.next), (0, 0, 2));
    drop(store);
    let mut store = Store::open(folder.path()).unwrap();
    assert_eq!(append(&mut store, &["3"]).next, 3);
}

#[test]
fn a_refused_entry_is_kept_apart_with_its_cause() {
    let (folder, mut store) = opened();
    append(&mut store, &["1", "2", "3"]);
    let refusals = vec![Refusal {
        number: 1,
        cause: "too large".to_owned(),
    }];
    let change = Change {
        refusals,
        settled_until: 1,
        ..Change::default()
    };
    let totals = store.apply(&change, true).unwrap();
    assert_eq!((totals.entries, totals.refused), (1, 1));
    // After an error that was reported although it was written, it is asked for again.
    assert_eq!(store.apply(&change, true).unwrap(), totals);
    assert_eq!(texts(&mut store), ["3"]);
    let refused = store.look(EntryKind::Refused, 10, usize::MAX).unwrap();
    assert_eq!((refused[0].number, &*refused[0].json), (1, &b"2"[..]));
    assert_eq!(refused[0].cause.as_deref(), Some("too large"));
    drop(store);
    let mut store = Store::open(folder.path()).unwrap();
    assert_eq!(store.totals(), totals);
    let totals = store.remove(EntryKind::Refused, 2).unwrap();
    assert_eq!((totals.entries, totals.refused, totals.bytes), (1, 0, cost(1)));
}

/// Entries of 250 KB, and refusals of some of them.
fn with_refusals(numbers: impl Iterator<Item = u64>) -> (TempDir, Store, Vec<Refusal>) {
    let (folder, mut store) = opened();
    let text = "x".repeat(250_000);
    for _ in 0..12 {
        append(&mut store, &[&*text; 10]);
    }
    let pages = |store: &Store| {
        store
            .connection
            .query_row("PRAGMA page_count", [], |row| row.get::<_, i64>(0))
    };
    // 6 MiB more, and a fourth of what all the refused entries take.
    store.limit_pages(pages(&store).unwrap() + 1_536).unwrap();
    let refusal = |number| Refusal {
        number,
        cause: "refused".to_owned(),
    };
    (folder, store, numbers.map(refusal).collect())
}

#[test]
fn many_large_entries_that_are_refused_at_once_take_little_space_to_be_kept_apart() {
    let (folder, mut store, refusals) = with_refusals((10..110).rev());
    let change = Change {
        refusals,
        settled_until: 120,
        ..Change::default()
    };
    let totals = store.apply(&change, true).unwrap();
    assert_eq!((totals.entries, totals.refused), (0, 100));
    assert!(folder.path().join("spool.reserve").exists());
    let log = fs::metadata(folder.path().join(LOG)).unwrap().len();
    assert!(log < 16 << 20, "{log}");
}

#[test]
fn a_refused_entry_that_cannot_be_kept_apart_stays_while_those_before_it_are_removed() {
    let (_folder, mut store, mut refusals) = with_refusals(10..110);
    refusals[90].cause = "x".repeat(20 << 20);
    let change = Change {
        refusals,
        settled_until: 120,
        ..Change::default()
    };
    store.apply(&change, true).unwrap_err();
    let first = store.first().unwrap().unwrap().0;
    assert!((50..=100).contains(&first), "{first}");
    assert_eq!(store.totals().entries, 120 - first);
    store.limit_pages(1 << 30).unwrap();
    let totals = store.apply(&change, true).unwrap();
    assert_eq!((totals.entries, totals.refused), (0, 100));
}

#[test]
fn the_oldest_entries_that_were_not_read_are_dropped() {
    let (_folder, mut store) = opened();
    append(&mut store, &["1", "2", "3", "4", "5"]);
    assert_eq!(store.read(0, 2, 9, usize::MAX).unwrap().entries.len(), 2);
    assert_eq!(store.drop_oldest(cost(1) + 1).unwrap(), 2);
    assert_eq!(store.totals().bytes, 3 * cost(1));
    assert_eq!(texts(&mut store), ["1", "2", "5"]);
    assert_eq!(store.drop_oldest(u64::MAX).unwrap(), 0, "all were read");
}

/// elastic/logstash#8218: a crash leaves a file of 0 bytes. SQLite treats it as a new one, and removes the log next to it.
#[test]
fn an_empty_file_beside_a_log_is_damaged_and_the_log_is_kept() {
    let (folder, mut store) = opened();
    append(&mut store, &["1", "2"]);
    let folder = killed(folder.path());
    File::create(folder.path().join(FILE)).unwrap();
    let is_damage = |error: SpoolError| matches!(error, SpoolError::Damaged { .. });
    assert!(is_damage(inspect(folder.path()).unwrap_err()));
    assert!(is_damage(Store::open(folder.path()).unwrap_err()));
    let mut salvage = Salvage::open(folder.path()).unwrap();
    let numbers = salvage.numbers(EntryKind::Waiting).unwrap();
    let entry = |number| salvage.entry(EntryKind::Waiting, number).unwrap().unwrap().json;
    let entries: Vec<_> = numbers.into_iter().map(entry).collect();
    assert_eq!(entries, [b"1", b"2"]);
}

/// What a process leaves that is killed before it has created anything.
#[test]
fn an_empty_file_alone_is_a_new_one() {
    let folder = tempdir().unwrap();
    for name in [FILE, LOG] {
        File::create(folder.path().join(name)).unwrap();
        append(&mut Store::open(folder.path()).unwrap(), &["1"]);
    }
}

#[test]
fn a_folder_is_open_once() {
    let (folder, store) = opened();
    let error = Store::open(folder.path()).unwrap_err();
    assert!(matches!(error, SpoolError::InUse { .. }), "{error}");
    assert!(error.to_string().contains(folder.path().to_str().unwrap()), "{error}");
    drop(store);
    Store::open(folder.path()).unwrap();
}

#[test]
fn a_folder_that_is_in_use_can_be_looked_into() {
    let (folder, mut store) = opened();
    let totals = append(&mut store, &["1", "2"]);
    assert_eq!(inspect(folder.path()).unwrap(), (totals, Some((0, NOW))));
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_closed_can_be_looked_into_without_a_file_beside_its_own() {
    let temporary = tempdir().unwrap();
    let folder = temporary.path().join("50% of #1?");
    let mut store = Store::open(&folder).unwrap();
    let totals = append(&mut store, &["1", "2"]);
    store.close().unwrap();
    // As where the process may not write.
    fs::create_dir(folder.join("spool.sqlite3-shm")).unwrap();
    assert_eq!(inspect(&folder).unwrap(), (totals, Some((0, NOW))));
}

#[test]
fn files_of_others_are_not_touched() {
    let folder = tempdir().unwrap();
    let other = Connection::open(folder.path().join(FILE)).unwrap();
    other.execute_batch("CREATE TABLE theirs (name TEXT)").unwrap();
    drop(other);
    let theirs = fs::read(folder.path().join(FILE)).unwrap();
    for name in ["reserve", "lock", "spool.reserve"] {
        fs::write(folder.path().join(name), name).unwrap();
    }
    let error = Store::open(folder.path()).unwrap_err();
    assert!(matches!(error, SpoolError::Unknown { .. }), "{error}");
    assert_eq!(fs::read(folder.path().join(FILE)).unwrap(), theirs);
    assert!(!folder.path().join(LOG).exists());
    for name in ["reserve", "lock", "spool.reserve"] {
        assert_eq!(fs::read(folder.path().join(name)).unwrap(), name.as_bytes());
    }
    fs::write(folder.path().join(FILE), [b'x'; 5_000]).unwrap();
    let error = Store::open(folder.path()).unwrap_err();
    assert!(matches!(error, SpoolError::Storage { .. }), "{error}");
}

/// Asked for of a disk buffer whose file had a torn end after a loss of power, and which could not be opened from then on.
#[test]
fn a_torn_end_of_the_log_takes_only_what_it_tears() {
    let (folder, mut store) = opened();
    let large = "x".repeat(20_000);
    append(&mut store, &[&large]);
    let whole = fs::metadata(folder.path().join(LOG)).unwrap().len();
    append(&mut store, &[&large, "3"]);
    let end = fs::metadata(folder.path().join(LOG)).unwrap().len();
    let mut torn_logs = 0;
    for torn in (whole..end).step_by(5_003) {
        // The end is missing, is garbage, or has lost a page within.
        type Tear = fn(&mut File, u64);
        let cut: Tear = |log, at| log.set_len(at).unwrap();
        let garbage: Tear = |log, at| {
            log.set_len(at).unwrap();
            log.seek(SeekFrom::End(0)).unwrap();
            log.write_all(&[0xa5; 9_000]).unwrap();
        };
        let lost_page: Tear = |log, at| {
            log.seek(SeekFrom::Start(at)).unwrap();
            log.write_all(&[0; 1_024]).unwrap();
        };
        for tear in [cut, garbage, lost_page] {
            let copy = killed(folder.path());
            let log = copy.path().join(LOG);
            let before = fs::read(&log).unwrap();
            tear(&mut File::options().write(true).open(&log).unwrap(), torn);
            // What is lost may have been empty.
            let is_whole = fs::read(&log).unwrap() == before;
            torn_logs += u32::from(!is_whole);
            let mut survived = Store::open(copy.path()).unwrap();
            let entries = if is_whole { 3 } else { 1 };
            assert_eq!(survived.totals().entries, entries, "torn at {torn} of {end}");
            append(&mut survived, &["later"]);
            let texts = texts(&mut survived);
            assert_eq!((&*texts[0], texts.last().map(|last| &**last)), (&*large, Some("later")));
        }
    }
    assert!(torn_logs > 20, "{torn_logs}");
}

/// Asked for of a buffer whose folder kept the largest size that it ever had.
#[test]
fn a_file_that_was_large_shrinks() {
    let (folder, mut store) = opened();
    let size = |folder: &TempDir| fs::metadata(folder.path().join(FILE)).unwrap().len();
    let text = "x".repeat(100_000);
    for _ in 0..40 {
        append(&mut store, &[&*text; 10]);
    }
    let bytes = store.totals().bytes;
    assert!(size(&folder) < bytes / 10 * 11, "{} for {bytes}", size(&folder));
    let settled = Change {
        settled_until: 399,
        ..Change::default()
    };
    store.apply(&settled, true).unwrap();
    while store.shrink().unwrap() {}
    store.close().unwrap();
    assert!(size(&folder) < 5 << 20, "{}", size(&folder));
    assert!(!folder.path().join(LOG).exists());
}

/// superseriousbusiness/gotosocial#2808: a log that is not moved into the file, because something reads all the time, grows without a limit.
#[test]
fn the_log_stays_small_however_much_passes() {
    let (folder, mut store) = opened();
    let text = "x".repeat(10_000);
    let mut largest = 0;
    for round in 0..300 {
        let appended = Change {
            new: new(&[&*text; 10]),
            ..Change::default()
        };
        store.apply(&appended, false).unwrap();
        let read = store.read(10 * round, u64::MAX, usize::MAX, usize::MAX).unwrap();
        assert_eq!(read.entries.len(), 10);
        let settled = Change {
            settled_until: read.end,
            ..Change::default()
        };
        store.apply(&settled, false).unwrap();
        largest = largest.max(fs::metadata(folder.path().join(LOG)).unwrap().len());
    }
    assert!(largest < 8 << 20, "{largest}");
}

#[test]
fn what_entries_take_is_estimated_well() {
    for length in [1, 100, 500, 1_100, 1_400, 2_100, 4_000, 5_000, 9_000, 60_000, 300_000] {
        let (folder, mut store) = opened();
        let text = "x".repeat(length);
        let entries = 2_000_000 / length.max(100);
        for _ in 0..entries.div_ceil(100) {
            append(&mut store, &vec![&*text; 100]);
        }
        let bytes = store.totals().bytes;
        store.close().unwrap();
        let size = fs::metadata(folder.path().join(FILE)).unwrap().len();
        // The first pages have the structure.
        assert!(size < bytes / 10 * 11 + 65_536, "{length}: {size} for {bytes}");
        assert!(bytes < size / 10 * 17, "{length}: {size} for {bytes}");
    }
}

#[test]
fn a_commit_waits_for_the_device_only_if_it_is_to() {
    let (_folder, mut store) = opened();
    for durable in [false, true, false] {
        let change = Change {
            new: new(&["1"]),
            ..Change::default()
        };
        store.apply(&change, durable).unwrap();
        // 1 is NORMAL, 2 is FULL.
        assert_eq!(store.synchronous(), 1 + i64::from(durable));
    }
}

#[test]
fn a_path_is_absolute_from_the_start_and_not_empty() {
    let error = Store::open(Path::new("")).unwrap_err();
    assert!(error.to_string().contains("is empty"), "{error}");
    // Several folders that do not exist, by a path from the current one.
    let temporary = tempfile::tempdir_in(".").unwrap();
    let relative = Path::new(temporary.path().file_name().unwrap())
        .join("some")
        .join("spool");
    let mut store = Store::open(&relative).unwrap();
    assert!(store.folder.is_absolute() && store.folder.ends_with(&relative));
    append(&mut store, &["1"]);
    store.close().unwrap();
    assert!(is_there(&relative));
}

#[test]
fn after_a_sync_that_failed_the_next_one_does_not_rely_on_the_log() {
    let (folder, mut store) = opened();
    append(&mut store, &["1"]);
    let log = store.log_to_sync().unwrap();
    assert!(log.is_some());
    store.synced(Err(io::ErrorKind::Other.into())).unwrap_err();
    store.sync().unwrap();
    let copy = tempdir().unwrap();
    fs::copy(folder.path().join(FILE), copy.path().join(FILE)).unwrap();
    assert_eq!(texts(&mut Store::open(copy.path()).unwrap()), ["1"]);
    assert!(store.log_to_sync().unwrap().is_some(), "the log has what is new");
}

#[cfg(unix)]
#[test]
fn a_file_that_is_elsewhere_by_a_link_is_synced_there() {
    let (folder, mut store) = opened();
    append(&mut store, &["1"]);
    store.close().unwrap();
    let elsewhere = tempdir().unwrap();
    let file = elsewhere.path().join("entries");
    fs::rename(folder.path().join(FILE), &file).unwrap();
    std::os::unix::fs::symlink(&file, folder.path().join(FILE)).unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    append(&mut store, &["2"]);
    store.sync().unwrap();
    assert_eq!(texts(&mut store), ["1", "2"]);
}

#[test]
fn a_folder_that_is_dropped_has_no_reserve() {
    let (folder, store) = opened();
    let reserve = folder.path().join("spool.reserve");
    assert!(reserve.exists());
    drop(store);
    assert!(!reserve.exists());
}

#[test]
fn only_a_full_disk_takes_the_reserve() {
    let (folder, mut store) = opened();
    append(&mut store, &["1", "2", "3"]);
    store.limit_pages(1).unwrap();
    let reserve = folder.path().join("spool.reserve");
    let large = "x".repeat(100_000);
    let error = store.with_reserve(|store| {
        store.in_transaction(|transaction, _| Ok(transaction.execute("UPDATE entries SET entry = ?1", [&large])?))
    });
    assert!(matches!(error, Err(SpoolError::Storage { .. })));
    assert!(!reserve.exists(), "a removal may need it");
    store.limit_pages(1 << 30).unwrap();
    append(&mut store, &["4"]);
    assert!(reserve.exists());
    let error = store.with_reserve(|store| {
        store.in_transaction(|transaction, _| Ok(transaction.execute("INSERT INTO missing VALUES (1)", [])?))
    });
    assert!(matches!(error, Err(SpoolError::Storage { .. })));
    assert!(reserve.exists(), "another error is not mended by space");
    assert_eq!(store.drop_oldest(1).unwrap(), 1);
    assert_eq!(store.remove(EntryKind::Waiting, 4).unwrap().entries, 0);
}

/// Drops, refusals and a close that leave gaps are not damage, whatever is removed in which order.
#[test]
fn what_was_removed_is_not_missing() {
    let (folder, mut store) = opened();
    append(&mut store, &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    store.read(0, 5, 9, usize::MAX).unwrap();
    assert_eq!(store.drop_oldest(1).unwrap(), 1);
    let refusals = vec![Refusal {
        number: 3,
        cause: "odd".to_owned(),
    }];
    let change = Change {
        refusals,
        settled_until: 2,
        settled_ahead: vec![4..7, 8..9],
        ..Change::default()
    };
    store.apply(&change, true).unwrap();
    store.remove(EntryKind::Refused, 9).unwrap();
    store.close().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    let read = store.read(0, 99, 99, usize::MAX).unwrap();
    assert_eq!(
        read.entries.iter().map(|entry| entry.number).collect::<Vec<_>>(),
        [2, 7, 9]
    );
    assert_eq!(read.end, 10);
    assert_eq!((store.totals().first, store.totals().entries), (2, 3));
    store.remove(EntryKind::Waiting, 8).unwrap();
    assert_eq!(store.totals().entries, 1);
}

/// As after a page was lost, and with it some entries in the middle.
#[test]
fn an_entry_that_is_missing_or_changed_ends_what_is_read_and_taken() {
    for damage in [
        "DELETE FROM entries WHERE number = 1",
        "UPDATE entries SET entry = '7' WHERE number = 1",
        "UPDATE entries SET spooled_at = 7 WHERE number = 1",
        "UPDATE entries SET number = 7 WHERE number = 1",
        "UPDATE entries SET entry = x'00' WHERE number = 1",
    ] {
        let (folder, mut store) = opened();
        append(&mut store, &["0", "1", "2"]);
        store.connection.execute(damage, []).unwrap();
        let read = store.read(0, 3, 9, usize::MAX).unwrap();
        assert_eq!((read.entries.len(), read.end), (1, 1), "{damage}");
        let is_damaged = |result: Result<(), SpoolError>| {
            let error = result.unwrap_err();
            assert!(matches!(error, SpoolError::Damaged { .. }), "{damage}: {error}");
            assert!(!error.to_string().contains("'7'"), "{error}");
        };
        is_damaged(store.read(1, 3, 9, usize::MAX).map(drop));
        let change = Change {
            new: new(&["3"]),
            ..Change::default()
        };
        is_damaged(store.apply(&change, true).map(drop));
        assert_eq!(store.totals().next, 3);
        is_damaged(store.close());
        let mut kept = Vec::new();
        let mut salvage = Salvage::open(folder.path()).unwrap();
        for number in salvage.numbers(EntryKind::Waiting).unwrap() {
            let entry = salvage.entry(EntryKind::Waiting, number).unwrap();
            kept.extend(entry.map(|entry| (entry.number, String::from_utf8(entry.json).unwrap())));
        }
        let [first, changed, last] = [0, 1, 2].map(|number| (number, number.to_string()));
        assert!(
            kept == [first.clone(), last.clone()] || kept == [first, changed, last],
            "{damage}: {kept:?}"
        );
        salvage.put_aside().unwrap();
        assert_eq!(Store::open(folder.path()).unwrap().totals(), Totals::default());
    }
}
