//! The policy's own patterns.

use regex_lite::{Regex, RegexBuilder};
use serde::Deserialize;

/// The most patterns.
const MAX_PATTERNS: usize = 100;
/// How large one may be compiled, in bytes.
const MAX_PATTERN_BYTES: usize = 256 << 10;

/// A pattern, and what reasons call it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Custom {
    /// Up to 64 letters, digits, `-` and `_`.
    pub name: String,
    /// A regular expression. What it matches is a sign that is enough by itself.
    pub regex: String,
}

#[derive(Debug)]
pub(crate) struct Patterns(Vec<(String, Regex)>);

impl Patterns {
    pub(crate) fn new(custom: &[Custom]) -> Result<Self, String> {
        if custom.len() > MAX_PATTERNS {
            return Err(format!("there are {} patterns; at most {MAX_PATTERNS} are taken", custom.len()));
        }
        custom.iter().map(compile).collect::<Result<_, _>>().map(Self)
    }

    /// The names of the patterns that match.
    pub(crate) fn matching<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(|(_, regex)| regex.is_match(text)).map(|(name, _)| name.as_str())
    }
}

fn compile(Custom { name, regex }: &Custom) -> Result<(String, Regex), String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_name) {
        return Err("a pattern has no usable name: it takes 1 to 64 letters, digits, `-` and `_`".into());
    }
    // What the compiler says of a pattern is several lines long.
    let compiled = RegexBuilder::new(regex)
        .size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|error| format!("the pattern {name} cannot be compiled: {}", error.to_string().replace('\n', " ")))?;
    if compiled.is_match("") {
        return Err(format!("the pattern {name} matches the empty text, and with that everything"));
    }
    Ok((name.clone(), compiled))
}
