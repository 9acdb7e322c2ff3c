//! Judging a line, and the lines within it.

use std::collections::HashSet;

use command_lines::{Effective, Pipeline, Simple, is_shell, lex, unwrap};
use secret_places::Places;

use crate::rules;

/// How deep lines may lie within lines.
const MAX_DEPTH: usize = 8;
/// How many lines one argument may hold: each nested line is read again, and this bounds the work.
const MAX_LINES: usize = 256;

/// Why a command is refused.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Danger {
    /// What it does, as the caller will read it.
    pub(crate) what: String,
    /// Whether it can be nothing else, so that it is refused also in a text that nobody described as a command.
    pub(crate) certain: bool,
}

#[expect(clippy::unnecessary_wraps, reason = "every rule answers with an option, and this is how it says yes")]
impl Danger {
    pub(crate) fn certain(what: impl Into<String>) -> Option<Self> {
        Some(Self { what: what.into(), certain: true })
    }

    pub(crate) fn likely(what: impl Into<String>) -> Option<Self> {
        Some(Self { what: what.into(), certain: false })
    }
}

/// What is judged, and by what.
pub(crate) struct Judge<'a> {
    /// The built-in rules; none where the policy replaces them.
    pub(crate) places: Option<&'a Places>,
    /// The policy's own.
    pub(crate) deny: &'a [regex_lite::Regex],
    /// Whether the text is known to be a command.
    pub(crate) is_command: bool,
}

/// What the commands so far leave for the later ones.
#[derive(Default)]
pub(crate) struct Seen {
    /// Files that hold what was downloaded.
    pub(crate) downloads: HashSet<String>,
    /// Functions that the line defines.
    functions: HashSet<String>,
    lines: usize,
}

impl Judge<'_> {
    /// Why the line is refused, if it is.
    pub(crate) fn line(&self, line: &str) -> Option<Danger> {
        self.policy(line).or_else(|| self.nested(line, 0, &mut Seen::default()))
    }

    /// Why the argument vector is refused, if it is.
    pub(crate) fn words(&self, words: &[String]) -> Option<Danger> {
        let command = Simple { words: words.to_vec(), ..Simple::default() };
        let policy = if self.deny.is_empty() { None } else { self.policy(&words.join(" ")) };
        policy.or_else(|| self.pipeline(&Pipeline { commands: vec![command] }, 0, &mut Seen::default()))
    }

    fn policy(&self, text: &str) -> Option<Danger> {
        let pattern = self.deny.iter().find(|pattern| pattern.is_match(text))?;
        Danger::certain(format!("it matches this host's pattern {}", chio_sdk::quote(pattern.as_str())))
    }

    fn policy_on(&self, command: &Effective<'_>) -> Option<Danger> {
        if self.deny.is_empty() {
            return None;
        }
        self.policy(&format!("{} {}", command.program, command.arguments.join(" ")))
    }

    /// Whether a danger refuses what is judged. A likely one in a text must not hide a certain one behind it, so it is
    /// passed over where it is met.
    fn counts(&self, danger: Option<Danger>) -> Option<Danger> {
        danger.filter(|danger| self.is_command || danger.certain)
    }

    fn nested(&self, line: &str, depth: usize, seen: &mut Seen) -> Option<Danger> {
        seen.lines += 1;
        if depth > MAX_DEPTH || seen.lines > MAX_LINES {
            return self.counts(Danger::likely("it holds commands within commands, too many to read"));
        }
        lex(line).iter().find_map(|pipeline| self.pipeline(pipeline, depth, seen))
    }

    fn pipeline(&self, pipeline: &Pipeline, depth: usize, seen: &mut Seen) -> Option<Danger> {
        let commands: Vec<(&Simple, Effective<'_>)> =
            pipeline.commands.iter().map(|command| (command, with_piped_arguments(pipeline, command))).collect();
        let built_in = |seen: &Seen| {
            self.places?;
            fork_bomb(&commands, seen).or_else(|| rules::pipeline(&commands))
        };
        if let Some(danger) = self.counts(built_in(seen)) {
            return Some(danger);
        }
        for (index, (simple, effective)) in commands.iter().enumerate() {
            if simple.defines {
                seen.functions.extend(simple.words.last().cloned());
            }
            let danger = self
                .policy_on(effective)
                .or_else(|| self.counts(self.places.and_then(|places| rules::command(places, simple, effective, seen))))
                .or_else(|| {
                    let fed = fed_lines(&commands, index);
                    let inner = simple.inner.iter().filter(|inner| self.is_command || !inner.backticks);
                    let lines = inner.map(|inner| &inner.line).chain(&effective.lines).chain(&fed);
                    lines.map(String::as_str).find_map(|line| self.nested(line, depth + 1, seen))
                });
            if danger.is_some() {
                return danger;
            }
        }
        rules::remember_downloads(&commands, seen);
        None
    }
}

/// A command without wrappers; where xargs feeds it what an `echo` says, with that too.
fn with_piped_arguments<'a>(pipeline: &Pipeline, command: &'a Simple) -> Effective<'a> {
    let mut effective = unwrap(&command.words);
    if effective.from_stdin {
        let said = pipeline.commands.iter().take_while(|other| !std::ptr::eq(*other, command)).filter_map(said_by);
        let words = said.flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        effective.arguments.extend(words);
    }
    effective
}

/// What a command prints, where that is plain.
fn said_by(command: &Simple) -> Option<String> {
    let effective = unwrap(&command.words);
    matches!(effective.name.as_str(), "echo" | "printf").then(|| effective.arguments.join(" "))
}

/// The lines that a shell reads from what is before it in the pipeline, or from a here-document.
fn fed_lines(commands: &[(&Simple, Effective<'_>)], index: usize) -> Vec<String> {
    let (simple, effective) = &commands[index];
    if !is_shell(&effective.name) {
        return Vec::new();
    }
    commands[..index].iter().filter_map(|(before, _)| said_by(before)).chain(simple.stdin.iter().cloned()).collect()
}

/// `:(){ :|:& };:` under any name.
fn fork_bomb(commands: &[(&Simple, Effective<'_>)], seen: &Seen) -> Option<Danger> {
    // A brace without a space is no brace to bash, but is to others.
    let is_call = |effective: &Effective<'_>, name: &str| effective.program.trim_start_matches('{') == name;
    let calls_itself = |name: &String| commands.iter().filter(|(_, effective)| is_call(effective, name)).count() > 1;
    if seen.functions.iter().any(calls_itself) { Danger::certain("it is a fork bomb") } else { None }
}
