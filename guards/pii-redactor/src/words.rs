//! Words beside a number that say what it is.

use crate::bytes::{CAPITAL, HIGH, SMALL, class, class_at};
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

/// What a word is made of.
const LETTER: u8 = SMALL | CAPITAL | HIGH;

/// The words of a text that say something.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    words: Vec<Label>,
    head: Option<Head>,
    /// What any of them says.
    kinds: Kinds,
}

#[derive(Debug)]
struct Label {
    start: usize,
    end: usize,
    says: Says,
}

impl Labels {
    pub(crate) fn of(text: &str) -> Self {
        let mut labels = Vec::new();
        let mut kinds = Kinds::NONE;
        words(text, |start, end, says| {
            if let Says::Kinds(more) = says {
                kinds = kinds.and(more);
            }
            labels.push(Label { start, end, says });
        });
        let head = if labels.is_empty() { None } else { Head::of(text.as_bytes(), &labels) };
        Self { words: labels, head, kinds }
    }

    /// What any word of the text says.
    pub(crate) fn kinds(&self) -> Kinds {
        self.kinds
    }

    /// What the words around a place say of it.
    pub(crate) fn around(&self, text: &str, start: usize, end: usize) -> Kinds {
        if self.kinds.is_empty() {
            return Kinds::NONE;
        }
        // What stands in a table is spoken of by the head of its own column alone, and by the words of its line.
        let column = self.head.as_ref().and_then(|head| Some((head.end, head.says(text.as_bytes(), start)?)));
        let (head, mut kinds) = column.unwrap_or_default();
        let next = self.words.partition_point(|label| label.end <= start);
        let before = self.words[..next].iter().rev();
        for label in before.take_while(|label| label.end > head && start - label.end <= BEFORE_BYTES) {
            match label.says {
                Says::Kinds(more) => kinds = kinds.and(more),
                Says::Other => break,
            }
        }
        let after = self.words[next..].iter().find(|label| label.start >= end);
        if let Some(Label { start: at, says: Says::Kinds(more), .. }) = after
            && text.get(end..*at).is_some_and(is_close)
        {
            kinds = kinds.and(*more);
        }
        kinds
    }

    /// Where the last word begins that says something of what stands after it, at a place near the end.
    pub(crate) fn last_before(&self, start: usize) -> Option<usize> {
        let label = self.words.iter().rev().find(|label| label.end <= start && start - label.end <= BEFORE_BYTES)?;
        matches!(label.says, Says::Kinds(_)).then_some(label.start)
    }

    /// Where telephone numbers may begin: behind a word for one and what stands between.
    pub(crate) fn phones(&self) -> impl Iterator<Item = usize> {
        let is_phone = |label: &&Label| matches!(label.says, Says::Kinds(kinds) if kinds.has(Kind::Phone));
        self.words.iter().filter(is_phone).map(|label| label.end)
    }
}

fn is_close(between: &str) -> bool {
    between.len() <= AFTER_BYTES && !between.contains(['\n', ',', ';', '\t', '|'])
}

/// The head of a table, if words in it say something.
#[derive(Debug)]
struct Head {
    end: usize,
    delimiter: u8,
    columns: usize,
    /// What is said of a column, by its number.
    says: Vec<(usize, Kinds)>,
}

impl Head {
    fn of(bytes: &[u8], labels: &[Label]) -> Option<Self> {
        let first = &bytes[..bytes.len().min(MAX_LINE_BYTES)];
        let end = first.iter().position(|byte| *byte == b'\n')?;
        let line = &first[..end];
        let delimiter = *[b'\t', b';', b',', b'|'].iter().find(|byte| line.contains(byte))?;
        let inside = labels.iter().take_while(|label| label.end <= end);
        let says = inside.filter_map(|label| match label.says {
            Says::Kinds(kinds) => Some((columns(&line[..label.start], delimiter), kinds)),
            Says::Other => None,
        });
        let says: Vec<_> = says.collect();
        (!says.is_empty()).then(|| Self { end, delimiter, columns: columns(line, delimiter), says })
    }

    /// What the head says of a place; nothing where its line has other columns.
    fn says(&self, bytes: &[u8], start: usize) -> Option<Kinds> {
        let from = start.saturating_sub(MAX_LINE_BYTES).max(self.end);
        let line = from + bytes.get(from..start)?.iter().rposition(|byte| *byte == b'\n')? + 1;
        let rest = &bytes[start..bytes.len().min(start + MAX_LINE_BYTES)];
        let end = start + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let column = columns(&bytes[line..start], self.delimiter);
        let of_column = self.says.iter().filter(|(number, _)| *number == column);
        let is_row = columns(&bytes[line..end], self.delimiter) == self.columns;
        is_row.then(|| of_column.fold(Kinds::NONE, |kinds, (_, more)| kinds.and(*more)))
    }
}

/// How many columns begin in a part of a line.
fn columns(part: &[u8], delimiter: u8) -> usize {
    part.split(|byte| *byte == delimiter).count()
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
        if class(bytes[at]) & LETTER == 0 {
            at += 1;
            continue;
        }
        let start = at;
        loop {
            at += 1;
            let class = class_at(bytes, at);
            if class & LETTER == 0 || class & CAPITAL != 0 && begins_another(bytes, at) {
                break;
            }
        }
        let mark = mark(&bytes[start..at]);
        let known = if mark == NOTHING { None } else { Word::of(&bytes[start..at]) };
        let Some(word) = known else {
            before = None;
            if !bytes[start].is_ascii() {
                foreign(&text[start..at], |from, to, says| show(start + from, start + to, says));
            }
            continue;
        };
        let pair = before.as_ref().filter(|(_, _, end)| start - end <= 2);
        let said = pair.and_then(|(first, from, _)| Some((*from, together(first.text(), word.text())?)));
        if let Some((from, says)) = said.or_else(|| Some((start, alone(word.text(), mark)?))) {
            show(from, at, says);
        }
        before = Some((word, start, at));
    }
}

/// Whether a capital begins a new word in the middle of letters, as in `cardNumber` and `SSNField`.
fn begins_another(bytes: &[u8], at: usize) -> bool {
    class(bytes[at - 1]) & SMALL != 0 || class_at(bytes, at + 1) & SMALL != 0
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

/// By a word's hash, what it may say: most words of a text say nothing.
static MARKS: [u8; 4096] = {
    let mut marks = [NOTHING; 4096];
    let mut at = 0;
    while at < TOGETHER.len() {
        note(&mut marks, TOGETHER[at].0, WITH_ANOTHER);
        note(&mut marks, TOGETHER[at].1, WITH_ANOTHER);
        at += 1;
    }
    at = 0;
    while at < ALONE.len() {
        #[expect(clippy::cast_possible_truncation, reason = "there are some dozens")]
        note(&mut marks, ALONE[at].0, at as u8);
        at += 1;
    }
    marks
};

/// No word that says anything has the hash.
const NOTHING: u8 = 255;
/// Words of several lines in the table have it.
const SEVERAL: u8 = 254;
/// Only words have it that say something with another one.
const WITH_ANOTHER: u8 = 253;

const fn note(marks: &mut [u8; 4096], words: &[&str], mark: u8) {
    let mut at = 0;
    while at < words.len() {
        let hash = hash(words[at].as_bytes());
        let is_free = marks[hash] == NOTHING || marks[hash] == WITH_ANOTHER || marks[hash] == mark;
        marks[hash] = if is_free { mark } else { SEVERAL };
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

/// What a word may say by itself, as [`MARKS`] has it.
fn mark(word: &[u8]) -> u8 {
    if word.is_empty() { NOTHING } else { MARKS.get(hash(word)).copied().unwrap_or(NOTHING) }
}

/// What a word says by itself, whose mark is known.
fn alone(word: &[u8], mark: u8) -> Option<Says> {
    let lines = match mark {
        NOTHING | WITH_ANOTHER => return None,
        SEVERAL => ALONE,
        line => ALONE.get(usize::from(line)..=usize::from(line))?,
    };
    let is_one = |words: &[&str]| words.iter().any(|known| known.as_bytes() == word);
    lines.iter().find(|(words, _)| is_one(words)).map(|(_, says)| *says)
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
