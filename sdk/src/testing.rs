//! Calls and configurations for a plugin's own tests.
//!
//! The host derives a call's facts from its tool's manifest; [`CallBuilder`] derives the plain ones (`text` for every
//! string, `key` for every object key) and takes the others from the test.

use std::cell::RefCell;

use serde_json::Value;

use crate::{Call, CommandFact, Context, Counter, EffectClass, Fact, FactKind, Operation, PathFact, UrlFact};

thread_local! {
    static CONFIGURATION: RefCell<String> = RefCell::new("null".into());
}

/// Runs `test` with this configuration, on this thread.
pub fn with_config<R>(config: &Value, test: impl FnOnce() -> R) -> R {
    /// Puts the old configuration back, also when the test panics.
    struct Restore(String);
    impl Drop for Restore {
        fn drop(&mut self) {
            CONFIGURATION.replace(std::mem::take(&mut self.0));
        }
    }
    let _restore = Restore(CONFIGURATION.replace(config.to_string()));
    test()
}

pub(crate) fn configuration() -> String {
    CONFIGURATION.with_borrow(Clone::clone)
}

/// Starts a call of this tool, with no arguments.
pub fn call(server: &str, tool: &str) -> CallBuilder {
    CallBuilder {
        server: server.into(),
        tool: tool.into(),
        arguments: Value::Object(serde_json::Map::new()),
        facts: Vec::new(),
        counters: Vec::new(),
        time: 1_700_000_000,
    }
}

/// A context for a tool server's own tests.
#[must_use]
pub fn context() -> Context {
    Context {
        request_id: "test".into(),
        operation_id: "0".repeat(64),
        agent: "0".repeat(64),
        deadline_ms: 30_000,
        depth: 0,
    }
}

/// Builds a [`Call`].
#[derive(Clone, Debug)]
#[must_use]
pub struct CallBuilder {
    server: String,
    tool: String,
    arguments: Value,
    facts: Vec<Fact>,
    counters: Vec<Counter>,
    time: u64,
}

impl CallBuilder {
    /// The call's arguments.
    pub fn arguments(mut self, arguments: Value) -> Self {
        self.arguments = arguments;
        self
    }

    /// What an argument is, in place of the `text` it would be.
    pub fn fact(mut self, at: &str, kind: FactKind) -> Self {
        self.facts.push(Fact { at: at.into(), kind });
        self
    }

    /// An argument that is a path; `normalised` as the host would have it.
    pub fn path(self, at: &str, raw: &str, normalised: Option<&str>) -> Self {
        self.fact(at, FactKind::Path(PathFact { raw: raw.into(), normalised: normalised.map(Into::into) }))
    }

    /// An argument that is a line for a shell.
    pub fn command_line(self, at: &str, line: &str) -> Self {
        self.fact(at, FactKind::Command(CommandFact::Line(line.into())))
    }

    /// An argument that is an argument vector.
    pub fn command_words(self, at: &str, words: &[&str]) -> Self {
        self.fact(at, FactKind::Command(CommandFact::Words(words.iter().map(ToString::to_string).collect())))
    }

    /// An argument that is a URL which did not parse.
    pub fn unparsed_url(self, at: &str, raw: &str) -> Self {
        self.fact(at, FactKind::Url(UrlFact { raw: raw.into(), parsed: None }))
    }

    /// A counter that the host keeps for the guard.
    pub fn counter(mut self, name: &str, window_seconds: u64, used: u64) -> Self {
        self.counters.push(Counter { name: name.into(), window_seconds, used });
        self
    }

    /// When the host admitted the call, in seconds since 1970.
    pub fn time(mut self, time: u64) -> Self {
        self.time = time;
        self
    }

    /// The call, with a `text` fact for every string that no given fact is at, and a `key` fact for every key.
    #[must_use]
    pub fn build(self) -> Call {
        let mut facts = self.facts;
        let described = facts.iter().map(|fact| fact.at.clone()).collect::<Vec<_>>();
        derive(&self.arguments, &mut String::new(), &described, &mut facts);
        Call {
            request_id: "test".into(),
            agent: "0".repeat(64),
            capability_id: "test".into(),
            grant_index: 0,
            delegation_depth: 0,
            server: self.server,
            tool: self.tool,
            operation: Operation::Invoke,
            effect_class: EffectClass::SideEffecting,
            arguments: self.arguments.to_string(),
            parameter_hash: "0".repeat(64),
            facts,
            counters: self.counters,
            exposure: None,
            time: self.time,
            depth: 0,
        }
    }
}

/// Walks `value`, whose pointer is `at`.
fn derive(value: &Value, at: &mut String, described: &[String], facts: &mut Vec<Fact>) {
    if described.iter().any(|known| known == at) {
        return;
    }
    match value {
        Value::String(text) => facts.push(Fact { at: at.clone(), kind: FactKind::Text(text.clone()) }),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                step(&index.to_string(), item, at, described, facts);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                let token = key.replace('~', "~0").replace('/', "~1");
                facts.push(Fact { at: format!("{at}/{token}"), kind: FactKind::Key(key.clone()) });
                step(&token, item, at, described, facts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn step(token: &str, item: &Value, at: &mut String, described: &[String], facts: &mut Vec<Fact>) {
    let length = at.len();
    at.push('/');
    at.push_str(token);
    derive(item, at, described, facts);
    at.truncate(length);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_string_and_key_becomes_a_fact() {
        let call = call("s", "t")
            .arguments(json!({"path": "/a", "more": [{"x/y": "deep"}], "n": 1}))
            .path("/path", "/a", Some("/a"))
            .build();
        let has = |at: &str, raw: &str| call.facts.iter().any(|fact| fact.at == at && fact.kind.raw() == raw);
        assert!(has("/more/0/x~1y", "deep") && has("/more/0/x~1y", "x/y") && has("/path", "/a"));
        assert!(!call.facts.iter().any(|fact| fact.at == "/path" && matches!(fact.kind, FactKind::Text(_))));
    }

    #[test]
    fn a_configuration_lasts_as_long_as_its_test() {
        #[derive(Debug, Default, PartialEq, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        struct Config {
            limit: u32,
        }
        assert_eq!(crate::config::<Config>(), Ok(Config { limit: 0 }));
        with_config(&json!({"limit": 3}), || assert_eq!(crate::config::<Config>(), Ok(Config { limit: 3 })));
        with_config(&json!({"limt": 3}), || assert!(crate::config::<Config>().is_err()));
        assert_eq!(crate::config::<Config>(), Ok(Config { limit: 0 }));
    }
}
