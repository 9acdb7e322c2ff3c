//! The pattern language: names with `*` and `?`, matched name by name.

use std::borrow::Cow;

use wildcards::wildcard;

use crate::spelling::{Path, fold};

/// The longest pattern, in bytes.
const MAX_BYTES: usize = 512;

/// A pattern that a policy gives. The built-in ones are texts that are matched step by step.
#[derive(Debug, PartialEq)]
pub(crate) struct Pattern {
    steps: Vec<String>,
    from_root: bool,
}

impl Pattern {
    /// Reads a pattern, folded as paths are.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let bad = |why: &str| {
            let shown: String = text.chars().filter(|c| !c.is_control()).take(80).collect();
            Err(format!("\"{shown}\" is not a pattern: {why}"))
        };
        if text.len() > MAX_BYTES {
            return bad("it is longer than 512 bytes");
        }
        if text.chars().any(char::is_control) {
            return bad("it contains a control character");
        }
        let text = text.trim();
        let from_root = text.starts_with('/');
        let rest = text.strip_prefix("~/").unwrap_or(text);
        let names: Vec<String> = rest.split('/').filter(|name| !name.is_empty()).map(fold).collect();
        if names.is_empty() {
            return bad("it names nothing");
        }
        if names.iter().any(|name| name == "." || name == "..") {
            return bad("`.` and `..` never match, because paths are judged without them");
        }
        if names.iter().any(|name| name.contains(['[', ']', '{', '}', '\\'])) {
            return bad(
                "only `*` and `?` are special in it, and `[`, `{` and `\\` are refused lest they be taken for it",
            );
        }
        if names.iter().all(|name| name.chars().all(|c| c == '*')) {
            return bad("it would match every path");
        }
        Ok(Self { steps: names, from_root })
    }

    #[cfg(test)]
    pub(crate) fn of_steps(steps: &[&str]) -> Self {
        Self { steps: steps.iter().map(ToString::to_string).collect(), from_root: false }
    }

    /// Whether the pattern matches the names of `path` from `start` on, or something above what they name.
    pub(crate) fn matches_at(&self, path: &Path<'_>, start: usize) -> bool {
        self.may_begin_at(path, start) && steps_match(&self.steps, &path.names[start..])
    }

    /// Whether it could match them once their own wildcards are expanded.
    pub(crate) fn may_match_at(&self, path: &Path<'_>, start: usize) -> bool {
        self.may_begin_at(path, start) && may_match_steps(&self.steps, &path.names[start..])
    }

    fn may_begin_at(&self, path: &Path<'_>, start: usize) -> bool {
        !self.from_root || (start == 0 && path.from_root)
    }
}

/// Whether each step matches a name, from the first.
pub(crate) fn steps_match(steps: &[impl AsRef<str>], names: &[Cow<'_, str>]) -> bool {
    names.len() >= steps.len() && steps.iter().zip(names).all(|(step, name)| wildcard(step.as_ref(), name))
}

/// Whether each step could match a name once the names' own wildcards are expanded. Wildcards that say next to nothing
/// (`*`, `.*`, `*.json`) do not count: they name everything, not this place, so that half of it has to be spelt out, and
/// more where a `*` comes first.
pub(crate) fn may_match_steps(steps: &[impl AsRef<str>], names: &[Cow<'_, str>]) -> bool {
    const TELLING_CHARS: usize = 3;
    let Some(names) = names.get(..steps.len()) else { return false };
    let fits = |step: &str, name: &str| wildcard(step, name) || (has_wildcard(name) && may_be(step, name));
    let spelt: usize = names.iter().map(|name| telling_chars(name)).sum();
    let is_open = names.iter().any(|name| name.starts_with('*') && name.len() > 1);
    let wanted: usize = steps.iter().map(|step| telling_chars(step.as_ref())).sum();
    steps.iter().zip(names).all(|(step, name)| fits(step.as_ref(), name))
        && names.iter().any(|name| has_wildcard(name))
        && steps.iter().zip(names).all(|(step, name)| step.as_ref() == "*" || telling_chars(name) > 0)
        && spelt >= TELLING_CHARS
        && 2 * spelt >= wanted + usize::from(is_open)
}

/// How many characters of a name say something.
pub(crate) fn telling_chars(name: &str) -> usize {
    name.chars().filter(|c| !matches!(c, '*' | '?' | '[' | ']' | '.')).count()
}

/// Whether a shell may expand the word to something else.
pub(crate) fn has_wildcard(word: &str) -> bool {
    word.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

/// Whether a shell may expand `glob` to something that the step matches: what is certain of the step is tried as a name. A
/// wildcard at the beginning stands for no dot, and none for the short name of something else.
fn may_be(step: &str, glob: &str) -> bool {
    if step.contains('~') || (step.starts_with('.') && !glob.starts_with('.')) {
        return false;
    }
    let is_plain = |text: &&str| !text.contains(['*', '?']);
    let certain = match (step.strip_prefix('*'), step.strip_suffix('*')) {
        (Some(suffix), None) => Some(suffix).filter(is_plain),
        (None, Some(prefix)) => Some(prefix).filter(is_plain),
        _ => None,
    };
    let certain = certain.unwrap_or(step);
    if glob.contains('[') { wildcard(&without_sets(glob), certain) } else { wildcard(glob, certain) }
}

/// A shell's `[…]` as `?`, which matches more.
fn without_sets(glob: &str) -> String {
    let mut plain = String::new();
    let mut rest = glob;
    while let Some((before, after)) = rest.split_once('[') {
        plain.push_str(before);
        plain.push('?');
        rest = after.split_once(']').map_or("", |(_, rest)| rest);
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_pattern_says_why() {
        for text in ["", "/", "*", "**/*", "a/../b", "./a", "[ab]", "{a,b}", "a\u{1}", "~/"] {
            assert!(Pattern::parse(text).unwrap_err().contains("is not a pattern"), "{text}");
        }
        assert!(Pattern::parse(&"a".repeat(600)).is_err());
    }
}
