//! The real primitives, which need no runtime. Before an operation that another task may notice, other tasks may run.

pub use real::sync::{Mutex, OnceCell, Semaphore, watch};
use shuttle_engine::runtime::thread::switch_if_not_stopping as let_others_run;

#[derive(Debug, Default)]
pub struct Notify(real::sync::Notify);

impl Notify {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn notify_one(&self) {
        let_others_run();
        self.0.notify_one();
    }

    pub fn notify_last(&self) {
        let_others_run();
        self.0.notify_last();
    }

    pub async fn notified(&self) {
        let_others_run();
        self.0.notified().await;
    }
}

pub mod oneshot {
    use super::let_others_run;
    pub use real::sync::oneshot::{Receiver, error};

    #[derive(Debug)]
    pub struct Sender<T>(real::sync::oneshot::Sender<T>);

    pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
        let (sender, receiver) = real::sync::oneshot::channel();
        (Sender(sender), receiver)
    }

    impl<T> Sender<T> {
        pub fn send(self, value: T) -> Result<(), T> {
            let_others_run();
            self.0.send(value)
        }
    }
}

pub mod mpsc {
    use real::sync::mpsc;
    pub use real::sync::mpsc::{Receiver, UnboundedReceiver, error};

    use self::error::{SendError, TrySendError};
    use super::let_others_run;

    #[derive(Debug)]
    pub struct Sender<T>(mpsc::Sender<T>);

    #[derive(Debug)]
    pub struct UnboundedSender<T>(mpsc::UnboundedSender<T>);

    #[derive(Debug)]
    pub struct Permit<'a, T>(mpsc::Permit<'a, T>);

    #[derive(Debug)]
    pub struct OwnedPermit<T>(mpsc::OwnedPermit<T>);

    pub fn channel<T>(room: usize) -> (Sender<T>, Receiver<T>) {
        let (sender, receiver) = mpsc::channel(room);
        (Sender(sender), receiver)
    }

    pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (UnboundedSender(sender), receiver)
    }

    impl<T> Clone for Sender<T> {
        fn clone(&self) -> Self {
            Self(self.0.clone())
        }
    }

    impl<T> Clone for UnboundedSender<T> {
        fn clone(&self) -> Self {
            Self(self.0.clone())
        }
    }

    impl<T> Sender<T> {
        pub fn is_closed(&self) -> bool {
            let_others_run();
            self.0.is_closed()
        }

        pub async fn send(&self, value: T) -> Result<(), SendError<T>> {
            let_others_run();
            self.0.send(value).await
        }

        pub async fn reserve(&self) -> Result<Permit<'_, T>, SendError<()>> {
            let_others_run();
            self.0.reserve().await.map(Permit)
        }

        pub async fn reserve_owned(self) -> Result<OwnedPermit<T>, SendError<()>> {
            let_others_run();
            self.0.reserve_owned().await.map(OwnedPermit)
        }

        pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Self>> {
            let_others_run();
            self.0
                .try_reserve_owned()
                .map(OwnedPermit)
                .map_err(|failed| match failed {
                    TrySendError::Full(sender) => TrySendError::Full(Self(sender)),
                    TrySendError::Closed(sender) => TrySendError::Closed(Self(sender)),
                })
        }
    }

    impl<T> UnboundedSender<T> {
        pub fn send(&self, value: T) -> Result<(), SendError<T>> {
            let_others_run();
            self.0.send(value)
        }
    }

    impl<T> Permit<'_, T> {
        pub fn send(self, value: T) {
            let_others_run();
            self.0.send(value);
        }
    }

    impl<T> OwnedPermit<T> {
        pub fn send(self, value: T) -> Sender<T> {
            let_others_run();
            Sender(self.0.send(value))
        }
    }
}
