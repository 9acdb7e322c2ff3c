//! The pattern language: names with `*` and `?`, matched name by name.

use crate::spelling::{Path, fold};

/// The longest pattern, in bytes.
const MAX_BYTES: usize = 512;

#[derive(Debug)]
pub(crate) struct Pattern {
    names: Vec<Name>,
    from_root: bool,
}

/// One name of a pattern, by the cheapest way to match it: most are plain, and every path meets every pattern.
#[derive(Debug)]
enum Name {
    Plain(String),
    /// `x*`
    Prefix(String),
    /// `*x`
    Suffix(String),
    Glob(String),
}

impl Name {
    fn new(text: String) -> Self {
        let is_plain = |text: &str| !text.contains(['*', '?']);
        match (text.strip_prefix('*'), text.strip_suffix('*')) {
            _ if is_plain(&text) => Self::Plain(text),
            (Some(suffix), None) if is_plain(suffix) => Self::Suffix(suffix.to_owned()),
            (None, Some(prefix)) if is_plain(prefix) => Self::Prefix(prefix.to_owned()),
            _ => Self::Glob(text),
        }
    }

    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Plain(plain) => plain == name,
            Self::Prefix(prefix) => name.starts_with(prefix.as_str()),
            Self::Suffix(suffix) => name.ends_with(suffix.as_str()),
            Self::Glob(glob) => wildcard(glob, name),
        }
    }

    /// Whether a shell may expand `glob` to something that this matches: what is certain of this is tried as a name.
    fn may_be(&self, glob: &str) -> bool {
        let (Self::Plain(text) | Self::Prefix(text) | Self::Suffix(text) | Self::Glob(text)) = self;
        wildcard(glob, text)
    }
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
        Ok(Self { names: names.into_iter().map(Name::new).collect(), from_root })
    }

    /// Whether the pattern matches the names of `path` from `start` on, or something above what they name.
    pub(crate) fn matches_at(&self, path: &Path, start: usize) -> bool {
        self.window(path, start).is_some_and(|names| self.names.iter().zip(names).all(|(own, name)| own.matches(name)))
    }

    /// Whether it could match them once their own wildcards are expanded. Wildcards that say next to nothing (`*`, `.*`)
    /// do not count: they name everything, not this place.
    pub(crate) fn may_match_at(&self, path: &Path, start: usize) -> bool {
        const TELLING_CHARS: usize = 3;
        let Some(names) = self.window(path, start) else { return false };
        if !names.iter().any(|name| name.contains(['*', '?', '['])) {
            return false;
        }
        let telling = |name: &String| name.chars().filter(|c| !"*?[].".contains(*c)).count();
        names.iter().all(|name| telling(name) > 0)
            && names.iter().map(telling).sum::<usize>() >= TELLING_CHARS
            && self.names.iter().zip(names).all(|(own, name)| {
                own.matches(name) || (name.contains(['*', '?', '[']) && own.may_be(&without_sets(name)))
            })
    }

    fn window<'a>(&self, path: &'a Path, start: usize) -> Option<&'a [String]> {
        if self.from_root && !(start == 0 && path.from_root) {
            return None;
        }
        path.names.get(start..start + self.names.len())
    }
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

/// Whether `text` matches `glob`, in time linear in each for every `*`.
fn wildcard(glob: &str, text: &str) -> bool {
    let (glob, text): (Vec<char>, Vec<char>) = (glob.chars().collect(), text.chars().collect());
    let (mut g, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match glob.get(g) {
            Some('*') => {
                retry = Some((g, t));
                g += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => {
                g += 1;
                t += 1;
            }
            _ => {
                // The last `*` takes one character more.
                let Some((star, taken)) = retry else { return false };
                retry = Some((star, taken + 1));
                g = star + 1;
                t = taken + 1;
            }
        }
    }
    glob[g..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards() {
        for (glob, text) in
            [("*.pem", "a.pem"), ("id_?sa", "id_rsa"), ("*", ""), ("a*b*c", "a12b3bc"), (".env.*", ".env.x.y")]
        {
            assert!(wildcard(glob, text), "{glob} {text}");
        }
        for (glob, text) in [("*.pem", "a.pem.txt"), ("id_?sa", "id_sa"), ("a*b", "acbd"), ("", "a")] {
            assert!(!wildcard(glob, text), "{glob} {text}");
        }
    }

    #[test]
    fn what_is_not_a_pattern_says_why() {
        for text in ["", "/", "*", "**/*", "a/../b", "./a", "[ab]", "{a,b}", "a\u{1}", "~/"] {
            assert!(Pattern::parse(text).unwrap_err().contains("is not a pattern"), "{text}");
        }
        assert!(Pattern::parse(&"a".repeat(600)).is_err());
    }
}
