//! Words of a command that name nothing which it opens.

use crate::unwrap::{Effective, operands};

/// Commands whose words are said, or asked about.
const SPEAKERS: &[&str] = &["echo", "printf", "true", ":", "test", "[", "[[", "which", "type", "man", "help", ""];
/// Commands whose first operand is a pattern, be it `id_rsa`.
const SEARCHERS: &[&str] = &["grep", "egrep", "fgrep", "rg", "ag", "ack"];
/// Options whose value is left alone.
const EXCLUDING: &[&str] = &["--exclude", "--exclude-dir", "--ignore", "--ignore-glob"];

/// Which words of a command are not opened.
#[derive(Debug)]
pub struct Unopened<'a> {
    all: bool,
    words: Vec<&'a str>,
}

impl<'a> Unopened<'a> {
    /// Of a command without its wrappers.
    #[must_use]
    pub fn of(command: &'a Effective<'_>) -> Self {
        let name = command.name.as_str();
        let arguments = &command.arguments;
        let pattern = if SEARCHERS.contains(&name) { operands(arguments).next() } else { None };
        // A pattern with a slash could as well be the file.
        let mut words: Vec<&str> = pattern.filter(|word| !word.contains('/')).into_iter().collect();
        for pair in arguments.windows(2) {
            if let [option, value] = pair
                && EXCLUDING.contains(&option.as_str())
            {
                words.push(value);
            }
        }
        let excludes = |word: &&str| word.split_once('=').is_some_and(|(option, _)| EXCLUDING.contains(&option));
        words.extend(arguments.iter().map(String::as_str).filter(excludes));
        Self { all: SPEAKERS.contains(&name), words }
    }

    /// Whether this word of the command is one of them.
    #[must_use]
    pub fn contains(&self, word: &str) -> bool {
        self.all || self.words.contains(&word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::lex;
    use crate::unwrap::unwrap;

    #[test]
    fn what_is_said_searched_for_or_left_out_is_not_opened() {
        let opened = |line: &str| {
            let command = lex(line)[0].commands[0].clone();
            let effective = unwrap(&command.words);
            let unopened = Unopened::of(&effective);
            effective.arguments.iter().filter(|word| !unopened.contains(word)).cloned().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(opened("echo .env"), "");
        assert_eq!(opened("rg -n id_rsa src"), "-n src");
        assert_eq!(opened("grep /etc/shadow x"), "/etc/shadow x");
        assert_eq!(opened("rsync -a --exclude .env --exclude=*.log src dst"), "-a --exclude src dst");
        assert_eq!(opened("tar --exclude-from .env x"), "--exclude-from .env x");
    }
}
