//! Reading every string and key of an output.

use injection_signs::{Collected, Detector, Signs};
use serde_json::Value;

/// What stands at a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Text,
    Key,
}

/// One walk over one output.
pub(crate) struct Walk {
    collected: Collected,
    /// Where there are signs, be they few.
    found: Vec<(String, What, Signs)>,
}

impl Walk {
    /// Reads an output.
    pub(crate) fn over(value: &Value, detector: &Detector) -> Self {
        let mut walk = Self { collected: Collected::default(), found: Vec::new() };
        let mut at = String::new();
        walk.value(value, &mut at, detector);
        walk
    }

    /// What was found.
    pub(crate) fn collected(&self) -> &Collected {
        &self.collected
    }

    /// The strings that hold what was found, with their signs; `None` where it stands in a key. Where no string has enough
    /// by itself, those that have anything.
    pub(crate) fn places(&self, threshold: u32) -> Option<Vec<(&str, &Signs)>> {
        let is_one = self.found.iter().any(|(_, _, signs)| signs.reach(threshold));
        let holds = |signs: &Signs| signs.reach(if is_one { threshold } else { 1 });
        let places = self.found.iter().filter(|(_, _, signs)| holds(signs));
        places.map(|(at, what, signs)| (*what == What::Text).then_some((at.as_str(), signs))).collect()
    }

    /// No deeper than the parser went.
    fn value(&mut self, value: &Value, at: &mut String, detector: &Detector) {
        match value {
            Value::String(text) => self.note(at, What::Text, detector.read(text)),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let length = at.len();
                    at.push('/');
                    at.push_str(&index.to_string());
                    self.value(item, at, detector);
                    at.truncate(length);
                }
            }
            Value::Object(map) => {
                for (key, item) in map {
                    let length = at.len();
                    at.push('/');
                    at.push_str(&key.replace('~', "~0").replace('/', "~1"));
                    self.note(at, What::Key, detector.read(key));
                    self.value(item, at, detector);
                    at.truncate(length);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn note(&mut self, at: &str, what: What, signs: Signs) {
        if signs.is_empty() {
            return;
        }
        self.collected.add(at, signs.clone());
        self.found.push((at.to_owned(), what, signs));
    }
}
