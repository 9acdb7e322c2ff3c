//! A text, looked at as it is and as it is meant.

use json_scan::{Custom, Finder, Found, Hit, Joined, Patterns, Reading, lenient, numerals};

use crate::bytes::{DIAL, DIGIT, HIDES, HIGH, SIGN, SPELT, class};
use crate::kind::{Kind, Kinds};
use crate::scan::Scan;
use crate::{card, digits, email, letters, national, phone, words};

/// The fewest digits that a number has, and that one of letters and digits has.
const FEWEST_DIGITS: usize = 7;
const FEWEST_BETWEEN_LETTERS: usize = 4;
/// How far back from a text's end something may have begun, in bytes.
const MAX_TAIL: usize = 96;
/// How far what began in one text goes on in the next ones, in bytes.
const MAX_JOINED: usize = 512;

/// What is looked for.
#[derive(Debug)]
pub(crate) struct Personal {
    patterns: Patterns,
    kinds: Kinds,
}

impl Personal {
    /// The known kinds, or none of them where `replace` says so, with a policy's patterns and without its exceptions.
    ///
    /// # Errors
    /// Names what is no pattern, and says why; so does `replace` without any pattern, which would look for nothing.
    pub(crate) fn new(patterns: &[Custom], replace: bool, exceptions: &[String], kinds: Kinds) -> Result<Self, String> {
        if replace && patterns.is_empty() {
            return Err("`replace` without `patterns` leaves nothing to look for".to_owned());
        }
        let kinds = if replace { Kinds::NONE } else { kinds };
        Ok(Self { patterns: Patterns::new(patterns, exceptions)?, kinds })
    }

    /// What a text holds, in all its readings.
    fn find(&self, name: &str, text: &str) -> Vec<Hit> {
        let outline = Outline::of(text);
        let mut hits = self.find_in(name, text, &outline);
        let read = if outline.has(HIDES) { lenient(text) } else { None };
        let meant = read.as_ref().map_or(text, |reading| reading.text.as_str());
        let plain = if outline.has(HIGH) { numerals(meant) } else { None };
        if let Some(last) = plain.as_ref().or(read.as_ref()) {
            let found = self.find_in(name, &last.text, &Outline::of(&last.text)).into_iter();
            let origin = |hit: Hit| [&plain, &read].into_iter().flatten().fold(hit, |hit, reading| from(reading, hit));
            hits.extend(found.map(origin));
        }
        hits
    }

    /// What one reading holds.
    fn find_in(&self, name: &str, text: &str, outline: &Outline) -> Vec<Hit> {
        let mut scan = Scan::new(name, text, self.kinds);
        if !self.kinds.is_empty() {
            if outline.digits >= FEWEST_BETWEEN_LETTERS {
                letters::find(&mut scan);
            }
            if outline.digits >= FEWEST_DIGITS {
                digits::find(&mut scan);
                phone::find(&mut scan, outline.has(DIAL));
            }
            if outline.has(SIGN) {
                email::find(&mut scan);
            }
            if outline.is_spelt {
                email::find_spelt(&mut scan);
            }
        }
        let mut hits = scan.hits;
        if !self.patterns.is_empty() {
            hits.extend(self.patterns.find(text));
        }
        self.patterns.without_exceptions(text, &mut hits);
        hits
    }

    /// Where something begins that the end of a text cuts off.
    fn open(&self, text: &str, hits: &[Hit]) -> Vec<usize> {
        let from = text.floor_char_boundary(text.len().saturating_sub(MAX_TAIL));
        let tail = text.get(from..).unwrap_or_default();
        let is_free =
            |at: &usize| hits.iter().all(|hit| hit.range.end <= *at || hit.range.end + 1 < text.trim_end().len());
        let mut open: Vec<usize> = self.open_in(tail).into_iter().map(|at| from + at).filter(is_free).collect();
        if self.kinds.has(Kind::Email) {
            open.extend(email::open(text).filter(is_free));
        }
        open
    }

    fn open_in(&self, tail: &str) -> Vec<usize> {
        let bytes = tail.as_bytes();
        let mut open = Vec::new();
        let is_number =
            |byte: &u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'-' | b'.' | b'(' | b')' | b'/' | b'_');
        let length = bytes.iter().rev().take_while(|byte| is_number(byte)).count();
        let number = &bytes[bytes.len() - length..];
        let skipped = number.iter().position(u8::is_ascii_digit);
        let Some(skipped) = skipped else { return self.open_account(bytes) };
        let start = bytes.len() - length + skipped;
        let digits: Vec<u8> =
            bytes[start..].iter().filter(|byte| byte.is_ascii_digit()).map(|byte| byte - b'0').collect();
        if bytes[..start].ends_with(b"+") && phone::is_begun(&bytes[start - 1..]) {
            open.push(start - 1);
        } else if let Some(label) = words::Labels::of(tail).last_before(start) {
            open.push(label);
        } else if (6..19).contains(&digits.len()) && self.kinds.has(Kind::PaymentCard) && card::may_begin(&digits) {
            // A list of numbers is none of one: something has to be before it, or within.
            let is_written = bytes[start..].iter().any(|byte| matches!(byte, b' ' | b'-'));
            let is_said = bytes[..start].iter().any(u8::is_ascii_alphabetic);
            if is_written || is_said {
                open.push(start);
            }
        }
        open.extend(self.open_account(bytes));
        open
    }

    /// Where an account number begins that the end cuts off.
    fn open_account(&self, bytes: &[u8]) -> Vec<usize> {
        let is_word_start = |at: &usize| at.checked_sub(1).is_none_or(|before| !bytes[before].is_ascii_alphanumeric());
        let starts = (0..bytes.len().saturating_sub(3)).filter(is_word_start);
        let mut begun = starts.filter(|at| self.kinds.has(Kind::Iban) && letters::is_account_begun(&bytes[*at..]));
        begun.next().into_iter().collect()
    }
}

/// A hit in what a reading was made of.
fn from(reading: &Reading, hit: Hit) -> Hit {
    Hit { range: reading.origin(&hit.range), ..hit }
}

/// What is worth a closer look in a text, found in one pass over its bytes.
#[derive(Default)]
struct Outline {
    /// What any of its bytes is.
    classes: u8,
    digits: usize,
    /// Whether it has a mark in brackets, or a dot that is a word.
    is_spelt: bool,
}

impl Outline {
    fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut outline = Self::default();
        let mut at = 0;
        while at < bytes.len() {
            let class = class(bytes[at]);
            outline.classes |= class;
            if class & (DIGIT | SPELT) != 0 {
                outline.digits += usize::from(class & DIGIT != 0);
                outline.is_spelt |= class & SPELT != 0 && is_spelt(&bytes[at..]);
            }
            at += 1;
        }
        outline
    }

    fn has(&self, class: u8) -> bool {
        self.classes & class != 0
    }
}

fn is_spelt(bytes: &[u8]) -> bool {
    matches!(bytes, [b'd', b'o', b't', b' ', ..] | [b'[' | b'(' | b'{', b'a' | b'A', b't' | b'T', ..])
}

impl Finder for Personal {
    fn text(&self, name: &str, text: &str) -> Found {
        let hits = self.find(name, text);
        let open = if self.kinds.is_empty() { Vec::new() } else { self.open(text, &hits) };
        Found { hits, open }
    }

    fn number(&self, name: &str, number: &str) -> Vec<Hit> {
        // A negative number or a whole one that is written as a fraction is the same number.
        let whole = number.strip_prefix('-').unwrap_or(number);
        let whole = whole.strip_suffix(".0").unwrap_or(whole);
        let mut hits = self.patterns.find(number);
        if whole.len() >= FEWEST_DIGITS
            && whole.bytes().all(|byte| byte.is_ascii_digit())
            && let Some(kind) = self.of_number(name, whole)
        {
            hits.push(Hit::new(0..number.len(), kind.name()));
        }
        self.patterns.without_exceptions(number, &mut hits);
        hits
    }

    fn joined(&self, text: &str) -> Joined {
        if text.len() > MAX_JOINED {
            return Joined::Nothing;
        }
        let hits = self.find("", text);
        if let Some(hit) = hits.into_iter().min_by_key(|hit| hit.range.start) {
            return Joined::Whole(hit);
        }
        let is_open = self.open_in(text).contains(&0) || email::open(text) == Some(0);
        if is_open { Joined::Open } else { Joined::Nothing }
    }
}

impl Personal {
    /// What a number is. As a number it has lost its zeros in front.
    fn of_number(&self, name: &str, whole: &str) -> Option<Kind> {
        let scan = {
            let mut scan = Scan::new(name, whole, self.kinds);
            digits::find(&mut scan);
            scan
        };
        let known = scan.hits.first().filter(|hit| hit.range == (0..whole.len())).map(|hit| hit.kind.clone());
        if let Some(known) = known {
            return Kind::by_name(&known);
        }
        let said = scan.of_name();
        if said.is_empty() {
            return None;
        }
        let padded = (1..=2).find_map(|zeros| {
            let digits: Vec<u8> = std::iter::repeat_n(0, zeros).chain(whole.bytes().map(|byte| byte - b'0')).collect();
            let rules = national::rules(digits.len()).iter();
            rules
                .filter(|rule| self.kinds.has(rule.kind) && said.has(rule.kind))
                .find(|rule| (rule.check)(&digits))
                .map(|rule| rule.kind)
        });
        let is_phone = said.has(Kind::Phone) && self.kinds.has(Kind::Phone) && phone::is_number(whole);
        padded.or(is_phone.then_some(Kind::Phone))
    }
}
