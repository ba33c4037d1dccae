//! A delivery: the records of a source become entries of a format, which go to a destination, kept by a journal and dead letters.

mod dry_run;
mod job;

pub(crate) use self::job::{Job, Round};
