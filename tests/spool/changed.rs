//! A file of a spool of which any bytes are changed, or its end is cut off. `fuzz/` runs the same function.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use aws_batch_delivery::spool::{SpoolFolder, SpoolOptions, SpooledEntry};
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Verdict};
use aws_batch_delivery::{Delivery, InvalidEntry};
use tempfile::tempdir;

const FILE: &str = "spool.sqlite3";

/// The entries of the spool. Of the first of them, each one with an even number was refused for good, and the others were delivered.
const ENTRIES: u64 = 60;
const ENDED: u64 = 20;

/// What is read of a changed file is what was written, in its order and from the first entry on, and what can be taken out of it is so
/// too. The bytes are places in the file, of two bytes each, and what is changed there; the first byte says where the file ends.
pub(crate) fn of_bytes(data: &[u8]) {
    let Some((cut, changes)) = data.split_first() else {
        return;
    };
    let mut file = written().to_vec();
    for change in changes.chunks_exact(3) {
        // An odd number, so that all places are reached.
        let place = usize::from(u16::from_be_bytes([change[0], change[1]])) * 7 % file.len();
        file[place] ^= change[2];
    }
    if *cut > 200 {
        file.truncate(file.len() / 56 * usize::from(*cut - 200));
    }
    let folder = tempdir().unwrap();
    fs::write(folder.path().join(FILE), file).unwrap();
    // The reserve, without its 16 MiB, which would take most of the time.
    let reserve = fs::File::create(folder.path().join("spool.reserve")).unwrap();
    reserve.set_len(16 << 20).unwrap();
    let _ = SpoolFolder::inspect(folder.path());
    if let Ok(opened) = SpoolFolder::open(folder.path()) {
        let waiting: Vec<_> = (ENDED..ENTRIES).collect();
        let refused: Vec<_> = (0..ENDED).filter(|number| is_refused(*number)).collect();
        if let Ok(entries) = opened.entries(1_000) {
            assert!(waiting.starts_with(&numbers(&entries)), "{:?}", numbers(&entries));
        }
        if let Ok(entries) = opened.refused(1_000) {
            assert!(refused.starts_with(&numbers(&entries)), "{:?}", numbers(&entries));
        }
    }
    let (mut waiting, mut refused) = (Vec::new(), Vec::new());
    let salvaged = SpoolFolder::salvage(folder.path(), |entries| {
        let kept = if entries.iter().any(|entry| entry.cause.is_some()) {
            &mut refused
        } else {
            &mut waiting
        };
        kept.extend(numbers(entries));
        Ok::<_, aws_batch_delivery::spool::SpoolError>(())
    });
    for kept in [&waiting, &refused] {
        assert!(kept.is_sorted_by(|one, other| one < other), "{kept:?}");
    }
    if let Ok(salvaged) = salvaged {
        assert_eq!(
            (salvaged.entries, salvaged.refused),
            (waiting.len() as u64, refused.len() as u64)
        );
    }
}

/// The numbers of the entries, each of which is as it was.
fn numbers(entries: &[SpooledEntry]) -> Vec<u64> {
    let numbers = entries.iter().map(|entry| {
        let read: String = serde_json::from_slice(&entry.json).unwrap();
        assert_eq!(read, text(entry.number));
        entry.number
    });
    numbers.collect()
}

fn text(number: u64) -> String {
    format!(
        "{number} {}",
        "x".repeat(10 + 37 * usize::try_from(number).unwrap() % 300)
    )
}

fn is_refused(number: u64) -> bool {
    number.is_multiple_of(2)
}

/// The file of a spool that was closed.
fn written() -> &'static [u8] {
    static FILE_OF_A_SPOOL: OnceLock<Vec<u8>> = OnceLock::new();
    FILE_OF_A_SPOOL.get_or_init(|| {
        let folder = tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(fill(folder.path()));
        fs::read(folder.path().join(FILE)).unwrap()
    })
}

async fn fill(folder: &Path) {
    let spool = Delivery::new(First).spooled(SpoolOptions::at(folder)).await.unwrap();
    for number in 0..ENDED {
        spool.enqueue(&text(number)).await.unwrap();
    }
    spool.flush().await.unwrap();
    for number in ENDED..ENTRIES {
        spool.enqueue(&text(number)).await.unwrap();
    }
    spool.close().await.unwrap();
}

/// Takes or refuses the first entries, and is then gone.
struct First;

impl BatchTarget for First {
    type Entry = String;

    fn limits(&self) -> Limits {
        Limits::new(10, 1 << 20)
    }

    fn check(&self, text: &String) -> Result<usize, InvalidEntry> {
        Ok(text.len())
    }

    async fn send(&self, texts: &[String]) -> Answer {
        let number = |text: &String| {
            text.split(' ')
                .next()
                .and_then(|number| number.parse().ok())
                .unwrap_or(ENTRIES)
        };
        if texts.iter().any(|text| number(text) >= ENDED) {
            return Answer::Stop(Fault::new("gone"));
        }
        let verdicts = texts.iter().map(|text| {
            if is_refused(number(text)) {
                Verdict::Refused(Fault::new("refused"))
            } else {
                Verdict::Accepted
            }
        });
        Answer::Each(verdicts.collect())
    }
}
