//! Lines, bounded: a client that never ends one must not fill the memory.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line without its end.
    Whole(Vec<u8>),
    /// A line longer than the bound. The rest of it is skipped.
    TooLong,
}

/// A stream of bytes, line by line.
pub(super) struct Lines<R> {
    input: BufReader<R>,
    limit: usize,
    partial: Vec<u8>,
    skipping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `limit` bytes.
    pub(super) fn new(input: R, limit: usize) -> Self {
        Self { input: BufReader::new(input), limit, partial: Vec::new(), skipping: false }
    }

    /// The next line; the last one needs no end. `None` once there is no more.
    ///
    /// Dropping the future loses nothing: what was read of a line stays here.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                let last = std::mem::take(&mut self.partial);
                self.skipping = false;
                return Ok((!last.is_empty()).then_some(Line::Whole(last)));
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            let was_skipping = self.skipping;
            if !was_skipping {
                self.skipping = self.partial.len() + part.len() > self.limit;
                if !self.skipping {
                    self.partial.extend_from_slice(part);
                }
            }
            let read = part.len() + usize::from(end.is_some());
            self.input.consume(read);

            let too_long = self.skipping && !was_skipping;
            if end.is_some() {
                self.skipping = false;
            }
            if too_long {
                self.partial = Vec::new();
                return Ok(Some(Line::TooLong));
            }
            if end.is_some() && !was_skipping {
                return Ok(Some(Line::Whole(std::mem::take(&mut self.partial))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines_of(text: &[u8], limit: usize) -> Vec<Line> {
        let mut lines = Lines::new(text, limit);
        let mut read = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            read.push(line);
        }
        read
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn lines_end_at_newlines_and_at_the_end() {
        assert_eq!(lines_of(b"a\n\r\nbc", 8).await, [whole("a"), whole("\r"), whole("bc")]);
        assert_eq!(lines_of(b"", 8).await, []);
    }

    #[tokio::test]
    async fn a_line_past_the_bound_is_told_once_and_skipped() {
        assert_eq!(lines_of(b"12345678\n123456789\nok\n", 8).await, [whole("12345678"), Line::TooLong, whole("ok")]);
        let mut long = vec![b'x'; 100_000];
        assert_eq!(lines_of(&long, 8).await, [Line::TooLong]);
        long.extend_from_slice(b"\nok");
        assert_eq!(lines_of(&long, 8).await, [Line::TooLong, whole("ok")]);
    }
}
