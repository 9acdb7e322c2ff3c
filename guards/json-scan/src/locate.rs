//! Where something stands, by JSON pointer.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::finder::Finder;
use crate::names::{name_of, names_another};
use crate::redact::joins;

/// A place that holds something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// RFC 6901. For what stands in a key, or below such a key, it is the object's that has the key: the pointer itself
    /// tells nothing.
    pub at: String,
    /// What stands there.
    pub kind: Cow<'static, str>,
}

/// Every place in `value` that holds something, in the order of a walk.
pub fn locate<F: Finder>(finder: &F, value: &Value) -> Vec<Place> {
    let mut parts: BTreeMap<usize, Vec<Cow<'static, str>>> = BTreeMap::new();
    for join in joins(finder, value) {
        for (string, _) in join.parts {
            parts.entry(string).or_default().push(join.kind.clone());
        }
    }
    let mut locator = Locator { finder, parts, strings: 0, at: String::new(), places: Vec::new() };
    locator.value(value, "", None);
    locator.places
}

struct Locator<'f, F> {
    finder: &'f F,
    /// The strings that hold a part of something.
    parts: BTreeMap<usize, Vec<Cow<'static, str>>>,
    strings: usize,
    at: String,
    places: Vec<Place>,
}

impl<F: Finder> Locator<'_, F> {
    /// `told` is how much of the pointer may be told, where a key in it holds something.
    fn value(&mut self, value: &Value, name: &str, told: Option<usize>) {
        match value {
            Value::String(text) => {
                let parts = self.parts.remove(&self.strings).unwrap_or_default();
                self.strings += 1;
                let hits = self.finder.text(name, text).hits.into_iter().map(|hit| hit.kind);
                self.add(told, hits.chain(parts));
            }
            Value::Number(number) => {
                let hits = self.finder.number(name, &number.to_string());
                self.add(told, hits.into_iter().map(|hit| hit.kind));
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.step(&index.to_string(), item, name, told);
                }
            }
            Value::Object(map) => self.object(map, name, told),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn object(&mut self, map: &Map<String, Value>, outer: &str, told: Option<usize>) {
        let members = if map.keys().any(|key| self.finder.tells(key)) { self.finder.members(map) } else { Vec::new() };
        let mut beside: Option<&str> = None;
        for (key, value) in map {
            let hits = self.finder.text("", key).hits;
            let told = if hits.is_empty() { told } else { told.or(Some(self.at.len())) };
            self.add(told, hits.into_iter().map(|hit| hit.kind));
            let token = key.replace('~', "~0").replace('/', "~1");
            if let Some((_, kind)) = members.iter().find(|(member, _)| *member == key.as_str()) {
                let length = self.enter(&token);
                self.add(told, [Cow::Borrowed(*kind)].into_iter());
                self.at.truncate(length);
            }
            self.step(&token, value, name_of(key, beside, outer), told);
            if names_another(key) {
                beside = value.as_str().or(beside);
            }
        }
    }

    fn step(&mut self, token: &str, value: &Value, name: &str, told: Option<usize>) {
        let length = self.enter(token);
        self.value(value, name, told);
        self.at.truncate(length);
    }

    fn enter(&mut self, token: &str) -> usize {
        let length = self.at.len();
        self.at.push('/');
        self.at.push_str(token);
        length
    }

    fn add(&mut self, told: Option<usize>, kinds: impl Iterator<Item = Cow<'static, str>>) {
        for kind in kinds {
            let at = self.at.get(..told.unwrap_or(self.at.len())).unwrap_or_default().to_owned();
            self.places.push(Place { at, kind });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Words;

    #[track_caller]
    fn at(value: &Value) -> Vec<String> {
        locate(&Words, value).into_iter().map(|place| place.at).collect()
    }

    #[test]
    fn a_place_is_a_pointer() {
        assert_eq!(at(&json!({ "a": [1, { "b/c~d": "a badge" }], "z": 7 })), ["/a/1/b~1c~0d", "/z"]);
        assert_eq!(at(&json!("badge")), [""]);
        assert_eq!(at(&json!({ "kind": "lock", "pin": 1 })), ["/pin"]);
        assert_eq!(at(&json!([{ "name": "secret", "value": "x" }])), ["/0/value"]);
    }

    #[test]
    fn every_part_has_its_place() {
        assert_eq!(at(&json!({ "a": "ba", "b": { "c": "dge" } })), ["/a", "/b/c"]);
    }

    #[test]
    fn no_pointer_tells_a_key_that_holds_something() {
        assert_eq!(at(&json!({ "a": { "a badge": { "x": 7 } } })), ["/a", "/a"]);
        assert_eq!(at(&json!({ "badge": 1 })), [""]);
    }
}
