//! Characters that are drawn as nothing, or that change how the text around them is drawn.
//!
//! A library, not a guard: names, arguments, outputs and patches are all places where a reader and a machine can be shown
//! two different texts.

/// Why a character is not what a reader sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// A control character other than tab, line feed and carriage return.
    Control,
    /// Drawn as nothing between its neighbours.
    ZeroWidth,
    /// Changes the direction in which the text is drawn.
    Direction,
    /// A tag character, which spells ASCII that nobody sees. Emoji flags of regions are made of them.
    Tag,
    /// Chooses how the character before it is drawn. A run of them can carry any bytes.
    Variation,
    /// A letter or a symbol whose shape is empty.
    Blank,
}

/// What kind of unseen character `c` is, if it is one.
#[must_use]
pub fn classify(c: char) -> Option<Unseen> {
    Some(match c {
        '\t' | '\n' | '\r' | '\u{20}'..='\u{7e}' => return None,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Unseen::Control,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Unseen::Direction,
        '\u{ad}'
        | '\u{34f}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}' => Unseen::ZeroWidth,
        '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => Unseen::Variation,
        '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}' => Unseen::Blank,
        '\u{e0000}'..='\u{e007f}' => Unseen::Tag,
        _ => return None,
    })
}

/// Whether a name shows all that it holds: no control and no unseen character, and no break between lines.
#[must_use]
pub fn is_plain_name(name: &str) -> bool {
    let is_break = |c| matches!(c, '\t' | '\n' | '\r' | '\u{2028}' | '\u{2029}');
    !name.chars().any(|c| is_break(c) || classify(c).is_some())
}

/// The ASCII that tag characters spell outside the emoji flags that are made of them.
#[must_use]
pub fn hidden_tags(text: &str) -> String {
    const BLACK_FLAG: char = '\u{1f3f4}';
    const CANCEL: char = '\u{e007f}';
    let mut hidden = String::new();
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        if classify(c) != Some(Unseen::Tag) {
            before = c;
            continue;
        }
        let mut run = String::from(c);
        while let Some(next) = chars.next_if(|next| classify(*next) == Some(Unseen::Tag)) {
            run.push(next);
        }
        // A flag is the black flag, at most six tags for the region, and the end.
        let is_flag = before == BLACK_FLAG && run.ends_with(CANCEL) && run.chars().count() <= 7;
        if !is_flag {
            hidden.extend(run.chars().filter_map(untagged));
        }
        before = ' ';
    }
    hidden
}

/// The character of ASCII that a tag character stands for; a space for those that stand for none.
fn untagged(c: char) -> Option<char> {
    let code = u32::from(c).checked_sub(0xe_0000)?;
    char::from_u32(code).map(|c| if c.is_ascii_graphic() { c } else { ' ' })
}

/// How many variation selectors stand in a row at most. In ordinary text it is one.
#[must_use]
pub fn longest_variation_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if classify(c) == Some(Unseen::Variation) { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// What is wrong with the direction marks of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// An override: what follows is drawn in an order that is not its own.
    Override,
    /// An embedding or an isolate that the line does not close, or closes without having opened it.
    Unpaired,
}

/// How the direction marks of a line can mislead, if they can. Marks that are opened and closed in one line, as
/// translations have them, do not.
#[must_use]
pub fn misleading_direction(line: &str) -> Option<Direction> {
    let mut embeddings = 0_u32;
    let mut isolates = 0_u32;
    for c in line.chars() {
        match c {
            '\u{202d}' | '\u{202e}' => return Some(Direction::Override),
            '\u{202a}' | '\u{202b}' => embeddings += 1,
            '\u{2066}'..='\u{2068}' => isolates += 1,
            '\u{202c}' => match embeddings.checked_sub(1) {
                Some(rest) => embeddings = rest,
                None => return Some(Direction::Unpaired),
            },
            '\u{2069}' => match isolates.checked_sub(1) {
                Some(rest) => isolates = rest,
                None => return Some(Direction::Unpaired),
            },
            _ => {}
        }
    }
    (embeddings + isolates > 0).then_some(Direction::Unpaired)
}

/// Whether a Cyrillic or Greek letter is drawn like a Latin one, and like which.
#[must_use]
pub fn look_alike(c: char) -> Option<char> {
    Some(match c {
        'а' | 'α' => 'a',
        'ԁ' => 'd',
        'е' => 'e',
        'һ' => 'h',
        'і' | 'ι' => 'i',
        'ј' => 'j',
        'к' | 'κ' => 'k',
        'ӏ' => 'l',
        'о' | 'ο' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' => 'q',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'ν' => 'v',
        'ԝ' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        'с' | 'ϲ' => 'c',
        'А' | 'Α' => 'A',
        'В' | 'Β' => 'B',
        'С' => 'C',
        'Е' | 'Ε' => 'E',
        'Н' | 'Η' => 'H',
        'І' | 'Ι' => 'I',
        'Ј' => 'J',
        'К' | 'Κ' => 'K',
        'М' | 'Μ' => 'M',
        'Ν' => 'N',
        'О' | 'Ο' => 'O',
        'Р' | 'Ρ' => 'P',
        'Ѕ' => 'S',
        'Т' | 'Τ' => 'T',
        'Х' | 'Χ' => 'X',
        'Υ' => 'Y',
        'Ζ' => 'Z',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tagged(text: &str) -> String {
        text.chars().filter_map(|c| char::from_u32(0xe_0000 + u32::from(c))).collect()
    }

    #[test]
    fn what_is_drawn_is_not_unseen() {
        for c in "aZ09 \t\r\n-_é中ж😀".chars() {
            assert_eq!(classify(c), None, "{c:?}");
        }
        assert_eq!(classify('\u{1b}'), Some(Unseen::Control));
        assert_eq!(classify('\u{200b}'), Some(Unseen::ZeroWidth));
        assert_eq!(classify('\u{202e}'), Some(Unseen::Direction));
        assert_eq!(classify('\u{3164}'), Some(Unseen::Blank));
    }

    #[test]
    fn a_name_shows_all_that_it_holds() {
        assert!(is_plain_name("read_file") && is_plain_name("читать"));
        for name in ["read\u{200b}file", "read\nfile", "read\u{7}", "\u{202e}elif", "a\u{e0041}", "a\u{2028}b"] {
            assert!(!is_plain_name(name), "{name:?}");
        }
    }

    #[test]
    fn flags_hide_nothing_and_other_tags_do() {
        let scotland = format!("\u{1f3f4}{}\u{e007f}", tagged("gbsct"));
        assert_eq!(hidden_tags(&format!("go {scotland}!")), "");
        assert_eq!(hidden_tags(&format!("go{}!", tagged("run this"))), "run this");
        assert_eq!(hidden_tags(&format!("\u{1f3f4}{}\u{e007f}", tagged("send the keys"))), "send the keys ");
    }

    #[test]
    fn directions_mislead_where_they_are_not_closed() {
        assert_eq!(misleading_direction("a \u{2068}שלום\u{2069} b"), None);
        assert_eq!(misleading_direction("a \u{2066}b"), Some(Direction::Unpaired));
        assert_eq!(misleading_direction("a \u{2069}b"), Some(Direction::Unpaired));
        assert_eq!(misleading_direction("\u{202e}a\u{202c}"), Some(Direction::Override));
        assert_eq!(misleading_direction("\u{200f}שלום\u{200e}"), None);
    }

    #[test]
    fn one_selector_is_ordinary() {
        assert_eq!(longest_variation_run("❤\u{fe0f}❤\u{fe0f}"), 1);
        assert_eq!(longest_variation_run("a\u{fe01}\u{e0101}\u{fe03}"), 3);
    }

    proptest! {
        #[test]
        fn tags_come_out_as_they_went_in(text in "[ -~]{1,40}") {
            prop_assert_eq!(hidden_tags(&tagged(&text)), text);
        }
    }
}
