//! Records, notifications and events, one on each line.

pub(crate) mod events;
pub(crate) mod notifications;
pub(crate) mod records;

use std::io::{self, Read};

use super::{Format, OnePerLine, Parse, Source};

/// A parser that makes an entry from each line.
pub(crate) struct EachLine<P> {
    pub(crate) parse: P,
    pub(crate) keeps_text: bool,
}

impl<E, P> Format<E> for EachLine<P>
where
    P: Parse<E> + Clone + Sync + 'static,
{
    fn open(&self, input: Box<dyn Read + Send>, _: &str) -> io::Result<Box<dyn Source<E>>> {
        Ok(Box::new(OnePerLine::new(input, self.parse.clone(), self.keeps_text)))
    }
}
