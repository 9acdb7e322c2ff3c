//! A text behind an encoding: base64, hexadecimal, and the escapes of addresses, pages and JSON.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// How much of a run is decoded to see whether it is text, in bytes.
const HEAD_BYTES: usize = 16;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
static STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
static URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// What a run decodes to, if that is text.
pub(crate) fn decode(run: &str) -> Option<String> {
    let is_hex = run.len().is_multiple_of(2) && run.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex && let Some(text) = hex::decode(run).ok().and_then(text) {
        return Some(text);
    }
    let engine = if run.bytes().any(|byte| matches!(byte, b'-' | b'_')) { &URL_SAFE } else { &STANDARD };
    let head = engine.decode(run.get(..HEAD_BYTES.min(run.len() & !3))?).ok()?;
    if !head.iter().all(|byte| is_text(*byte)) {
        return None;
    }
    // One character more than whole groups carries nothing.
    let whole = run.len() - usize::from(run.len() % 4 == 1);
    engine.decode(run.get(..whole)?).ok().and_then(text)
}

fn is_text(byte: u8) -> bool {
    byte.is_ascii_graphic() || matches!(byte, b' ' | b'\n' | b'\r' | b'\t') || !byte.is_ascii()
}

fn text(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok().filter(|text| text.bytes().all(is_text))
}

/// The text with `%20`, `&#32;`, `\u0020` and `\x20` undone.
pub(crate) fn unescaped(text: &str) -> String {
    unescape(text, false)
}

/// The text of an address: without percent-encoding, and with spaces for `+`.
pub(crate) fn of_address(address: &str) -> String {
    unescape(address, true)
}

fn unescape(text: &str, is_address: bool) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    let may_begin = |byte: u8| matches!(byte, b'%' | b'\\' | b'&') || (is_address && byte == b'+');
    loop {
        // Most of a text stands for itself.
        let plain = rest.bytes().position(may_begin).unwrap_or(rest.len());
        let (same, from) = rest.split_at_checked(plain).unwrap_or((rest, ""));
        bytes.extend_from_slice(same.as_bytes());
        rest = from;
        let Some(first) = rest.bytes().next() else { break };
        let (decoded, length) = match first {
            b'%' => (hexadecimal(rest, 1, 2), 3),
            // Of programs and patterns, which escape what lies beyond ASCII, and codes of terminals.
            b'\\' if rest.starts_with("\\u") => (hexadecimal(rest, 2, 4).filter(|c| is_shown(*c)), 6),
            b'\\' if rest.starts_with("\\x") => (hexadecimal(rest, 2, 2).filter(|c| is_shown(*c)), 4),
            b'&' => numeric(rest),
            b'+' if is_address => (Some(' '), 1),
            _ => (None, 1),
        };
        match decoded {
            // A byte of UTF-8 by itself, as percent-encoding has them.
            Some(c) if first == b'%' => bytes.extend(u8::try_from(c).ok()),
            Some(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            None => {
                bytes.push(first);
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a character is one of ASCII that is drawn.
fn is_shown(c: char) -> bool {
    c.is_ascii_graphic() || c == ' '
}

/// A character whose code is `digits` hexadecimal digits from `from` on.
fn hexadecimal(text: &str, from: usize, digits: usize) -> Option<char> {
    let digits = text.get(from..from + digits)?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| is_number).and_then(char::from_u32)
}

/// A numeric reference of HTML, and how long it is.
fn numeric(text: &str) -> (Option<char>, usize) {
    let read = || {
        let digits = text.strip_prefix("&#")?;
        let end = digits.bytes().take(9).position(|byte| byte == b';')?;
        let digits = digits.get(..end)?;
        let code = match digits.strip_prefix(['x', 'X']) {
            Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16),
            None => digits.parse(),
        };
        Some((code.ok().and_then(char::from_u32)?, end + 3))
    };
    read().map_or((None, 1), |(c, length)| (Some(c), length))
}
