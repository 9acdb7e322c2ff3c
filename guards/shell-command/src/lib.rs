//! A guard that denies shell commands which destroy a system, hand it to somebody else, or read its secrets.
//!
//! A `command` is read as a shell would: words, quotes, expansions, pipes, what runs inside and behind wrappers. A `text`
//! that nobody described is read so too, and refused for what can only be such a command. `content`, keys, paths and URLs
//! are other guards' subjects.
//!
//! What it does not stop: a script that is written first and run later, a program that does the same by itself, and a
//! command that is put together from parts which only the running shell knows. It raises the price; the sandbox and the
//! granted permissions are the wall.

mod judge;
mod rules;

use chio_sdk::{Call, CommandFact, FactKind, Verdict};
use regex_lite::{Regex, RegexBuilder};
use secret_places::Places;
use serde::Deserialize;

use judge::{Danger, Judge};

/// A command longer than this, in bytes, is refused: nobody can read it. A text so long is not a command.
const MAX_BYTES: usize = 256 << 10;
/// How large one of the policy's patterns may be compiled, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// The guard's `config`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// Regular expressions; a command that one of them matches is denied.
    deny: Vec<String>,
    /// Whether `deny` stands alone, without the built-in rules.
    replace: bool,
}

fn check(call: &Call) -> Result<Verdict, String> {
    let Config { deny, replace } = chio_sdk::config()?;
    let deny = deny.iter().map(|pattern| compile(pattern)).collect::<Result<Vec<_>, _>>()?;
    let places = (!replace).then(Places::builtin);
    let danger = call.facts.iter().find_map(|fact| judge(places.as_ref(), &deny, &fact.kind));
    Ok(danger.map_or_else(Verdict::allow, |danger| Verdict::deny(format!("the command is refused: {}", danger.what))))
}

fn judge(places: Option<&Places>, deny: &[Regex], fact: &FactKind) -> Option<Danger> {
    let judge = |is_command| Judge { places, deny, is_command };
    match fact {
        FactKind::Command(CommandFact::Line(line)) => command_line(&judge(true), line),
        FactKind::Command(CommandFact::Words(words)) => match words.as_slice() {
            // One word with spaces is a line that somebody put into a list.
            [line] => command_line(&judge(true), line),
            words if words.iter().map(String::len).sum::<usize>() > MAX_BYTES => too_long(),
            words => judge(true).words(words),
        },
        // One word by itself is dangerous only where it is known to be a command (`reboot`).
        FactKind::Text(text) if deny.is_empty() && command_lines::is_plain_word(text) => None,
        FactKind::Text(text) if text.len() <= MAX_BYTES => judge(false).line(text),
        _ => None,
    }
}

fn command_line(judge: &Judge<'_>, line: &str) -> Option<Danger> {
    if line.len() > MAX_BYTES { too_long() } else { judge.line(line) }
}

fn too_long() -> Option<Danger> {
    Danger::likely(format!("it is longer than {MAX_BYTES} bytes"))
}

fn compile(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build().map_err(|error| {
        format!("\"{}\" is not a pattern: {}", chio_sdk::quote(pattern), chio_sdk::quote(&error.to_string()))
    })
}

chio_sdk::guard!(check);

#[cfg(test)]
mod tests;
