//! The policy's own patterns and exceptions.

use std::borrow::Cow;

use regex_lite::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::finder::Hit;

/// How large one pattern may be compiled, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;
/// The longest pattern, in bytes.
const MAX_BYTES: usize = 4 << 10;
/// How many patterns there may be, and how many exceptions.
const MAX_PATTERNS: usize = 64;

/// A pattern, and the kind that is reported for what it matches.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Custom {
    /// Up to 64 letters, digits, `-` and `_`.
    pub kind: String,
    /// A regular expression.
    pub regex: String,
}

/// What a policy adds to what is looked for, and what it takes away.
#[derive(Debug)]
pub struct Patterns {
    custom: Vec<(String, Regex)>,
    exceptions: Vec<Regex>,
}

impl Patterns {
    /// Compiles a policy's patterns and exceptions.
    ///
    /// # Errors
    /// Names what is no pattern, and says why.
    pub fn new(custom: &[Custom], exceptions: &[String]) -> Result<Self, String> {
        for (what, count) in [("patterns", custom.len()), ("exceptions", exceptions.len())] {
            if count > MAX_PATTERNS {
                return Err(format!("{count} {what}; at most {MAX_PATTERNS} are taken"));
            }
        }
        Ok(Self {
            custom: custom.iter().map(pattern).collect::<Result<_, _>>()?,
            exceptions: exceptions.iter().map(|text| exception(text)).collect::<Result<_, _>>()?,
        })
    }

    /// Whether the policy adds no pattern.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.custom.is_empty()
    }

    /// What the policy's patterns match in `text`.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<Hit> {
        if self.custom.is_empty() {
            return Vec::new();
        }
        let hits = |(kind, regex): &(String, Regex)| {
            regex
                .find_iter(text)
                .filter(|found| !found.is_empty())
                .map(|found| Hit { range: found.range(), kind: Cow::Owned(kind.clone()) })
                .collect::<Vec<_>>()
        };
        self.custom.iter().flat_map(hits).collect()
    }

    /// Whether something that was found is one of the policy's exceptions.
    #[must_use]
    pub fn excepts(&self, value: &str) -> bool {
        self.exceptions.iter().any(|exception| exception.is_match(value))
    }

    /// Leaves out the hits in `text` that are exceptions.
    pub fn without_exceptions(&self, text: &str, hits: &mut Vec<Hit>) {
        if !self.exceptions.is_empty() {
            hits.retain(|hit| !text.get(hit.range.clone()).is_some_and(|value| self.excepts(value)));
        }
    }
}

fn pattern(Custom { kind, regex }: &Custom) -> Result<(String, Regex), String> {
    let is_kind = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if kind.is_empty() || kind.len() > 64 || !kind.chars().all(is_kind) {
        return Err(format!("{} is not a kind: it takes up to 64 letters, digits, `-` and `_`", quoted(kind)));
    }
    let compiled = compile(regex).map_err(|why| format!("the pattern of {kind} {why}"))?;
    if compiled.is_match("") {
        return Err(format!("the pattern of {kind} matches the empty text, and with that everything"));
    }
    Ok((kind.clone(), compiled))
}

/// An exception is for a whole value, so that it is none for what merely contains it.
fn exception(regex: &str) -> Result<Regex, String> {
    const ANYTHING: [&str; 2] = ["", "Any 1 v@lue.\u{1}"];
    // By itself first: `a)|(b` is no expression, and would be one in parentheses.
    compile(regex)
        .and_then(|_| compile(&format!("^(?:{regex})$")))
        .and_then(|compiled| {
            let is_for_all = ANYTHING.iter().any(|text| compiled.is_match(text));
            if is_for_all { Err("is one for everything".to_owned()) } else { Ok(compiled) }
        })
        .map_err(|why| format!("the exception {} {why}", quoted(regex)))
}

fn compile(regex: &str) -> Result<Regex, String> {
    if regex.len() > MAX_BYTES {
        return Err(format!("is longer than {MAX_BYTES} bytes"));
    }
    let compiled = RegexBuilder::new(regex).size_limit(MAX_COMPILED_BYTES).build();
    compiled.map_err(|error| {
        format!("cannot be compiled: {}", error.to_string().split_whitespace().collect::<Vec<_>>().join(" "))
    })
}

fn quoted(text: &str) -> String {
    const CHARS: usize = 80;
    let shown: String = text.chars().take(CHARS).collect();
    format!("{shown:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(kind: &str, regex: &str) -> Result<Patterns, String> {
        Patterns::new(&[Custom { kind: kind.into(), regex: regex.into() }], &[])
    }

    #[test]
    fn a_pattern_has_a_kind_and_matches_something() {
        let found = patterns("badge", "B-[0-9]{4}").unwrap().find("B-1234, B-5678");
        assert_eq!(found.iter().map(|hit| hit.range.clone()).collect::<Vec<_>>(), [0..6, 8..14]);
        for (kind, regex) in [("x", "("), ("x", "a*"), ("a b", "a"), ("", "a"), ("x", "(a{1000}){1000}")] {
            assert!(patterns(kind, regex).is_err(), "{kind} {regex}");
        }
        assert!(patterns("x", &"a".repeat(MAX_BYTES + 1)).is_err());
    }

    #[test]
    fn an_exception_is_for_a_whole_value() {
        let patterns = Patterns::new(&[], &["sk_test_.*".into(), "a|b".into()]).unwrap();
        for (value, is) in [("sk_test_1", true), ("xsk_test_1", false), ("a", true), ("ab", false), ("xb", false)] {
            assert_eq!(patterns.excepts(value), is, "{value}");
        }
        for wrong in ["(", "a)|(b", ".*", ".+", "", "(?s).*"] {
            assert!(Patterns::new(&[], &[wrong.into()]).is_err(), "{wrong}");
        }
        assert!(Patterns::new(&[], &vec!["x".into(); MAX_PATTERNS + 1]).is_err());
    }
}
