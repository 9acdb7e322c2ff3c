//! Numbers made of digits: cards, and what states give to persons.

use std::ops::Range;

use crate::card::{self, Card};
use crate::kind::{Kind, Kinds};
use crate::letters;
use crate::national::{self, Alone};
use crate::runs::{self, Beside};
use crate::scan::Scan;

/// The fewest digits that make a number.
const FEWEST: usize = 6;
/// The most.
const MOST: usize = 19;
/// Those that are proven alone.
const SWISS: u64 = 0x3442;
const FRENCH: u64 = 0x122_2332;
const CHINESE: u64 = 0x684;

/// Finds the numbers of a text.
pub(crate) fn find(scan: &mut Scan<'_>) {
    let text = scan.text;
    runs::runs(text.as_bytes(), |groups| {
        let mut first = 0;
        while first < groups.len() {
            // The longest that begins here; what it covers is no other.
            first = longest(scan, groups, first).map_or(first + 1, |end| end + 1);
        }
    });
}

/// Whether numbers of states or cards are written in groups of so many digits, four bits each.
const fn is_form(form: u64) -> bool {
    matches!(
        form,
        0x324
            | 0x1331
            | 0x2331
            | 0x133
            | 0x233
            | 0x3332
            | 0x281
            | 0x2_2232
            | 0x65
            | 0x63
            | 0x67
            | SWISS
            | FRENCH
            | CHINESE
    ) || card::is_form(form)
}

/// Finds the longest number that begins with a group, and says with which it ends.
fn longest(scan: &mut Scan<'_>, groups: &[Range<usize>], first: usize) -> Option<usize> {
    let bytes = scan.text.as_bytes();
    let may_be_said = !scan.said().without(Kind::Phone).is_empty();
    let before = runs::before(bytes, groups[first].start);
    // A long row of single digits is a table.
    let is_row = matches!(groups.get(first..first + 3), Some(three) if three.iter().all(|group| group.len() == 1));
    let is_part = matches!(before, Beside::Part | Beside::Digit(b'.'));
    if is_part || is_row && !may_be_said && matches!(before, Beside::Digit(_)) {
        return None;
    }
    let mut values = [0_u8; MOST];
    let mut ends = [(0, 0, 0); MOST];
    let (mut digits, mut count, mut form) = (0, 0, 0_u64);
    for (index, group) in groups.iter().enumerate().skip(first) {
        if digits + group.len() > MOST {
            break;
        }
        for (value, byte) in values[digits..].iter_mut().zip(&bytes[group.clone()]) {
            *value = byte - b'0';
        }
        digits += group.len();
        form = form.checked_mul(16).map_or(u64::MAX, |form| form | u64::try_from(group.len()).unwrap_or_default());
        if digits >= FEWEST && (may_be_said || index == first || is_form(form)) {
            ends[count] = (index, digits, form);
            count += 1;
        }
    }
    ends[..count].iter().rev().find_map(|(last, digits, form)| {
        let number = Number {
            place: groups[first].start..groups[*last].end,
            groups: &groups[first..=*last],
            form: *form,
            digits: &values[..*digits],
            before,
        };
        number.find(scan).then_some(*last)
    })
}

/// Digits that may be one number.
struct Number<'g> {
    place: Range<usize>,
    groups: &'g [Range<usize>],
    /// How many digits each has, four bits each.
    form: u64,
    digits: &'g [u8],
    before: Beside,
}

impl Number<'_> {
    fn find(&self, scan: &mut Scan<'_>) -> bool {
        if letters::after_digits(scan, &self.place, self.digits, self.before) {
            return true;
        }
        let after = runs::after(scan.text.as_bytes(), self.place.end);
        if after == Beside::Part || after == Beside::Digit(b'.') {
            return false;
        }
        self.is_card(scan, after) || self.is_national(scan, after)
    }

    fn is_card(&self, scan: &mut Scan<'_>, after: Beside) -> bool {
        if !scan.wants(Kind::PaymentCard) || self.digits.len() < 13 {
            return false;
        }
        let Some(card) = card::card(self.digits) else { return false };
        let is_usual = if self.groups.len() == 1 {
            card == Card::Usual
        } else {
            self.is_of_one_kind(scan.text) && card::is_grouped(card, self.form)
        };
        let is_apart = match self.separator(scan.text) {
            // The groups of a table, or of a longer number, have the same separator before or behind.
            Some(own) => {
                self.before != Beside::Digit(own) && (after != Beside::Digit(own) || self.is_before_expiry(scan.text))
            }
            None => true,
        };
        let is_card = is_usual && is_apart || self.stands_apart(after) && scan.is_said(Kind::PaymentCard, &self.place);
        if is_card {
            scan.found(self.place.clone(), Kind::PaymentCard);
        }
        is_card
    }

    fn is_national(&self, scan: &mut Scan<'_>, after: Beside) -> bool {
        let is_alone = |beside| !matches!(beside, Beside::Letter | Beside::Digit(b'-' | b'/' | b'_'));
        let is_alone = is_alone(self.before) && is_alone(after);
        let written = &scan.text[self.place.clone()];
        let said = if self.stands_apart(after) { scan.said() } else { Kinds::NONE };
        for rule in national::rules(self.digits.len()) {
            let is_known = is_alone
                && match rule.alone {
                    Alone::Proven => {
                        self.groups.len() == 1
                            || matches!(self.form, SWISS | FRENCH | CHINESE) && self.is_of_one_kind(scan.text)
                    }
                    Alone::Written(forms) => forms.iter().any(|form| national::is_written(written, form)),
                    Alone::Never => false,
                };
            let is_worth_it = (is_known || said.has(rule.kind)) && scan.wants(rule.kind);
            if is_worth_it && (rule.check)(self.digits) && (is_known || scan.is_said(rule.kind, &self.place)) {
                scan.found(self.place.clone(), rule.kind);
                return true;
            }
        }
        false
    }

    /// Whether the number is no part of a date, a range or a path.
    fn stands_apart(&self, after: Beside) -> bool {
        let is_apart = |beside| matches!(beside, Beside::Nothing | Beside::Digit(b' ' | b'/' | b'_') | Beside::Letter);
        is_apart(self.before) && (is_apart(after) || self.groups.len() == 1)
    }

    /// The first separator between the groups.
    fn separator(&self, text: &str) -> Option<u8> {
        let [first, _, ..] = self.groups else { return None };
        text.as_bytes().get(first.end).copied()
    }

    /// Whether all groups have the same between them.
    fn is_of_one_kind(&self, text: &str) -> bool {
        let mut between = self.groups.windows(2).map(|pair| text.get(pair[0].end..pair[1].start));
        let first = between.next();
        between.all(|other| Some(other) == first)
    }

    /// Whether a month and a year follow, as `12/27`.
    fn is_before_expiry(&self, text: &str) -> bool {
        let Some([separator, tens, ones, slash, year, _, ..]) = text.as_bytes().get(self.place.end..) else {
            return false;
        };
        *separator == b' '
            && matches!((tens, ones), (b'0', b'1'..=b'9') | (b'1', b'0'..=b'2'))
            && matches!(slash, b'/' | b'-')
            && year.is_ascii_digit()
    }
}
