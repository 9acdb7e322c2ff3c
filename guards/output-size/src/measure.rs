//! How large JSON is, in one walk over its bytes.

/// What has a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    Bytes,
    Depth,
    Values,
    StringBytes,
    BlankBytes,
}

impl Measure {
    pub(crate) const ALL: [Self; 5] = [Self::Bytes, Self::Depth, Self::Values, Self::StringBytes, Self::BlankBytes];

    /// As in "the output has 12 bytes".
    pub(crate) fn says(self, size: usize) -> String {
        match self {
            Self::Bytes => format!("has {size} bytes"),
            Self::Depth => format!("is {size} lists and objects deep"),
            Self::Values => format!("has {size} values"),
            Self::StringBytes => format!("has a string of {size} bytes"),
            Self::BlankBytes => format!("has {size} bytes of nothing but white space"),
        }
    }
}

/// The measures of one output.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    bytes: usize,
    depth: usize,
    values: usize,
    string_bytes: usize,
    blank_bytes: usize,
}

impl Size {
    pub(crate) fn of(&self, measure: Measure) -> usize {
        match measure {
            Measure::Bytes => self.bytes,
            Measure::Depth => self.depth,
            Measure::Values => self.values,
            Measure::StringBytes => self.string_bytes,
            Measure::BlankBytes => self.blank_bytes,
        }
    }
}

/// Measures JSON. Of what is none, the numbers mean little, but there are some.
pub(crate) fn size(json: &str) -> Size {
    let bytes = json.as_bytes();
    let mut size = Size { bytes: bytes.len(), ..Size::default() };
    let mut depth = 0_usize;
    let mut at = 0;
    let mut is_in_word = false;
    while let Some(byte) = bytes.get(at) {
        let was_in_word = std::mem::replace(&mut is_in_word, false);
        match byte {
            b'"' => {
                let end = string_end(bytes, at + 1);
                let text = json.get(at + 1..end).unwrap_or_default();
                size.string_bytes = size.string_bytes.max(text.len());
                // What is shorter than the longest that was seen has no longer stretch in it.
                if text.len() > size.blank_bytes {
                    size.blank_bytes = size.blank_bytes.max(longest_blank(text));
                }
                size.values += 1;
                at = end;
            }
            b'[' | b'{' => {
                depth += 1;
                size.depth = size.depth.max(depth);
                size.values += 1;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {}
            _ => {
                is_in_word = true;
                size.values += usize::from(!was_in_word);
            }
        }
        at += 1;
    }
    size
}

/// Where the quote is that ends a string.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    loop {
        match bytes.get(at) {
            Some(b'"') | None => return at.min(bytes.len()),
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

/// The longest stretch of white space in a string as JSON writes it, in bytes.
fn longest_blank(text: &str) -> usize {
    let (mut longest, mut current) = (0, 0);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let blank = match c {
            // What an escape is of, its next character says.
            '\\' => match rest.next() {
                Some('n' | 'r' | 't' | 'f' | 'v') => 2,
                _ => 0,
            },
            c if c.is_whitespace()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{2800}' | '\u{3164}') =>
            {
                c.len_utf8()
            }
            _ => 0,
        };
        current = if blank == 0 { 0 } else { current + blank };
        longest = longest.max(current);
    }
    longest
}
