//! Which paths name a place where secrets are kept, in whatever spelling they come.
//!
//! A library, not a guard: `forbidden-path` asks it about paths, `shell-command` about the words of a command, and
//! `path-allowlist` what a text names and how it is spelt. It looks at names alone. What a symbolic link points to is the sandbox's business, which opens files under the granted folders only.

mod builtin;
mod candidates;
mod certain;
mod list;
mod pattern;
mod spelling;

use std::borrow::Cow;

pub use candidates::{anywhere, path_like};
pub use certain::{certain_paths, certain_paths_anywhere};
pub use spelling::{Path, spellings};

use pattern::{Pattern, has_wildcard};

/// The forbidden places.
///
/// Only what the policy adds is parsed and kept; the built-in places are data. Asking them allocates no more than the
/// names of the path.
#[derive(Debug)]
pub struct Places {
    built_in: bool,
    patterns: Vec<Pattern>,
    exceptions: Vec<Pattern>,
}

/// What a place is that only the policy's patterns name.
const BY_POLICY: &str = "this host's policy";

impl Places {
    /// The built-in places.
    #[must_use]
    pub fn builtin() -> Self {
        Self { built_in: true, patterns: Vec::new(), exceptions: Vec::new() }
    }

    /// The built-in places, or none of them where `replace` says so, with `patterns` more and without `exceptions`.
    ///
    /// A pattern is a path whose names may hold `*` and `?`. It matches at any depth, and everything below what it
    /// matches; one that begins with `/` matches from the root alone, and `~/` stands for any home. An exception holds
    /// only if it begins no deeper than the place it is an exception to.
    ///
    /// # Errors
    /// Names the pattern that is not one, and says why.
    pub fn configured(patterns: &[String], replace: bool, exceptions: &[String]) -> Result<Self, String> {
        let parse = |texts: &[String]| texts.iter().map(|text| Pattern::parse(text)).collect::<Result<_, _>>();
        Ok(Self { built_in: !replace, patterns: parse(patterns)?, exceptions: parse(exceptions)? })
    }

    /// Whether it is certain at a glance that nothing in `text` names a place, as a whole or in [`path_like`] parts.
    #[must_use]
    pub fn clears(&self, text: &str) -> bool {
        self.patterns.is_empty() && builtin::names_none(text)
    }

    /// What the place is that `path` names, in any of its spellings.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<&'static str> {
        if self.clears(path) { None } else { self.find_in(&spellings(path)) }
    }

    /// What the place is that `word` names, or can name once a shell has expanded its `*`, `?` and `[…]`.
    #[must_use]
    pub fn find_expanded(&self, word: &str) -> Option<&'static str> {
        if self.clears(word) {
            return None;
        }
        let paths = spellings(word);
        self.find_in(&paths).or_else(|| {
            paths
                .iter()
                .filter(|_| has_wildcard(word))
                .find_map(|path| self.first(path, builtin::find_expanded_at, Pattern::may_match_at))
        })
    }

    fn find_in(&self, paths: &[Path<'_>]) -> Option<&'static str> {
        paths.iter().find_map(|path| self.first(path, builtin::find_at, Pattern::matches_at))
    }

    fn first(
        &self,
        path: &Path<'_>,
        built_in: impl Fn(&[Cow<'_, str>]) -> Option<&'static str>,
        matches: impl Fn(&Pattern, &Path<'_>, usize) -> bool,
    ) -> Option<&'static str> {
        for start in 0..path.names.len() {
            // An exception that begins further down would let a caller talk its way out by the name of a file.
            if self.exceptions.iter().any(|exception| exception.matches_at(path, start)) {
                return None;
            }
            let by_policy = || self.patterns.iter().any(|pattern| matches(pattern, path, start)).then_some(BY_POLICY);
            let found = self.built_in.then(|| built_in(&path.names[start..])).flatten().or_else(by_policy);
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
