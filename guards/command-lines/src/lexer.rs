//! What a shell makes of words: quotes and expansions undone, and a line that no grammar reads, read all the same.
//!
//! The words of a command that the [`grammar`](crate::grammar) found come here one by one. A text that nobody described, or a
//! line for another shell, comes as a whole: which words go to which command is seen from operators alone, and there is
//! never an error, because a shell runs what comes before one.

use std::collections::HashMap;

use crate::cursor::Cursor;

/// The most words that one word's braces may become.
const MAX_BRACE_WORDS: usize = 64;
/// A default value longer than this, in bytes, is not expanded: it may hold another one, and that another.
const MAX_DEFAULT_BYTES: usize = 512;
/// A word longer than this, in bytes, keeps its braces.
const MAX_BRACE_BYTES: usize = 1024;

/// Commands joined by pipes; the order in the line is the order of the list.
#[derive(Debug, Default, PartialEq)]
pub struct Pipeline {
    /// From the first to the last.
    pub commands: Vec<Simple>,
}

/// One command: its words, where it reads and writes, and what runs inside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Simple {
    /// Quotes and known variables undone; `$HOME` is `~`, what is unknown stays as it is written.
    pub words: Vec<String>,
    /// Targets of `<`, `>` and their kin.
    pub redirects: Vec<String>,
    /// Here-documents and here-strings.
    pub stdin: Vec<String>,
    /// The lines of `$(…)`, backticks, `<(…)` and `>(…)`.
    pub inner: Vec<Inner>,
    /// Whether this is the name of a function that is defined here: `name()`.
    pub defines: bool,
}

/// A line within a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Inner {
    /// As it was written.
    pub line: String,
    /// Whether it stood in backticks, which in prose are only a manner of quoting.
    pub backticks: bool,
}

/// What a line itself gave to variables.
pub(crate) type Variables = HashMap<String, String>;

/// Reads `line` to its end, whatever it is.
#[must_use]
pub fn lex(line: &str) -> Vec<Pipeline> {
    lex_with(line, &Variables::new())
}

/// A word as the grammar found it, as the words that it becomes and what runs inside it.
pub(crate) fn expand(word: &str, variables: &Variables) -> Simple {
    flatten(lex_with(word, variables))
}

/// A here-document whose delimiter was not quoted, in which a shell expands what it does between double quotes.
pub(crate) fn expand_document(text: &str, variables: &Variables) -> Simple {
    flatten(lex_with(&format!("\"{}\"", text.replace('"', "\\\"")), variables))
}

fn lex_with(line: &str, variables: &Variables) -> Vec<Pipeline> {
    let mut lexer = Lexer { chars: Cursor::new(line), variables: variables.clone(), ..Lexer::default() };
    lexer.run();
    lexer.done
}

/// All of them as one command: a word holds none, save where a glob looks like a subshell.
fn flatten(pipelines: Vec<Pipeline>) -> Simple {
    let mut whole = Simple::default();
    for command in pipelines.into_iter().flat_map(|pipeline| pipeline.commands) {
        whole.extend(command);
    }
    whole
}

#[derive(Default)]
struct Word {
    text: String,
    /// Something was there, be it an empty pair of quotes.
    started: bool,
    quoted: bool,
    braces: bool,
}

#[derive(Default)]
struct Lexer<'a> {
    chars: Cursor<'a>,
    done: Vec<Pipeline>,
    pipeline: Pipeline,
    command: Simple,
    word: Word,
    /// What the word in hand is the target of.
    target_of: Option<Target>,
    /// Delimiters of the here-documents that begin after this line.
    documents: Vec<String>,
    /// Variables that the line itself set.
    variables: Variables,
}

#[derive(Clone, Copy)]
enum Target {
    Redirect,
    HereString,
    HereDocument,
}

/// Bytes that are nothing but part of a word.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        plain[byte as usize] = byte.is_ascii_graphic()
            && !matches!(
                byte,
                b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' | b'#' | b'\'' | b'"' | b'`' | b'$' | b'\\' | b'{'
            );
        byte += 1;
    }
    plain
};

/// Whether a line is one word at most, and says what it is.
#[must_use]
pub fn is_plain_word(line: &str) -> bool {
    line.bytes().all(|byte| PLAIN[usize::from(byte)])
}

impl Simple {
    /// Takes what another one has as well.
    pub(crate) fn extend(&mut self, other: Self) {
        self.words.extend(other.words);
        self.redirects.extend(other.redirects);
        self.stdin.extend(other.stdin);
        self.inner.extend(other.inner);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
            && self.redirects.is_empty()
            && self.stdin.is_empty()
            && self.inner.is_empty()
            && !self.defines
    }
}

impl Lexer<'_> {
    fn run(&mut self) {
        loop {
            self.push_run(|byte| PLAIN[usize::from(byte)]);
            let Some(c) = self.chars.next() else { break };
            match c {
                '\n' | '\r' => {
                    self.end_pipeline();
                    self.read_documents();
                }
                ' ' | '\t' => self.end_word(),
                ';' => self.end_pipeline(),
                '&' => self.ampersand(),
                '|' => self.pipe(),
                '(' => self.open(),
                ')' => self.end_command(),
                '<' | '>' => self.redirect(c),
                '#' if !self.word.started => _ = self.chars.take_while(|byte| byte != b'\n'),
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '`' => self.backticks(),
                '$' => self.dollar(false),
                '\\' => match self.chars.next() {
                    Some('\n') | None => {}
                    Some(c) => {
                        self.word.quoted = true;
                        self.push(c);
                    }
                },
                c if c.is_whitespace() || c == '\0' => self.end_word(),
                c => {
                    self.word.braces |= c == '{';
                    self.push(c);
                }
            }
        }
        self.end_pipeline();
    }

    /// Takes what is nothing but part of the word in hand.
    fn push_run(&mut self, is_part: impl Fn(u8) -> bool) {
        let run = self.chars.take_while(is_part);
        self.word.started |= !run.is_empty();
        self.word.text.push_str(run);
    }

    fn push(&mut self, c: char) {
        self.word.started = true;
        self.word.text.push(c);
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if !word.started {
            return;
        }
        match self.target_of.take() {
            Some(Target::Redirect) => self.command.redirects.push(word.text),
            Some(Target::HereString) => self.command.stdin.push(word.text),
            Some(Target::HereDocument) => self.documents.push(word.text),
            None if word.braces && word.text.len() <= MAX_BRACE_BYTES => {
                self.command.words.extend(expand_braces(word.text));
            }
            None => self.command.words.push(word.text),
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        let command = std::mem::take(&mut self.command);
        if !command.is_empty() {
            remember(&mut self.variables, &command);
            self.pipeline.commands.push(command);
        }
    }

    fn end_pipeline(&mut self) {
        self.end_command();
        let pipeline = std::mem::take(&mut self.pipeline);
        if !pipeline.commands.is_empty() {
            self.done.push(pipeline);
        }
    }

    fn ampersand(&mut self) {
        match self.chars.peek() {
            Some('>') => {
                self.chars.next();
                self.redirect('>');
            }
            _ => self.end_pipeline(),
        }
    }

    fn pipe(&mut self) {
        if self.chars.next_if_eq('|').is_some() {
            self.end_pipeline();
        } else {
            self.chars.next_if_eq('&');
            self.end_command();
        }
    }

    /// A subshell, which runs in the place of a command, or `name()`.
    fn open(&mut self) {
        let is_definition = self.chars.peek() == Some(')');
        self.end_word();
        if is_definition && !self.command.words.is_empty() {
            self.chars.next();
            self.command.defines = true;
            self.end_pipeline();
        } else if self.command.words.last().is_some_and(|word| word.ends_with('=')) {
            // An array: `a=(x y)`.
        } else {
            self.end_command();
        }
    }

    fn redirect(&mut self, c: char) {
        // `2>`: the number is no word.
        let is_number = !self.word.text.is_empty() && self.word.text.chars().all(|c| c.is_ascii_digit());
        if is_number && !self.word.quoted && self.target_of.is_none() {
            self.word = Word::default();
        }
        if self.chars.peek() == Some('(') {
            self.chars.next();
            let line = self.balanced(b'(', b')');
            self.inner(line, false);
            self.word.started = true;
            return;
        }
        self.end_word();
        let target = match (c, self.chars.take_while(|byte| matches!(byte, b'<' | b'>' | b'&' | b'|'))) {
            ('<', "<") => {
                self.chars.next_if_eq('-');
                Target::HereDocument
            }
            ('<', "<<") => Target::HereString,
            _ => Target::Redirect,
        };
        self.target_of = Some(target);
    }

    fn read_documents(&mut self) {
        for delimiter in std::mem::take(&mut self.documents) {
            let mut body = String::new();
            while self.chars.peek().is_some() {
                let line = self.chars.take_while(|byte| byte != b'\n');
                self.chars.next();
                if line.trim_start_matches('\t').trim_end_matches('\r') == delimiter {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            // The command that reads it has ended with its line.
            if let Some(command) = self.done.last_mut().and_then(|pipeline| pipeline.commands.last_mut()) {
                command.stdin.push(body);
            }
        }
    }

    fn single_quoted(&mut self) {
        self.word.started = true;
        self.word.quoted = true;
        self.push_run(|byte| byte != b'\'');
        self.chars.next();
    }

    fn double_quoted(&mut self) {
        self.word.started = true;
        self.word.quoted = true;
        loop {
            self.push_run(|byte| !matches!(byte, b'"' | b'`' | b'$' | b'\\'));
            let Some(c) = self.chars.next() else { return };
            match c {
                '"' => return,
                '`' => self.backticks(),
                '$' => self.dollar(true),
                '\\' => match self.chars.next() {
                    Some(c @ ('$' | '"' | '\\' | '`')) => self.word.text.push(c),
                    Some('\n') | None => {}
                    Some(c) => self.word.text.extend(['\\', c]),
                },
                c => self.word.text.push(c),
            }
        }
    }

    fn backticks(&mut self) {
        let mut line = String::new();
        while let Some(c) = self.chars.next() {
            match c {
                '`' => break,
                '\\' => line.extend(self.chars.next()),
                c => line.push(c),
            }
        }
        self.word.text.push_str("$()");
        self.inner(line, true);
    }

    fn inner(&mut self, line: String, backticks: bool) {
        self.word.started = true;
        self.command.inner.push(Inner { line, backticks });
    }

    fn dollar(&mut self, quoted: bool) {
        match self.chars.peek() {
            Some('(') => {
                self.chars.next();
                let line = self.balanced(b'(', b')');
                self.word.text.push_str("$()");
                self.inner(line, false);
            }
            Some('{') => {
                self.chars.next();
                let expression = self.balanced(b'{', b'}');
                let end = expression.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(expression.len());
                let (name, rest) = expression.split_at(end);
                let default = rest.trim_start_matches(':').strip_prefix(['-', '=']).filter(|_| !self.is_known(name));
                match default {
                    Some(default) if default.contains(['$', '`']) && default.len() <= MAX_DEFAULT_BYTES => {
                        let default = expand(default, &self.variables);
                        self.word.text.push_str(&default.words.join(" "));
                        self.command.inner.extend(default.inner);
                    }
                    Some(default) => self.word.text.push_str(default),
                    None => self.variable(name, quoted),
                }
                self.word.started = true;
            }
            Some('\'') if !quoted => {
                self.chars.next();
                self.ansi_quoted();
            }
            Some('"') if !quoted => {}
            // What a function was called with.
            Some(c) if c.is_ascii_digit() || matches!(c, '@' | '*') => {
                self.chars.next();
                self.variable(c.encode_utf8(&mut [0; 4]), quoted);
            }
            Some(c) if c.is_alphabetic() || c == '_' => {
                let mut name = String::new();
                while let Some(c) = self.chars.next_if(|c| c.is_alphanumeric() || c == '_') {
                    name.push(c);
                }
                self.variable(&name, quoted);
            }
            _ => self.push('$'),
        }
    }

    fn is_known(&self, name: &str) -> bool {
        matches!(name, "HOME" | "IFS") || self.variables.contains_key(name)
    }

    fn variable(&mut self, name: &str, quoted: bool) {
        match (name, self.variables.get(name)) {
            ("IFS", None) if quoted => self.push(' '),
            ("IFS", None) => self.end_word(),
            (_, Some(value)) if quoted => {
                self.word.text.push_str(value);
                self.word.started = true;
            }
            // An unquoted variable is split into words.
            (_, Some(value)) => {
                for c in value.clone().chars() {
                    if c.is_whitespace() { self.end_word() } else { self.push(c) }
                }
            }
            ("HOME", None) => self.push('~'),
            (name, None) => {
                self.word.started = true;
                self.word.text.push('$');
                self.word.text.push_str(name);
            }
        }
    }

    /// `$'…'`, with C's escapes.
    fn ansi_quoted(&mut self) {
        self.word.started = true;
        self.word.quoted = true;
        while let Some(c) = self.chars.next() {
            match c {
                '\'' => return,
                '\\' => match self.chars.next() {
                    Some('n') => self.word.text.push('\n'),
                    Some('t') => self.word.text.push('\t'),
                    Some('r') => self.word.text.push('\r'),
                    Some('x') => self.coded(String::new(), 16, 2),
                    Some('u') => self.coded(String::new(), 16, 4),
                    Some('U') => self.coded(String::new(), 16, 8),
                    Some(digit @ '0'..='7') => self.coded(digit.into(), 8, 3),
                    Some(other) => self.word.text.push(other),
                    None => {}
                },
                c => self.word.text.push(c),
            }
        }
    }

    fn coded(&mut self, mut digits: String, radix: u32, most: usize) {
        while digits.len() < most
            && let Some(digit) = self.chars.next_if(|c| c.is_digit(radix))
        {
            digits.push(digit);
        }
        let decoded = u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32);
        self.word.text.extend(decoded);
    }

    /// The text up to the bracket that closes the one just read, and past it.
    fn balanced(&mut self, open: u8, close: u8) -> String {
        let mut depth = 1_usize;
        let mut quote = None;
        let mut escaped = false;
        let text = self.chars.take_while(|byte| {
            match (quote, byte) {
                _ if escaped => escaped = false,
                (Some(q), byte) if q == byte => quote = None,
                (None, b'\'' | b'"') => quote = Some(byte),
                (None | Some(b'"'), b'\\') => escaped = true,
                (None, byte) if byte == open => depth += 1,
                (None, byte) if byte == close => depth -= 1,
                _ => {}
            }
            depth > 0
        });
        self.chars.next();
        text.to_owned()
    }
}

/// `a=1 b=2` on their own set variables for what follows.
pub(crate) fn remember(variables: &mut Variables, command: &Simple) {
    let assignments: Option<Vec<_>> = command.words.iter().map(|word| assignment(word)).collect();
    for (name, value) in assignments.unwrap_or_default() {
        variables.insert(name.to_owned(), value.to_owned());
    }
}

/// `name=value`, as a shell takes it for an assignment.
#[must_use]
pub fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some((name, value))
}

/// `a{b,c}` as `ab` and `ac`; from the left, as often as it takes.
fn expand_braces(word: String) -> Vec<String> {
    let mut words = vec![word];
    let mut at = 0;
    while at < words.len() && words.len() < MAX_BRACE_WORDS {
        match expand_one(&words[at]) {
            Some(expanded) => {
                words.splice(at..=at, expanded);
            }
            None => at += 1,
        }
    }
    words
}

fn expand_one(word: &str) -> Option<Vec<String>> {
    // The innermost pair: the last `{` before the first `}` after a comma.
    let (open, close) = word.match_indices('}').find_map(|(close, _)| {
        let open = word[..close].rfind('{')?;
        word[open..close].contains(',').then_some((open, close))
    })?;
    let (head, tail) = (&word[..open], &word[close + 1..]);
    Some(word[open + 1..close].split(',').map(|part| format!("{head}{part}{tail}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words by spaces, commands by ` | `, pipelines by ` ; `.
    fn shape(line: &str) -> String {
        let pipeline = |p: &Pipeline| p.commands.iter().map(|c| c.words.join(" ")).collect::<Vec<_>>().join(" | ");
        lex(line).iter().map(pipeline).collect::<Vec<_>>().join(" ; ")
    }

    #[test]
    fn separators() {
        assert_eq!(shape("a&&b||c;d&e\nf\rg|h|&i"), "a ; b ; c ; d ; e ; f ; g | h | i");
        assert_eq!(shape("(a; b) | c"), "a ; b | c");
        assert_eq!(shape("a # b\nc#d"), "a ; c#d");
        assert_eq!(shape("a 2>&1 >x <y b"), "a b");
    }

    #[test]
    fn quotes_and_expansions() {
        assert_eq!(shape(r#"r'm' -"r"f \/ "a b" $'\x2f\057\u002f'"#), "rm -rf / a b ///");
        assert_eq!(shape("cat ${HOME}/.ssh $HOME/x"), "cat ~/.ssh ~/x");
        assert_eq!(shape("rm${IFS}-rf$IFS/"), "rm -rf /");
        assert_eq!(shape("x=rm; y='-r f'; $x $y ${x} $z ${z:-/}"), "x=rm ; y=-r f ; rm -r f rm $z /");
        assert_eq!(shape("cat /etc/{shadow,passwd} a{b,c{d,e}} {}"), "cat /etc/shadow /etc/passwd ab acd ab ace {}");
    }

    #[test]
    fn what_runs_inside_and_what_is_read() {
        let first = |line: &str| lex(line)[0].commands[0].clone();
        assert_eq!(
            first("a \"$(b 'c)' \"d\")\" `e` <(f)").inner.iter().map(|i| i.line.as_str()).collect::<Vec<_>>(),
            ["b 'c)' \"d\"", "e", "f"]
        );
        assert_eq!(first("sh <<< 'rm x'").stdin, ["rm x"]);
        assert_eq!(lex("sh <<'E'\nrm x\nE\nls")[0].commands[0].stdin, ["rm x\n"]);
        assert_eq!(shape("sh <<E\nrm x\nE\nls"), "sh ; ls");
        assert_eq!(first("a 2>/dev/x </etc/y").redirects, ["/dev/x", "/etc/y"]);
    }

    #[test]
    fn a_line_that_is_no_line_is_still_read() {
        for line in ["'", "\"", "$(", "`", "${", "<", "a |", "<<", "\\", "$'\\x", "((((", "))))"] {
            let _ = lex(line);
        }
    }
}
