//! Which paths name a place where secrets are kept, in whatever spelling they come.
//!
//! A library, not a guard: `forbidden-path` asks it about paths, `shell-command` about the words of a command. It looks at
//! names alone. What a symbolic link points to is the sandbox's business, which opens files under the granted folders only.

mod builtin;
mod candidates;
mod pattern;
mod spelling;

pub use candidates::{anywhere, path_like};
pub use spelling::{Path, spellings};

use pattern::Pattern;

/// A rule: what it matches, what it leaves out again, and what to tell the caller.
#[derive(Debug)]
struct Rule {
    pattern: Pattern,
    except: Vec<Pattern>,
    what: String,
}

/// The forbidden places.
#[derive(Debug)]
pub struct Places {
    rules: Vec<Rule>,
    exceptions: Vec<Pattern>,
}

impl Places {
    /// The built-in places.
    #[must_use]
    pub fn builtin() -> Self {
        Self { rules: builtin::rules(), exceptions: Vec::new() }
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
        let mut places = if replace { Self { rules: Vec::new(), exceptions: Vec::new() } } else { Self::builtin() };
        for pattern in patterns {
            let rule =
                Rule { pattern: Pattern::parse(pattern)?, except: Vec::new(), what: "this host's policy".into() };
            places.rules.push(rule);
        }
        places.exceptions = exceptions.iter().map(|pattern| Pattern::parse(pattern)).collect::<Result<_, _>>()?;
        Ok(places)
    }

    /// What the place is that `path` names, in any of its spellings.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<&str> {
        spellings(path).iter().find_map(|path| self.find_by(path, Pattern::matches_at))
    }

    /// What the place is that `word` names, or can name once a shell has expanded its `*`, `?` and `[…]`.
    #[must_use]
    pub fn find_expanded(&self, word: &str) -> Option<&str> {
        let has_wildcard = word.contains(['*', '?', '[']);
        self.find(word).or_else(|| {
            spellings(word).iter().filter(|_| has_wildcard).find_map(|path| self.find_by(path, Pattern::may_match_at))
        })
    }

    fn find_by(&self, path: &Path, matches: impl Fn(&Pattern, &Path, usize) -> bool) -> Option<&str> {
        for start in 0..path.names.len() {
            // An exception that begins further down would let a caller talk its way out by the name of a file.
            if self.exceptions.iter().any(|exception| exception.matches_at(path, start)) {
                return None;
            }
            let found = self.rules.iter().find(|rule| {
                matches(&rule.pattern, path, start) && !rule.except.iter().any(|except| except.matches_at(path, start))
            });
            if let Some(rule) = found {
                return Some(&rule.what);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
