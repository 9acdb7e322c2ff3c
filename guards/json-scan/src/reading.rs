//! A text as it is meant: without what is drawn as nothing, and with its escapes undone.

use std::ops::Range;

/// A reading of a text, and where in the text its bytes come from.
#[derive(Debug)]
pub struct Reading {
    /// What the text reads as.
    pub text: String,
    /// Places in the reading and in the text, from which on both run alike up to the next ones.
    marks: Vec<(usize, usize)>,
}

impl Reading {
    /// Where in the text a part of the reading comes from.
    #[must_use]
    pub fn origin(&self, range: &Range<usize>) -> Range<usize> {
        let after = self.marks.partition_point(|(here, _)| *here <= range.start);
        let start = self.counted_from(after, range.start);
        let next = self.marks.partition_point(|(here, _)| *here < range.end);
        let end = match self.marks.get(next) {
            Some((here, there)) if *here == range.end => *there,
            _ => self.counted_from(next, range.end),
        };
        start..end.max(start)
    }

    fn counted_from(&self, after: usize, place: usize) -> usize {
        let (here, there) = after.checked_sub(1).and_then(|mark| self.marks.get(mark)).copied().unwrap_or_default();
        there + (place - here)
    }
}

/// The text without characters that are drawn as nothing, with full-width letters and digits made plain, and with `%41`,
/// `\u0041`, `\x41` and `&#65;` undone; `None` where that is the same.
#[must_use]
pub fn lenient(text: &str) -> Option<Reading> {
    read(text, may_hide, hidden)
}

/// The text with the digits of all scripts, and what stands between them, made those of ASCII: spaces of every width,
/// dashes, dots; `None` where that is the same.
#[must_use]
pub fn numerals(text: &str) -> Option<Reading> {
    let is_ascii_there = |text: &str, at: usize| {
        let c = text.get(at..)?.chars().next()?;
        // What makes a digit a key's cap is drawn around it.
        let meant = if c == '\u{20e3}' { None } else { Some(numeral(c)?) };
        Some((meant, c.len_utf8()))
    };
    read(text, |byte| byte >= 0xc2, is_ascii_there)
}

/// The text as it reads where `hidden` says that something stands for something else: what for, if for anything, and how
/// many bytes do. It is asked about the bytes that `may_hide`.
fn read(
    text: &str,
    may_hide: impl Fn(u8) -> bool,
    hidden: impl Fn(&str, usize) -> Option<(Option<char>, usize)>,
) -> Option<Reading> {
    let bytes = text.as_bytes();
    let mut reading = Reading { text: String::new(), marks: Vec::new() };
    let (mut done, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        let hidden = if may_hide(*byte) { hidden(text, at) } else { None };
        let Some((meant, length)) = hidden else {
            at += 1;
            continue;
        };
        reading.text.push_str(&text[done..at]);
        reading.text.extend(meant);
        at += length;
        done = at;
        reading.marks.push((reading.text.len(), at));
    }
    if reading.marks.is_empty() {
        return None;
    }
    reading.text.push_str(&text[done..]);
    Some(reading)
}

/// Whether a reading differs at this byte.
#[must_use]
pub fn hides_at(text: &str, at: usize) -> bool {
    hidden(text, at).is_some()
}

/// Whether a character that begins with this byte may be an escape, drawn as nothing or full-width. Only first bytes of
/// characters are.
#[must_use]
pub const fn may_hide(byte: u8) -> bool {
    matches!(byte, b'%' | b'\\' | b'&' | 0..=8 | 0xe..=0x1f | 0x7f | 0xc2 | 0xcd | 0xd8 | 0xe1..=0xe3 | 0xef | 0xf3)
}

/// What stands at this byte for something else: what that is, if anything, and how many bytes stand for it.
fn hidden(text: &str, at: usize) -> Option<(Option<char>, usize)> {
    let rest = text.get(at..)?;
    let c = rest.chars().next()?;
    match c {
        '%' | '\\' | '&' => escaped(rest),
        c if is_invisible(c) => Some((None, c.len_utf8())),
        c => full_width(c).map(|plain| (Some(plain), c.len_utf8())),
    }
}

/// One character of ASCII that is escaped, or one that is drawn as nothing. Tokens and keys have no others.
fn escaped(rest: &str) -> Option<(Option<char>, usize)> {
    let (code, length) = percent(rest).or_else(|| backslash(rest)).or_else(|| entity(rest))?;
    match char::from_u32(code)? {
        c @ ('!'..='~' | ' ' | '\n' | '\r' | '\t') => Some((Some(c), length)),
        c if is_invisible(c) => Some((None, length)),
        _ => None,
    }
}

fn percent(rest: &str) -> Option<(u32, usize)> {
    let digits = rest.strip_prefix('%')?;
    match digits.strip_prefix('u') {
        Some(digits) => Some((hexadecimal(digits.get(..4)?)?, 6)),
        None => Some((hexadecimal(digits.get(..2)?)?, 3)),
    }
}

/// `\u0041`, `\u{41}`, `\U00000041`, `\x41`, with as many backslashes as nesting made of the one.
fn backslash(rest: &str) -> Option<(u32, usize)> {
    const MOST: usize = 16;
    let backslashes = rest.bytes().take(MOST).take_while(|byte| *byte == b'\\').count();
    let after = rest.get(backslashes..).filter(|_| backslashes > 0)?;
    let digits = after.get(1..)?;
    let (code, length) = match after.as_bytes().first()? {
        b'u' if digits.starts_with('{') => {
            let end = digits.bytes().take(8).position(|byte| byte == b'}')?;
            (hexadecimal(digits.get(1..end)?)?, end + 1)
        }
        b'u' => (hexadecimal(digits.get(..4)?)?, 4),
        b'U' => (hexadecimal(digits.get(..8)?)?, 8),
        b'x' => (hexadecimal(digits.get(..2)?)?, 2),
        _ => return None,
    };
    Some((code, backslashes + 1 + length))
}

/// `&#65;`, `&#x41;`.
fn entity(rest: &str) -> Option<(u32, usize)> {
    let number = rest.strip_prefix("&#")?;
    let end = number.bytes().take(9).position(|byte| byte == b';')?;
    let digits = number.get(..end)?;
    let code = match digits.strip_prefix(['x', 'X']) {
        Some(digits) => hexadecimal(digits)?,
        None if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
        None => return None,
    };
    Some((code, "&#".len() + end + 1))
}

fn hexadecimal(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

const fn is_invisible(c: char) -> bool {
    matches!(c, '\0'..='\u{8}' | '\u{e}'..='\u{1f}' | '\u{7f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// The plain form of a full-width letter or digit, or of what joins them in a token.
fn full_width(c: char) -> Option<char> {
    let has_one = matches!(c, '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}'
        | '\u{ff0d}' | '\u{ff0e}' | '\u{ff20}' | '\u{ff3f}');
    has_one.then(|| char::from_u32(u32::from(c) - 0xfee0)).flatten()
}

/// The character of ASCII that a digit, a space, a dash or a dot of elsewhere is.
fn numeral(c: char) -> Option<char> {
    /// Where ten digits begin, in order.
    const ZEROS: [u32; 38] = [
        0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20,
        0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0x2080, 0xa620,
        0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x1_04a0,
    ];
    let code = u32::from(c);
    let value = match c {
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => return Some(' '),
        '\u{2010}'..='\u{2015}' | '\u{2043}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => return Some('-'),
        '\u{b7}' | '\u{2024}' | '\u{2027}' | '\u{2219}' | '\u{22c5}' | '\u{ff0e}' => return Some('.'),
        '\u{ff0b}' | '\u{fe62}' | '\u{207a}' => return Some('+'),
        '\u{fe6b}' => return Some('@'),
        '\u{b2}' | '\u{b3}' => code - 0xb0,
        '\u{b9}' => 1,
        '\u{2070}' | '\u{2074}'..='\u{2079}' => code - 0x2070,
        '\u{2460}'..='\u{2468}' => code - 0x245f,
        '\u{24ea}' => 0,
        '\u{1d7ce}'..='\u{1d7ff}' => (code - 0x1_d7ce) % 10,
        _ => {
            let zero = ZEROS[..ZEROS.partition_point(|zero| *zero <= code)].last()?;
            Some(code - zero).filter(|value| *value < 10)?
        }
    };
    char::from_digit(value, 10)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_reading_knows_where_it_comes_from() {
        let reading = lenient("a%67h\u{200b}p\\u005f!").unwrap();
        assert_eq!(reading.text, "aghp_!");
        assert_eq!(reading.origin(&(1..5)), 1..15);
        assert_eq!(reading.origin(&(0..1)), 0..1);
        assert_eq!(reading.origin(&(5..6)), 15..16);
        assert!(lenient("plain 100% \\u00e9 \\d &amp; %zz").is_none());
    }

    #[test]
    fn every_escape_is_undone() {
        for (written, meant) in [
            ("%41%4B", "AK"),
            ("%u0041K", "AK"),
            ("\\u0041\\x4b", "AK"),
            ("\\\\u0041\\\\\\\\u004b", "AK"),
            ("\\u{41}\\U0000004B", "AK"),
            ("&#65;&#x4b;", "AK"),
            ("A\\u200bK", "AK"),
            ("A\u{e0041}\u{3164}\u{feff}K", "AK"),
            ("ＡＫ１＿", "AK1_"),
            ("a%0Ab%20c", "a\nb c"),
        ] {
            assert_eq!(lenient(written).unwrap().text, meant, "{written}");
        }
    }

    #[test]
    fn numbers_of_all_scripts_are_plain() {
        for (written, meant) in [
            ("٤١١١ ۴۱ ४१ ４１", "4111 41 41 41"),
            ("𝟒𝟏 ⁴¹ ₄₁ ④① ⓪", "41 41 41 41 0"),
            ("41\u{a0}1\u{2007}1\u{202f}1\u{3000}1", "41 1 1 1 1"),
            ("4–1—1−1·1", "4-1-1-1.1"),
            ("4\u{20e3}1\u{20e3}", "41"),
        ] {
            assert_eq!(numerals(written).unwrap().text, meant, "{written}");
        }
        assert!(numerals("plain 41, é 中 ж 😀 \u{66a}").is_none());
        let reading = numerals("x ٤١!").unwrap();
        assert_eq!((reading.text.as_str(), reading.origin(&(2..4))), ("x 41!", 2..6));
    }

    proptest! {
        #[test]
        fn a_reading_is_made_of_the_text(pieces in prop::collection::vec(
            prop::sample::select(vec!["%41", "\\u0041", "\u{200b}", "é", "x", "Ａ", "%", "\\", "&#65;", "&#", "\\u{", "}"]), 0..12)
        ) {
            let text = pieces.concat();
            let Some(reading) = lenient(&text) else { return Ok(()) };
            for (at, c) in reading.text.char_indices() {
                let origin = reading.origin(&(at..at + c.len_utf8()));
                let from = text.get(origin);
                prop_assert!(from.is_some_and(|from| from.contains(c) || c.is_ascii()), "{} in {:?}", c, text);
            }
            let whole = reading.origin(&(0..reading.text.len()));
            prop_assert!(text.get(whole).is_some());
        }
    }
}
