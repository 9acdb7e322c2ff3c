//! Words with more in them than ASCII letters: accents that are left, other writings, digits that stand for letters.

use unseen_characters::look_alike;

use crate::reader::DISGUISED;
use crate::vocabulary::classes_of;

/// The longest word that is looked up, in bytes.
const MAX_WORD_BYTES: usize = 40;
/// The longest word that may be written with digits for letters, in bytes.
const MAX_DIGIT_WORD_BYTES: usize = 16;

/// Such a word, in lower case, as far as it is looked up.
#[derive(Default)]
pub(crate) struct Odd {
    text: String,
    pub(crate) flags: u8,
    has_digit: bool,
    has_foreign: bool,
    has_letter: bool,
}

impl Odd {
    /// Takes in a letter or a digit.
    pub(crate) fn push(&mut self, c: char) {
        self.has_digit |= c.is_ascii_digit();
        self.has_letter |= c.is_ascii_alphabetic();
        self.has_foreign |= !c.is_ascii();
        if self.text.len() > MAX_WORD_BYTES {
            return;
        }
        if c.is_ascii() {
            self.text.push(c.to_ascii_lowercase());
        } else {
            self.text.extend(c.to_lowercase());
        }
    }

    /// The word's classes, also where letters of it are replaced by others that look alike.
    pub(crate) fn classes(&mut self) -> u64 {
        if self.text.len() > MAX_WORD_BYTES {
            return 0;
        }
        let classes = classes_of(&self.text);
        if classes != 0 || !self.has_letter {
            return classes;
        }
        let classes = if self.has_foreign {
            classes_of(&self.text.chars().map(|c| look_alike(c).unwrap_or(c)).collect::<String>())
        } else if self.has_digit && self.text.len() <= MAX_DIGIT_WORD_BYTES {
            let undone = |one| classes_of(&self.text.chars().map(|c| letter(c, one)).collect::<String>());
            let classes = undone('i');
            if classes == 0 { undone('l') } else { classes }
        } else {
            0
        };
        if classes != 0 {
            self.flags |= DISGUISED;
        }
        classes
    }
}

/// The letter that a digit is written for.
fn letter(c: char, one: char) -> char {
    match c {
        '0' => 'o',
        '1' => one,
        '3' => 'e',
        '4' => 'a',
        '5' => 's',
        '7' => 't',
        c => c,
    }
}
