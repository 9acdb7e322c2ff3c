//! Which words of a command are options, their values, and operands.

/// A word after a program's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    Operand(&'a str),
    /// An option's value, and the option with its dashes.
    Value(&'a str, &'a str),
}

/// Which options take a value: letters, and names without dashes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Valued {
    pub(crate) letters: &'static str,
    pub(crate) names: &'static [&'static str],
}

/// Sorts the words. An option that is not known to take a value takes none, so that no operand is missed.
pub(crate) fn parts<'a>(words: &'a [String], valued: &Valued) -> Vec<Part<'a>> {
    let mut found = Vec::new();
    let mut rest = words;
    while let [word, tail @ ..] = rest {
        rest = tail;
        if word == "--" {
            found.extend(tail.iter().map(|word| Part::Operand(word)));
            break;
        }
        let (option, own) = if let Some(long) = word.strip_prefix("--") {
            match long.split_once('=') {
                Some((name, value)) => (word.get(..name.len() + 2).unwrap_or(word), Some(value)),
                None if valued.names.contains(&long) => (word.as_str(), None),
                None => continue,
            }
        } else if word.len() > 1 && word.starts_with('-') {
            let mut letters = word.char_indices().skip(1);
            let Some((at, letter)) = letters.find(|(_, letter)| valued.letters.contains(*letter)) else { continue };
            let value = word.get(at + letter.len_utf8()..).filter(|value| !value.is_empty());
            (letter_option(valued.letters, letter), value)
        } else {
            found.push(Part::Operand(word));
            continue;
        };
        if let Some(value) = own {
            found.push(Part::Value(option, value));
        } else if let [value, tail @ ..] = rest {
            found.push(Part::Value(option, value));
            rest = tail;
        }
    }
    found
}

/// The letter of an option, out of those that take a value.
fn letter_option(letters: &'static str, letter: char) -> &'static str {
    letters.char_indices().find(|(_, c)| *c == letter).map_or("", |(at, c)| &letters[at..at + c.len_utf8()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_values_and_operands() {
        let words = ["-sSo", "out", "-Xpost", "--proxy", "p", "--url=u", "--silent", "a", "-", "--", "-b"];
        let words = words.map(str::to_owned);
        let valued = Valued { letters: "oX", names: &["proxy"] };
        assert_eq!(
            parts(&words, &valued),
            [
                Part::Value("o", "out"),
                Part::Value("X", "post"),
                Part::Value("--proxy", "p"),
                Part::Value("--url", "u"),
                Part::Operand("a"),
                Part::Operand("-"),
                Part::Operand("-b"),
            ]
        );
    }
}
