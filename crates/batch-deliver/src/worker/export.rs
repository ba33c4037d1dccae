//! Exports the segments of tables to files or objects, a few for each segment.

use std::path::Path;

use futures::StreamExt;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::attempts::Attempts;
use super::plan::PlannedShard;
use super::shard_result::{CHECKPOINT, INTERRUPTED, STOPPED, ShardResult, UNREADABLE};
use crate::connection::Connection;
use crate::console::{Console, counted, grouped, lossy_words, rate, size};
use crate::format::{ItemFormat, Key};
use crate::job::TableScan;
use crate::keeping::{Claim, Location};
use crate::outcome::Failure;
use crate::sink::{LineWriter, existing};
use crate::source::{ScannedItems, Segments, TableReads, is_unreachable, unread};
use crate::stop::Stop;

/// Exports one segment after another.
pub(crate) struct Exporter {
    /// What is read, of whichever table.
    pub(crate) reads: TableReads,
    /// How the tables are reached.
    pub(crate) tables: Connection,
    /// The folder or the prefix of the parts.
    pub(crate) folder: Location,
    /// How the folder and the checkpoints are reached.
    pub(crate) connection: Connection,
    pub(crate) format: ItemFormat,
    /// Bytes of the lines of a part, after which the next one starts.
    pub(crate) part_bytes: u64,
    /// The folder or the prefix of the positions. Without them, a later attempt would cut the segment into other parts.
    pub(crate) checkpoints: Location,
    pub(crate) console: Console,
}

/// The part that is being written.
struct ExportPart {
    lines: LineWriter,
    bytes: u64,
    items: u64,
    /// Items with values that the format does not have.
    lossy: u64,
    /// The key of the last item, as far as it is known, if the part is full.
    last: Option<Value>,
}

impl Exporter {
    /// Creates the folders.
    pub(crate) fn checked(self) -> Result<Self, Failure> {
        self.folder.create_folder("--export")?;
        self.checkpoints.create_folder("--checkpoints")?;
        Ok(self)
    }

    async fn export(
        &self,
        shard: &PlannedShard,
        segments: &Segments,
        checkpoint: &Location,
        stop: &Stop,
    ) -> Result<ShardResult, ShardResult> {
        let unreadable = |failure: Failure| ShardResult::unread(&failure);
        let table = existing(&segments.table, &self.tables, "the plan");
        let table = ShardResult::unless_stopped(stop, table).await?.map_err(unreadable)?;
        let reads = self.reads.of_segments(segments);
        let scan = TableScan {
            reads: &reads,
            table: &table,
            segments: Some(segments),
            unsure: 0,
        };
        let key = table.key();
        let settings = vec![
            ("command", "export".to_owned()),
            ("destination", self.folder.to_string()),
            ("--format", self.format.name().to_owned()),
        ];
        let opened = scan.journal(checkpoint, settings, Claim::Granted, &self.connection, &self.console);
        let opened = ShardResult::unless_stopped(stop, opened)
            .await?
            .map_err(|failure| ShardResult::unopened(CHECKPOINT, &failure))?;
        let settled_before = opened.settled;
        let (mut items, mut journal) = scan
            .continued(opened, stop)
            .map_err(|failure| ShardResult::failed(CHECKPOINT, failure.to_string()))?;
        let lost = |error| ShardResult::of_checkpoint(&error);
        let (started, mut written, mut parts, mut lossy) = (Instant::now(), 0, 0_u64, 0);
        loop {
            // A part that is written again, because its checkpoint was not, has the same name: it begins after the same item, and ends
            // with the same one, however the pages are cut.
            let name = format!("{}-{:012}.jsonl.gz", shard.name(None), settled_before + written);
            let (part, ended) = self.part(&name, &mut items, key.as_ref()).await?;
            let is_last = ended.is_err() || part.bytes < self.part_bytes;
            if part.items == 0 {
                part.lines.abandon().await;
            } else {
                // A worker that has lost its shard must not replace the part of the next one, which has the same name.
                if let Err(taken) = journal.confirm().await {
                    part.lines.abandon().await;
                    return Err(lost(taken));
                }
                written += part.items;
                parts += 1;
                lossy += part.lossy;
                // Since then it may have lost it: what has been put meanwhile is not replaced.
                part.lines.finish().await.map_err(|failure| unwritten(&failure))?;
            }
            let kept = journal.keep(written, part.last, is_last && ended.is_ok()).await;
            kept.map_err(lost)?;
            if is_last && lossy > 0 {
                self.console.warn(&lossy_words(lossy));
            }
            match ended {
                Err(_) if stop.token.is_cancelled() => {
                    let words = format!("the worker had to stop: {} were exported", counted(written, "item"));
                    return Err(ShardResult::failed(INTERRUPTED, words));
                }
                Err(failure) => return Err(unreadable(failure)),
                Ok(()) if is_last => break,
                Ok(()) => {}
            }
        }
        let figures = items.progress().figures();
        self.console.info(&format!(
            "{}@{}-{}: {} exported to {}, {} read units",
            shard.input,
            shard.part.begin,
            shard.part.end,
            grouped(written),
            counted(parts, "part"),
            rate(figures.units)
        ));
        Ok(ShardResult::Delivered(json!({
            "input": shard.input, "begin": shard.part.begin, "end": shard.part.end, "exported": written,
            "settled_before": settled_before, "parts": parts, "lossy": lossy, "read_units": figures.units,
            "seconds": started.elapsed().as_secs_f64(),
        })))
    }

    /// Writes a part, and why it has ended early if it has. Nothing is left of a part that cannot be written.
    async fn part(
        &self,
        name: &str,
        items: &mut ScannedItems,
        key: Option<&Key>,
    ) -> Result<(ExportPart, Result<(), Failure>), ShardResult> {
        let mut part = ExportPart {
            lines: self.lines(name).await.map_err(|failure| unwritten(&failure))?,
            bytes: 0,
            items: 0,
            lossy: 0,
            last: None,
        };
        match self.fill(&mut part, items, key).await {
            Ok(ended) => {
                self.console.info(&format!(
                    "{name}: {}, {}",
                    counted(part.items, "item"),
                    size(part.bytes)
                ));
                Ok((part, ended))
            }
            Err(failure) => {
                part.lines.abandon().await;
                Err(unwritten(&failure))
            }
        }
    }

    /// Writes the items of a part, and why they have ended early if they have.
    async fn fill(
        &self,
        part: &mut ExportPart,
        items: &mut ScannedItems,
        key: Option<&Key>,
    ) -> Result<Result<(), Failure>, Failure> {
        let (mut ended, mut line) = (Ok(()), Vec::new());
        while part.bytes < self.part_bytes {
            match items.next().await {
                Some(Ok(item)) => {
                    line.clear();
                    part.lossy += u64::from(!self.format.append(&item, &mut line));
                    part.bytes += line.len() as u64;
                    part.items += 1;
                    if part.bytes >= self.part_bytes {
                        part.last = key.and_then(|key| key.json_of(&item));
                    }
                    part.lines.write(&line).await?;
                }
                Some(Err(error)) => {
                    let words = unread(&error);
                    ended = Err(if is_unreachable(&error) {
                        Failure::Failed(words)
                    } else {
                        Failure::WrongUse(words)
                    });
                    break;
                }
                None => break,
            }
        }
        Ok(ended)
    }

    async fn lines(&self, name: &str) -> Result<LineWriter, Failure> {
        match self.folder.below(name) {
            Location::File(path) => LineWriter::file(Path::new(&path)),
            Location::Object { bucket, key } => LineWriter::object_in_place(&bucket, &key, &self.connection).await,
        }
    }
}

fn unwritten(failure: &Failure) -> ShardResult {
    ShardResult::unopened(STOPPED, failure)
}

impl Attempts for Exporter {
    fn console(&self) -> &Console {
        &self.console
    }

    fn connection(&self) -> &Connection {
        &self.connection
    }

    async fn deliver_shard(&self, shard: &PlannedShard, stop: Stop) -> Result<ShardResult, ShardResult> {
        let Some(segments) = shard.segments().map_err(ShardResult::no_shard)? else {
            let words = format!("{} is not a table: --export is for the segments of tables", shard.input);
            return Err(ShardResult::failed(UNREADABLE, words));
        };
        let checkpoint = shard.checkpoint(&self.checkpoints);
        let checkpoint = checkpoint.ok_or_else(ShardResult::without_execution)?;
        Box::pin(self.export(shard, &segments, &checkpoint, &stop)).await
    }
}
