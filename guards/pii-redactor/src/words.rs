//! Words beside a number that say what it is.

use crate::kind::{Kind, Kinds};
use crate::vocabulary::{ALONE, CARD, PHONE, Says, TOGETHER, only};

/// How far before a number a word still speaks of it, in bytes.
const BEFORE_BYTES: usize = 48;
/// How far after it, as in `111222333 (BSN)`.
const AFTER_BYTES: usize = 16;
/// The longest word that says anything, in bytes.
const MAX_WORD_BYTES: usize = 31;
/// How far back the line of a table begins, and how long its head is, in bytes.
const MAX_LINE_BYTES: usize = 4 << 10;

/// The words of a text that say something.
#[derive(Debug, Default)]
pub(crate) struct Labels(Vec<Label>);

#[derive(Debug)]
struct Label {
    start: usize,
    end: usize,
    says: Says,
}

impl Labels {
    pub(crate) fn of(text: &str) -> Self {
        let mut labels = Vec::new();
        words(text, |start, end, says| labels.push(Label { start, end, says }));
        Self(labels)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What the words around a place say of it.
    pub(crate) fn around(&self, text: &str, start: usize, end: usize) -> Kinds {
        if self.is_empty() {
            return Kinds::NONE;
        }
        let column = Column::of(text, start);
        let head = column.as_ref().map_or(0, |column| column.head.len());
        let next = self.0.partition_point(|label| label.end <= start);
        let before =
            self.0[..next].iter().rev().take_while(|label| label.end > head && start - label.end <= BEFORE_BYTES);
        let mut kinds = Kinds::NONE;
        for label in before {
            match label.says {
                Says::Kinds(more) => kinds = kinds.and(more),
                Says::Other => break,
            }
        }
        let after = self.0[next..].iter().find(|label| label.start >= end);
        if let Some(Label { start: at, says: Says::Kinds(more), .. }) = after
            && text.get(end..*at).is_some_and(is_close)
        {
            kinds = kinds.and(*more);
        }
        let Some(column) = column else { return kinds };
        let of_head = self.0.iter().take_while(|label| label.end <= head);
        of_head.filter(|label| column.is_at(label.start)).fold(kinds, |kinds, label| match label.says {
            Says::Kinds(more) => kinds.and(more),
            Says::Other => kinds,
        })
    }

    /// Where the last word begins that says something of what stands after it, at a place near the end.
    pub(crate) fn last_before(&self, start: usize) -> Option<usize> {
        let label = self.0.iter().rev().find(|label| label.end <= start && start - label.end <= BEFORE_BYTES)?;
        matches!(label.says, Says::Kinds(_)).then_some(label.start)
    }

    /// Where telephone numbers may begin: behind a word for one and what stands between.
    pub(crate) fn phones(&self) -> impl Iterator<Item = usize> {
        let is_phone = |label: &&Label| matches!(label.says, Says::Kinds(kinds) if kinds.has(Kind::Phone));
        self.0.iter().filter(is_phone).map(|label| label.end)
    }
}

fn is_close(between: &str) -> bool {
    between.len() <= AFTER_BYTES && !between.contains(['\n', ',', ';', '\t', '|'])
}

/// The column of a table in which a place stands.
struct Column<'t> {
    head: &'t str,
    delimiter: u8,
    number: usize,
}

impl<'t> Column<'t> {
    /// None where the first line has no delimiters, or the place's own line not as many.
    fn of(text: &'t str, start: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let first = &bytes[..bytes.len().min(MAX_LINE_BYTES)];
        let head = first.iter().position(|byte| *byte == b'\n').filter(|end| *end < start)?;
        let delimiter = *[b'\t', b';', b',', b'|'].iter().find(|byte| first[..head].contains(byte))?;
        let from = start.saturating_sub(MAX_LINE_BYTES);
        let line = from + bytes[from..start].iter().rposition(|byte| *byte == b'\n')? + 1;
        let rest = &bytes[start..bytes.len().min(start + MAX_LINE_BYTES)];
        let end = start + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let count = |part: &[u8]| part.split(|byte| *byte == delimiter).count();
        let is_row = count(&bytes[line..end]) == count(&first[..head]);
        is_row.then(|| Self { head: &text[..head], delimiter, number: count(&bytes[line..start]) })
    }

    /// Whether a place of the head is in the same column.
    fn is_at(&self, place: usize) -> bool {
        let before = self.head.as_bytes().get(..place).unwrap_or_default();
        before.split(|byte| *byte == self.delimiter).count() == self.number
    }
}

/// What a key says of its value.
pub(crate) fn of_name(name: &str) -> Kinds {
    let mut kinds = Kinds::NONE;
    words(name, |_, _, says| {
        kinds = match says {
            Says::Kinds(more) => kinds.and(more),
            Says::Other => Kinds::NONE,
        };
    });
    // `phone_verified_at`, `phone_number_id`: the last word says what the value is.
    let last = name.rsplit(|c: char| !c.is_ascii_alphabetic()).find(|word| !word.is_empty()).unwrap_or_default();
    let is_about =
        ["id", "at", "on", "type", "status", "verified", "enabled", "length", "format", "model", "os", "app"];
    let is_about = is_about.contains(&last)
        || ["Id", "At", "Type", "Status", "Verified", "Enabled"].iter().any(|end| last.ends_with(end));
    if is_about && kinds.has(Kind::Phone) { Kinds::NONE } else { kinds }
}

/// Shows every word that says something, with its place; of two words that say something together, the place of both.
fn words(text: &str, mut show: impl FnMut(usize, usize, Says)) {
    let bytes = text.as_bytes();
    let mut before: Option<(Word, usize, usize)> = None;
    let mut at = 0;
    while at < bytes.len() {
        if !is_letter(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        at += 1;
        while at < bytes.len() && is_letter(bytes[at]) && !begins_another(bytes, at) {
            at += 1;
        }
        let known = Some(&bytes[start..at]).filter(|word| may_say(word)).and_then(Word::of);
        let Some(word) = known else {
            before = None;
            if !bytes[start].is_ascii() {
                foreign(&text[start..at], |from, to, says| show(start + from, start + to, says));
            }
            continue;
        };
        let pair = before.as_ref().filter(|(_, _, end)| start - end <= 2);
        let said = pair.and_then(|(first, from, _)| Some((*from, together(first.text(), word.text())?)));
        if let Some((from, says)) = said.or_else(|| Some((start, alone(word.text())?))) {
            show(from, at, says);
        }
        before = Some((word, start, at));
    }
}

const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte >= 0x80
}

/// Whether a new word begins in the middle of letters, as in `cardNumber` and `SSNField`.
fn begins_another(bytes: &[u8], at: usize) -> bool {
    bytes[at].is_ascii_uppercase()
        && (bytes[at - 1].is_ascii_lowercase() || bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase))
}

/// A word in small letters.
struct Word {
    letters: [u8; MAX_WORD_BYTES],
    length: usize,
}

impl Word {
    fn of(bytes: &[u8]) -> Option<Self> {
        let mut letters = [0; MAX_WORD_BYTES];
        for (letter, byte) in letters.get_mut(..bytes.len())?.iter_mut().zip(bytes) {
            *letter = byte.to_ascii_lowercase();
        }
        Some(Self { letters, length: bytes.len() })
    }

    fn text(&self) -> &[u8] {
        self.letters.get(..self.length).unwrap_or_default()
    }
}

/// The hashes of the words that say anything. Most words of a text are none of them, and have none of these.
static HASHES: [u64; 64] = {
    let mut hashes = [0; 64];
    let mut at = 0;
    while at < ALONE.len() {
        note(&mut hashes, ALONE[at].0);
        at += 1;
    }
    at = 0;
    while at < TOGETHER.len() {
        note(&mut hashes, TOGETHER[at].0);
        note(&mut hashes, TOGETHER[at].1);
        at += 1;
    }
    hashes
};

const fn note(hashes: &mut [u64; 64], words: &[&str]) {
    let mut at = 0;
    while at < words.len() {
        let hash = hash(words[at].as_bytes());
        hashes[hash / 64] |= 1 << (hash % 64);
        at += 1;
    }
}

/// Of a word's length and some of its letters, whether small or not: twelve bits.
const fn hash(word: &[u8]) -> usize {
    let length = word.len();
    let (first, second, last) = (word[0] | 0x20, word[length / 2] | 0x20, word[length - 1] | 0x20);
    (first as usize)
        .wrapping_mul(61)
        .wrapping_add((second as usize).wrapping_mul(257))
        .wrapping_add((last as usize).wrapping_mul(1031))
        .wrapping_add(length * 7)
        % 4096
}

/// Whether a word may say anything.
fn may_say(word: &[u8]) -> bool {
    let hash = if word.is_empty() { 0 } else { hash(word) };
    HASHES.get(hash / 64).is_some_and(|hashes| hashes >> (hash % 64) & 1 != 0)
}

fn alone(word: &[u8]) -> Option<Says> {
    ALONE.iter().find(|(words, _)| words.iter().any(|known| known.as_bytes() == word)).map(|(_, says)| *says)
}

fn together(first: &[u8], second: &[u8]) -> Option<Says> {
    let has = |words: &[&str], word: &[u8]| words.iter().any(|known| known.as_bytes() == word);
    TOGETHER.iter().find(|(a, b, _)| has(a, first) && has(b, second)).map(|(_, _, says)| *says)
}

/// Words of scripts that put no spaces between them, or that have no small letters.
fn foreign(text: &str, mut show: impl FnMut(usize, usize, Says)) {
    const WORDS: [(&str, Says); 14] = [
        ("电话", PHONE),
        ("電話", PHONE),
        ("手机", PHONE),
        ("手機", PHONE),
        ("전화", PHONE),
        ("телефон", PHONE),
        ("Телефон", PHONE),
        ("هاتف", PHONE),
        ("卡号", CARD),
        ("カード", CARD),
        ("카드", CARD),
        ("マイナンバー", only(Kind::JpMyNumber)),
        ("個人番号", only(Kind::JpMyNumber)),
        ("주민등록번호", only(Kind::KrResident)),
    ];
    let first =
        WORDS.iter().filter_map(|(word, says)| Some((text.find(word)?, word.len(), *says))).min_by_key(|found| found.0);
    if let Some((at, length, says)) = first {
        show(at, at + length, says);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(text: &str, number: &str, kind: Kind) -> bool {
        let start = text.rfind(number).unwrap();
        Labels::of(text).around(text, start, start + number.len()).has(kind)
    }

    #[test]
    fn a_word_speaks_of_what_is_near() {
        for (text, kind) in [
            ("BSN: 1", Kind::NlBsn),
            ("her social-security number is 1", Kind::UsSsn),
            (r#"{"taxId":"1"}"#, Kind::DeTax),
            (r#"{\"userSSN\":1}"#, Kind::UsSsn),
            ("NHS_NUMBER=1", Kind::GbNhs),
            ("1 (BSN)", Kind::NlBsn),
            ("卡号1", Kind::PaymentCard),
            ("name,bsn,city\nJo,1,Ulm", Kind::NlBsn),
        ] {
            assert!(says(text, "1", kind), "{text}");
        }
        for (text, kind) in [
            ("BSN is needed. Order number 1", Kind::NlBsn),
            ("absent 1", Kind::UsSsn),
            ("name,bsn,city\nJo,Ulm,1", Kind::NlBsn),
            ("bsnx 1", Kind::NlBsn),
        ] {
            assert!(!says(text, "1", kind), "{text}");
        }
        let far = format!("BSN {} 1", "x ".repeat(30));
        assert!(!says(&far, "1", Kind::NlBsn));
    }

    #[test]
    fn a_key_says_what_its_value_is() {
        for (name, kind) in [
            ("cardNumber", Kind::PaymentCard),
            ("phone_number", Kind::Phone),
            ("SSN", Kind::UsSsn),
            ("national-id", Kind::PlPesel),
            ("mobilePhone", Kind::Phone),
        ] {
            assert!(of_name(name).has(kind), "{name}");
        }
        for name in ["phone_number_id", "phoneVerifiedAt", "phone_model", "order_number", "telemetry", "cpfx"] {
            assert!(of_name(name).is_empty(), "{name}");
        }
    }
}
