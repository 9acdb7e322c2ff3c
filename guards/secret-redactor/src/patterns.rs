//! The policy's own patterns.

use regex_lite::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::forms::Hit;

/// How large one pattern may be compiled, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// A pattern, and the kind that is reported for what it matches.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Custom {
    kind: String,
    regex: String,
}

/// What is looked for.
pub(crate) struct Patterns {
    custom: Vec<(String, Regex)>,
    pub(crate) built_in: bool,
}

impl Patterns {
    /// Compiles the policy's patterns.
    pub(crate) fn new(custom: &[Custom], built_in: bool) -> Result<Self, String> {
        let custom = custom.iter().map(compile).collect::<Result<_, _>>()?;
        Ok(Self { custom, built_in })
    }

    /// Whether the policy adds none and leaves the built-in ones.
    pub(crate) fn are_built_in(&self) -> bool {
        self.custom.is_empty() && self.built_in
    }

    /// What the policy's patterns match in `text`.
    pub(crate) fn find(&self, text: &str) -> Vec<Hit> {
        let hits = |(kind, regex): &(String, Regex)| {
            regex
                .find_iter(text)
                .filter(|found| !found.is_empty())
                .map(|found| Hit::new(found.range(), kind))
                .collect::<Vec<_>>()
        };
        self.custom.iter().flat_map(hits).collect()
    }
}

fn compile(Custom { kind, regex }: &Custom) -> Result<(String, Regex), String> {
    let is_kind = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if kind.is_empty() || kind.len() > 64 || !kind.chars().all(is_kind) {
        return Err(format!(
            "\"{}\" is not a kind: it takes up to 64 letters, digits, `-` and `_`",
            chio_sdk::quote(kind)
        ));
    }
    let compiled = RegexBuilder::new(regex).size_limit(MAX_PATTERN_BYTES).build().map_err(|error| {
        format!("the pattern of {kind} cannot be compiled: {}", chio_sdk::quote(&error.to_string()))
    })?;
    if compiled.is_match("") {
        return Err(format!("the pattern of {kind} matches the empty text, and with that everything"));
    }
    Ok((kind.clone(), compiled))
}
