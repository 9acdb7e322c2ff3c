//! The words of a command line, as far as paths are concerned: where quotes hold a word together and where operators
//! end it. What the line does is the guard `shell-command`'s subject.

/// Characters that end a word.
const OPERATORS: [char; 8] = ['<', '>', '|', '&', ';', '(', ')', '`'];

/// Splits a line at white space and operators outside quotes, and takes the quotes and backslashes away.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut rest = line;
    loop {
        let run = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        word.push_str(&rest[..run]);
        let mut chars = rest[run..].chars();
        let Some(c) = chars.next() else { break };
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None | Some('"'), '\\') => word.extend(chars.next()),
            (None, c) if c.is_whitespace() || OPERATORS.contains(&c) => words.push(std::mem::take(&mut word)),
            (_, c) => word.push(c),
        }
        rest = chars.as_str();
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a byte is part of a word, in quotes and out of them.
fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'/' | b'_')
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn quotes_hold_and_operators_end_a_word() {
        assert_eq!(words("cat</etc/shadow|wc -l"), ["cat", "/etc/shadow", "wc", "-l"]);
        assert_eq!(
            words(r#"git commit -m "see /etc/shadow" 'a b' c\ d e"f"g"#),
            ["git", "commit", "-m", "see /etc/shadow", "a b", "c d", "efg"]
        );
        assert_eq!(words("a $(cat .env)"), ["a", "$", "cat", ".env"]);
    }
}
