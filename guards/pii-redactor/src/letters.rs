//! Numbers that have letters in them.

use std::ops::Range;

use crate::bytes::{CAPITAL, DIGIT, SMALL, class, class_at, next_digit};
use crate::checks::{is_date, mod_97, modulo, two, weighted};
use crate::kind::Kind;
use crate::national::{brazilian_company, resident, rut};
use crate::runs::Beside;
use crate::scan::Scan;

/// The longest account number of any country, in letters and digits.
const MAX_IBAN: usize = 33;

/// Finds what digits are with the letter behind them, and maybe one before.
pub(crate) fn after_digits(scan: &mut Scan<'_>, place: &Range<usize>, digits: &[u8], before: Beside) -> bool {
    if !matches!(digits.len(), 7..=9 | 17) {
        return false;
    }
    let bytes = scan.text.as_bytes();
    let Some((letter, end)) = tail(bytes, place.end) else { return false };
    let capital = letter.to_ascii_uppercase();
    let head = head(bytes, place.start);
    let is_behind_nothing = matches!(before, Beside::Nothing | Beside::Digit(b' '));
    let (start, kind, is_proven) = match digits.len() {
        7 if let Some((first, start)) = head => {
            let kind = with_head(first.to_ascii_uppercase(), digits, capital);
            let Some(kind) = kind else { return false };
            (start, kind, first.is_ascii_uppercase() && letter.is_ascii_uppercase())
        }
        7 if is_behind_nothing && irish(digits) == capital => (place.start, Kind::IePps, false),
        7 | 8 if is_behind_nothing && capital == b'K' && rut(digits) == 10 => {
            (place.start, Kind::ClRut, scan.text[place.clone()].contains('.'))
        }
        8 if is_behind_nothing && spanish(modulo(digits, 23)) == capital && digits.iter().any(|digit| *digit != 0) => {
            // A day with a letter behind it is the name of a backup or a release.
            let is_day = matches!(two(digits, 0), 19 | 20) && is_date(two(digits, 4), two(digits, 6));
            let is_grouped = scan.text[place.clone()].contains([' ', '-', '/', '_']);
            (place.start, Kind::EsDni, letter.is_ascii_uppercase() && !is_day && !is_grouped)
        }
        9 if is_behind_nothing && is_finnish(scan.text, place, digits, capital) => {
            (place.start, Kind::FiPersonal, letter.is_ascii_uppercase())
        }
        17 if is_behind_nothing && capital == b'X' && resident(digits) == Some(10) => {
            (place.start, Kind::CnResident, true)
        }
        _ => return false,
    };
    let whole = start..end;
    let is_one = scan.wants(kind) && (is_proven || scan.is_said(kind, &whole));
    if is_one {
        scan.found(whole, kind);
    }
    is_one
}

/// The one letter behind a place, and where it ends.
fn tail(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    let at = at + usize::from(matches!(bytes.get(at), Some(b'-' | b' ')));
    let letter = *bytes.get(at).filter(|byte| byte.is_ascii_alphabetic())?;
    let is_one = bytes.get(at + 1).is_none_or(|byte| !byte.is_ascii_alphanumeric());
    is_one.then_some((letter, at + 1))
}

/// The one letter before a place, and where it is.
fn head(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    let before = |at: usize| at.checked_sub(1).and_then(|at| bytes.get(at)).copied();
    let at = if matches!(before(at), Some(b'-' | b' ')) { at - 1 } else { at };
    let letter = before(at).filter(u8::is_ascii_alphabetic)?;
    let is_one = before(at - 1).is_none_or(|byte| !byte.is_ascii_alphanumeric());
    is_one.then_some((letter, at - 1))
}

/// Seven digits between two letters.
fn with_head(first: u8, digits: &[u8], last: u8) -> Option<Kind> {
    match first {
        b'X' | b'Y' | b'Z' => {
            let number = modulo(digits, 23) + u64::from(first - b'X') * 10_000_000;
            (spanish(number % 23) == last).then_some(Kind::EsNie)
        }
        b'S' | b'T' | b'F' | b'G' => {
            let sum = weighted(digits, &[2, 7, 6, 5, 4, 3, 2]) + if matches!(first, b'T' | b'G') { 4 } else { 0 };
            let letters = if matches!(first, b'S' | b'T') { b"JZIHGFEDCBA" } else { b"XWUTRQPNMLK" };
            let letter = letters.get(usize::try_from(sum % 11).ok()?)?;
            (*letter == last).then_some(Kind::SgNric)
        }
        _ => None,
    }
}

fn spanish(rest: u64) -> u8 {
    const LETTERS: [u8; 23] = *b"TRWAGMYFPDXBNJZSQVHLCKE";
    usize::try_from(rest).ok().and_then(|rest| LETTERS.get(rest)).copied().unwrap_or_default()
}

fn irish(digits: &[u8]) -> u8 {
    match weighted(digits, &[8, 7, 6, 5, 4, 3, 2]) % 23 {
        0 => b'W',
        rest => u8::try_from(rest).map_or(0, |rest| b'A' - 1 + rest),
    }
}

/// A day of birth, a dash, three digits, and a check by 31.
fn is_finnish(text: &str, place: &Range<usize>, digits: &[u8], last: u8) -> bool {
    const LETTERS: [u8; 31] = *b"0123456789ABCDEFHJKLMNPRSTUVWXY";
    let written = &text.as_bytes()[place.clone()];
    let is_dashed = written.len() == 10 && written.get(6) == Some(&b'-');
    let check = usize::try_from(modulo(digits, 31)).ok().and_then(|rest| LETTERS.get(rest));
    is_dashed && is_date(two(digits, 2), two(digits, 0)) && check == Some(&last)
}

/// Finds the numbers that begin with a letter, or have one within.
pub(crate) fn find(scan: &mut Scan<'_>) {
    const LETTER: u8 = SMALL | CAPITAL;
    let bytes = scan.text.as_bytes();
    let mut at = 0;
    while let Some(digit) = next_digit(bytes, at) {
        let mut start = digit;
        while start > at && class(bytes[start - 1]) & LETTER != 0 {
            start -= 1;
        }
        let (mut end, mut has_letters) = (digit, start < digit);
        loop {
            let class = class_at(bytes, end);
            if class & (LETTER | DIGIT) == 0 {
                break;
            }
            has_letters |= class & LETTER != 0;
            end += 1;
        }
        // An account number and a company's go on behind what ends the word.
        let longer = if start + 2 == digit { iban(scan, start) } else { None }.or_else(|| company(scan, start));
        if longer.is_none() && has_letters {
            word(scan, start..end);
        }
        at = longer.unwrap_or(end);
    }
}

/// A word of letters and digits that is a number by itself.
fn word(scan: &mut Scan<'_>, place: Range<usize>) {
    // Behind the backslash of an escape, the first letter is the escape's.
    let bytes = scan.text.as_bytes();
    let is_escape = place.start.checked_sub(1).is_some_and(|at| bytes[at] == b'\\')
        && matches!(bytes[place.start], b'n' | b't' | b'r');
    let place = place.start + usize::from(is_escape)..place.end;
    let word: &[u8] = &bytes[place.clone()];
    let mut capitals = [0; 18];
    let Some(capitals) = capitals.get_mut(..word.len()) else { return };
    capitals.copy_from_slice(word);
    capitals.make_ascii_uppercase();
    let capitals: &[u8] = capitals;
    let (kind, is_proven) = match capitals.len() {
        9 if is_nino(capitals) => (Kind::GbNino, false),
        9 if is_irish(capitals) => (Kind::IePps, false),
        10 if is_indian(capitals) => (Kind::InPan, false),
        11 if is_finnish_of_letters(capitals) => (Kind::FiPersonal, true),
        15 if is_corsican(capitals) => (Kind::FrNir, true),
        16 if is_italian(capitals) => (Kind::ItFiscale, true),
        18 if is_mexican(capitals) => (Kind::MxCurp, true),
        _ => return,
    };
    if is_proven || scan.wants(kind) && scan.is_said(kind, &place) {
        scan.found(place, kind);
    }
}

/// What `form` says of each character: `A` a letter, `0` a digit, `*` either.
fn has_form(word: &[u8], form: &str) -> bool {
    let fits = |(byte, form): (&u8, u8)| match form {
        b'A' => byte.is_ascii_uppercase(),
        b'0' => byte.is_ascii_digit(),
        b'*' => byte.is_ascii_alphanumeric(),
        _ => *byte == form,
    };
    word.len() == form.len() && word.iter().zip(form.bytes()).all(fits)
}

/// No check digit, and prefixes that are never given.
fn is_nino(word: &[u8]) -> bool {
    let never = ["BG", "GB", "NK", "KN", "TN", "NT", "ZZ"];
    let is_first = |byte: &u8| !matches!(byte, b'D' | b'F' | b'I' | b'Q' | b'U' | b'V');
    has_form(word, "AA000000A")
        && word.iter().take(2).all(is_first)
        && word[1] != b'O'
        && matches!(word[8], b'A'..=b'D')
        && !never.iter().any(|prefix| word.starts_with(prefix.as_bytes()))
}

/// An Irish number with its second letter, which is a ninth digit.
fn is_irish(word: &[u8]) -> bool {
    if !has_form(word, "0000000AA") || !matches!(word[8], b'A'..=b'I' | b'W') {
        return false;
    }
    let values: Vec<u8> = word[..7].iter().map(|byte| byte - b'0').collect();
    let ninth = if word[8] == b'W' { 0 } else { u32::from(word[8] - b'A') + 1 };
    let rest = (weighted(&values, &[8, 7, 6, 5, 4, 3, 2]) + 9 * ninth) % 23;
    u32::from(word[7]) == if rest == 0 { u32::from(b'W') } else { u32::from(b'A') - 1 + rest }
}

fn is_indian(word: &[u8]) -> bool {
    has_form(word, "AAAAA0000A")
        && matches!(word[3], b'A' | b'B' | b'C' | b'F' | b'G' | b'H' | b'J' | b'L' | b'P' | b'T')
}

/// Who was born in another century than the last.
fn is_finnish_of_letters(word: &[u8]) -> bool {
    const LETTERS: [u8; 31] = *b"0123456789ABCDEFHJKLMNPRSTUVWXY";
    if !has_form(word, "000000A000*") || !matches!(word[6], b'A'..=b'F' | b'U'..=b'Y') {
        return false;
    }
    let digits: Vec<u8> = word[..6].iter().chain(&word[7..10]).map(|byte| byte - b'0').collect();
    let check = usize::try_from(modulo(&digits, 31)).ok().and_then(|rest| LETTERS.get(rest));
    is_date(two(&digits, 2), two(&digits, 0)) && check == word.last()
}

/// A French number of one of the two departments that have a letter.
fn is_corsican(word: &[u8]) -> bool {
    let department = match word.get(5..7) {
        Some(b"2A") => 19,
        Some(b"2B") => 18,
        _ => return false,
    };
    let mut digits: Vec<u8> = word.iter().map(|byte| byte.wrapping_sub(b'0')).collect();
    digits[5] = department / 10;
    digits[6] = department % 10;
    let is_born = matches!(digits[0], 1 | 2) && (1..=12).contains(&two(&digits, 3));
    let is_number = digits.iter().all(|digit| *digit < 10);
    is_number && is_born && 97 - modulo(&digits[..13], 97) == u64::from(two(&digits, 13))
}

/// Names, a day of birth, a place, and a letter that checks them. Where two persons would have the same, letters stand for
/// some of the digits.
fn is_italian(word: &[u8]) -> bool {
    const ODD: [u32; 26] =
        [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    const STANDING: &[u8; 10] = b"LMNPQRSTUV";
    let digit = |place: usize| match word.get(place)? {
        byte @ b'0'..=b'9' => Some(u32::from(byte - b'0')),
        byte => STANDING.iter().position(|letter| letter == byte).and_then(|value| u32::try_from(value).ok()),
    };
    if !has_form(word, "AAAAAA**A**A***A") {
        return false;
    }
    let months = *b"ABCDEHLMPRST";
    let is_born = months.contains(&word[8])
        && matches!((digit(9), digit(10)), (Some(tens), Some(ones)) if matches!(tens * 10 + ones, 1..=31 | 41..=71));
    let are_digits = [6, 7, 12, 13, 14].into_iter().all(|place| digit(place).is_some());
    let value = |byte: u8| usize::from(if byte.is_ascii_digit() { byte - b'0' } else { byte - b'A' });
    let sum: u32 = word[..15]
        .iter()
        .enumerate()
        .map(|(place, byte)| match place % 2 {
            0 => ODD.get(value(*byte)).copied().unwrap_or_default(),
            _ => u32::try_from(value(*byte)).unwrap_or_default(),
        })
        .sum();
    is_born && are_digits && u32::from(word[15] - b'A') == sum % 26
}

/// Names, a day of birth, sex, a state, and a check digit.
fn is_mexican(word: &[u8]) -> bool {
    if !has_form(word, "AAAA000000AAAAAA*0") || !matches!(word[10], b'H' | b'M' | b'X') {
        return false;
    }
    // The Spanish alphabet has one letter more, behind N.
    let value = |byte: u8| match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        b'A'..=b'N' => u32::from(byte - b'A') + 10,
        _ => u32::from(byte - b'A') + 11,
    };
    let date: Vec<u8> = word[4..10].iter().map(|byte| byte - b'0').collect();
    let sum: u32 = word[..17].iter().zip((2..=18).rev()).map(|(byte, weight)| value(*byte) * weight).sum();
    is_date(two(&date, 2), two(&date, 4)) && (10 - sum % 10) % 10 == value(word[17])
}

/// A Brazilian company's number as it is written, whose characters may be letters.
fn company(scan: &mut Scan<'_>, start: usize) -> Option<usize> {
    const FORM: &str = "**.***.***/****-00";
    let bytes = scan.text.as_bytes();
    if bytes.get(start + 2) != Some(&b'.') {
        return None;
    }
    let end = start + FORM.len();
    let written = bytes.get(start..end)?;
    let is_apart = bytes.get(end).is_none_or(|byte| !byte.is_ascii_alphanumeric());
    if !is_apart || !has_form(written, FORM) {
        return None;
    }
    let values =
        written.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(|byte| byte.to_ascii_uppercase() - b'0');
    let values: Vec<u8> = values.collect();
    let is_one = brazilian_company(&values) && values.iter().any(|value| *value != 0);
    is_one.then(|| {
        scan.found(start..end, Kind::BrCnpj);
        end
    })
}

/// An account number, and where it ends.
fn iban(scan: &mut Scan<'_>, start: usize) -> Option<usize> {
    let bytes = scan.text.as_bytes();
    let mut begin = start;
    if start.checked_sub(1).is_some_and(|at| bytes[at] == b'\\')
        && matches!(bytes[start], b'n' | b't' | b'r')
        && length_at(bytes, start).is_none()
    {
        begin += 1;
    }
    let length = length_at(bytes, begin)?;
    let mut characters = [0; MAX_IBAN + 1];
    let (end, is_even) = account(bytes, begin, characters.get_mut(..length)?)?;
    let characters = characters.get(..length)?;
    let is_one = mod_97(characters[4..].iter().chain(&characters[..4]).copied());
    (is_one && (is_even || scan.is_said(Kind::Iban, &(begin..end)))).then(|| {
        scan.found(begin..end, Kind::Iban);
        end
    })
}

/// How long an account number is that may begin here.
pub(crate) fn length_at(bytes: &[u8], at: usize) -> Option<usize> {
    let [first, second, tens, ones] = *bytes.get(at..at + 4)? else { return None };
    let is_one =
        first.is_ascii_alphabetic() && second.is_ascii_alphabetic() && tens.is_ascii_digit() && ones.is_ascii_digit();
    is_one.then(|| country([first.to_ascii_uppercase(), second.to_ascii_uppercase()])).flatten()
}

/// Reads as many characters as an account number has, with at most one separator between any two; says where it ends, and
/// whether there are none or all are the same, behind every four characters. It is none where a letter or a digit follows.
fn account(bytes: &[u8], start: usize, characters: &mut [u8]) -> Option<(usize, bool)> {
    let mut at = start;
    let mut own = None;
    let mut is_even = true;
    for (index, character) in characters.iter_mut().enumerate() {
        let byte = *bytes.get(at)?;
        if index > 0 && matches!(byte, b' ' | b'-' | b'.' | b'_') {
            is_even &= index % 4 == 0 && *own.get_or_insert(byte) == byte;
            at += 1;
        } else {
            is_even &= index == 0 || index % 4 != 0 || own.is_none();
        }
        *character = bytes.get(at).filter(|byte| byte.is_ascii_alphanumeric())?.to_ascii_uppercase();
        at += 1;
    }
    let is_whole = bytes.get(at).is_none_or(|byte| !byte.is_ascii_alphanumeric());
    is_whole.then_some((at, is_even))
}

/// Whether a text, from its begin to its end, may be the first part of an account number.
pub(crate) fn is_account_begun(bytes: &[u8]) -> bool {
    let Some(length) = length_at(bytes, 0) else { return false };
    let is_character = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'-');
    bytes.iter().all(is_character) && bytes.iter().filter(|byte| byte.is_ascii_alphanumeric()).count() < length
}

/// How long a country's account numbers are, by the registry of ISO 13616.
fn country(code: [u8; 2]) -> Option<usize> {
    Some(match &code {
        b"NO" => 15,
        b"BE" => 16,
        b"DK" | b"FO" | b"FI" | b"GL" | b"NL" | b"FK" | b"SD" => 18,
        b"MK" | b"SI" => 19,
        b"AT" | b"BA" | b"EE" | b"KZ" | b"LT" | b"LU" | b"XK" | b"MN" => 20,
        b"HR" | b"LV" | b"LI" | b"CH" => 21,
        b"BG" | b"DE" | b"IE" | b"ME" | b"RS" | b"GB" | b"GE" | b"BH" | b"CR" | b"VA" => 22,
        b"AE" | b"IL" | b"GI" | b"IQ" | b"TL" | b"OM" | b"SO" => 23,
        b"AD" | b"CZ" | b"ES" | b"MD" | b"PK" | b"RO" | b"SA" | b"SE" | b"SK" | b"TN" | b"VG" => 24,
        b"PT" | b"ST" | b"LY" => 25,
        b"IS" | b"TR" => 26,
        b"FR" | b"GR" | b"IT" | b"MC" | b"MR" | b"SM" | b"BI" | b"DJ" => 27,
        b"AL" | b"AZ" | b"CY" | b"DO" | b"GT" | b"HU" | b"LB" | b"PL" | b"BY" | b"SV" | b"NI" | b"HN" => 28,
        b"BR" | b"EG" | b"PS" | b"QA" | b"UA" => 29,
        b"JO" | b"KW" | b"MU" | b"YE" => 30,
        b"MT" | b"SC" => 31,
        b"LC" => 32,
        b"RU" => 33,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_numbers_by_their_check() {
        assert!(is_italian(b"RSSMRA85T10A562S") && is_italian(b"RCCMNL83S18D969H"));
        assert!(is_italian(b"RSSMRA85T10A56NH") || !is_italian(b"RSSMRA85T10A562T"));
        assert!(is_mexican(b"HEGG560427MVZRRL04") && !is_mexican(b"HEGG560427MVZRRL05"));
        assert!(is_nino(b"AB123456C") && !is_nino(b"GB123456C") && !is_nino(b"AB123456E"));
        assert!(is_indian(b"ACUPA7085R") && !is_indian(b"ACUXA7085R"));
        assert_eq!(with_head(b'X', &[1, 2, 3, 4, 5, 6, 7], b'L'), Some(Kind::EsNie));
        assert_eq!(with_head(b'S', &[1, 2, 3, 4, 5, 6, 7], b'D'), Some(Kind::SgNric));
        assert_eq!(with_head(b'S', &[1, 2, 3, 4, 5, 6, 7], b'E'), None);
        assert_eq!(irish(&[6, 4, 3, 3, 4, 3, 5]), b'F');
    }

    #[test]
    fn an_account_number_may_begin() {
        assert!(is_account_begun(b"DE89 3704") && is_account_begun(b"gb29NWBK"));
        assert!(
            !is_account_begun(b"DE89370400440532013000") && !is_account_begun(b"XX89") && !is_account_begun(b"DE89, ")
        );
    }
}
