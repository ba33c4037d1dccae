//! A producer that many tasks send to, some of which are aborted.

use std::collections::HashSet;

use aws_batch_delivery::targets::BatchTarget;
use aws_batch_delivery::{Delivery, Producer};
use futures::future::join_all;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::deliver::Run;
use super::ledger::Fate;
use super::load::{Entry, Wire};
use super::mix::Waiting;

impl Run {
    pub(crate) async fn produce<T>(&self, delivery: &Delivery<T>, waiting: Waiting)
    where
        T: BatchTarget<Entry: Wire>,
    {
        let producer = delivery.producer();
        let mut tasks = JoinSet::new();
        let mut to_abort: Vec<(usize, AbortHandle)> = Vec::new();
        for worker in self.workers.clone() {
            let (run, producer) = (self.clone(), producer.clone());
            let entries = self.load.of_worker(worker);
            let task = tasks.spawn(async move { run.send(&producer, &entries, waiting).await });
            if worker % 2 == 0 {
                to_abort.push((worker, task));
            }
        }
        let aborter = tokio::spawn({
            let dropped = self.clone().dropped();
            async move {
                dropped.await;
                for (_, task) in &to_abort {
                    task.abort();
                }
            }
        });
        while let Some(joined) = tasks.join_next().await {
            if let Err(error) = joined {
                assert!(error.is_cancelled(), "a task panicked: {error}");
            }
        }
        aborter.abort();
        self.close(&producer).await;
    }

    async fn send<E: Wire>(&self, producer: &Producer<E>, entries: &[Entry], waiting: Waiting) {
        let mut receipts = Vec::new();
        let limit = self.mix.limit_of_sender();
        for entry in entries {
            let started = Instant::now();
            let sent = E::of(entry, self.load.service);
            self.ledger.set(entry.number, Fate::Untold);
            if waiting == Waiting::Each {
                match producer.send(sent).await {
                    Ok(disposition) => self.ledger.settle(entry.number, &disposition),
                    Err(undelivered) => _ = self.ledger.hand_back(&undelivered, Some(entry.number), &self.load),
                }
                self.ledger.waited(started, limit);
                continue;
            }
            match producer.enqueue(sent).await {
                Ok(receipt) if waiting == Waiting::All => receipts.push((entry.number, started, receipt)),
                Ok(_) => self.ledger.set(entry.number, Fate::Unnamed),
                Err(undelivered) => _ = self.ledger.hand_back(&undelivered, Some(entry.number), &self.load),
            }
        }
        let fates = receipts.into_iter().map(async |(number, started, receipt)| {
            match receipt.await {
                Ok(disposition) => self.ledger.settle(number, &disposition),
                Err(undelivered) => _ = self.ledger.hand_back(&undelivered, Some(number), &self.load),
            }
            self.ledger.waited(started, limit);
        });
        join_all(fates).await;
    }

    /// The end of the producer reports the entries whose receipts were dropped.
    async fn close<E: Wire>(&self, producer: &Producer<E>) {
        let undelivered = match producer.close().await {
            Ok(_) => Vec::new(),
            Err(error) => error.into_undelivered(),
        };
        let mut named = HashSet::new();
        for undelivered in &undelivered {
            // An update whose task was aborted does not tell its number: its fate stays untold.
            let number = self.ledger.hand_back(undelivered, None, &self.load);
            if let Some(number) = number
                && !named.insert(number)
            {
                self.ledger
                    .complain(format!("{number} is named twice by the end of the producer"));
            }
        }
    }
}
