//! A guard that looks for injected instructions in what a call brings.
//!
//! An agent that was talked into something passes it on: into a message, a file, a command, another agent's task. The guard
//! reads every argument, be it text, content, command, path, address or key: orders to ignore instructions, new tasks, forged
//! turns of a conversation, requests to send secrets away or to hide something from the user, orders tied to the use of a
//! tool, text that nobody sees, and base64 or escapes of any of these. Signs have points; see the crate `injection-signs`.
//!
//! By default it only advises: the call goes on, and the receipt says what was found and where. `action: ask` asks a
//! human, `action: deny` denies. Arguments that are too long to be read are treated alike: nothing goes by unread without a
//! word.
//!
//! What it does not stop: orders in words that no phrase here speaks of, in pictures, by a cipher, or spread over several
//! calls; texts that quote their orders and say that they are about such attacks. It raises the price of an attack and leaves a
//! trace of it; what an agent may do at all is for grants and other guards to say.

use chio_sdk::{Call, CommandFact, Fact, FactKind, Verdict, quote};
use injection_signs::{Collected, Custom, DEFAULT_THRESHOLD, Detector, Kind, MAX_THRESHOLD, Signs};
use serde::Deserialize;

/// The most bytes that may be read: all that the host takes for arguments.
const MAX_BYTES: usize = 1 << 20;

/// The guard's `config`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// What happens to a call that brings injected instructions.
    action: Action,
    /// How many points are enough.
    threshold: u32,
    /// More signs, each of which is enough by itself.
    patterns: Vec<Custom>,
    /// Whether `patterns` stand alone, without the built-in signs.
    replace: bool,
    /// A call with more text than this, in bytes, is treated as if it brought them.
    max_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            action: Action::Advise,
            threshold: DEFAULT_THRESHOLD,
            patterns: Vec::new(),
            replace: false,
            max_bytes: 128 << 10,
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Advise,
    Ask,
    Deny,
}

impl Action {
    fn verdict(self, found: String) -> Verdict {
        match self {
            Self::Advise => Verdict::allow().with_details(found),
            Self::Ask => Verdict::pending_approval(found),
            Self::Deny => Verdict::deny(found),
        }
    }
}

fn check(call: &Call) -> Result<Verdict, String> {
    let Config { action, threshold, patterns, replace, max_bytes } = chio_sdk::config()?;
    if !(1..=MAX_THRESHOLD).contains(&threshold) {
        return Err(format!("{threshold} is no threshold; 1 to {MAX_THRESHOLD} are"));
    }
    if !(1..=MAX_BYTES).contains(&max_bytes) {
        return Err(format!("max_bytes is {max_bytes}; 1 to {MAX_BYTES} are taken"));
    }
    let detector = Detector::new(&patterns, replace)?;
    let bytes: usize = call.facts.iter().map(length).sum();
    if bytes > max_bytes {
        return Ok(action.verdict(format!(
            "the arguments have {bytes} bytes of text, more than the {max_bytes} that are read for injected instructions"
        )));
    }
    let mut collected = Collected::default();
    for fact in &call.facts {
        collected.add(&fact.at, read(&detector, fact));
    }
    let Some((at, signs)) = collected.reach(threshold) else { return Ok(Verdict::allow()) };
    Ok(action.verdict(describe(at, signs)))
}

fn length(fact: &Fact) -> usize {
    match &fact.kind {
        FactKind::Path(path) => path.raw.len(),
        FactKind::Url(url) => url.raw.len(),
        FactKind::Command(CommandFact::Line(line)) => line.len(),
        FactKind::Command(CommandFact::Words(words)) => words.iter().map(String::len).sum(),
        FactKind::Content(text) | FactKind::Text(text) | FactKind::Key(text) => text.len(),
    }
}

fn read(detector: &Detector, fact: &Fact) -> Signs {
    match &fact.kind {
        FactKind::Path(path) => detector.read(&path.raw),
        FactKind::Url(url) => detector.read_address(&url.raw),
        FactKind::Command(CommandFact::Line(line)) => detector.read(line),
        FactKind::Command(CommandFact::Words(words)) => detector.read(&words.join(" ")),
        FactKind::Content(text) | FactKind::Text(text) | FactKind::Key(text) => detector.read(text),
    }
}

/// What was found and where, without a word of what was found.
fn describe(at: &str, signs: &Signs) -> String {
    let kinds = signs.kinds().into_iter().map(Kind::as_str).collect::<Vec<_>>().join(", ");
    let place = if at.starts_with('/') { format!("the argument at {}", quote(at)) } else { at.to_owned() };
    format!("{place} holds signs of {kinds}: it {}", signs.describe())
}

chio_sdk::guard!(check);

#[cfg(test)]
mod tests;
