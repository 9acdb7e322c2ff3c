//! Digits, and what may stand between the groups of one number.

use std::ops::Range;

use crate::bytes::{DIGIT, class_at, next_digit};

/// How many groups are kept of a run that does not end, and how many of them the next part begins with.
const MAX_GROUPS: usize = 512;
const KEPT_GROUPS: usize = 20;

/// Shows the runs of a text: groups of digits, each after the other with one separator between. A long run comes in parts
/// that overlap.
pub(crate) fn runs(bytes: &[u8], mut show: impl FnMut(&[Range<usize>])) {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while let Some(begin) = next_digit(bytes, at) {
        at = begin;
        groups.clear();
        loop {
            let start = at;
            while class_at(bytes, at) & DIGIT != 0 {
                at += 1;
            }
            groups.push(start..at);
            let Some(length) = separator(bytes, at) else { break };
            at += length;
            if groups.len() == MAX_GROUPS {
                show(&groups);
                groups.drain(..MAX_GROUPS - KEPT_GROUPS);
            }
        }
        show(&groups);
    }
}

/// How long the separator is that stands here, with a digit behind it.
fn separator(bytes: &[u8], at: usize) -> Option<usize> {
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    match bytes.get(at)? {
        b' ' | b'-' | b'.' | b'/' | b'_' if is_digit(at + 1) => Some(1),
        b' ' if bytes.get(at + 1) == Some(&b'-') && bytes.get(at + 2) == Some(&b' ') && is_digit(at + 3) => Some(3),
        _ => None,
    }
}

/// What stands beside a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// Nothing that belongs to it.
    Nothing,
    /// A separator, and another digit.
    Digit(u8),
    /// A letter that makes one word of both, as in `card4111…`.
    Letter,
    /// Letters that are hexadecimal digits, or have digits themselves: the number is a part of something else.
    Part,
}

/// What stands before a place.
pub(crate) fn before(bytes: &[u8], at: usize) -> Beside {
    let Some(byte) = at.checked_sub(1).map(|at| bytes[at]) else { return Beside::Nothing };
    if byte.is_ascii_alphabetic() {
        let letters = bytes[..at].iter().rev().take(MOST_LETTERS).take_while(|byte| byte.is_ascii_alphabetic());
        let (count, is_plain) =
            letters.fold((0, false), |(count, is_plain), byte| (count + 1, is_plain || !byte.is_ascii_hexdigit()));
        let is_behind_digits = at.checked_sub(count + 1).is_some_and(|at| bytes[at].is_ascii_digit());
        return if is_plain && !is_behind_digits { Beside::Letter } else { Beside::Part };
    }
    let is_separator = matches!(byte, b' ' | b'-' | b'.' | b'/' | b'_');
    match at.checked_sub(2).map(|at| bytes[at]) {
        Some(digit) if is_separator && digit.is_ascii_digit() => Beside::Digit(byte),
        Some(letter) if is_separator && letter.is_ascii_hexdigit() && is_hexadecimal(bytes[..at - 1].iter().rev()) => {
            Beside::Digit(byte)
        }
        // `.123` is a fraction, as in `-.123`.
        _ if byte == b'.' => Beside::Part,
        _ => Beside::Nothing,
    }
}

/// What stands after a place.
pub(crate) fn after(bytes: &[u8], at: usize) -> Beside {
    let rest = &bytes[at..];
    let Some(byte) = rest.first() else { return Beside::Nothing };
    if byte.is_ascii_alphabetic() {
        let letters = rest.iter().take(MOST_LETTERS).take_while(|byte| byte.is_ascii_alphabetic());
        let (count, is_plain) =
            letters.fold((0, false), |(count, is_plain), byte| (count + 1, is_plain || !byte.is_ascii_hexdigit()));
        let is_before_digits = rest.get(count).is_some_and(u8::is_ascii_digit);
        return if is_plain && !is_before_digits { Beside::Letter } else { Beside::Part };
    }
    let is_separator = matches!(byte, b' ' | b'-' | b'.' | b'/' | b'_');
    if separator(bytes, at).is_some() || is_separator && is_hexadecimal(rest[1..].iter()) {
        return Beside::Digit(*byte);
    }
    Beside::Nothing
}

/// Whether a word is a group of a dump or of a digest: hexadecimal digits, letters among them and numbers.
fn is_hexadecimal<'b>(bytes: impl Iterator<Item = &'b u8>) -> bool {
    let (mut has_digit, mut has_letter) = (false, false);
    for byte in bytes.take(MOST_LETTERS).take_while(|byte| byte.is_ascii_alphanumeric()) {
        if !byte.is_ascii_hexdigit() {
            return false;
        }
        has_digit |= byte.is_ascii_digit();
        has_letter |= !byte.is_ascii_digit();
    }
    has_digit && has_letter
}

/// How many letters are looked at.
const MOST_LETTERS: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<Vec<&str>> {
        let mut all = Vec::new();
        runs(text.as_bytes(), |groups| all.push(groups.iter().map(|group| &text[group.clone()]).collect()));
        all
    }

    #[test]
    fn a_run_has_one_separator_between_groups() {
        assert_eq!(of("a 12-34 5 - 6 7  8,9"), [vec!["12", "34", "5", "6", "7"], vec!["8"], vec!["9"]]);
        assert_eq!(of(""), Vec::<Vec<&str>>::new());
        assert_eq!(of("1 "), [["1"]]);
    }

    #[test]
    fn a_long_run_comes_in_parts() {
        let text = "1 ".repeat(1_200);
        let parts = of(&text);
        assert_eq!(parts.len(), 3);
        assert!(parts.iter().all(|part| part.len() <= MAX_GROUPS));
        assert!(parts.iter().map(Vec::len).sum::<usize>() == 1_200 + 2 * KEPT_GROUPS);
    }

    #[test]
    fn what_is_beside_is_known() {
        let sides = |text: &str, number: &str| {
            let at = text.find(number).unwrap();
            (before(text.as_bytes(), at), after(text.as_bytes(), at + number.len()))
        };
        assert_eq!(sides("a 41 b", "41"), (Beside::Nothing, Beside::Nothing));
        assert_eq!(sides("card41px", "41"), (Beside::Letter, Beside::Letter));
        assert_eq!(sides("0x41", "41").0, Beside::Part);
        assert_eq!(sides("beef41cafe", "41"), (Beside::Part, Beside::Part));
        assert_eq!(sides("0.41", "41").0, Beside::Digit(b'.'));
        assert_eq!(sides("-.41", "41").0, Beside::Part);
        assert_eq!(sides("41-2", "41").1, Beside::Digit(b'-'));
        assert_eq!(sides("41. A", "41").1, Beside::Nothing);
        assert_eq!(sides("542F 41 5a", "41"), (Beside::Digit(b' '), Beside::Digit(b' ')));
        assert_eq!(sides("cafe 41 x5", "41"), (Beside::Nothing, Beside::Nothing));
    }
}
