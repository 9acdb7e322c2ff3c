//! One form for each letter, and a mark for what nobody sees.

use std::borrow::Cow;

use unicode_normalization::char::{decompose_compatible, is_combining_mark};
use unseen_characters::{Unseen, classify};

/// Stands where characters stood that nobody sees.
pub(crate) const UNSEEN: char = '\u{1}';

/// A text without accents and compatibility forms.
#[derive(Debug)]
pub(crate) struct Folded<'a> {
    pub(crate) text: Cow<'a, str>,
    /// Which kinds of unseen characters it had, a bit for each.
    unseen: u8,
    /// Whether there are letters of writings without spaces between words.
    pub(crate) has_ideographs: bool,
}

impl Folded<'_> {
    /// Whether the text had unseen characters of this kind.
    pub(crate) fn had(&self, unseen: Unseen) -> bool {
        self.unseen & (1 << unseen as u8) != 0
    }
}

/// Folds a text.
pub(crate) fn fold(text: &str) -> Folded<'_> {
    if text.is_ascii() {
        return Folded { text: Cow::Borrowed(text), unseen: 0, has_ideographs: false };
    }
    let mut folded = String::with_capacity(text.len());
    let (mut unseen, mut has_ideographs) = (0, false);
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        let (ascii, after) = rest.split_at(plain);
        folded.push_str(ascii);
        let foreign = after.bytes().position(|byte| byte.is_ascii()).unwrap_or(after.len());
        let (foreign, after) = after.split_at(foreign);
        for c in foreign.chars() {
            if is_plain(c) {
                folded.push(c);
            } else if is_ideograph(c) {
                has_ideographs = true;
                folded.push(c);
            } else if let Some(base) = base(c) {
                folded.push(base);
            } else if let Some(kind) = classify(c) {
                unseen |= 1 << kind as u8;
                if !folded.ends_with(UNSEEN) {
                    folded.push(UNSEEN);
                }
            } else {
                push_decomposed(c, &mut folded);
            }
        }
        rest = after;
    }
    Folded { text: Cow::Owned(folded), unseen, has_ideographs }
}

fn push_decomposed(c: char, folded: &mut String) {
    decompose_compatible(c, |c| {
        if !is_combining_mark(c) {
            folded.push(c);
        }
    });
}

/// Whether a character stands for itself. Of those that do, the most frequent ones: to look a character up costs a hundred
/// times as much.
fn is_plain(c: char) -> bool {
    matches!(
        c,
        'А'..='И' | 'К'..='и' | 'к'..='я' | 'Α'..='Ρ' | 'Σ'..='Ω' | 'α'..='ω' | 'א'..='ת' | 'ا'..='غ' | 'ف'..='ي'
            | 'ก'..='ะ' | 'अ'..='न' | '\u{2013}' | '\u{2014}' | '\u{2018}'..='\u{201e}' | '\u{2022}'
            | '\u{2190}'..='\u{2199}' | '\u{2500}'..='\u{259f}' | '。' | '、' | '\u{1f300}'..='\u{1f64f}'
    )
}

/// The letter that one with an accent is made of, for the most frequent ones.
fn base(c: char) -> Option<char> {
    Some(match c {
        'À'..='Å' => 'A',
        'È'..='Ë' => 'E',
        'Ì'..='Ï' => 'I',
        'Ò'..='Ö' => 'O',
        'Ù'..='Ü' => 'U',
        'à'..='å' => 'a',
        'è'..='ë' => 'e',
        'ì'..='ï' => 'i',
        'ò'..='ö' => 'o',
        'ù'..='ü' => 'u',
        'ç' => 'c',
        'ñ' => 'n',
        'й' => 'и',
        'Й' => 'И',
        'ё' => 'е',
        '\u{a0}' => ' ',
        _ => return None,
    })
}

/// Letters of Chinese, Japanese and Korean, which have one form.
pub(crate) fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_is_the_long_one() {
        for c in '\u{80}'..=char::MAX {
            let mut long = String::new();
            push_decomposed(c, &mut long);
            if is_plain(c) || is_ideograph(c) {
                assert!(classify(c).is_none() && (is_ideograph(c) || long == c.to_string()), "{c:?} {long:?}");
            }
            if let Some(base) = base(c) {
                assert!(classify(c).is_none() && long == base.to_string(), "{c:?} {long:?}");
            }
        }
    }
}
