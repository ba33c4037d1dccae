//! Choices that are read from bytes, so that a fuzzer finds its way among them.

pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl Bytes<'_> {
    /// The next byte; 0 where there is none any more.
    pub(crate) fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    /// As many bytes as the next byte says, as far as they are there.
    pub(crate) fn some(&mut self) -> Vec<u8> {
        let wanted = usize::from(self.next());
        let (some, rest) = self.0.split_at(wanted.min(self.0.len()));
        self.0 = rest;
        some.to_vec()
    }

    pub(crate) fn one_of<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[usize::from(self.next()) % choices.len()]
    }

    /// One time of so many.
    pub(crate) fn one_in(&mut self, times: u8) -> bool {
        self.next() % times == times - 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
