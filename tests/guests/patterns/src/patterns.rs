//! What both versions of the guard have in common.

use chio_sdk::{Call, Verdict};
use regex_lite::Regex;
use serde::Deserialize;

/// What stands under `config` in the policy.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    deny: Vec<String>,
}

/// Patterns that no string of a call may match.
pub(crate) struct Patterns(Vec<Regex>);

impl Patterns {
    pub(crate) fn compile(config: &Config) -> Result<Self, String> {
        let compile = |text: &String| Regex::new(text).map_err(|why| format!("\"{text}\" is not a pattern: {why}"));
        config.deny.iter().map(compile).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn judge(&self, call: &Call) -> Verdict {
        for fact in &call.facts {
            let text = fact.kind.raw();
            if let Some(pattern) = self.0.iter().find(|pattern| pattern.is_match(&text)) {
                return Verdict::deny(format!("what stands at \"{}\" matches {}", fact.at, pattern.as_str()));
            }
        }
        Verdict::allow()
    }
}
