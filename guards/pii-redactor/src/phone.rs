//! Telephone numbers: international ones by their plus, a country's code and its lengths; others where something beside
//! them says what they are.

use crate::bytes::{DIAL, class};
use crate::kind::Kind;
use crate::scan::Scan;

/// The most digits that any number has, by E.164.
const MAX_DIGITS: usize = 15;
/// The fewest that are taken for one, where something says that it is one.
const MIN_DIGITS: usize = 7;
/// How much may stand between two digits, in bytes, as in `(0) 30`.
const MAX_BETWEEN: usize = 3;
/// How far behind its label a number begins, in bytes.
const MAX_GAP: usize = 24;

/// Finds the telephone numbers of a text, also those that are known by their begin, if there may be any.
pub(crate) fn find(scan: &mut Scan<'_>, may_be_known: bool) {
    if !scan.wants(Kind::Phone) {
        return;
    }
    let text = scan.text;
    let bytes = text.as_bytes();
    let mut at = if may_be_known { 0 } else { bytes.len() };
    while at < bytes.len() {
        if class(bytes[at]) & DIAL == 0 {
            at += 1;
            continue;
        }
        let end = if bytes[at] == b'+' { international(scan, at) } else { american(bytes, at) };
        if let Some(end) = end {
            scan.found(at..end, Kind::Phone);
        }
        at = end.unwrap_or(at + 1);
    }
    if scan.of_name().has(Kind::Phone) {
        whole(scan);
    } else {
        let starts: Vec<usize> = scan.labels().phones().filter_map(|end| begin(text, end)).collect();
        for start in starts {
            if let Some(end) = national(bytes, start) {
                scan.found(start..end, Kind::Phone);
            }
        }
    }
}

/// The digits of a number.
struct Read {
    digits: [u8; MAX_DIGITS + 1],
    count: usize,
    /// How many digits there were at the end of each group, and where that is.
    ends: Vec<(usize, usize)>,
}

/// Reads digits and what may stand between them, from a digit or a parenthesis on. A `(0)`, which is dialled at home alone,
/// is none.
fn read(bytes: &[u8], start: usize) -> Read {
    let mut read = Read { digits: [0; MAX_DIGITS + 1], count: 0, ends: Vec::new() };
    let mut at = start;
    loop {
        let between =
            bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'-' | b'.' | b'(' | b')' | b'/')).count();
        if between > MAX_BETWEEN || !bytes.get(at + between).is_some_and(u8::is_ascii_digit) {
            return read;
        }
        at += between;
        let is_trunk = read.count > 0 && bytes[..at].ends_with(b"(") && bytes[at..].starts_with(b"0)");
        if is_trunk {
            at += 1;
            continue;
        }
        while let Some(byte) = bytes.get(at).filter(|byte| byte.is_ascii_digit()) {
            let Some(digit) = read.digits.get_mut(read.count) else {
                // More digits than any number has: this group is no part of one.
                return read;
            };
            *digit = byte - b'0';
            read.count += 1;
            at += 1;
        }
        read.ends.push((read.count, at));
    }
}

/// The end of a number behind its plus.
fn international(scan: &Scan<'_>, plus: usize) -> Option<usize> {
    let bytes = scan.text.as_bytes();
    let before = plus.checked_sub(1).map(|at| bytes[at]);
    let is_begun =
        before.is_none_or(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b')' | b']' | b'_'));
    let is_followed = matches!(bytes.get(plus + 1), Some(b'1'..=b'9' | b'('));
    if !is_begun || !is_followed || matches!(before, None | Some(b'\n')) && scan.is_patch() {
        return None;
    }
    if is_far_year(&bytes[plus + 1..]) {
        return None;
    }
    let read = read(bytes, plus + 1);
    let is_apart = |end: usize| bytes.get(end).is_none_or(|byte| !byte.is_ascii_alphabetic() && *byte != b'_');
    let ends = read.ends.iter().rev();
    let (_, end) = ends.copied().find(|(count, end)| is_apart(*end) && is_international(&read.digits[..*count]))?;
    Some(end)
}

/// `262143-01`, a year of ISO 8601 that has more than four digits.
fn is_far_year(bytes: &[u8]) -> bool {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    matches!(digits, 5 | 6)
        && matches!(bytes.get(digits..), Some([b'-', b'0' | b'1', b'0'..=b'9', rest @ ..]) if !rest.first().is_some_and(u8::is_ascii_digit))
}

/// Whether the digits are a country's code and a number as long as they are there.
fn is_international(digits: &[u8]) -> bool {
    let Some((code, least, most)) = country(digits) else { return false };
    let number = &digits[code..];
    let begins = number.first().copied().unwrap_or_default();
    let is_american = digits.first() != Some(&1) || begins >= 2 && number.get(3).is_some_and(|digit| *digit >= 2);
    // A zero is dialled in front at home alone, but where it belongs to the number.
    let keeps_zero = digits.starts_with(&[3, 9])
        || digits.starts_with(&[2, 2, 5])
        || digits.starts_with(&[2, 4])
        || digits.starts_with(&[3, 7, 8]);
    let is_round = number.iter().rev().take_while(|digit| **digit == 0).count() >= 6;
    (least..=most).contains(&number.len()) && is_american && (begins != 0 || keeps_zero) && !is_round
}

/// How long the country's code is with which the digits begin, and how long its numbers are at least and at most.
fn country(digits: &[u8]) -> Option<(usize, usize, usize)> {
    let [first, second, third, ..] = *digits else { return None };
    let two = u32::from(first) * 10 + u32::from(second);
    let three = two * 10 + u32::from(third);
    let (least, most) = match two {
        10..=19 | 70..=79 => return Some((1, 10, 10)),
        20 | 27 | 31..=34 | 36 | 41 | 46..=48 | 66 | 82 | 92..=95 | 98 => (8, 10),
        30 | 90 | 91 => (10, 10),
        39 | 49 => (6, 11),
        40 => (9, 9),
        43 => (5, 13),
        44 | 81 | 84 => (9, 10),
        45 => (8, 8),
        51..=58 => (8, 11),
        60..=65 => (7, 11),
        86 => (10, 11),
        _ => {
            let is_assigned = matches!(three, 211..=213 | 216 | 218 | 220..=258 | 260..=269 | 290 | 291 | 297..=299
                | 350..=359 | 370..=383 | 385..=387 | 389 | 420 | 421 | 423 | 500..=509 | 590..=599 | 670 | 672..=683
                | 685..=692 | 800 | 850 | 852 | 853 | 855 | 856 | 870 | 878 | 880..=883 | 886 | 888 | 960..=968
                | 970..=977 | 979 | 992..=996 | 998);
            return is_assigned.then_some((3, 5, 12));
        }
    };
    Some((2, least, most))
}

/// The end of `(415) 555-2671`.
fn american(bytes: &[u8], start: usize) -> Option<usize> {
    const FORMS: [&[u8]; 3] = [b"(000) 000-0000", b"(000)000-0000", b"(000) 000.0000"];
    let is_form = |form: &&&[u8]| {
        let written = bytes.get(start..start + form.len());
        written.is_some_and(|written| {
            written
                .iter()
                .zip(form.iter())
                .all(|(byte, form)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form })
        })
    };
    let form = FORMS.iter().find(is_form)?;
    let end = start + form.len();
    let exchange = bytes[end - 8];
    let is_one = bytes[start + 1] >= b'2' && exchange >= b'2';
    let is_begun = start.checked_sub(1).is_none_or(|at| !bytes[at].is_ascii_alphanumeric());
    (is_one && is_begun && bytes.get(end).is_none_or(|byte| !byte.is_ascii_alphanumeric())).then_some(end)
}

/// Where a number begins behind a label, if nothing but what joins both stands between.
fn begin(text: &str, label: usize) -> Option<usize> {
    let rest = text.get(label..)?;
    let rest = rest.get(..rest.floor_char_boundary(MAX_GAP + 1))?;
    let at = rest.bytes().position(|byte| byte.is_ascii_digit())?;
    let mut between = rest.get(..at)?;
    let start = match between.trim_end_matches('(') {
        opened if opened.len() < between.len() => opened.len(),
        _ => at,
    };
    between = &between[..start];
    let is_joining = |part: &str| {
        matches!(
            part,
            "" | "number"
                | "numbers"
                | "no"
                | "nr"
                | "num"
                | "is"
                | "n"
                | "us"
                | "me"
                | "at"
                | "home"
                | "work"
                | "office"
                | "s"
        )
    };
    let is_whole =
        between.split(|c: char| !c.is_alphabetic()).all(|part| is_joining(part.to_ascii_lowercase().as_str()));
    // With a plus it has been looked at.
    (is_whole && !between.contains(['+', '-']) || between.ends_with("- ") || between.ends_with(" -"))
        .then_some(label + start)
}

/// The end of a number that is not written for abroad.
fn national(bytes: &[u8], start: usize) -> Option<usize> {
    let read = read(bytes, start);
    let is_apart = |end: usize| match bytes.get(end) {
        Some(byte) => {
            !byte.is_ascii_alphanumeric()
                && *byte != b'_'
                && !(*byte == b':' && bytes.get(end + 1).is_some_and(u8::is_ascii_digit))
        }
        None => true,
    };
    let lengths = MIN_DIGITS..=MAX_DIGITS;
    let (_, end) = read.ends.iter().rev().copied().find(|(count, end)| lengths.contains(count) && is_apart(*end))?;
    let written = &bytes[start..end];
    let is_long = read.ends.last().is_some_and(|(_, last)| bytes.get(*last).is_some_and(u8::is_ascii_digit));
    let is_one = !is_day(written) && !is_address(written) && !is_long;
    is_one.then_some(end)
}

/// `2024-11-30`, and what may follow.
fn is_day(written: &[u8]) -> bool {
    let Some(day) = written.get(..10) else { return false };
    let has_form = |form: &[u8]| {
        day.iter().zip(form).all(|(byte, form)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form })
    };
    let is_year = day.starts_with(b"19") || day.starts_with(b"20");
    is_year && (has_form(b"0000-00-00") || has_form(b"0000/00/00") || has_form(b"0000.00.00"))
}

/// `192.168.100.20`.
fn is_address(written: &[u8]) -> bool {
    let mut parts = written.split(|byte| *byte == b'.');
    let is_part = |part: &[u8]| (1..=3).contains(&part.len()) && part.iter().all(u8::is_ascii_digit);
    parts.clone().count() == 4 && parts.all(is_part)
}

/// Finds the numbers of a text whose key says that it is one.
fn whole(scan: &mut Scan<'_>) {
    let bytes = scan.text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let is_begun = at
            .checked_sub(1)
            .is_none_or(|before| !bytes[before].is_ascii_alphanumeric() && !matches!(bytes[before], b'+' | b'_'));
        let begins = bytes[at].is_ascii_digit() || bytes[at] == b'(';
        match national(bytes, at).filter(|_| is_begun && begins) {
            Some(end) => {
                scan.found(at..end, Kind::Phone);
                at = end;
            }
            None if bytes[at].is_ascii_digit() => {
                at += bytes[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
            }
            None => at += 1,
        }
    }
}

/// Whether a number under a key that says so is one.
pub(crate) fn is_number(digits: &str) -> bool {
    (MIN_DIGITS..=MAX_DIGITS).contains(&digits.len())
}

/// Whether a text, from its begin to its end, may be the first part of an international number.
pub(crate) fn is_begun(bytes: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'-' | b'.' | b'(' | b')' | b'/');
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    bytes.first() == Some(&b'+') && bytes[1..].iter().all(is_part) && (1..MAX_DIGITS).contains(&digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kinds;

    fn found<'t>(name: &str, text: &'t str) -> Vec<&'t str> {
        let mut scan = Scan::new(name, text, Kinds::all());
        find(&mut scan, true);
        scan.hits.into_iter().map(|hit| &text[hit.range]).collect()
    }

    #[test]
    fn a_plus_and_a_code_make_a_number() {
        for number in [
            "+14155552671",
            "+1 (415) 555-2671",
            "+44 20 7946 0018",
            "+49 (0)30 1234567",
            "+49-171-1234567",
            "+33 6 12 34 56 78",
            "+39 06 6982 1234",
            "+86 138 0013 8000",
            "+91 98765 43210",
            "+353 1 123 4567",
            "+7 495 123-45-67",
            "(415) 555-2671",
        ] {
            assert_eq!(found("", &format!("call {number}, please")), [number], "{number}");
            assert_eq!(found("", &format!("\"{number}\"")), [number], "{number}");
        }
        for text in [
            "2024-11-30T10:00:00+01:00",
            "1e+12345678901",
            "v1.2.3+20241130112233",
            "x+14155552671",
            "+1000000000",
            "+49000000000",
            "+11234567890",
            "+86400000",
            "+262142-12-31",
            "+12",
            "++14155552671",
            "+141555526711",
            "+14155552671abc",
            "@@ -1,2 +1,2 @@\n-1733011200123\n+14155552671\n",
            "diff --git a/x b/x\n+491711234567",
            "(2024) 555-2671",
            "(115) 555-2671",
        ] {
            assert_eq!(found("", text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn a_label_makes_a_number() {
        for (text, number) in [
            ("Tel: 030 1234567", "030 1234567"),
            ("Phone number: (030) 123-4567.", "(030) 123-4567"),
            (r#"{"phone":"5551234567"}"#, "5551234567"),
            ("phone no. 555-1234 or", "555-1234"),
            ("电话：13800138000", "13800138000"),
            ("Fax 0044 20 7946 0018", "0044 20 7946 0018"),
        ] {
            assert_eq!(found("", text), [number], "{text}");
        }
        for text in [
            "phone: none, order 1234567",
            "phone 2024-11-30 10:00",
            "mobile 192.168.100.20",
            "tel 1234",
            "telemetry 12345678",
            "phone version 12345678",
        ] {
            assert_eq!(found("", text), Vec::<&str>::new(), "{text}");
        }
        assert_eq!(found("phone", "030/1234567"), ["030/1234567"]);
        assert_eq!(found("phones", "0171 1234567, (030) 765 4321"), ["0171 1234567", "(030) 765 4321"]);
        assert_eq!(found("phone", "2024-11-30"), Vec::<&str>::new());
        assert_eq!(found("id", "0171 1234567"), Vec::<&str>::new());
    }
}
