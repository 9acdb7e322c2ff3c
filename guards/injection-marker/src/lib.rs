//! An output hook that finds injected instructions in what tools return: in a page, a mail, an issue, a file.
//!
//! It reads every string and key of the output for the signs of the crate `injection-signs`, also where a string is itself
//! JSON. By default an output with injected instructions is withheld until a human releases it. `action: block` blocks it.
//! `action: mark` lets it out with a frame around every string that holds them, which says that they are data and to
//! be followed by nobody; characters that nobody sees are taken out of it, and marks of turns broken. The output's shape stays,
//! but a string that was JSON by itself is none in its frame. A key cannot be framed, so such an output is withheld, and so is one that holds orders at thousands of places.
//!
//! What it does not find: orders in words that no phrase speaks of, in pictures or by a cipher, broken in the middle over two
//! strings, or quoted in a text that says it is about such attacks. A mark is a word to a model, not a wall. An output that is too
//! large to read is blocked, never passed unread.

mod mark;
mod walk;

use chio_sdk::{Call, HookVerdict, quote};
use injection_signs::{Custom, DEFAULT_THRESHOLD, Detector, Kind, MAX_THRESHOLD, Signs};
use serde::Deserialize;
use serde_json::Value;

use walk::Walk;

/// The most bytes that may be read: all that the host takes for an output.
const MAX_BYTES: usize = 16 << 20;

/// The hook's `config`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// What happens to an output that holds injected instructions.
    action: Action,
    /// How many points are enough.
    threshold: u32,
    /// More signs, each of which is enough by itself.
    patterns: Vec<Custom>,
    /// Whether `patterns` stand alone, without the built-in signs.
    replace: bool,
    /// An output larger than this, in bytes, is blocked.
    max_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            action: Action::Escalate,
            threshold: DEFAULT_THRESHOLD,
            patterns: Vec::new(),
            replace: false,
            max_bytes: 4 << 20,
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Escalate,
    Block,
    Mark,
}

fn inspect(_call: &Call, output: &str) -> Result<HookVerdict, String> {
    let Config { action, threshold, patterns, replace, max_bytes } = chio_sdk::config()?;
    if !(1..=MAX_THRESHOLD).contains(&threshold) {
        return Err(format!("{threshold} is no threshold; 1 to {MAX_THRESHOLD} are"));
    }
    if !(1..=MAX_BYTES).contains(&max_bytes) {
        return Err(format!("max_bytes is {max_bytes}; 1 to {MAX_BYTES} are taken"));
    }
    let detector = Detector::new(&patterns, replace)?;
    if output.len() > max_bytes {
        let size = output.len();
        return Ok(HookVerdict::block(format!(
            "the output has {size} bytes, more than the {max_bytes} that are read for injected instructions"
        )));
    }
    let mut value: Value = serde_json::from_str(output).map_err(|error| format!("the output is not JSON: {error}"))?;
    let walk = Walk::over(&value, &detector);
    let Some((at, signs)) = walk.collected().reach(threshold) else { return Ok(HookVerdict::allow()) };
    let reason = describe(at, signs);
    Ok(match action {
        Action::Escalate => HookVerdict::escalate(reason),
        Action::Block => HookVerdict::block(reason),
        Action::Mark => match walk.places(threshold) {
            Ok(places) => {
                let what = mark::mark(&mut value, &places);
                HookVerdict::redact(&value, what)
            }
            Err(why) => HookVerdict::escalate(format!("{reason} ({why})")),
        },
    })
}

/// What was found and where, without a word of what was found.
fn describe(at: &str, signs: &Signs) -> String {
    let kinds = signs.kinds().into_iter().map(Kind::as_str).collect::<Vec<_>>().join(", ");
    let place = match at {
        "" => "the output".to_owned(),
        at if at.starts_with('/') => format!("the output at {}", quote(at)),
        several => format!("the output, in {several},"),
    };
    format!("{place} holds signs of {kinds}: it {}", signs.describe())
}

chio_sdk::hook!(inspect);

#[cfg(test)]
mod tests;
