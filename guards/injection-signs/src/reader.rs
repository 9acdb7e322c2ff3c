//! Reading a folded text once, byte by byte, and keeping what somebody looks at more closely.
//!
//! A call can bring a megabyte, and a guard has little fuel: most words are in no phrase, and cost little more than their
//! bytes.

use std::ops::Range;

use crate::fold::{UNSEEN, is_ideograph};
use crate::odd::{self, Odd};
use crate::vocabulary::{ADDRESS, ASSISTANT, Hash, KEY, KEY_KIND, NOW, PLEASE, SECRET, SYSTEM, USER};

/// How far words of two paragraphs are apart.
const PARAGRAPH_WORDS: u32 = 10;
/// From how many single letters on, one after the other, a word is spelt out.
const SPELT_LETTERS: usize = 6;
/// How many words are kept before phrases are looked for.
const BATCH: usize = 4_096;
/// How much of a text is a region, in bytes.
const REGION_BYTES: usize = 4 << 10;
/// A shorter run of what base64 is made of holds no order, in bytes.
const MIN_RUN_BYTES: usize = 24;

/// The word begins a sentence, or follows a request.
pub(crate) const STARTS: u8 = 1;
/// Characters that nobody sees stood in the word.
pub(crate) const SPLIT: u8 = 2;
/// Letters of the word were replaced by others that look alike.
pub(crate) const DISGUISED: u8 = 4;

/// A word that phrases may speak of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub(crate) classes: u64,
    /// Which word of the text it is; between paragraphs some are left out.
    pub(crate) index: u32,
    /// Where it begins in the folded text.
    pub(crate) start: u32,
    /// How long it is there, in bytes, as far as that fits.
    pub(crate) length: u8,
    pub(crate) flags: u8,
}

impl Hit {
    /// Where it ends.
    pub(crate) fn end(&self) -> usize {
        self.start as usize + usize::from(self.length)
    }
}

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// There are many words to be looked at.
    Batch,
    /// A region ends. What stands far apart says nothing together.
    Region,
    /// The text ends.
    End,
}

/// What is worth a closer look.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Words of phrases, those of one batch at a time.
    pub(crate) hits: Vec<Hit>,
    /// Where marks of turns, and images of a page, may begin.
    pub(crate) marks: Vec<u32>,
    /// Where `](` stands.
    pub(crate) links: Vec<u32>,
    /// Where a role begins a sentence.
    pub(crate) roles: Vec<u32>,
    /// Runs of what base64 and hexadecimal are made of.
    pub(crate) runs: Vec<Range<usize>>,
    /// Whether there may be escapes of addresses, pages or JSON.
    pub(crate) has_escapes: bool,
    /// Whether words are spelt out letter by letter that give an order to ignore.
    pub(crate) spelt_out: bool,
}

const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const SPACE: u8 = 4;
/// A run of base64 goes on with it.
const RUN: u8 = 8;
/// The first byte of a character beyond ASCII, or one that may stand within a word.
const ODD: u8 = 16;
/// Something may begin with it.
const MARK: u8 = 32;

static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut at = 0;
    while at < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "there are 256 bytes")]
        let byte = at as u8;
        classes[at] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => LETTER | RUN,
            b'0'..=b'9' => DIGIT | RUN,
            b'+' | b'/' | b'-' => RUN,
            b' ' | b'\t' | b'\r' | b'\n' => SPACE,
            b'\'' | 1 | 0x80.. => ODD,
            b'<' | b'[' | b']' | b'%' | b'&' | b'\\' => MARK,
            _ => 0,
        };
        at += 1;
    }
    classes
};

/// What a byte is in a word, in lower case; 0 where it is in none.
static WORD: [u8; 256] = {
    let mut word = [0; 256];
    let mut at = 0;
    while at < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "there are 256 bytes")]
        let byte = at as u8;
        if CLASSES[at] & (LETTER | DIGIT) != 0 {
            word[at] = byte.to_ascii_lowercase();
        }
        at += 1;
    }
    word
};
/// A bit that all letters of ASCII and `_` have, and no digit.
const LETTER_BIT: u8 = 0x40;

/// Reads a text.
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    found: Found,
    /// How many words there were.
    index: u32,
    /// The last byte outside of words that is no space, since the word before; 0 for none.
    between: u8,
    newlines: u8,
    /// The classes of the word before.
    before: u64,
    /// Single letters, one after the other.
    letters: String,
    run_start: usize,
    region_end: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            found: Found::default(),
            index: 0,
            between: 0,
            newlines: 0,
            before: 0,
            letters: String::new(),
            run_start: 0,
            region_end: REGION_BYTES,
        }
    }

    /// What was found so far. Whoever looks at the words takes them out.
    pub(crate) fn found(&mut self) -> &mut Found {
        &mut self.found
    }

    /// Reads on.
    pub(crate) fn fill(&mut self) -> Stop {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            let class = class(*byte);
            if *byte == b' ' {
                self.spaces();
            } else if class & (LETTER | DIGIT) != 0 {
                self.word();
                if self.found.hits.len() >= BATCH {
                    return Stop::Batch;
                }
                if self.at >= self.region_end {
                    self.region_end = self.at.saturating_add(REGION_BYTES);
                    return Stop::Region;
                }
            } else if class & ODD != 0 {
                self.odd();
            } else {
                self.between(*byte, class);
            }
        }
        self.end_run(self.at);
        self.end_spelling();
        Stop::End
    }

    /// Most of what stands between words.
    fn spaces(&mut self) {
        self.end_run(self.at);
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|byte| *byte != b' ').unwrap_or(rest.len());
        self.run_start = self.at;
    }

    /// A byte outside of words.
    fn between(&mut self, byte: u8, class: u8) {
        if class & RUN == 0 {
            self.end_run(self.at);
        }
        if class & MARK != 0 {
            self.mark(byte);
        }
        if byte == b'\n' {
            self.newlines = self.newlines.saturating_add(1);
        } else if class & SPACE == 0 {
            self.between = byte.max(1);
        }
        self.at += 1;
    }

    fn end_run(&mut self, end: usize) {
        if end >= self.run_start + MIN_RUN_BYTES {
            self.found.runs.push(self.run_start..end);
        }
        self.run_start = end + 1;
    }

    fn mark(&mut self, byte: u8) {
        let next = self.text.as_bytes().get(self.at + 1).map_or(0, u8::to_ascii_lowercase);
        let Ok(at) = u32::try_from(self.at) else { return };
        match byte {
            // 1 stands for characters that nobody sees.
            b'<' if matches!(next, 1 | b'|' | b'<' | b'/' | b's' | b'e' | b'f' | b't' | b'd' | b'i') => {
                self.found.marks.push(at);
            }
            b'[' if matches!(next, b'i' | b'/') => self.found.marks.push(at),
            b']' if next == b'(' => self.found.links.push(at),
            b'%' => self.found.has_escapes |= next == b'2',
            b'&' => self.found.has_escapes |= next == b'#',
            b'\\' => self.found.has_escapes |= matches!(next, b'u' | b'x'),
            _ => {}
        }
    }

    /// A word of ASCII letters and digits; with anything else in it, it is read again.
    fn word(&mut self) {
        let start = self.at;
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let mut hash = Hash::new();
        let mut length = 0;
        let mut common = LETTER_BIT;
        for byte in rest {
            let lower = WORD[usize::from(*byte)];
            if lower == 0 {
                if class(*byte) & ODD != 0 {
                    return self.odd_word(start);
                }
                break;
            }
            common &= lower;
            hash = hash.with(lower);
            length += 1;
        }
        let (classes, flags) = match rest.get(..length) {
            Some(word) if common == 0 => odd::with_digits(word, hash),
            _ => (hash.classes(), 0),
        };
        let after = rest.get(length).copied().unwrap_or(0);
        if classes == 0 && length > 1 && !matches!(after, b'@' | b':') && self.between != b'@' {
            return self.pass(start + length);
        }
        self.end_word(start, start + length, classes, flags);
    }

    /// A character beyond ASCII, an apostrophe, or a mark of what is unseen.
    fn odd(&mut self) {
        let Some(c) = self.text.get(self.at..).and_then(|rest| rest.chars().next()) else {
            // Never within a character; to be sure to come to an end.
            self.at += 1;
            return;
        };
        if is_ideograph(c) {
            // In no word that is looked up; each stands for one.
            self.end_run(self.at);
            self.end_word(self.at, self.at + c.len_utf8(), 0, 0);
            self.run_start = self.at;
            return;
        }
        if !c.is_ascii() && odd::lower(c).is_some() {
            return self.odd_word(self.at);
        }
        self.end_run(self.at);
        if c != UNSEEN {
            self.between = if c.is_ascii() { b'\'' } else { 0x80 };
        }
        self.at += c.len_utf8();
        self.run_start = self.at;
    }

    /// A word with more in it than ASCII letters and digits.
    fn odd_word(&mut self, start: usize) {
        let mut word = Odd::default();
        let mut is_run = true;
        let rest = self.text.get(start..).unwrap_or_default();
        let mut end = self.text.len();
        let mut chars = rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let mut goes_on = || chars.peek().is_some_and(|(_, next)| odd::lower(*next).is_some());
            if let Some(letter) = odd::lower(c) {
                word.push(letter);
                is_run &= letter.is_ascii();
            } else if c == UNSEEN && goes_on() {
                word.flags |= SPLIT;
                is_run = false;
            } else if matches!(c, '\'' | '\u{2019}') && goes_on() {
                is_run = false;
            } else {
                end = start + at;
                break;
            }
        }
        if !is_run {
            self.run_start = end;
        }
        let classes = word.classes();
        self.end_word(start, end, classes, word.flags);
    }

    /// A word that no phrase speaks of, as most are.
    fn pass(&mut self, end: usize) {
        self.at = end;
        self.count_word();
        if !self.letters.is_empty() {
            self.end_spelling();
        }
        self.before = 0;
        self.between = 0;
        self.newlines = 0;
    }

    fn count_word(&mut self) {
        self.index = self.index.saturating_add(if self.newlines > 1 { PARAGRAPH_WORDS } else { 1 });
    }

    fn end_word(&mut self, start: usize, end: usize, mut classes: u64, flags: u8) {
        self.at = end;
        self.count_word();
        let next = self.text.as_bytes().get(end).copied().unwrap_or(0);
        if next == b'@'
            || self.between == b'@'
            || (next == b':' && self.text.get(end..).is_some_and(|rest| rest.starts_with("://")))
        {
            classes |= ADDRESS;
        }
        if classes != 0 {
            self.hit(start, end, classes, flags);
        }
        if end - start == 1 {
            self.spell(start);
        } else if !self.letters.is_empty() {
            self.end_spelling();
        }
        self.before = classes;
        self.between = 0;
        self.newlines = 0;
    }

    /// A word that phrases speak of.
    fn hit(&mut self, start: usize, end: usize, mut classes: u64, mut flags: u8) {
        let Ok(place) = u32::try_from(start) else { return };
        if classes & KEY != 0 && self.before & KEY_KIND != 0 {
            classes |= SECRET;
        }
        let is_joined = matches!(self.between, 0 | b',' | b'/' | b'-' | b'&' | b')' | b'@');
        let is_start = self.index == 1 || self.newlines > 0 || !is_joined;
        if is_start || self.before & (PLEASE | NOW) != 0 {
            flags |= STARTS;
        }
        if is_start && classes & (SYSTEM | ASSISTANT | USER) != 0 {
            self.found.roles.push(place);
        }
        let length = u8::try_from(end - start).unwrap_or(u8::MAX);
        self.found.hits.push(Hit { classes, index: self.index, start: place, length, flags });
    }

    /// A letter by itself, which may go on what others spell.
    fn spell(&mut self, at: usize) {
        if !matches!(self.between, 0 | b'.' | b'-') || self.newlines > 1 {
            self.end_spelling();
        }
        let letter = self.text.as_bytes().get(at).filter(|byte| byte.is_ascii());
        self.letters.extend(letter.map(|byte| char::from(byte.to_ascii_lowercase())));
    }

    fn end_spelling(&mut self) {
        if self.letters.len() >= SPELT_LETTERS {
            self.found.spelt_out |=
                ["ignore", "disregard", "instructions", "systemprompt"].iter().any(|word| self.letters.contains(word));
        }
        self.letters.clear();
    }
}

fn class(byte: u8) -> u8 {
    CLASSES[usize::from(byte)]
}
