//! Conditions on arguments. Each answers yes, no, or that it cannot tell.

use chio_sdk::quote;
use regex_lite::{Regex, RegexBuilder};
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value};

use crate::rule::List;

/// The longest JSON pointer, in bytes.
const MAX_POINTER_BYTES: usize = 512;
/// The most values that `one_of` may list.
const MAX_CHOICES: usize = 1_000;
/// The most regular expressions of a configuration.
const MAX_PATTERNS: usize = 200;
/// How large one of them may be compiled, in bytes.
const MAX_PATTERN_BYTES: usize = 256 << 10;

/// A condition as it is written: where it looks, and what has to be true of what is there.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Test {
    /// RFC 6901, with `*` for any one step.
    at: String,
    /// It is this value.
    #[serde(default, deserialize_with = "given")]
    equals: Option<Value>,
    /// It is one of these.
    one_of: Option<Vec<Value>>,
    /// It is a text that this regular expression matches: in `allow` as a whole, in `deny` and `ask` in any part.
    matches: Option<String>,
    /// It is a number and at most this. Only in `allow`.
    max: Option<Number>,
    /// It is a number and larger than this.
    over: Option<Number>,
    /// It is there, or it is not.
    present: Option<bool>,
}

/// A value that was written, be it null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// What a condition comes to, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Answer {
    No,
    /// What would have to be judged is not there, or is something else.
    Unknown,
    Yes,
}

impl From<bool> for Answer {
    fn from(is_so: bool) -> Self {
        if is_so { Self::Yes } else { Self::No }
    }
}

/// A condition that is ready to be asked.
#[derive(Debug)]
pub(crate) struct Condition {
    at: String,
    steps: Vec<String>,
    list: List,
    equals: Option<Value>,
    one_of: Option<Vec<Value>>,
    matches: Option<Regex>,
    max: Option<f64>,
    over: Option<f64>,
    present: Option<bool>,
}

impl Condition {
    /// Reads a condition of a rule of `list`. `patterns` counts the regular expressions.
    pub(crate) fn new(test: Test, list: List, patterns: &mut usize) -> Result<Self, String> {
        let Test { at, equals, one_of, matches, max, over, present } = test;
        let bad = |why: &str| Err(format!("the condition at \"{}\" is not one: {why}", quote(&at)));
        let Some(steps) = steps(&at) else {
            return bad("it has to be looked for at a JSON pointer, such as /path or /edits/*/file");
        };
        if equals.is_none()
            && one_of.is_none()
            && matches.is_none()
            && max.is_none()
            && over.is_none()
            && present.is_none()
        {
            return bad("it says nothing; give it equals, one_of, matches, max, over or present");
        }
        if max.is_some() && list != List::Allow {
            return bad("max says what is allowed; to deny or to ask for what is larger, write over");
        }
        if equals.as_ref().is_some_and(Value::is_null) {
            return bad("null counts as absent; write present: false");
        }
        if let Some(choices) = &one_of {
            if choices.is_empty() || choices.len() > MAX_CHOICES {
                return bad("one_of lists 1 to 1000 values");
            }
            if choices.iter().any(Value::is_null) {
                return bad("null counts as absent; write present: false");
            }
        }
        if present == Some(false)
            && (equals.is_some() || one_of.is_some() || matches.is_some() || max.is_some() || over.is_some())
        {
            return bad("nothing can be said of a value that has to be absent");
        }
        let matches = match &matches {
            Some(pattern) => {
                *patterns += 1;
                if *patterns > MAX_PATTERNS {
                    return bad("there are more than 200 regular expressions");
                }
                match compile(pattern, list) {
                    Ok(regex) => Some(regex),
                    Err(why) => return bad(&why),
                }
            }
            None => None,
        };
        let (max, over) = (max.and_then(|n| n.as_f64()), over.and_then(|n| n.as_f64()));
        Ok(Self { at, steps, list, equals, one_of, matches, max, over, present })
    }

    /// Where it looks, as it is written.
    pub(crate) fn at(&self) -> &str {
        &self.at
    }

    /// What the condition comes to. Of several values at a pointer with `*`, in `allow` all have to fit, in `deny` and `ask`
    /// one is enough.
    pub(crate) fn ask(&self, arguments: &Value) -> Answer {
        let mut answers = Answers { condition: self, least: None, most: None };
        answers.walk(arguments, &self.steps);
        let answer = if self.list == List::Allow { answers.least } else { answers.most };
        answer.unwrap_or_else(|| self.judge(None))
    }

    /// What the condition says of one value. All its parts have to hold.
    fn judge(&self, value: Option<&Value>) -> Answer {
        let present = self.present.map_or(Answer::Yes, |wanted| match value {
            // To some tools null is a value, to others it is none.
            Some(Value::Null) => Answer::Unknown,
            value => Answer::from(value.is_some() == wanted),
        });
        [
            present,
            self.equals.as_ref().map_or(Answer::Yes, |wanted| same(wanted, value)),
            self.one_of.as_ref().map_or(Answer::Yes, |choices| {
                choices.iter().map(|wanted| same(wanted, value)).max().unwrap_or(Answer::No)
            }),
            self.matches.as_ref().map_or(Answer::Yes, |regex| match value {
                Some(Value::String(text)) => regex.is_match(text).into(),
                _ => Answer::Unknown,
            }),
            self.max.map_or(Answer::Yes, |most| number(value, |n| n <= most)),
            self.over.map_or(Answer::Yes, |most| number(value, |n| n > most)),
        ]
        .into_iter()
        .min()
        .unwrap_or(Answer::Unknown)
    }
}

/// Looks up all values that a pointer leads to.
struct Answers<'a> {
    condition: &'a Condition,
    least: Option<Answer>,
    most: Option<Answer>,
}

impl Answers<'_> {
    /// No deeper than the pointer is long.
    fn walk(&mut self, value: &Value, steps: &[String]) {
        let Some((step, rest)) = steps.split_first() else { return self.note(Some(value)) };
        match value {
            Value::Object(map) if step == "*" => map.values().for_each(|item| self.walk(item, rest)),
            Value::Array(items) if step == "*" => items.iter().for_each(|item| self.walk(item, rest)),
            Value::Object(map) => match map.get(step) {
                Some(item) => self.walk(item, rest),
                None => self.note(None),
            },
            Value::Array(items) => match index(step).and_then(|index| items.get(index)) {
                Some(item) => self.walk(item, rest),
                None => self.note(None),
            },
            _ => self.note(None),
        }
    }

    fn note(&mut self, value: Option<&Value>) {
        let answer = self.condition.judge(value);
        self.least = Some(self.least.map_or(answer, |least| least.min(answer)));
        self.most = Some(self.most.map_or(answer, |most| most.max(answer)));
    }
}

/// Whether a value is the one that is wanted; one of another type is not a no, since a tool may take it for the same.
fn same(wanted: &Value, value: Option<&Value>) -> Answer {
    let Some(value) = value else { return Answer::Unknown };
    match (wanted, value) {
        (Value::Number(wanted), Value::Number(value)) => (wanted.as_f64() == value.as_f64()).into(),
        (Value::String(_), Value::String(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Array(_), Value::Array(_))
        | (Value::Object(_), Value::Object(_)) => (wanted == value).into(),
        _ => Answer::Unknown,
    }
}

fn number(value: Option<&Value>, holds: impl Fn(f64) -> bool) -> Answer {
    match value {
        Some(Value::Number(number)) => number.as_f64().map_or(Answer::Unknown, |n| holds(n).into()),
        _ => Answer::Unknown,
    }
}

/// The steps of a pointer, unescaped; `None` for what is no pointer.
fn steps(pointer: &str) -> Option<Vec<String>> {
    let rest = pointer.strip_prefix('/')?;
    let has_escapes = |step: &str| step.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    if pointer.len() > MAX_POINTER_BYTES || !has_escapes(rest) {
        return None;
    }
    Some(rest.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect())
}

/// A position in a list, as RFC 6901 writes it.
fn index(step: &str) -> Option<usize> {
    let is_plain = step == "0" || (!step.starts_with('0') && step.bytes().all(|byte| byte.is_ascii_digit()));
    step.parse().ok().filter(|_| is_plain)
}

fn compile(pattern: &str, list: List) -> Result<Regex, String> {
    let build = |pattern: &str| {
        RegexBuilder::new(pattern)
            .size_limit(MAX_PATTERN_BYTES)
            .build()
            .map_err(|error| format!("its pattern cannot be compiled: {}", quote(&error.to_string())))
    };
    // By itself first, lest a parenthesis in it close the group that it is put into.
    let alone = build(pattern)?;
    if list == List::Allow { build(&format!(r"\A(?:{pattern})\z")) } else { Ok(alone) }
}
