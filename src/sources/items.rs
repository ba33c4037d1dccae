//! The stream of a scan's items.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::vec;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, Stream, StreamExt, TryFutureExt};
use tokio_util::sync::DropGuard;

use super::error::SourceError;
use super::position::{ScanPosition, SegmentPlace};
use super::progress::ScanProgress;
use super::segment::{Bounds, Segment};
use crate::contract::BatchTarget;
use crate::debug::debug_fields;
use crate::delivery::Delivery;
use crate::options::DeliveryOptions;
use crate::pace::Gate;
use crate::producer::Producer;
use crate::report::Cause;
use crate::services::dynamo::{Page, PageRead, PageRequest, Pages};

type Attributes = HashMap<String, AttributeValue>;

/// The items of a [`Scan`](super::Scan), in no particular order; those of one partition key in the order of the sort key. After an
/// error the stream ends.
///
/// [`Delivery::try_deliver_stream`] takes it as it is. Dropping it stops the scan.
pub struct ScannedItems {
    producer: Producer<PageRead>,
    target: Pages,
    /// Until it is known what the table reports about its items.
    preparing: Option<BoxFuture<'static, ()>>,
    gate: Arc<Gate>,
    bounds: Bounds,
    /// Segments whose next page is not asked for yet, the next one first.
    waiting: VecDeque<Segment>,
    reading: FuturesUnordered<BoxFuture<'static, Result<SegmentRead, SourceError>>>,
    /// How many pages are read at the same time.
    concurrency: usize,
    /// The items of the page that is taken, and where its segment is continued after them.
    page: Option<(vec::IntoIter<Attributes>, u32, SegmentPlace)>,
    taken: u64,
    progress: ScanProgress,
    options: DeliveryOptions,
    _stop: DropGuard,
}

/// A segment, and the page that was read of it.
type SegmentRead = (Segment, Page);

impl ScannedItems {
    pub(super) fn new(
        client: Client,
        request: PageRequest,
        options: DeliveryOptions,
        page_items: Option<u32>,
        start: Option<ScanPosition>,
    ) -> Self {
        let bounds = Bounds {
            rate: None,
            is_consistent: request.is_consistent,
            items: page_items,
            item_bytes: None,
        };
        let start = start.unwrap_or_else(|| ScanPosition::start(request.segments));
        let unfinished = start.places().filter(|(_, place)| **place != SegmentPlace::End);
        let waiting: VecDeque<_> = unfinished
            .map(|(number, place)| Segment::new(number, place.clone()))
            .collect();
        // A page is an entry that nothing but the scan waits for, so it has the time of an entry of a stream.
        let patience = options.patience();
        let stop = options.cancellation.child_token();
        let concurrency = options.concurrency;
        let options = options
            .give_up_after(patience)
            .buffer(concurrency)
            .cancellation(stop.clone());
        let target = Pages::new(client, request);
        // The first pages depend on what the table reports about its items.
        let asked = target.clone();
        let preparing = async move { asked.prepare().await }.boxed();
        let (gate, kept) = (Arc::clone(&options.gate), options.clone());
        let delivery = Delivery::new(target.clone()).options(options);
        Self {
            options: kept,
            // When the stream is dropped, pages that were not read are not a loss.
            producer: delivery.producer().ignoring_unclaimed(),
            preparing: (!waiting.is_empty()).then_some(preparing),
            target,
            gate,
            bounds,
            waiting,
            reading: FuturesUnordered::new(),
            concurrency,
            page: None,
            taken: 0,
            progress: ScanProgress::new(start),
            _stop: stop.drop_guard(),
        }
    }

    /// How far the scan is, for when the stream was given to a delivery.
    pub fn progress(&self) -> ScanProgress {
        self.progress.clone()
    }

    /// Asks for the next pages, as many as may be read at the same time.
    fn read_on(&mut self) {
        while self.reading.len() < self.concurrency
            && let Some(segment) = self.waiting.pop_front()
        {
            let read = segment.next_page(self.bounds());
            let page = page(&self.producer, &self.options, segment, read);
            let operation = self.target.operation();
            let failed = move |cause| SourceError { operation, cause };
            self.reading.push(page.map_err(failed).boxed());
        }
    }

    fn bounds(&self) -> Bounds {
        let pace = self.gate.strategy.snapshot();
        let paced = pace.and_then(|pace| pace.rate.or(pace.capacity));
        Bounds {
            rate: paced.into_iter().chain(self.target.throughput()).reduce(f64::min),
            item_bytes: self.target.item_bytes(),
            ..self.bounds
        }
    }

    /// The next item of the page that is taken; `None` if there is none.
    fn next_of_page(&mut self) -> Option<Attributes> {
        let (items, ..) = self.page.as_mut()?;
        let item = items.next();
        let is_last = items.as_slice().is_empty();
        self.taken += u64::from(item.is_some());
        if is_last && let Some((_, segment, place)) = self.page.take() {
            self.progress.has_taken(self.taken, segment, place);
        }
        item
    }

    fn end(&mut self) {
        self.waiting.clear();
        self.reading = FuturesUnordered::new();
    }
}

/// The page of a segment, as soon as it was read. It is asked for at once.
fn page(
    producer: &Producer<PageRead>,
    options: &DeliveryOptions,
    mut segment: Segment,
    read: PageRead,
) -> impl Future<Output = Result<SegmentRead, Cause>> + use<> {
    let receipt = producer.try_enqueue(read.clone()).map_err(|unread| match unread.cause {
        Cause::Closed => options.end().unwrap_or(Cause::Closed),
        cause => cause,
    });
    async move {
        receipt?.await.map_err(|unread| unread.cause)?;
        // The page of an accepted read is there.
        let mut page = read.take_page().ok_or(Cause::Closed)?;
        segment.has_read(&mut page).map_err(Cause::Refused)?;
        Ok((segment, page))
    }
}

impl Stream for ScannedItems {
    type Item = Result<Attributes, SourceError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(preparing) = &mut self.preparing {
            ready!(preparing.poll_unpin(context));
            self.preparing = None;
        }
        loop {
            if let Some(item) = self.next_of_page() {
                return Poll::Ready(Some(Ok(item)));
            }
            self.read_on();
            match ready!(self.reading.poll_next_unpin(context)) {
                Some(Ok((segment, page))) => {
                    self.progress.has_read(&page);
                    self.page = Some((page.items.into_iter(), segment.number, segment.place.clone()));
                    if segment.place != SegmentPlace::End {
                        self.waiting.push_back(segment);
                    }
                    self.read_on();
                }
                Some(Err(error)) => {
                    self.end();
                    return Poll::Ready(Some(Err(error)));
                }
                None => return Poll::Ready(None),
            }
        }
    }
}

debug_fields!(ScannedItems, target, taken);
