//! The pages of the file and of its log, without the structure around them.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::cells;
use super::rows::StoredEntry;

/// Bytes of a page.
const PAGE: usize = 4_096;

/// Bytes before the first frame of a log. From <https://www.sqlite.org/fileformat2.html#walformat>.
const LOG_HEADER: usize = 32;

/// Bytes before the page of a frame.
const FRAME_HEADER: usize = 24;

/// The first bytes of a log, except for their last bit.
const LOG_MAGIC: u32 = 0x377f_0682;

/// Where each entry is that was found, by whether it was refused and by its number.
pub(super) type CellPlaces = BTreeMap<(bool, u64), CellPlace>;

/// Where an entry begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct CellPlace {
    is_in_log: bool,
    /// Where its page begins.
    page: u64,
    within: usize,
}

/// The file, and the log of changes that are not in it.
#[derive(Debug)]
pub(super) struct Pages {
    file: File,
    log: Option<Log>,
}

#[derive(Debug)]
struct Log {
    file: File,
    /// Where the pages begin that are in it.
    pages: Vec<u64>,
    /// Where the newest content of a page begins, by its number.
    newest: HashMap<u32, u64>,
}

impl Pages {
    pub(super) fn open(file: &Path, log: &Path) -> io::Result<Self> {
        let log = match File::open(log) {
            Ok(log) => Some(Log::of(log)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self {
            file: File::open(file)?,
            log,
        })
    }

    /// Everything that is an entry.
    pub(super) fn entries(&mut self) -> io::Result<CellPlaces> {
        let mut found = CellPlaces::new();
        let length = self.file.metadata()?.len();
        let in_file = (0..length).step_by(PAGE).map(|page| (false, page));
        let in_log = self.log.iter().flat_map(|log| &log.pages).map(|page| (true, *page));
        for (is_in_log, page) in in_file.chain(in_log).collect::<Vec<_>>() {
            let content = self.page(is_in_log, page)?;
            for within in 0..content.len() {
                let entry = cells::entry(&content[within..], |next| self.overflow(is_in_log, next));
                if let Some(entry) = entry {
                    let place = CellPlace {
                        is_in_log,
                        page,
                        within,
                    };
                    found.insert((entry.cause.is_some(), entry.number), place);
                }
            }
        }
        Ok(found)
    }

    /// The entry at this place.
    pub(super) fn entry(&mut self, place: CellPlace) -> io::Result<Option<StoredEntry>> {
        let content = self.page(place.is_in_log, place.page)?;
        let cell = content.get(place.within..).unwrap_or_default();
        Ok(cells::entry(cell, |next| self.overflow(place.is_in_log, next)))
    }

    /// The page that begins here, as far as it is there.
    fn page(&mut self, is_in_log: bool, start: u64) -> io::Result<Vec<u8>> {
        let file = match &mut self.log {
            Some(log) if is_in_log => &mut log.file,
            _ => &mut self.file,
        };
        read(file, start, PAGE)
    }

    /// The page with this number, from 1, in which an entry continues. One of the file continues in the file.
    fn overflow(&mut self, is_in_log: bool, number: u32) -> Option<Vec<u8>> {
        let log = self.log.as_ref().filter(|_| is_in_log);
        let in_log = log.and_then(|log| log.newest.get(&number)).copied();
        let in_file = u64::from(number.checked_sub(1)?) * PAGE as u64;
        let page = self.page(in_log.is_some(), in_log.unwrap_or(in_file)).ok()?;
        (page.len() == PAGE).then_some(page)
    }
}

impl Log {
    fn of(mut file: File) -> io::Result<Self> {
        let (mut pages, mut newest) = (Vec::new(), HashMap::new());
        let header = read(&mut file, 0, LOG_HEADER)?;
        let is_log = number(&header, 0).is_some_and(|magic| magic & !1 == LOG_MAGIC);
        let salts = header.get(16..24).filter(|_| is_log);
        let mut start = LOG_HEADER as u64;
        loop {
            let frame = read(&mut file, start, FRAME_HEADER)?;
            if salts.is_none() || frame.len() < FRAME_HEADER {
                break;
            }
            let page = start + FRAME_HEADER as u64;
            start = page + PAGE as u64;
            // Others are left of an earlier log, or damaged.
            if frame.get(8..16) == salts {
                pages.push(page);
                newest.extend(number(&frame, 0).map(|number| (number, page)));
            }
        }
        Ok(Self { file, pages, newest })
    }
}

/// The number at this place.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// This many bytes from here on, as far as they are there.
fn read(file: &mut File, start: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(length);
    file.seek(SeekFrom::Start(start))?;
    file.take(length as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
