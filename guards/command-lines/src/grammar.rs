//! A line by bash's grammar, as brush-parser reads it: which words go to which command, however deep it lies in loops, cases,
//! functions and groups.
//!
//! Beyond the grammar, what a line does with what it says itself: a loop's body is read once for each value that stands in
//! the line, a function's once more for each call, with its arguments.

use std::collections::HashMap;

use brush_parser::ast::{
    AndOr, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList, ExtendedTestExpr, FunctionBody,
    IoFileRedirectTarget, IoHereDocument, IoRedirect, Pipeline as Piped, RedirectList, SimpleCommand, SubshellCommand,
};
use brush_parser::{Parser, ParserOptions};

use crate::lexer::{Inner, Pipeline, Simple, Variables, expand, expand_document, lex, remember};

/// A longer line is not given to the grammar, whose parser backtracks, in bytes.
const MAX_BYTES: usize = 32 << 10;
/// Nor is one that opens more than so much at once: the parser calls itself.
const MAX_OPEN: usize = 24;
/// How many commands a line may run, loops and functions counted as often as they run.
const MAX_COMMANDS: usize = 4096;
/// How deep functions may call each other.
const MAX_CALLS: usize = 4;

/// The commands of a line, by the grammar where it fits, else as they seem.
///
/// # Errors
/// It runs more than 4,096 commands, loops and functions counted as often as they run.
pub fn read(line: &str) -> Result<Vec<Pipeline>, TooMany> {
    // A carriage return ends a line for whoever pastes it, though not for bash.
    let line = line.replace("\r\n", "\n").replace('\r', "\n");
    if is_flat(&line) || line.len() > MAX_BYTES || opened_at_once(&line) > MAX_OPEN {
        return Ok(lex(&line));
    }
    parsed(&line)
}

fn parsed(line: &str) -> Result<Vec<Pipeline>, TooMany> {
    let Ok(program) = Parser::new(line.as_bytes(), &ParserOptions::default()).parse_program() else {
        return Ok(lex(line));
    };
    let mut reader = Reader::default();
    for list in &program.complete_commands {
        reader.list(list)?;
    }
    Ok(reader.done)
}

/// A line runs more commands than anybody reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// Whether a line is pipelines of plain commands and nothing else, which are the same without a grammar, and read in a
/// twentieth of the time.
fn is_flat(line: &str) -> bool {
    const RESERVED: &[&str] = &[
        "!", "[[", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
        "select", "then", "time", "until", "while",
    ];
    let is_structure = |byte: u8| matches!(byte, b'(' | b')' | b'{' | b'}' | b'`' | b'\n' | b'\\');
    let mut words = line.split([' ', '\t', ';', '|', '&']);
    !line.bytes().any(is_structure) && !line.contains("<<") && !words.any(|word| RESERVED.contains(&word))
}

/// At least as deep as any grammar would nest.
fn opened_at_once(line: &str) -> usize {
    let mut open = 0_usize;
    let mut most = 0;
    let opens = |word: &str| matches!(word, "if" | "for" | "while" | "until" | "case" | "select" | "{");
    let closes = |word: &str| matches!(word, "fi" | "done" | "esac" | "}");
    for word in line.split([' ', '\t', '\n', ';']) {
        open += usize::from(opens(word)) + word.matches(['(', '`']).count() + word.matches("${").count();
        most = most.max(open);
        open = open.saturating_sub(usize::from(closes(word)) + word.matches([')', '}']).count());
    }
    most
}

#[derive(Default)]
struct Reader {
    done: Vec<Pipeline>,
    variables: Variables,
    functions: HashMap<String, FunctionBody>,
    /// How many functions are being called.
    calls: usize,
    commands: usize,
}

impl Reader {
    fn list(&mut self, list: &CompoundList) -> Result<(), TooMany> {
        for item in &list.0 {
            self.pipeline(&item.0.first)?;
            for AndOr::And(piped) | AndOr::Or(piped) in &item.0.additional {
                self.pipeline(piped)?;
            }
        }
        Ok(())
    }

    /// What a group, a loop or a function in a pipe runs is also in the pipe itself: `(curl x) | sh`.
    fn pipeline(&mut self, piped: &Piped) -> Result<(), TooMany> {
        let mut pipeline = Pipeline::default();
        for command in &piped.seq {
            let before = self.done.len();
            let own = self.command(command)?;
            if piped.seq.len() > 1 {
                let inside = self.done.iter().skip(before).flat_map(|within| within.commands.iter().cloned());
                pipeline.commands.extend(inside);
            }
            pipeline.commands.extend(own);
        }
        if !pipeline.commands.is_empty() {
            self.done.push(pipeline);
        }
        Ok(())
    }

    /// Reads one command: what it holds is done, what it is itself is answered.
    fn command(&mut self, command: &Command) -> Result<Option<Simple>, TooMany> {
        self.commands += 1;
        if self.commands > MAX_COMMANDS {
            return Err(TooMany);
        }
        let own = match command {
            Command::Simple(simple) => self.simple(simple)?,
            Command::Compound(compound, redirects) => {
                let mut own = self.compound(compound)?;
                self.redirects(redirects.as_ref(), &mut own);
                own
            }
            Command::Function(function) => {
                let name = self.words(&function.fname.value).words;
                let defined = Simple { words: name.clone(), defines: true, ..Simple::default() };
                self.done.push(Pipeline { commands: vec![defined] });
                if let Some(name) = name.into_iter().next() {
                    self.functions.insert(name, function.body.clone());
                }
                self.body(&function.body)?
            }
            Command::ExtendedTest(test, redirects) => {
                let mut own = Simple { words: vec!["[[".to_owned()], ..Simple::default() };
                self.test(&test.expr, &mut own);
                self.redirects(redirects.as_ref(), &mut own);
                own
            }
        };
        Ok(Some(own).filter(|own| !own.is_empty()))
    }

    fn simple(&mut self, simple: &SimpleCommand) -> Result<Simple, TooMany> {
        let mut own = Simple::default();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            self.item(item, &mut own);
        }
        if let Some(name) = &simple.word_or_name {
            own.extend(self.words(&name.value));
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut own);
        }
        remember(&mut self.variables, &own);
        self.call(&own)?;
        Ok(own)
    }

    /// Reads the body of the function that is called, if it is one of the line's.
    fn call(&mut self, own: &Simple) -> Result<(), TooMany> {
        let Some((name, arguments)) = own.words.split_first() else { return Ok(()) };
        let Some(body) = self.functions.get(name).cloned() else { return Ok(()) };
        if self.calls >= MAX_CALLS || arguments.is_empty() {
            // Without arguments it is what it was where it was defined.
            return Ok(());
        }
        let outer = self.variables.clone();
        let numbered =
            arguments.iter().take(9).enumerate().map(|(n, argument)| ((n + 1).to_string(), argument.clone()));
        self.variables.extend(numbered);
        self.variables.extend(["@", "*"].map(|all| (all.to_owned(), arguments.join(" "))));
        self.calls += 1;
        let read = self.body(&body);
        self.calls -= 1;
        self.variables = outer;
        let own = read?;
        if !own.is_empty() {
            self.done.push(Pipeline { commands: vec![own] });
        }
        Ok(())
    }

    fn body(&mut self, body: &FunctionBody) -> Result<Simple, TooMany> {
        let mut own = self.compound(&body.0)?;
        self.redirects(body.1.as_ref(), &mut own);
        Ok(own)
    }

    /// What a compound command runs is done; what is answered is what stands in it outside of commands.
    fn compound(&mut self, compound: &CompoundCommand) -> Result<Simple, TooMany> {
        let mut own = Simple::default();
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => own.inner = self.words(&arithmetic.expr.value).inner,
            CompoundCommand::ArithmeticForClause(each) => {
                for expression in [&each.initializer, &each.condition, &each.updater].into_iter().flatten() {
                    own.inner.extend(self.words(&expression.value).inner);
                }
                self.list(&each.body.list)?;
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list)?,
            CompoundCommand::Subshell(group) => self.list(&group.list)?,
            CompoundCommand::ForClause(each) => {
                let mut values = Simple::default();
                for value in each.values.iter().flatten() {
                    values.extend(self.words(&value.value));
                }
                if values.words.is_empty() {
                    self.list(&each.body.list)?;
                }
                for value in std::mem::take(&mut values.words) {
                    self.variables.insert(each.variable_name.clone(), value);
                    self.list(&each.body.list)?;
                }
                own = values;
            }
            CompoundCommand::CaseClause(case) => {
                own.inner = self.words(&case.value.value).inner;
                for item in &case.cases {
                    for pattern in &item.patterns {
                        own.inner.extend(self.words(&pattern.value).inner);
                    }
                    if let Some(list) = &item.cmd {
                        self.list(list)?;
                    }
                }
            }
            CompoundCommand::IfClause(choice) => {
                self.list(&choice.condition)?;
                self.list(&choice.then)?;
                for other in choice.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        self.list(condition)?;
                    }
                    self.list(&other.body)?;
                }
            }
            CompoundCommand::WhileClause(each) | CompoundCommand::UntilClause(each) => {
                self.list(&each.0)?;
                self.list(&each.1.list)?;
            }
            CompoundCommand::Coprocess(process) => own = self.command(&process.body)?.unwrap_or_default(),
        }
        Ok(own)
    }

    fn item(&self, item: &CommandPrefixOrSuffixItem, own: &mut Simple) {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect, own),
            CommandPrefixOrSuffixItem::Word(word) | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                own.extend(self.words(&word.value));
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, process) => {
                own.words.push("$()".to_owned());
                own.inner.push(line_of(process));
            }
        }
    }

    fn redirects(&self, redirects: Option<&RedirectList>, own: &mut Simple) {
        for redirect in redirects.iter().flat_map(|redirects| &redirects.0) {
            self.redirect(redirect, own);
        }
    }

    fn redirect(&self, redirect: &IoRedirect, own: &mut Simple) {
        match redirect {
            IoRedirect::File(_, _, IoFileRedirectTarget::ProcessSubstitution(_, process)) => {
                own.inner.push(line_of(process));
            }
            IoRedirect::File(_, _, IoFileRedirectTarget::Fd(_)) => {}
            IoRedirect::File(_, _, IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word))
            | IoRedirect::OutputAndError(word, _) => {
                let target = self.words(&word.value);
                own.redirects.extend(target.words);
                own.inner.extend(target.inner);
            }
            IoRedirect::HereString(_, word) => {
                let text = self.words(&word.value);
                own.stdin.push(text.words.join(" "));
                own.inner.extend(text.inner);
            }
            IoRedirect::HereDocument(_, document) => self.document(document, own),
        }
    }

    fn document(&self, document: &IoHereDocument, own: &mut Simple) {
        if document.requires_expansion {
            let text = expand_document(&document.doc.value, &self.variables);
            own.stdin.push(text.words.concat());
            own.inner.extend(text.inner);
        } else {
            own.stdin.push(document.doc.value.clone());
        }
    }

    fn test(&self, test: &ExtendedTestExpr, own: &mut Simple) {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left, own);
                self.test(right, own);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner, own),
            ExtendedTestExpr::UnaryTest(_, word) => own.extend(self.words(&word.value)),
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                own.extend(self.words(&left.value));
                own.extend(self.words(&right.value));
            }
        }
    }

    fn words(&self, raw: &str) -> Simple {
        expand(raw, &self.variables)
    }
}

fn line_of(process: &SubshellCommand) -> Inner {
    Inner { line: process.list.to_string(), backticks: false }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Words by spaces, commands by ` | `, pipelines by ` ; `.
    fn shape(line: &str) -> String {
        let pipeline = |p: &Pipeline| p.commands.iter().map(|c| c.words.join(" ")).collect::<Vec<_>>().join(" | ");
        read(line).unwrap().iter().map(pipeline).collect::<Vec<_>>().join(" ; ")
    }

    fn inner(line: &str) -> Vec<String> {
        let commands = read(line).unwrap().into_iter().flat_map(|pipeline| pipeline.commands);
        commands.flat_map(|command| command.inner).map(|inner| inner.line).collect()
    }

    #[test]
    fn what_is_compound_runs_what_it_holds() {
        assert_eq!(shape("if a; then b | c; elif d; then e; else f; fi"), "a ; b | c ; d ; e ; f");
        assert_eq!(shape("while a; do b; done; until c; do d; done"), "a ; b ; c ; d");
        assert_eq!(shape("case $x in a|b) c ;; (d) e & ;; esac"), "c ; e");
        assert_eq!(shape("{ a; } && (b || c)"), "a ; b ; c");
        assert_eq!(shape("(a; b) | c"), "a ; b ; a | b | c");
        assert_eq!(shape("! a"), "a");
        assert_eq!(shape("coproc a"), "a");
    }

    #[test]
    fn what_a_loop_or_a_function_is_given_is_put_in() {
        assert_eq!(shape("for d in a b; do rm \"$d\" x; done"), "rm a x ; rm b x");
        assert_eq!(shape("for d; do rm $d; done"), "rm $d");
        assert_eq!(shape("f() { rm \"$1\" $2; }; f a 'b c'"), "f ; rm $1 $2 ; rm a b c ; f a b c");
        assert_eq!(shape("function f { g \"$@\"; }; f x"), "f ; g $@ ; g x ; f x");
        assert_eq!(shape("f() { f x; }; f y").matches("f x").count(), 9, "a function that calls itself has an end");
    }

    #[test]
    fn what_runs_inside_words_documents_and_tests() {
        assert_eq!(inner("for x in $(a); do b `c`; done"), ["c", "a"]);
        assert_eq!(inner("cat <<E\n$(a) \"$(b)\"\nE"), ["a", "b"]);
        assert!(inner("cat <<'E'\n$(a)\nE").is_empty());
        assert_eq!(inner("[[ -n $(a) && x == `b` ]]"), ["a", "b"]);
        assert_eq!(inner("diff <(a) <(b; c)"), ["a", "b;\nc"]);
        assert_eq!(inner("(( x = $(a) ))"), ["a"]);
        assert_eq!(inner("echo ${x:-$(a)}"), ["a"]);
    }

    #[test]
    fn where_it_reads_and_writes() {
        let all = |line: &str| {
            let commands = read(line).unwrap().into_iter().flat_map(|pipeline| pipeline.commands);
            commands.fold((Vec::new(), Vec::new()), |(mut redirects, mut stdin), command| {
                redirects.extend(command.redirects);
                stdin.extend(command.stdin);
                (redirects, stdin)
            })
        };
        let (redirects, stdin) = all("{ a; } >x 2>&1 <y &>z <<< 'd e'");
        assert_eq!((redirects.join(" "), stdin.join("")), ("x 1 y z".to_owned(), "d e".to_owned()));
        assert_eq!(all("sh <<E\nrm x\nE\nls").1, ["rm x\n"]);
    }

    #[test]
    fn a_line_for_another_shell_is_still_read() {
        assert_eq!(shape("rm -rf / ; fi"), "rm -rf / ; fi");
        assert_eq!(shape("if ($x) { rm y }"), "if | $x | { rm y }");
        assert_eq!(shape("a\rb"), "a ; b");
    }

    #[test]
    fn what_would_take_too_long_is_not_read_by_the_grammar() {
        for line in
            ["(".repeat(5_000), "$(".repeat(5_000), "if ".repeat(5_000), "{ ".repeat(5_000), "a ".repeat(50_000)]
        {
            assert!(read(&line).is_ok());
        }
        let many = "for a in {1,2,3,4,5,6,7,8}; do for b in {1,2,3,4,5,6,7,8}; do for c in {1,2,3,4,5,6,7,8}; do ";
        let line = format!("{many} for d in {{1,2,3,4,5,6,7,8}}; do a; b; done; done; done; done");
        assert_eq!(read(&line), Err(TooMany));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn any_line_is_read(line in "[a-c $(){}`'\"\\\\|;&<>=\n\u{0}é-]{0,40}") {
            let _ = read(&line);
        }

        #[test]
        fn a_flat_line_needs_no_grammar(line in "[ab'\"/$=#~*?<>&|; 12-]{0,16}") {
            if is_flat(&line) {
                prop_assert_eq!(parsed(&line).unwrap(), lex(&line));
            }
        }
    }
}
