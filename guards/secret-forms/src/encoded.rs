//! What base64 and hexadecimal in a text decode to.

use std::ops::Range;

/// A run of base64 or hexadecimal shorter than this, in bytes, holds no secret.
pub(crate) const MIN_RUN_BYTES: usize = 24;
/// Inside a run, after `/`, `+`, `-` or `_`, only a word as long as this, in bytes, is taken for the beginning of another.
pub(crate) const MIN_WORD_BYTES: usize = 12;
/// How many pairs of hexadecimal digits make a text.
pub(crate) const MIN_PAIRS: usize = 16;

/// Whether a run goes on with this byte.
pub(crate) const fn is_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// What in a text decodes to a text of its own, with that text. A run may be broken into lines, and begin in the middle
/// of another (`/files/aGVsbG8…`).
pub(crate) fn readings(text: &str) -> Vec<(Range<usize>, String)> {
    let bytes = text.as_bytes();
    let mut readings = Vec::new();
    let mut block = Block::default();
    let mut at = 0;
    let mut is_line_start = false;
    while let Some(byte) = bytes.get(at) {
        let length = bytes[at..].iter().take_while(|byte| is_run(**byte)).count();
        if length == 0 {
            is_line_start = matches!(byte, b'\r' | b'\n') || is_line_start && matches!(byte, b' ' | b'\t');
            if !is_line_start {
                block = Block::default();
            }
            at += 1;
            continue;
        }
        if length >= MIN_RUN_BYTES {
            for offset in starts(&bytes[at..at + length]) {
                readings.extend(block.decode(bytes, at + offset, offset));
            }
        }
        block.passed += length;
        at += length;
    }
    readings
}

/// Where in a run something encoded may begin.
fn starts(run: &[u8]) -> Vec<usize> {
    let mut starts = vec![0];
    let mut start = 0;
    for word in run.split(|byte| !byte.is_ascii_alphanumeric()) {
        if start > 0 && word.len() >= MIN_WORD_BYTES {
            starts.push(start);
        }
        if word.len() >= MIN_WORD_BYTES && is_hex_prefix(word) {
            starts.push(start + 2);
        }
        start += word.len() + 1;
    }
    starts
}

/// `0x`, before digits.
pub(crate) fn is_hex_prefix(word: &[u8]) -> bool {
    word.starts_with(b"0x") || word.starts_with(b"0X")
}

/// Runs with nothing but line ends between them.
#[derive(Default)]
struct Block {
    /// How many bytes of runs came before.
    passed: usize,
    /// How far was decoded from a beginning of each alignment, so that nothing is decoded more than four times.
    decoded: [usize; 4],
}

impl Block {
    fn decode(&mut self, bytes: &[u8], at: usize, offset: usize) -> Option<(Range<usize>, String)> {
        let ordinal = self.passed + offset;
        let decoded = self.decoded.get_mut(ordinal % 4)?;
        let rest = bytes.get(at..)?;
        if ordinal < *decoded || !may_be_text(rest) {
            return None;
        }
        let reading = if is_hex_text(rest) { Decoder::hexadecimal(rest) } else { Decoder::base64(rest) };
        *decoded = ordinal + reading.symbols;
        let end = at + reading.length;
        reading.text().map(|text| (at..end, text))
    }
}

/// What a run of base64 decodes to, as far as that is text, and how many bytes of it that took.
pub(crate) fn base64(run: &[u8]) -> (String, usize) {
    let decoder = Decoder::base64(run);
    let length = decoder.length;
    (decoder.text().unwrap_or_default(), length)
}

struct Decoder {
    decoded: Vec<u8>,
    symbols: usize,
    length: usize,
}

impl Decoder {
    fn base64(text: &[u8]) -> Self {
        Self::decode(text, 6, |byte| is_run(byte).then(|| sextet(byte)))
    }

    fn hexadecimal(text: &[u8]) -> Self {
        Self::decode(text, 4, |byte| char::from(byte).to_digit(16))
    }

    /// Decodes symbols of so many bits until one is none, or what they make is no text. Lines are one run where all of a
    /// line belongs to it.
    fn decode(text: &[u8], bits: u32, value: impl Fn(u8) -> Option<u32>) -> Self {
        /// After how many bytes it is looked whether they are text.
        const CHUNK_BYTES: usize = 256;
        let mut decoder = Self { decoded: Vec::new(), symbols: 0, length: 0 };
        let (mut held, mut held_bits, mut checked, mut line_start) = (0_u32, 0, 0, 0);
        let mut at = 0;
        while let Some(byte) = text.get(at) {
            let Some(symbol) = value(*byte) else {
                let Some(next) = next_line(text, at, at - line_start, &value) else { break };
                (at, line_start) = (next, next);
                continue;
            };
            decoder.symbols += 1;
            at += 1;
            decoder.length = at;
            held = held << bits | symbol;
            held_bits += bits;
            if held_bits >= 8 {
                held_bits -= 8;
                decoder.decoded.extend((held >> held_bits).to_le_bytes().first());
                held &= (1 << held_bits) - 1;
            }
            if decoder.decoded.len() >= checked + CHUNK_BYTES {
                let so_far = decoder.decoded.get(checked..).unwrap_or_default();
                checked += match std::str::from_utf8(so_far) {
                    Ok(text) => text.len(),
                    Err(error) if error.error_len().is_none() => error.valid_up_to(),
                    Err(_) => break,
                };
            }
        }
        let padding = text.get(decoder.length..).unwrap_or_default().iter().take(2).take_while(|byte| **byte == b'=');
        decoder.length += padding.count();
        decoder
    }

    /// What was decoded, as far as it is text.
    fn text(self) -> Option<String> {
        let valid = match std::str::from_utf8(&self.decoded) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let mut text = self.decoded;
        text.truncate(valid);
        String::from_utf8(text).ok()
    }
}

/// Where the next line begins, if that is all of the same run and no longer than the one that ends here.
fn next_line(text: &[u8], at: usize, line_bytes: usize, value: &impl Fn(u8) -> Option<u32>) -> Option<usize> {
    const MOST_SPACES: usize = 16;
    if line_bytes < MIN_RUN_BYTES {
        return None;
    }
    let rest = text.get(at..)?;
    let end = rest.iter().take(2).take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let spaces = rest.get(end..)?.iter().take(MOST_SPACES).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let line = rest.get(end + spaces..).filter(|_| end > 0)?;
    let length = line.iter().take(line_bytes + 1).take_while(|byte| value(**byte).is_some()).count();
    let ends = line.get(length..)?.iter().find(|byte| **byte != b'=');
    let is_whole = (1..=line_bytes).contains(&length) && matches!(ends, None | Some(b'\r' | b'\n'));
    is_whole.then_some(at + end + spaces)
}

/// Whether a run is long enough and decodes to text at its beginning: few do, and a run that does not is no text.
pub(crate) fn may_be_text(text: &[u8]) -> bool {
    let Some(run) = text.first_chunk::<MIN_RUN_BYTES>() else { return false };
    run.iter().all(|byte| is_run(*byte)) && (is_base64_text(run) || is_hex_text(run))
}

const HEAD_BYTES: usize = 16;

fn is_base64_text(run: &[u8]) -> bool {
    let mut decoded = [0; HEAD_BYTES / 4 * 3];
    for (group, bytes) in run.chunks_exact(4).zip(decoded.chunks_exact_mut(3)) {
        let bits = group.iter().fold(0, |bits, byte| bits << 6 | sextet(*byte));
        bytes.copy_from_slice(&bits.to_be_bytes()[1..]);
    }
    is_text_so_far(&decoded)
}

fn is_hex_text(run: &[u8]) -> bool {
    let Some(head) = run.first_chunk::<HEAD_BYTES>() else { return false };
    let mut decoded = [0; HEAD_BYTES / 2];
    for (pair, byte) in head.chunks_exact(2).zip(&mut decoded) {
        let Some(value) = pair_value(pair) else { return false };
        *byte = value;
    }
    is_text_so_far(&decoded)
}

fn pair_value(pair: &[u8]) -> Option<u8> {
    let [high, low] = pair else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    u8::try_from(digit(high)? << 4 | digit(low)?).ok()
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

/// Pairs of hexadecimal digits with one space, colon or hyphen between them, as dumps show them.
pub(crate) fn pairs(text: &str) -> Vec<(Range<usize>, String)> {
    let bytes = text.as_bytes();
    let mut readings = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if !byte.is_ascii_hexdigit() || !matches!(bytes.get(at + 2), Some(b' ' | b':' | b'-')) {
            at += 1;
            continue;
        }
        let (decoded, length) = pairs_at(bytes, at);
        if decoded.len() >= MIN_PAIRS {
            let valid = std::str::from_utf8(&decoded).map_or_else(|error| error.valid_up_to(), str::len);
            if let Some(text) = decoded.get(..valid).filter(|valid| !valid.is_empty()) {
                readings.push((at..at + length, String::from_utf8_lossy(text).into_owned()));
            }
        }
        at += length.max(1);
    }
    readings
}

fn pairs_at(bytes: &[u8], start: usize) -> (Vec<u8>, usize) {
    let is_word = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let mut decoded = Vec::new();
    let mut at = start;
    if start > 0 && is_word(start - 1) {
        return (decoded, 0);
    }
    let separator = bytes.get(start + 2).copied();
    while let Some(value) = bytes.get(at..at + 2).and_then(pair_value).filter(|_| !is_word(at + 2)) {
        decoded.push(value);
        at += 2;
        if !matches!(separator, Some(b' ' | b':' | b'-')) || bytes.get(at).copied() != separator {
            break;
        }
        at += 1;
    }
    (decoded, at - start)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE};
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "hello world, this is text ~?~ and more";

    fn texts(text: &str) -> Vec<String> {
        pairs(text).into_iter().chain(readings(text)).map(|(_, decoded)| decoded).collect()
    }

    #[test]
    fn runs_are_decoded_when_they_are_text() {
        let run = BASE64_STANDARD.encode(TEXT);
        assert_eq!(readings(&format!("x {run} y")), [(2..2 + run.len(), TEXT.into())]);
        assert_eq!(texts(&BASE64_URL_SAFE.encode(TEXT)), [TEXT]);
        assert_eq!(texts(&hex::encode(TEXT)), [TEXT]);
        assert_eq!(texts(&format!("0x{}", hex::encode_upper(TEXT))), [TEXT]);
        assert!(texts("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk").is_empty());
        assert!(
            texts("node_modules/components/some_identifier/with_a_long_name")
                .iter()
                .all(|text| !text.contains("hello"))
        );
    }

    #[test]
    fn a_run_may_begin_in_another() {
        let run = BASE64_STANDARD_NO_PAD.encode(TEXT);
        for text in [format!("https://host/files/{run}"), format!("data-{run}"), format!("a/b_c/{run}/d")] {
            assert!(texts(&text).iter().any(|decoded| decoded.starts_with(TEXT)), "{text}");
        }
    }

    #[test]
    fn lines_and_pairs_are_one_run() {
        let lines = |run: &str, width: usize| {
            let lines: Vec<_> =
                run.as_bytes().chunks(width).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
            lines
        };
        let long = TEXT.repeat(5);
        let run = BASE64_STANDARD.encode(&long);
        for (width, between) in [(76, "\n"), (60, "\r\n"), (30, "\n    ")] {
            let text = format!("a: |\n{}\nnext: b", lines(&run, width).join(between));
            assert_eq!(texts(&text), [long.as_str()], "{text}");
        }
        assert_eq!(texts(&lines(&hex::encode(&long), 60).join("\n")), [long.as_str()]);
        for between in [" ", ":", "-"] {
            assert_eq!(texts(&lines(&hex::encode(TEXT), 2).join(between)), [TEXT]);
        }
        let prose = format!("{}\nNext comes another line", BASE64_STANDARD_NO_PAD.encode(&TEXT[..33]));
        assert_eq!(texts(&prose), [&TEXT[..33]]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in ".{0,200}") {
            for (range, decoded) in pairs(&text).into_iter().chain(readings(&text)) {
                prop_assert!(text.get(range).is_some_and(|run| run.len() >= decoded.len()));
            }
        }

        #[test]
        fn no_run_is_decoded_more_than_four_times(run in "[A-Za-z0-9/+_-]{24,4000}") {
            let decoded: usize = readings(&run).iter().map(|(range, _)| range.len()).sum();
            prop_assert!(decoded <= 4 * run.len() + 8);
        }
    }
}
