//! The entries of the inputs, as a stream for the delivery.

use std::sync::Arc;
use std::task::{Poll, ready};

use futures::future::BoxFuture;
use futures::stream::poll_fn;
use futures::{FutureExt, Stream};
use tokio::sync::mpsc;

use super::bad_lines::{BadLines, InputEnd};
use super::settlement::Settlement;
use super::window::{BadLine, Origin};
use crate::source::RecordBatch;

/// The entries. Each enters the window when the delivery takes it. While the file of failed conditions is full, there are none.
pub(crate) fn entries<E: Send + 'static>(
    mut receiver: mpsc::Receiver<RecordBatch<E>>,
    settling: Arc<Settlement>,
    bad_lines: BadLines,
) -> impl Stream<Item = Result<E, InputEnd>> {
    let mut batch: std::vec::IntoIter<_> = Vec::new().into_iter();
    let mut waiting: Option<BoxFuture<'static, Result<(), InputEnd>>> = None;
    poll_fn(move |context| {
        loop {
            if let Some(waited_for) = &mut waiting {
                let waited = ready!(waited_for.poll_unpin(context));
                waiting = None;
                if let Err(ended) = waited {
                    return Poll::Ready(Some(Err(ended)));
                }
            }
            if let Some(failed) = settling.failed.as_ref().filter(|failed| failed.is_full()) {
                let failed = Arc::clone(failed);
                let has_room = async move {
                    failed.has_room().await;
                    Ok(())
                };
                waiting = Some(has_room.boxed());
                continue;
            }
            let Some(next) = batch.next() else {
                match ready!(receiver.poll_recv(context)) {
                    Some(records) if records.is_empty() => return Poll::Ready(None),
                    Some(records) => batch = records.into_iter(),
                    None => {
                        return Poll::Ready(Some(Err(InputEnd::Unreadable(
                            "the reader of the inputs panicked".into(),
                        ))));
                    }
                }
                continue;
            };
            let taken = match next {
                Ok(taken) => taken,
                Err(error) => return Poll::Ready(Some(Err(InputEnd::Unreadable(error.into())))),
            };
            let origin = Origin {
                number: taken.number,
                place: taken.place,
                text: taken.text,
            };
            match taken.entry {
                Ok(entry) => {
                    settling.window.enter(origin);
                    return Poll::Ready(Some(Ok(entry)));
                }
                Err(flaw) => {
                    let bad_line = BadLine {
                        origin,
                        checksum_before: taken.checksum_before,
                        header: taken.header,
                        flaw,
                    };
                    waiting = Some(bad_lines.clone().skip(bad_line).boxed());
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicU64;

    use futures::StreamExt;
    use tokio_util::task::TaskTracker;

    use super::super::failed_conditions::FailedConditions;
    use super::super::failures::Failures;
    use super::super::window::Window;
    use super::*;
    use crate::console::Console;
    use crate::stop::Stop;

    #[tokio::test]
    async fn no_entries_are_read_while_records_of_four_megabytes_wait_for_the_file_of_failed_conditions() {
        let folder = tempfile::tempdir().unwrap();
        let failed = FailedConditions::open(&folder.path().join("failed"), &[]).unwrap();
        let failed = Arc::new(failed);
        let settling = Arc::new(Settlement {
            window: Window::default(),
            names: Arc::new([]),
            journal: None,
            dead_letter: None,
            failed: Some(Arc::clone(&failed)),
            handed_back: Mutex::default(),
            earlier: Failures::default(),
            stop: Stop::default(),
            under_way: TaskTracker::new(),
            is_repeated: false,
            left: AtomicU64::new(0),
            cut_short: AtomicU64::new(0),
        });
        let bad_lines = BadLines::new(Arc::clone(&settling), 0, Console::new(false, true));
        let (sender, receiver) = mpsc::channel::<RecordBatch<()>>(1);
        // It is the end.
        sender.send(Vec::new()).await.unwrap();
        let mut entries = entries(receiver, settling, bad_lines);
        let mut held: Vec<_> = (0..4).map(|_| failed.hold(1 << 20)).collect();
        assert!(entries.next().now_or_never().is_none());
        held.pop();
        assert!(entries.next().now_or_never().unwrap().is_none());
    }
}
