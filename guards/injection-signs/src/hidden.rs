//! Text that a human is not shown: tag characters, zero-width characters, directions, selectors, terminal codes.

use unseen_characters::{Direction, Unseen, classify, hidden_tags, longest_variation_run, misleading_direction};

use crate::fold::Folded;
use crate::sign::{Family, Signs};

/// From how many tag characters on they are a text.
const MIN_TAGS: usize = 4;
/// From how many zero-width characters in a row on they carry data.
const MIN_ZERO_WIDTH_RUN: usize = 8;
/// From how many between letters on.
const MIN_ZERO_WIDTH_BETWEEN: usize = 16;
/// From how many variation selectors in a row on they carry data.
const MIN_VARIATIONS: usize = 4;

/// Notes what is hidden in a text as it is, and returns the text that tag characters spell.
pub(crate) fn find(text: &str, folded: &Folded<'_>, signs: &mut Signs) -> Option<String> {
    if text.contains('\u{1b}') && has_concealed(text) {
        signs.note(Family::Concealed, 4);
    }
    if folded.had(Unseen::ZeroWidth) {
        zero_width(text, signs);
    }
    if folded.had(Unseen::Direction) {
        direction(text, signs);
    }
    if folded.had(Unseen::Variation) && longest_variation_run(text) >= MIN_VARIATIONS {
        signs.note(Family::Variation, 4);
    }
    if !folded.had(Unseen::Tag) {
        return None;
    }
    let tags = hidden_tags(text);
    if tags.bytes().filter(u8::is_ascii_graphic).count() < MIN_TAGS {
        return None;
    }
    signs.note(Family::Tags, 4);
    Some(tags)
}

fn zero_width(text: &str, signs: &mut Signs) {
    let mut run = Zeros::default();
    // Those of one kind say where a long word may be broken; two kinds say zero and one.
    let mut between = Zeros::default();
    let mut after_letter = false;
    for c in text.chars() {
        if classify(c) == Some(Unseen::ZeroWidth) && c != '\u{ad}' {
            run.add(c);
            if after_letter {
                between.add(c);
            }
            if run.is_code(MIN_ZERO_WIDTH_RUN) || between.is_code(MIN_ZERO_WIDTH_BETWEEN) {
                return signs.note(Family::ZeroWidth, 4);
            }
            continue;
        }
        after_letter = c.is_ascii_alphanumeric();
        run = Zeros::default();
    }
}

/// Zero-width characters.
#[derive(Default)]
struct Zeros {
    count: usize,
    first: Option<char>,
    is_mixed: bool,
}

impl Zeros {
    fn add(&mut self, c: char) {
        self.count += 1;
        self.is_mixed |= *self.first.get_or_insert(c) != c;
    }

    /// Whether there are as many, and of two kinds.
    fn is_code(&self, least: usize) -> bool {
        self.is_mixed && self.count >= least
    }
}

fn direction(text: &str, signs: &mut Signs) {
    let is_rtl = |c| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}');
    let has_rtl = text.chars().any(|c| is_rtl(c) && classify(c).is_none());
    for line in text.lines() {
        match misleading_direction(line) {
            Some(Direction::Override) if !has_rtl => return signs.note(Family::Direction, 4),
            Some(Direction::Override) => signs.note(Family::Direction, 2),
            Some(Direction::Unpaired) if !has_rtl => signs.note(Family::Direction, 2),
            Some(Direction::Unpaired) | None => {}
        }
    }
}

/// Whether a terminal would be told to draw letters that nobody sees: `ESC [ … 8 … m`, or in the colour of their ground.
fn has_concealed(text: &str) -> bool {
    text.split("\u{1b}[").skip(1).any(|code| {
        let end = code.bytes().take(20).position(|byte| !(byte.is_ascii_digit() || byte == b';'));
        let Some((numbers, after)) = end.and_then(|end| code.split_at_checked(end)) else { return false };
        // After 38 and 48 come colours by number.
        let is_colour = numbers.starts_with("38;") || numbers.starts_with("48;");
        let is_ground = |number: &str| {
            let colour = number.strip_prefix(['3', '9']).filter(|colour| colour.len() == 1);
            let ground = if number.starts_with('9') { "10" } else { "4" };
            colour.is_some_and(|colour| numbers.split(';').any(|other| other.strip_prefix(ground) == Some(colour)))
        };
        !is_colour
            && numbers.split(';').any(|number| number == "8" || is_ground(number))
            && after.strip_prefix('m').is_some_and(|shown| shown.contains(|c: char| c.is_ascii_alphabetic()))
    })
}
