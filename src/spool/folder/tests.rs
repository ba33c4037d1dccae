use std::fs::{self, File};
use std::io::Write;

use rusqlite::Connection;
use tempfile::{TempDir, tempdir};

use super::*;
use crate::spool::store::{Change, NewEntry, Refusal};

const FILE: &str = "spool.sqlite3";
const LOG: &str = "spool.sqlite3-wal";

/// Adds entries whose JSON is their numbers, filled up to this length.
fn append(store: &mut Store, entries: u64, length: usize) {
    let first = store.totals().next;
    let new = |number: u64| NewEntry {
        spooled_at: 1_790_000_000_000,
        form: 0,
        json: json(number, length),
    };
    let change = Change {
        new: (first..first + entries).map(new).collect(),
        ..Change::default()
    };
    store.apply(&change, true).unwrap();
}

fn json(number: u64, length: usize) -> String {
    format!("{number:0>length$}")
}

/// Refuses these entries, and settles others.
fn settle(store: &mut Store, refused: &[u64], settled: &[u64]) {
    let refusal = |number: &u64| Refusal {
        number: *number,
        cause: "refused".to_owned(),
    };
    let change = Change {
        refusals: refused.iter().map(refusal).collect(),
        settled_ahead: settled.iter().map(|number| *number..number + 1).collect(),
        ..Change::default()
    };
    store.apply(&change, true).unwrap();
}

/// What a killed process leaves.
fn killed(folder: &Path) -> TempDir {
    let copy = tempdir().unwrap();
    for file in [FILE, LOG] {
        fs::copy(folder.join(file), copy.path().join(file)).unwrap();
    }
    copy
}

/// What can be taken out: the numbers that are to be delivered, those that were refused, and the report.
fn salvaged(folder: &Path, length: usize) -> Result<(Vec<u64>, Vec<u64>, Salvaged), SpoolError> {
    let (mut waiting, mut refused) = (Vec::new(), Vec::new());
    let report = SpoolFolder::salvage(folder, |entries| {
        for entry in entries {
            assert_eq!(entry.json, json(entry.number, length).into_bytes());
            match entry.cause {
                None => waiting.push(entry.number),
                Some(_) => refused.push(entry.number),
            }
        }
        Ok::<_, SpoolError>(())
    })?;
    assert_eq!(
        (report.entries, report.refused),
        (waiting.len() as u64, refused.len() as u64)
    );
    Ok((waiting, refused, report))
}

/// Damages the page on which a table begins.
fn damage_table(folder: &Path, table: &str) {
    let connection = Connection::open(folder.join(FILE)).unwrap();
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    let page: usize = connection.query_row(root, [table], |row| row.get(0)).unwrap();
    drop(connection);
    let mut file = fs::read(folder.join(FILE)).unwrap();
    file[(page - 1) * 4_096..][..100].fill(0xa5);
    fs::write(folder.join(FILE), file).unwrap();
}

#[test]
fn a_folder_whose_file_cannot_shrink_is_closed_all_the_same() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    let entry = |_| NewEntry {
        spooled_at: 0,
        form: 0,
        json: "x".repeat(1_000_000),
    };
    let change = Change {
        new: (0..10).map(entry).collect(),
        ..Change::default()
    };
    store.apply(&change, true).unwrap();
    let mut opened = SpoolFolder { store };
    while let Some(last) = opened.entries(10).unwrap().pop() {
        opened.remove_until(&last).unwrap();
    }
    opened.store.set_writable(false).unwrap();
    assert!(opened.store.shrink().is_err());
    opened.close().unwrap();
    assert_eq!(SpoolFolder::inspect(folder.path()).unwrap().entries, 0);
}

/// The log has what was acknowledged last, and may be all that has it.
#[test]
fn what_only_the_log_of_a_killed_process_has_is_taken_out() {
    for length in [10, 9_000] {
        let folder = tempdir().unwrap();
        let mut store = Store::open(folder.path()).unwrap();
        append(&mut store, 3, length);
        store.close().unwrap();
        let mut store = Store::open(folder.path()).unwrap();
        append(&mut store, 2, length);
        // The first page is nowhere, or only the file does not have it.
        for start in [4_096, 0] {
            let copy = killed(folder.path());
            let log = fs::read(copy.path().join(LOG)).unwrap();
            let mut file = File::options().write(true).open(copy.path().join(FILE)).unwrap();
            file.write_all(&[0xa5; 4_096]).unwrap();
            if start > 0 {
                // A frame for another page.
                let mut frames = log.clone();
                for frame in frames[32..].chunks_mut(4_120) {
                    if frame[..4] == [0, 0, 0, 1] {
                        frame[24..].fill(0xa5);
                    }
                }
                fs::write(copy.path().join(LOG), frames).unwrap();
            }
            let (waiting, refused, report) = salvaged(copy.path(), length).unwrap();
            assert_eq!((waiting, refused), ((0..5).collect(), vec![]), "{length}, {start}");
            let mut aside = report.aside.clone().into_os_string();
            aside.push("-wal");
            assert_eq!(fs::metadata(aside).unwrap().len(), log.len() as u64);
            assert!(!copy.path().join(LOG).exists());
            assert_eq!(Store::open(copy.path()).unwrap().totals().next, 0);
        }
    }
}

/// Otherwise what was delivered before earlier entries would be delivered again, and what was refused.
#[test]
fn entries_that_may_have_been_removed_are_marked_when_the_gaps_are_lost() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    append(&mut store, 6, 10);
    settle(&mut store, &[2], &[4]);
    store.close().unwrap();
    damage_table(folder.path(), "gaps");
    let (waiting, refused, report) = salvaged(folder.path(), 10).unwrap();
    assert!(report.may_have_been_delivered);
    let sure: Vec<u64> = waiting.iter().copied().filter(|number| *number != 4).collect();
    assert_eq!((sure, refused), (vec![0, 1, 3, 5], vec![2]));
}

#[test]
fn refused_entries_beyond_a_damaged_page_are_taken_out() {
    let folder = tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    append(&mut store, 40, 1_000);
    settle(&mut store, &(0..30).collect::<Vec<_>>(), &[]);
    store.close().unwrap();
    damage_table(folder.path(), "refused");
    let (waiting, refused, report) = salvaged(folder.path(), 1_000).unwrap();
    assert_eq!((waiting, refused), ((30..40).collect(), (0..30).collect()));
    assert_eq!((report.lost, report.may_have_been_delivered), (0, true));
}

#[test]
fn a_file_that_is_not_known_to_be_damaged_is_not_put_aside() {
    let changes = [
        ("PRAGMA application_id = 7", "has no spool"),
        ("PRAGMA user_version = 77", "has no spool"),
        ("", "cannot be used"),
    ];
    for (change, words) in changes {
        let folder = tempdir().unwrap();
        let mut store = Store::open(folder.path()).unwrap();
        append(&mut store, 1, 10);
        store.close().unwrap();
        if change.is_empty() {
            // The log cannot be read, as after an error of the device.
            fs::create_dir(folder.path().join(LOG)).unwrap();
        } else {
            let connection = Connection::open(folder.path().join(FILE)).unwrap();
            connection.execute_batch(change).unwrap();
        }
        let before = fs::read(folder.path().join(FILE)).unwrap();
        let error = salvaged(folder.path(), 10).unwrap_err();
        assert!(error.to_string().contains(words), "{change}: {error}");
        assert_eq!(fs::read(folder.path().join(FILE)).unwrap(), before);
    }
}
