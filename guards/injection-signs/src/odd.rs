//! Words with more in them than ASCII letters: accents that are left, other writings, digits that stand for letters.

use unseen_characters::look_alike;

use crate::fold::is_ideograph;
use crate::reader::DISGUISED;
use crate::vocabulary::{Hash, classes_of};

/// The longest word that is looked up, in bytes.
const MAX_WORD_BYTES: usize = 40;
/// The longest word that may be written with digits for letters, in bytes.
const MAX_DIGIT_WORD_BYTES: usize = 16;

/// A word with letters beyond ASCII, or with something in it that is no letter. In lower case, as far as it is looked up.
#[derive(Default)]
pub(crate) struct Odd {
    text: String,
    pub(crate) flags: u8,
    has_digit: bool,
    has_foreign: bool,
    /// Whether there are letters of ASCII, or small capitals, which are drawn like them.
    has_latin: bool,
}

impl Odd {
    /// Takes in what [`lower`] answers.
    pub(crate) fn push(&mut self, c: char) {
        self.has_digit |= c.is_ascii_digit();
        self.has_latin |= c.is_ascii_alphabetic() || small_capital(c).is_some();
        self.has_foreign |= !c.is_ascii();
        if self.text.len() <= MAX_WORD_BYTES {
            self.text.push(c);
        }
    }

    /// The word's classes, also where letters of it are replaced by others that look alike.
    pub(crate) fn classes(&mut self) -> u64 {
        if self.text.len() > MAX_WORD_BYTES {
            return 0;
        }
        let classes = classes_of(&self.text);
        if classes != 0 || !self.has_latin {
            return classes;
        }
        if !self.has_foreign {
            let (classes, flags) = if self.has_digit { replaced(self.text.as_bytes()) } else { (0, 0) };
            self.flags |= flags;
            return classes;
        }
        let drawn = |c| look_alike(c).or_else(|| small_capital(c)).unwrap_or(c);
        let classes = classes_of(&self.text.chars().map(drawn).collect::<String>());
        if classes != 0 {
            self.flags |= DISGUISED;
        }
        classes
    }
}

/// The classes and flags of a word of ASCII letters and digits, with the hash that it has in lower case.
pub(crate) fn with_digits(word: &[u8], hash: Hash) -> (u64, u8) {
    match hash.classes() {
        0 if word.iter().any(u8::is_ascii_alphabetic) => replaced(word),
        classes => (classes, 0),
    }
}

/// The classes and flags of the word that one with digits is written for.
fn replaced(word: &[u8]) -> (u64, u8) {
    if word.len() > MAX_DIGIT_WORD_BYTES {
        return (0, 0);
    }
    let with = |one| word.iter().fold(Hash::new(), |hash, byte| hash.with(letter(*byte, one))).classes();
    let classes = match with(b'i') {
        0 => with(b'l'),
        classes => classes,
    };
    (classes, if classes == 0 { 0 } else { DISGUISED })
}

/// The letter that a digit is written for, and a letter in lower case.
fn letter(byte: u8, one: u8) -> u8 {
    match byte {
        b'0' => b'o',
        b'1' => one,
        b'3' => b'e',
        b'4' => b'a',
        b'5' => b's',
        b'7' => b't',
        byte => byte.to_ascii_lowercase(),
    }
}

/// A letter in lower case, or a digit; `None` for what is in no word that is looked up. What most texts are written in comes
/// first, since the tables of all characters cost a hundred times as much.
pub(crate) fn lower(c: char) -> Option<char> {
    let moved = |by: u32| char::from_u32(u32::from(c) + by);
    let is_mark =
        matches!(c, '\0'..='\u{7f}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{3004}' | '\u{3008}'..='\u{3020}');
    match c {
        'a'..='z' | '0'..='9' | '_' | 'а'..='џ' | 'α'..='ρ' | 'ς'..='ω' | 'א'..='ת' | 'ء'..='غ' | 'ف'..='ي' => {
            Some(c)
        }
        'A'..='Z' => Some(c.to_ascii_lowercase()),
        'А'..='Я' | 'Α'..='Ρ' | 'Σ'..='Ω' => moved(0x20),
        'Ѐ'..='Џ' => moved(0x50),
        c if !is_mark && !is_ideograph(c) && c.is_alphanumeric() => c.to_lowercase().next(),
        _ => None,
    }
}

/// The letter that a small capital, or an `i` without its dot, is drawn like.
fn small_capital(c: char) -> Option<char> {
    Some(match c {
        'ᴀ' => 'a',
        'ʙ' => 'b',
        'ᴄ' => 'c',
        'ᴅ' => 'd',
        'ᴇ' => 'e',
        'ꜰ' => 'f',
        'ɢ' | 'ɡ' => 'g',
        'ʜ' => 'h',
        'ɪ' | 'ı' => 'i',
        'ᴊ' => 'j',
        'ᴋ' => 'k',
        'ʟ' => 'l',
        'ᴍ' => 'm',
        'ɴ' => 'n',
        'ᴏ' => 'o',
        'ᴘ' => 'p',
        'ʀ' => 'r',
        'ꜱ' => 's',
        'ᴛ' => 't',
        'ᴜ' => 'u',
        'ᴠ' => 'v',
        'ᴡ' => 'w',
        'ʏ' => 'y',
        'ᴢ' => 'z',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the tables of all characters say.
    fn slow(c: char) -> Option<char> {
        if c == '_' {
            return Some(c);
        }
        if c.is_alphanumeric() && !is_ideograph(c) { c.to_lowercase().next() } else { None }
    }

    #[test]
    fn the_short_way_is_the_long_one() {
        for c in '\0'..=char::MAX {
            assert_eq!(lower(c), slow(c), "{c:?} {:x}", u32::from(c));
        }
    }
}
