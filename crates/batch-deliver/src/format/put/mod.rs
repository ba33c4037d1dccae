//! Records, notifications and events, one on each line.

pub(crate) mod events;
pub(crate) mod notifications;
pub(crate) mod records;

use std::io::{self, Read};

use super::text::{lines_of_text, refusal};
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
        self.open_part(lines_of_text(input)?, "")
    }

    fn open_part(&self, part: Box<dyn Read + Send>, _: &str) -> io::Result<Box<dyn Source<E>>> {
        Ok(Box::new(OnePerLine::new(part, self.parse.clone(), self.keeps_text)))
    }

    fn can_be_cut(&self, start: &[u8], _: &str) -> bool {
        refusal(start).is_none()
    }
}
