//! A text as lines, with a look at the next one.

#[derive(Clone)]
pub(crate) struct Lines<'a> {
    rest: Option<&'a str>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { rest: (!text.is_empty()).then_some(text) }
    }

    /// The next line, without its newline; a carriage return is part of it.
    pub(crate) fn peek(&self) -> Option<&'a str> {
        self.rest.map(|rest| rest.split_once('\n').map_or(rest, |(line, _)| line))
    }

    pub(crate) fn take(&mut self) -> Option<&'a str> {
        let rest = self.rest?;
        let (line, behind) = match rest.split_once('\n') {
            Some((line, behind)) => (line, Some(behind).filter(|behind| !behind.is_empty())),
            None => (rest, None),
        };
        self.rest = behind;
        Some(line)
    }
}
