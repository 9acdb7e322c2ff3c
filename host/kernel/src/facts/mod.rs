//! Facts: what the strings in a call's arguments are.
//!
//! The host says once what is a path, a URL, a command; no guard guesses from a tool's name. A tool's manifest (or the
//! policy) describes arguments by JSON pointer; a description covers everything below its pointer. A string that nothing
//! describes is `text`, and so is offered to guards too, and the keys of objects are facts as well: they are the caller's
//! text like any other.

mod path;
mod url;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use path::{PathFact, normalise};
pub use url::{HostKind, ParsedUrl, UrlFact};

/// What a manifest may say that an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentKind {
    /// A file path.
    Path,
    /// A URL.
    Url,
    /// A shell line, or a list of words.
    Command,
    /// Bytes to be written or sent, as text.
    Content,
    /// Nothing in particular.
    Text,
}

/// One line of a tool's description: what stands at a pointer, and below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgumentFact {
    /// RFC 6901, with `*` for any one step: `/edits/*/file`.
    pub at: String,
    /// What it is.
    pub is: ArgumentKind,
}

/// A fact about one argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// RFC 6901 pointer into the arguments.
    pub at: String,
    /// What stands there.
    pub kind: FactKind,
}

/// What a string is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactKind {
    /// A file path.
    Path(PathFact),
    /// A URL.
    Url(UrlFact),
    /// A line for a shell.
    CommandLine(String),
    /// An argument vector.
    CommandWords(Vec<String>),
    /// Bytes to be written or sent.
    Content(String),
    /// A string that nothing describes.
    Text(String),
    /// The key of an object that stands below the top level, or that no description names.
    Key(String),
}

/// Everything there is to know about the strings in `arguments`, in the order of a walk through them.
#[must_use]
pub fn extract(arguments: &Value, described: &[ArgumentFact]) -> Vec<Fact> {
    let described: Vec<(Vec<&str>, ArgumentKind)> =
        described.iter().map(|d| (d.at.split('/').skip(1).collect(), d.is)).collect();
    let mut walk = Walk { described: &described, steps: Vec::new(), facts: Vec::new() };
    walk.value(arguments);
    walk.facts
}

struct Walk<'a> {
    described: &'a [(Vec<&'a str>, ArgumentKind)],
    steps: Vec<String>,
    facts: Vec<Fact>,
}

impl Walk<'_> {
    /// The longest description whose pointer leads here or above.
    fn kind_here(&self) -> Option<ArgumentKind> {
        let covers = |pattern: &[&str]| {
            pattern.len() <= self.steps.len()
                && pattern.iter().zip(&self.steps).all(|(want, step)| *want == "*" || want == step)
        };
        self.described.iter().filter(|(p, _)| covers(p)).max_by_key(|(p, _)| p.len()).map(|(_, kind)| *kind)
    }

    fn push(&mut self, kind: FactKind) {
        let at = self.steps.iter().fold(String::new(), |at, step| at + "/" + step);
        self.facts.push(Fact { at, kind });
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.string(text),
            Value::Array(items) => self.list(items),
            Value::Object(map) => {
                for (key, value) in map {
                    self.steps.push(key.replace('~', "~0").replace('/', "~1"));
                    if self.steps.len() > 1 || self.kind_here().is_none() {
                        self.push(FactKind::Key(key.clone()));
                    }
                    self.value(value);
                    self.steps.pop();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn list(&mut self, items: &[Value]) {
        let words: Option<Vec<String>> = items.iter().map(|i| i.as_str().map(str::to_owned)).collect();
        if let (Some(ArgumentKind::Command), Some(words)) = (self.kind_here(), words)
            && !words.is_empty()
        {
            self.push(FactKind::CommandWords(words));
            return;
        }
        for (i, item) in items.iter().enumerate() {
            self.steps.push(i.to_string());
            self.value(item);
            self.steps.pop();
        }
    }

    fn string(&mut self, text: &str) {
        let kind = match self.kind_here() {
            Some(ArgumentKind::Path) => FactKind::Path(PathFact::new(text)),
            Some(ArgumentKind::Url) => FactKind::Url(UrlFact::new(text)),
            Some(ArgumentKind::Command) => FactKind::CommandLine(text.to_owned()),
            Some(ArgumentKind::Content) => FactKind::Content(text.to_owned()),
            Some(ArgumentKind::Text) | None => FactKind::Text(text.to_owned()),
        };
        self.push(kind);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn describe(list: &[(&str, ArgumentKind)]) -> Vec<ArgumentFact> {
        list.iter().map(|(at, is)| ArgumentFact { at: (*at).to_owned(), is: *is }).collect()
    }

    #[test]
    fn an_undescribed_string_is_text_wherever_it_stands() {
        let facts = extract(&json!({"a": {"b/c": ["x", 1, null]}}), &[]);
        let shown: Vec<_> = facts.iter().map(|f| (f.at.as_str(), f.kind.clone())).collect();
        assert_eq!(
            shown,
            [
                ("/a", FactKind::Key("a".into())),
                ("/a/b~1c", FactKind::Key("b/c".into())),
                ("/a/b~1c/0", FactKind::Text("x".into())),
            ]
        );
    }

    #[test]
    fn a_description_covers_what_is_below_it() {
        let described = describe(&[("/files", ArgumentKind::Path), ("/run", ArgumentKind::Command)]);
        let facts = extract(&json!({"files": ["a", {"k": "b"}], "run": ["rm", "-rf"]}), &described);
        assert!(matches!(&facts[0].kind, FactKind::Path(p) if p.raw == "a"));
        assert!(matches!(&facts[1].kind, FactKind::Key(k) if k == "k"));
        assert!(matches!(&facts[2].kind, FactKind::Path(p) if p.raw == "b"));
        assert_eq!(facts[3].kind, FactKind::CommandWords(vec!["rm".into(), "-rf".into()]));
    }

    #[test]
    fn the_longest_description_wins_and_a_star_is_one_step() {
        let described = describe(&[("/edits", ArgumentKind::Text), ("/edits/*/file", ArgumentKind::Path)]);
        let facts = extract(&json!({"edits": [{"file": "f", "note": "n"}]}), &described);
        let kind_of = |at: &str| &facts.iter().rfind(|f| f.at == at).unwrap().kind;
        assert!(matches!(kind_of("/edits/0/file"), FactKind::Path(_)));
        assert!(matches!(kind_of("/edits/0/note"), FactKind::Text(_)));
    }
}
