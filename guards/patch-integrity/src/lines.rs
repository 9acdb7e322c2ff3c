//! A text as lines, with a look at the next one.

/// Lines of which each may be indented, as mails and lists do it.
#[derive(Clone)]
pub(crate) struct Lines<'a> {
    /// The next line, and what is behind it.
    line: Option<&'a str>,
    rest: &'a str,
    /// How many columns are left out at the beginning of each line, as far as they are blank.
    indent: usize,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let mut lines = Self { line: None, rest: text, indent: 0 };
        lines.advance();
        lines
    }

    /// The same lines without that many columns.
    pub(crate) fn outdented(&self, columns: usize) -> Self {
        Self { indent: columns, ..self.clone() }
    }

    fn advance(&mut self) {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.line = (!self.rest.is_empty()).then_some(line);
        self.rest = rest;
    }

    /// The next line, without its newline; a carriage return is part of it.
    pub(crate) fn peek(&self) -> Option<&'a str> {
        if self.indent == 0 { self.line } else { self.line.map(|line| without_columns(line, self.indent)) }
    }

    /// The line behind the next one.
    pub(crate) fn second(&self) -> Option<&'a str> {
        let mut ahead = self.clone();
        ahead.take();
        ahead.peek()
    }

    pub(crate) fn take(&mut self) -> Option<&'a str> {
        let line = self.peek()?;
        self.advance();
        Some(line)
    }
}

/// What `patch` takes for indentation.
const BLANKS: [char; 3] = [' ', '\t', 'X'];

/// A line without its indentation, and how many columns that has.
pub(crate) fn unindented(line: &str) -> (&str, usize) {
    let own = line.trim_start_matches(BLANKS);
    let blanks = line.get(..line.len() - own.len()).unwrap_or_default();
    (own, blanks.bytes().fold(0, next_column))
}

fn without_columns(line: &str, columns: usize) -> &str {
    let mut column = 0;
    for (at, c) in line.char_indices() {
        if column >= columns || !BLANKS.contains(&c) {
            return line.get(at..).unwrap_or_default();
        }
        column = next_column(column, c as u8);
    }
    ""
}

fn next_column(column: usize, blank: u8) -> usize {
    if blank == b'\t' { (column + 8) & !7 } else { column + 1 }
}

/// Whether a line holds a header behind a break that only some readers take for one.
pub(crate) fn holds_headers(patch: &str) -> bool {
    const HEADERS: &[&str] = &[
        "*** Add File: ",
        "*** Update File: ",
        "*** Delete File: ",
        "*** Move to: ",
        "diff --git ",
        "--- ",
        "rename to ",
    ];
    let bytes = patch.as_bytes();
    let is_header = |at: usize| {
        let rest = bytes.get(at..).unwrap_or_default();
        HEADERS.iter().any(|header| rest.starts_with(header.as_bytes()))
    };
    // Most bytes are of a text, and end nothing.
    let is_other = |byte: u8| byte < b' ' && byte != b'\n' || byte >= 0x80;
    bytes.iter().enumerate().filter(|(_, byte)| is_other(**byte)).any(|(at, byte)| match byte {
        b'\r' | 0x0b | 0x0c | 0x1c..=0x1e => is_header(at + 1),
        // NEL, and the separators of lines and paragraphs.
        0x85 => at > 0 && bytes[at - 1] == 0xc2 && is_header(at + 1),
        0xa8 | 0xa9 => at > 1 && bytes[at - 2..at] == [0xe2, 0x80] && is_header(at + 1),
        _ => false,
    })
}
