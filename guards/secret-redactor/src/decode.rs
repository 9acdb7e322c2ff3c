//! A text behind its encodings.

use std::ops::Range;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// A reading of a text, and where in the text each of its bytes comes from.
pub(crate) struct Reading {
    pub(crate) text: String,
    origins: Vec<Range<usize>>,
}

impl Reading {
    /// Where in the text a part of the reading comes from.
    pub(crate) fn origin(&self, range: &Range<usize>) -> Range<usize> {
        let start = self.origins.get(range.start).map_or(0, |origin| origin.start);
        let end = range.end.checked_sub(1).and_then(|last| self.origins.get(last)).map_or(start, |origin| origin.end);
        start..end
    }
}

/// The text without characters that are drawn as nothing, and with `%41` and `\u0041` undone; `None` where that is the same.
pub(crate) fn lenient(text: &str) -> Option<Reading> {
    let mut reading = Reading { text: String::new(), origins: Vec::new() };
    let mut changed = false;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let (decoded, length) = match escaped(&text[at..]) {
            Some((decoded, length)) => (Some(decoded), length),
            None if is_invisible(c) => (None, c.len_utf8()),
            None => (Some(c), c.len_utf8()),
        };
        changed |= decoded != Some(c);
        if let Some(decoded) = decoded {
            reading.text.push(decoded);
            reading.origins.extend(std::iter::repeat_n(at..at + length, decoded.len_utf8()));
        }
        at += length;
    }
    changed.then_some(reading)
}

/// Whether a reading differs at this byte, which begins a character.
pub(crate) fn is_hidden(text: &str, at: usize) -> bool {
    let Some(c) = text[at..].chars().next() else { return false };
    escaped(&text[at..]).map_or_else(|| is_invisible(c), |(decoded, _)| decoded != c)
}

/// Whether a character that begins with this byte may be an escape or invisible.
pub(crate) const fn may_hide(byte: u8) -> bool {
    matches!(byte, b'%' | b'\\' | 0..=8 | 0xe..=0x1f | 0x7f | 0xc2 | 0xcd | 0xd8 | 0xe1 | 0xe2 | 0xef)
}

/// One printable ASCII character, percent-encoded or in JSON's `\u` form, and how long it is. Tokens have no others.
fn escaped(text: &str) -> Option<(char, usize)> {
    let (digits, length) = if let Some(rest) = text.strip_prefix('%') {
        (rest.get(..2)?, 3)
    } else {
        (text.strip_prefix("\\u")?.get(..4)?, 6)
    };
    let code = u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
    let decoded = char::from_u32(code).filter(char::is_ascii_graphic)?;
    Some((decoded, length))
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\0'..='\u{8}' | '\u{e}'..='\u{1f}' | '\u{7f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// A run of base64 or hexadecimal shorter than this, in bytes, holds no token.
pub(crate) const MIN_RUN_BYTES: usize = 24;

/// Whether a run goes on with this byte.
pub(crate) const fn is_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// Runs of base64 and of hexadecimal that decode to text, with that text.
pub(crate) fn encoded_runs(text: &str) -> Vec<(Range<usize>, String)> {
    let mut runs = Vec::new();
    let mut start = 0;
    for (at, byte) in text.bytes().chain([b' ']).enumerate() {
        if is_run(byte) {
            continue;
        }
        if at - start >= MIN_RUN_BYTES {
            runs.extend(decode(&text[start..at]).map(|decoded| (start..at, decoded)));
        }
        start = at + 1;
    }
    runs
}

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
static STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
static URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

fn decode(run: &str) -> Option<String> {
    if !may_be_text(run.as_bytes()) {
        return None;
    }
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok();
    let from_hex = is_hex(run.as_bytes()).then(|| hex::decode(run).ok().and_then(text)).flatten();
    from_hex.or_else(|| {
        // An image is no text after its first bytes, and a run is cut at whole groups to read what was cut off.
        engine(run.as_bytes()).decode(&run[..run.len() - usize::from(run.len() % 4 == 1)]).ok().and_then(text)
    })
}

/// Whether a run is long enough and decodes to text at its beginning: few do, and a run that does not is no text.
pub(crate) fn may_be_text(run: &[u8]) -> bool {
    const HEAD_BYTES: usize = 16;
    if run.len() < MIN_RUN_BYTES {
        return false;
    }
    let head = &run[..HEAD_BYTES];
    let mut decoded = [0; HEAD_BYTES / 4 * 3];
    for (group, bytes) in head.chunks_exact(4).zip(decoded.chunks_exact_mut(3)) {
        let bits = group.iter().fold(0, |bits, byte| bits << 6 | sextet(*byte));
        bytes.copy_from_slice(&bits.to_be_bytes()[1..]);
    }
    if is_text_so_far(&decoded) {
        return true;
    }
    let from_hex = &mut decoded[..HEAD_BYTES / 2];
    is_hex(head) && hex::decode_to_slice(head, from_hex).is_ok() && is_text_so_far(from_hex)
}

/// Whether bytes are text, be it without the end of their last character.
fn is_text_so_far(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}

/// What a character of a run stands for in base64, in either alphabet.
fn sextet(byte: u8) -> u32 {
    u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        _ => 63,
    })
}

fn is_hex(run: &[u8]) -> bool {
    run.len().is_multiple_of(2) && run.iter().all(u8::is_ascii_hexdigit)
}

fn engine(run: &[u8]) -> &'static GeneralPurpose {
    if run.iter().any(|byte| matches!(byte, b'-' | b'_')) { &URL_SAFE } else { &STANDARD }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_knows_where_it_comes_from() {
        let reading = lenient("a%67h\u{200b}p\\u005f!").unwrap();
        assert_eq!(reading.text, "aghp_!");
        assert_eq!(reading.origin(&(1..5)), 1..15);
        assert!(lenient("plain 100% \\u00e9").is_none());
    }

    #[test]
    fn runs_are_decoded_when_they_are_text() {
        let run = "aGVsbG8gd29ybGQsIHRoaXMgaXMgdGV4dA";
        assert_eq!(encoded_runs(&format!("x {run}== y")), [(2..2 + run.len(), "hello world, this is text".into())]);
        assert_eq!(encoded_runs(&hex::encode("this is a long text")).len(), 1);
        assert_eq!(encoded_runs("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"), []);
    }
}
