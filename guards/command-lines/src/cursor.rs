//! A place in a text that is read from left to right.

/// What is left to read.
#[derive(Default)]
pub(crate) struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    pub(crate) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    pub(crate) fn next_if(&mut self, is_wanted: impl FnOnce(char) -> bool) -> Option<char> {
        let c = self.peek().filter(|c| is_wanted(*c))?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    pub(crate) fn next_if_eq(&mut self, wanted: char) -> Option<char> {
        self.next_if(|c| c == wanted)
    }

    /// The text up to the first byte that is not wanted, which has to be ASCII, and with that a character.
    pub(crate) fn take_while(&mut self, mut is_wanted: impl FnMut(u8) -> bool) -> &'a str {
        let end = self.rest.bytes().position(|byte| !is_wanted(byte)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }
}
