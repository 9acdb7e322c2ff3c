//! Where in a text a sign stands: in a quotation, in a text about such attacks, in markup that nobody is shown.

use std::cell::{Cell, OnceCell};
use std::ops::Range;

/// How far around a sign quotation marks are looked for, in bytes.
const QUOTE_BYTES: usize = 200;
/// How far before a sign markup is looked for, in bytes.
const MARKUP_BYTES: usize = 600;
/// How many letters a line has beside a quotation that it speaks about.
const PROSE_LETTERS: usize = 20;
/// How often the surroundings of a sign are looked at in one text. Who writes more such phrases is not talking about them.
const MAX_LOOKS: u32 = 300;
/// Words of a text that is about such attacks.
const TALK: &[&str] = &[
    "prompt injection",
    "prompt-injection",
    "prompt_injection",
    "jailbreak",
    "injection attack",
    "injection test",
    "test_injection",
    "injection filter",
    "injected instruction",
    "red team",
    "red-team",
];
/// What a record of a conversation begins with, in the marks of models.
const OPENINGS: &[&str] =
    &["<|im_start|>", "<|begin_of_text|>", "<|start_header_id|>", "<|system|>", "<|user|>", "<start_of_turn>", "<bos>"];
/// Turns of the other two who speak there.
const TURNS: [&[&str]; 2] = [
    &["<|im_start|>user", "<|start_header_id|>user", "<|user|>", "<start_of_turn>user"],
    &["<|im_start|>assistant", "<|start_header_id|>assistant", "<|assistant|>", "<start_of_turn>model"],
];
/// What hides an element of a page.
const HIDING_STYLES: &[&str] = &[
    "display:none",
    "display: none",
    "visibility:hidden",
    "visibility: hidden",
    "font-size:0",
    "font-size: 0",
    "opacity:0",
    "opacity: 0",
    "font-size:1px",
    "font-size: 1px",
    "color:white",
    "color: white",
    "color:#fff",
    "color: #fff",
    "left:-9",
    "left: -9",
    " hidden>",
];
const QUOTES: &[(char, char)] = &[
    ('"', '"'),
    ('`', '`'),
    ('\'', '\''),
    ('\u{201c}', '\u{201d}'),
    ('\u{2018}', '\u{2019}'),
    ('\u{201e}', '\u{201c}'),
    ('«', '»'),
    ('「', '」'),
];

/// A text, asked about places in it.
pub(crate) struct Context<'a> {
    text: &'a str,
    is_talk: OnceCell<bool>,
    is_conversation: OnceCell<bool>,
    /// Where lines stand that open or close a block of code.
    fences: OnceCell<Vec<usize>>,
    looks: Cell<u32>,
}

impl<'a> Context<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        Self {
            text,
            is_talk: OnceCell::new(),
            is_conversation: OnceCell::new(),
            fences: OnceCell::new(),
            looks: Cell::new(0),
        }
    }

    /// Whether the text is about such attacks. Its author may say so to be believed; then only what is quoted counts less.
    pub(crate) fn is_talk(&self) -> bool {
        *self.is_talk.get_or_init(|| contains_any(self.text.as_bytes(), TALK))
    }

    /// Whether the text is a whole conversation with nothing before it, as data sets for models have them by the thousand.
    pub(crate) fn is_conversation(&self) -> bool {
        *self.is_conversation.get_or_init(|| {
            let begins = OPENINGS.iter().any(|mark| self.text.trim_start().starts_with(mark));
            begins && TURNS.iter().all(|turns| turns.iter().any(|turn| self.text.contains(turn)))
        })
    }

    /// Whether what stands at `range` is quoted and not said: in quotation marks within a sentence, or, where the text is
    /// about such attacks, in any quotation, block of code, indented line or list, or behind a colon.
    pub(crate) fn quotes(&self, range: &Range<usize>) -> bool {
        if !self.may_look() {
            return false;
        }
        match self.quotation(range) {
            Some(outside) if self.is_talk() || letters(outside.0) + letters(outside.1) >= PROSE_LETTERS => true,
            _ => self.is_talk() && (self.is_fenced(range.start) || self.is_set_off(range.start)),
        }
    }

    /// Whether what stands at `range` is in quotation marks, be it a sentence of its own.
    pub(crate) fn is_in_quotes(&self, range: &Range<usize>) -> bool {
        self.quotation(range).is_some()
    }

    /// Whether a mark of a turn is quoted: as [`quotes`](Self::quotes) has it, in a block of code, or in a string of a
    /// program.
    pub(crate) fn quotes_mark(&self, range: &Range<usize>) -> bool {
        let is_code =
            |outside: (&str, &str)| [outside.0, outside.1].iter().any(|part| part.contains(['=', '(', '{', '+']));
        self.quotes(range) || self.is_fenced(range.start) || self.quotation(range).is_some_and(is_code)
    }

    /// Whether markup keeps what stands at `range` from being shown: a comment, or a style that draws nothing.
    pub(crate) fn hides(&self, range: &Range<usize>) -> bool {
        if !self.may_look() {
            return false;
        }
        let before = self.before(range.start, MARKUP_BYTES);
        if before.rsplit('\n').next().is_some_and(|line| line.starts_with("[//]: #")) {
            return true;
        }
        if !before.contains('<') {
            return false;
        }
        if let Some(comment) = before.rfind("<!--")
            && !before.get(comment..).is_some_and(|rest| rest.contains("-->"))
        {
            return true;
        }
        let lower = before.to_ascii_lowercase();
        let last = HIDING_STYLES.iter().filter_map(|style| lower.rfind(style)).max();
        let after = last.and_then(|style| lower.get(style..));
        // Inside of the element that has the style.
        after.is_some_and(|after| after.contains('>') && !after.contains("</"))
    }

    fn may_look(&self) -> bool {
        self.looks.set(self.looks.get().saturating_add(1));
        self.looks.get() <= MAX_LOOKS
    }

    /// What stands on the line outside of the quotation marks around `range`, if there are any.
    fn quotation(&self, range: &Range<usize>) -> Option<(&'a str, &'a str)> {
        let before = self.before(range.start, QUOTE_BYTES);
        let before = before.rsplit('\n').next().unwrap_or(before);
        let after = self.after(range.end, QUOTE_BYTES);
        let after = after.split('\n').next().unwrap_or(after);
        QUOTES.iter().find_map(|(open, close)| {
            let opened = opening(before, *open, *close)?;
            let (_, outside) = after.split_once(*close)?;
            Some((before.get(..opened)?, outside))
        })
    }

    fn is_fenced(&self, at: usize) -> bool {
        let fences = self.fences.get_or_init(|| {
            let mut fences = Vec::new();
            let mut start = 0;
            for line in self.text.split_inclusive('\n') {
                if line.trim_start_matches([' ', '>']).starts_with("```") {
                    fences.push(start);
                }
                start += line.len();
            }
            fences
        });
        fences.partition_point(|fence| *fence < at) % 2 == 1
    }

    /// Whether the line is indented, marked as somebody else's, one of a list, or says before a colon what follows.
    fn is_set_off(&self, at: usize) -> bool {
        let before = self.before(at, QUOTE_BYTES);
        let line = before.rsplit('\n').next().unwrap_or(before);
        let is_item = ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark));
        let is_numbered = line.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(". ");
        is_item || is_numbered || line.starts_with(['>', '\t', '|']) || line.starts_with("    ") || line.contains(": ")
    }

    fn before(&self, at: usize, bytes: usize) -> &'a str {
        let start = self.text.floor_char_boundary(at.saturating_sub(bytes));
        self.text.get(start..at).unwrap_or_default()
    }

    fn after(&self, at: usize, bytes: usize) -> &'a str {
        let end = self.text.floor_char_boundary(at.saturating_add(bytes).min(self.text.len()));
        self.text.get(at..end).unwrap_or_default()
    }
}

/// Where in `before` a quotation opens that is not closed there.
fn opening(before: &str, open: char, close: char) -> Option<usize> {
    let last = before.rfind(open)?;
    if open != close {
        let rest = before.get(last..)?;
        return (!rest.contains(close)).then_some(last);
    }
    let is_mark = |at: usize| open != '\'' || !is_apostrophe(before, at);
    let marks = before.match_indices(open).filter(|(at, _)| is_mark(*at));
    let (count, last) = marks.fold((0_usize, None), |(count, _), (at, _)| (count + 1, Some(at)));
    if count % 2 == 1 { last } else { None }
}

fn is_apostrophe(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    before.ends_with(char::is_alphanumeric) && after.chars().nth(1).is_some_and(char::is_alphanumeric)
}

fn letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphabetic()).count()
}

/// Whether `text` has one of `needles`, which are ASCII in lower case, in any case.
fn contains_any(text: &[u8], needles: &[&str]) -> bool {
    text.iter().enumerate().any(|(at, byte)| {
        // What the needles begin with.
        matches!(byte | 0x20, b'p' | b'j' | b'i' | b't' | b'r')
            && needles.iter().any(|needle| {
                text.get(at..at + needle.len()).is_some_and(|part| part.eq_ignore_ascii_case(needle.as_bytes()))
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_such_a_text_is_found() {
        for talk in TALK {
            assert!(Context::of(&format!("About {}s.", talk.to_uppercase())).is_talk(), "{talk}");
        }
        assert!(!Context::of("An injection of dependencies.").is_talk());
    }
}
