//! Reading every string and key of an output.

use injection_signs::{Collected, Detector, Signs};
use serde_json::Value;

/// How much may be remembered of where signs are, in bytes of pointers and in places.
const MAX_POINTER_BYTES: usize = 1 << 20;
const MAX_PLACES: usize = 10_000;

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
    pointer_bytes: usize,
}

impl Walk {
    /// Reads an output.
    pub(crate) fn over(value: &Value, detector: &Detector) -> Self {
        let mut walk = Self { collected: Collected::default(), found: Vec::new(), pointer_bytes: 0 };
        let mut at = String::new();
        walk.value(value, &mut at, detector);
        walk
    }

    /// What was found.
    pub(crate) fn collected(&self) -> &Collected {
        &self.collected
    }

    /// The strings that hold what was found, with their signs. Where no string has enough by itself, those that have
    /// anything.
    ///
    /// # Errors
    /// Says why they cannot be marked.
    pub(crate) fn places<'a>(&'a self, threshold: u32) -> Result<Vec<(&'a str, &'a Signs)>, &'static str> {
        if self.is_full() {
            return Err("there is too much of it to be marked");
        }
        let is_one = self.found.iter().any(|(_, _, signs)| signs.reach(threshold));
        let holds = |signs: &Signs| signs.reach(if is_one { threshold } else { 1 });
        let places = self.found.iter().filter(|(_, _, signs)| holds(signs));
        let place = |(at, what, signs): &'a (String, What, Signs)| match what {
            What::Text => Ok((at.as_str(), signs)),
            What::Key => Err("it stands in a key, which cannot be marked"),
        };
        places.map(place).collect()
    }

    fn is_full(&self) -> bool {
        self.found.len() >= MAX_PLACES || self.pointer_bytes >= MAX_POINTER_BYTES
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
        if !self.is_full() {
            self.pointer_bytes += at.len();
            self.found.push((at.to_owned(), what, signs.clone()));
        }
        self.collected.add(at, signs);
    }
}
