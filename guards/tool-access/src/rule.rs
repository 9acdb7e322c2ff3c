//! Rules, and the lists that they stand in.

use std::cell::OnceCell;
use std::fmt;

use chio_sdk::{Call, quote};
use serde::Deserialize;
use serde_json::Value;
use wildcards::ToolPattern;

use crate::condition::{Answer, Condition, Test};

/// The most rules of a list.
const MAX_RULES: usize = 1_000;
/// The most conditions of a rule.
const MAX_CONDITIONS: usize = 32;

/// Which list a rule stands in, and with that what an open question comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Allow,
    Deny,
    Ask,
}

impl List {
    fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Ask => "ask",
        }
    }
}

/// A rule as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    server: String,
    tool: String,
    /// The most bytes that the arguments may have of what goes through by this rule.
    max_argument_bytes: Option<u64>,
    /// All of them have to hold.
    #[serde(default)]
    arguments: Vec<Test>,
}

/// A rule that is ready to be asked.
#[derive(Debug)]
pub(crate) struct Rule {
    list: List,
    number: usize,
    pattern: ToolPattern,
    pub(crate) max_argument_bytes: Option<u64>,
    conditions: Vec<Condition>,
}

impl Rule {
    fn names(&self, call: &Call) -> bool {
        self.pattern.matches(&call.server, &call.tool)
    }

    /// Where a condition looks that could not be judged, as it is written.
    pub(crate) fn open_at(&self, arguments: &Arguments<'_>) -> Option<&str> {
        let value = arguments.value().ok()?;
        let open = self.conditions.iter().find(|condition| condition.ask(value) == Answer::Unknown);
        open.map(Condition::at)
    }

    fn holds(&self, call: &Call, arguments: &Arguments<'_>) -> Result<bool, String> {
        if !self.names(call) {
            return Ok(false);
        }
        if self.conditions.is_empty() {
            return Ok(true);
        }
        let value = arguments.value()?;
        let worst = self.conditions.iter().map(|condition| condition.ask(value)).min().unwrap_or(Answer::Yes);
        Ok(match self.list {
            List::Allow => worst == Answer::Yes,
            List::Deny | List::Ask => worst != Answer::No,
        })
    }
}

/// Where a rule stands and what it names, for people.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ToolPattern { server, tool } = &self.pattern;
        write!(f, "rule {} of {}: {} of {}", self.number, self.list.as_str(), quote(tool), quote(server))
    }
}

/// A list of rules.
#[derive(Debug)]
pub(crate) struct Rules(Vec<Rule>);

impl Rules {
    /// Reads a list. `patterns` counts the regular expressions of all lists.
    ///
    /// # Errors
    /// Names the rule that is none, and says why.
    pub(crate) fn new(entries: Vec<Entry>, list: List, patterns: &mut usize) -> Result<Self, String> {
        if entries.len() > MAX_RULES {
            return Err(format!("{} has {} rules; at most {MAX_RULES} are taken", list.as_str(), entries.len()));
        }
        let mut rules = Vec::with_capacity(entries.len());
        for (index, entry) in entries.into_iter().enumerate() {
            let number = index + 1;
            let rule = read(entry, list, number, patterns);
            rules.push(rule.map_err(|why| format!("rule {number} of {}: {why}", list.as_str()))?);
        }
        Ok(Self(rules))
    }

    /// The first rule that is for the call.
    pub(crate) fn first(&self, call: &Call, arguments: &Arguments<'_>) -> Result<Option<&Rule>, String> {
        for rule in &self.0 {
            if rule.holds(call, arguments)? {
                return Ok(Some(rule));
            }
        }
        Ok(None)
    }

    /// All rules that are for the call.
    pub(crate) fn all(&self, call: &Call, arguments: &Arguments<'_>) -> Result<Vec<&Rule>, String> {
        let mut found = Vec::new();
        for rule in &self.0 {
            if rule.holds(call, arguments)? {
                found.push(rule);
            }
        }
        Ok(found)
    }

    /// Whether a rule names the tool, whatever the arguments.
    pub(crate) fn names(&self, call: &Call) -> bool {
        self.0.iter().any(|rule| rule.names(call))
    }
}

fn read(entry: Entry, list: List, number: usize, patterns: &mut usize) -> Result<Rule, String> {
    let Entry { server, tool, max_argument_bytes, arguments } = entry;
    let pattern = ToolPattern { server, tool };
    pattern.validate()?;
    match max_argument_bytes {
        Some(0) => return Err("max_argument_bytes is 0, and no arguments are so short".into()),
        Some(_) if list == List::Deny => {
            return Err("max_argument_bytes says what goes through, and by a rule of deny nothing does".into());
        }
        _ => {}
    }
    if arguments.len() > MAX_CONDITIONS {
        return Err(format!("it has {} conditions; at most {MAX_CONDITIONS} are taken", arguments.len()));
    }
    let conditions =
        arguments.into_iter().map(|test| Condition::new(test, list, patterns)).collect::<Result<_, _>>()?;
    Ok(Rule { list, number, pattern, max_argument_bytes, conditions })
}

/// A call's arguments, read when a rule asks for one.
pub(crate) struct Arguments<'a> {
    text: &'a str,
    value: OnceCell<Value>,
}

impl<'a> Arguments<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, value: OnceCell::new() }
    }

    fn value(&self) -> Result<&Value, String> {
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = serde_json::from_str(self.text)
            .map_err(|error| format!("the arguments cannot be read: {}", quote(&error.to_string())))?;
        Ok(self.value.get_or_init(|| value))
    }
}
