//! Cutting out what is found, and keeping the JSON's shape.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::finder::{Finder, Hit};
use crate::joins::{Join, Joins};
use crate::names::{Path, name_of, names_another};

/// How many kinds are told apart in what was taken out; the rest counts as `other`.
pub const MAX_KINDS: usize = 64;

/// Takes everything that is found out of `value`: each is replaced by `[REDACTED:kind]`, a number or a member as a whole.
/// Objects keep their keys, lists their length. What was taken out is counted by kind.
pub fn redact<F: Finder>(finder: &F, value: &mut Value) -> BTreeMap<String, u32> {
    let mut redactor = Redactor { finder, cuts: cuts(&joins(finder, value)), strings: 0, counts: BTreeMap::new() };
    redactor.value(value, "");
    redactor.counts
}

/// What is spread over several strings of `value`.
pub(crate) fn joins<F: Finder>(finder: &F, value: &Value) -> Vec<Join> {
    let mut joins = Joins::new(finder);
    let mut show = |path, key: &str, text: &str| joins.string(path, key, text, &finder.text("", text).open);
    strings(value, Path::ROOT, "", &mut show);
    joins.finish()
}

/// Shows every string of `value`, in the order in which all walks come by.
fn strings(value: &Value, path: Path, name: &str, show: &mut impl FnMut(Path, &str, &str)) {
    match value {
        Value::String(text) => show(path, name, text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, path.item(), name, show)),
        Value::Object(map) => map.iter().for_each(|(key, value)| strings(value, path.key(key), key, show)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What to cut out of each string for what is spread over several. The first part has a kind, the others have none.
fn cuts(joins: &[Join]) -> BTreeMap<usize, Vec<Hit>> {
    let mut cuts: BTreeMap<usize, Vec<Hit>> = BTreeMap::new();
    for join in joins {
        for (index, (string, range)) in join.parts.iter().enumerate() {
            let kind = if index == 0 { join.kind.clone() } else { "".into() };
            cuts.entry(*string).or_default().push(Hit { range: range.clone(), kind });
        }
    }
    cuts
}

/// The kinds and numbers of what was taken out, in words.
#[must_use]
pub fn shown(found: &BTreeMap<String, u32>) -> String {
    found.iter().map(|(kind, count)| format!("{kind} ({count})")).collect::<Vec<_>>().join(", ")
}

struct Redactor<'f, F> {
    finder: &'f F,
    cuts: BTreeMap<usize, Vec<Hit>>,
    strings: usize,
    counts: BTreeMap<String, u32>,
}

impl<F: Finder> Redactor<'_, F> {
    fn value(&mut self, value: &mut Value, name: &str) {
        match value {
            Value::String(text) => self.string(text, name),
            Value::Number(number) => {
                let mut text = number.to_string();
                let hits = self.finder.number(name, &text);
                if !hits.is_empty() {
                    self.cut(&mut text, hits);
                    *value = Value::String(text);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item, name)),
            Value::Object(map) => self.object(map, name),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn string(&mut self, text: &mut String, name: &str) {
        let mut hits = self.finder.text(name, text).hits;
        hits.extend(self.cuts.remove(&self.strings).into_iter().flatten());
        self.strings += 1;
        self.cut(text, hits);
    }

    fn object(&mut self, map: &mut Map<String, Value>, outer: &str) {
        let members = if map.keys().any(|key| self.finder.tells(key)) { self.finder.members(map) } else { Vec::new() };
        let mut beside: Option<String> = None;
        let mut copies: BTreeMap<String, u32> = BTreeMap::new();
        for (key, mut value) in std::mem::take(map) {
            let named = names_another(&key).then(|| value.as_str().map(str::to_owned)).flatten();
            self.value(&mut value, name_of(&key, beside.as_deref(), outer));
            if let Some((_, kind)) = members.iter().find(|(member, _)| *member == key) {
                value = Value::String(self.marker(kind));
            }
            beside = named.or(beside);
            let hits = self.finder.text("", &key).hits;
            let mut shown = key;
            self.cut(&mut shown, hits);
            // Two keys may come to the same marker; both values stay.
            let mut free = shown.clone();
            while map.contains_key(&free) {
                let number = copies.entry(shown.clone()).or_insert(1);
                *number += 1;
                free = format!("{shown} {number}");
            }
            map.insert(free, value);
        }
    }

    /// Replaces what was found, from the left; of two that overlap, the first found names both.
    fn cut(&mut self, text: &mut String, mut hits: Vec<Hit>) {
        if hits.is_empty() {
            return;
        }
        // The sort is stable: of those that begin together, the finder's first comes first.
        hits.sort_by_key(|hit| hit.range.start);
        let mut redacted = String::new();
        let mut done = 0;
        for hit in hits {
            if hit.range.start >= done {
                redacted.push_str(&text[done..hit.range.start]);
                if !hit.kind.is_empty() {
                    redacted.push_str(&self.marker(&hit.kind));
                }
            }
            done = done.max(hit.range.end);
        }
        redacted.push_str(&text[done..]);
        *text = redacted;
    }

    fn marker(&mut self, kind: &str) -> String {
        let is_one_too_many = !self.counts.contains_key(kind) && self.counts.len() >= MAX_KINDS - 1;
        let counted = if is_one_too_many { "other" } else { kind };
        let count = self.counts.entry(counted.to_owned()).or_default();
        *count = count.saturating_add(1);
        format!("[REDACTED:{kind}]")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::glance::is_clean;
    use crate::testing::Words;

    #[track_caller]
    fn redacted(mut value: Value) -> Value {
        redact(&Words, &mut value);
        value
    }

    #[test]
    fn everything_found_is_cut_out() {
        assert_eq!(
            redacted(json!(["a badge b", 17, 1.5, null])),
            json!(["a [REDACTED:word] b", "[REDACTED:seven]", 1.5, null])
        );
        assert_eq!(
            redacted(json!({ "badge": 1, "badge ": 2 })),
            json!({ "[REDACTED:word]": 1, "[REDACTED:word] ": 2 })
        );
        assert_eq!(
            redacted(json!({ "secret": ["x", { "y": "z" }] })),
            json!({ "secret": ["[REDACTED:named]", { "y": "z" }] })
        );
        assert_eq!(
            redacted(json!([{ "name": "secret", "value": "x" }, { "secret": { "value": "y" } }])),
            json!([{ "name": "secret", "value": "[REDACTED:named]" }, { "secret": { "value": "[REDACTED:named]" } }])
        );
        assert_eq!(
            redacted(json!({ "kind": "lock", "pin": [1] })),
            json!({ "kind": "lock", "pin": "[REDACTED:member]" })
        );
    }

    #[test]
    fn what_is_spread_is_cut_out_of_all_its_strings() {
        assert_eq!(
            redacted(json!({ "a": "x ba", "b": 1, "c": "dge y" })),
            json!({ "a": "x [REDACTED:word]", "b": 1, "c": " y" })
        );
        let blocks =
            json!([{ "text": "<", "type": "t" }, { "text": "b", "type": "t" }, { "text": "c>d", "type": "t" }]);
        let left = json!([{ "text": "[REDACTED:tag]", "type": "t" }, { "text": "", "type": "t" }, { "text": "d", "type": "t" }]);
        let counts = redact(&Words, &mut blocks.clone());
        assert_eq!((redacted(blocks), counts.get("tag")), (left, Some(&1)));
    }

    #[test]
    fn no_value_is_lost_when_keys_come_to_the_same() {
        let value = redacted(json!({ "[REDACTED:word]": 0, "[REDACTED:word] 2": 1, "badge": 2 }));
        assert_eq!(value.as_object().unwrap().len(), 3, "{value}");
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = || {
            let pieces = ["badge", "ba", "dge", "<", ">", "secret", "name", "value", "x", "é", "kind", "lock", "pin"];
            prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..3).prop_map(|pieces| pieces.concat())
        };
        let leaf = prop_oneof![4 => text().prop_map(Value::from), 1 => Just(json!(null)), 1 => (0..80_u32).prop_map(Value::from)];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map(text(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// Whether two values have the same form: lists as long, objects as large, leaves where leaves were.
    fn has_shape(value: &Value, of: &Value) -> bool {
        match (value, of) {
            (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| has_shape(a, b)),
            (Value::Object(a), Value::Object(b)) => a.len() == b.len(),
            (Value::String(_), _) => true,
            (a, b) => a == b,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn a_glance_and_a_redaction_agree_and_the_shape_stays(value in values()) {
            let mut left = value.clone();
            let found = redact(&Words, &mut left);
            prop_assert!(has_shape(&left, &value), "{} became {}", value, left);
            prop_assert_eq!(found.is_empty(), left == value);
            if is_clean(&Words, &value.to_string()) {
                prop_assert_eq!(&left, &value);
            } else if !value.to_string().contains("kind") {
                prop_assert!(!found.is_empty(), "{}", value);
            }
            let has_word = |value: &Value| value.to_string().contains("badge");
            prop_assert!(!has_word(&left), "{}", left);
        }
    }
}
