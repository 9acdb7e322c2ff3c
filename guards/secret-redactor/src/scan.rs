//! Walking an output and taking out what is found.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::outline::{Look, Outline};
use crate::patterns::Patterns;
use crate::{assignment, decode, forms};
use forms::Hit;

/// One walk over one output.
pub(crate) struct Scan<'a> {
    patterns: &'a Patterns,
    counts: BTreeMap<String, u32>,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(patterns: &'a Patterns) -> Self {
        Self { patterns, counts: BTreeMap::new() }
    }

    /// What was taken out, by kind.
    pub(crate) fn found(self) -> BTreeMap<String, u32> {
        self.counts
    }

    /// Redacts `value` in place, keeping its shape.
    pub(crate) fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Number(number) => {
                let mut text = number.to_string();
                let before = text.len();
                let hits = self.patterns.find(&text);
                self.cut(&mut text, hits);
                if text.len() != before || text.contains('[') {
                    *value = Value::String(text);
                }
            }
            Value::Array(items) => {
                self.across(items);
                for item in items {
                    self.value(item);
                }
            }
            Value::Object(map) => self.object(map),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn object(&mut self, map: &mut Map<String, Value>) {
        for (key, mut value) in std::mem::take(map) {
            let secret = self.patterns.built_in
                && assignment::is_telling(&key)
                && value.as_str().is_some_and(assignment::looks_secret);
            self.value(&mut value);
            // A token of a known form is named by its form.
            if secret && !value.as_str().is_some_and(|text| text.contains("[REDACTED:")) {
                value = Value::String(self.marker("assigned-secret"));
            }
            let mut key = key;
            self.text(&mut key);
            // Two keys may come to the same marker; both values stay.
            let mut free = key.clone();
            let mut number = 2;
            while map.contains_key(&free) {
                free = format!("{key} {number}");
                number += 1;
            }
            map.insert(free, value);
        }
    }

    fn text(&mut self, text: &mut String) {
        let hits = self.hits(text);
        self.cut(text, hits);
    }

    /// What `text` holds, in all its readings.
    pub(crate) fn hits(&self, text: &str) -> Vec<Hit> {
        let outline = Outline::of(text);
        let mut hits = self.patterns.find(text);
        if self.patterns.built_in && outline.has(Look::Forms) {
            hits.extend(forms::find(text));
        }
        if self.patterns.built_in && outline.has(Look::Assignments) {
            hits.extend(assignment::find(text));
        }
        if outline.has(Look::Hidden)
            && let Some(reading) = decode::lenient(text)
        {
            let found = self.plain_hits(&reading.text).into_iter();
            hits.extend(found.map(|hit| Hit { range: reading.origin(&hit.range), ..hit }));
        }
        if outline.has(Look::Encoded) {
            for (range, decoded) in decode::encoded_runs(text) {
                let found = self.plain_hits(&decoded);
                hits.extend(found.into_iter().next().map(|hit| Hit { range, ..hit }));
            }
        }
        hits
    }

    fn plain_hits(&self, text: &str) -> Vec<Hit> {
        let mut hits = self.patterns.find(text);
        if self.patterns.built_in {
            hits.extend(forms::find(text));
            hits.extend(assignment::find(text));
        }
        hits
    }

    /// Replaces what was found, from the left; of two that overlap, the first found names both.
    fn cut(&mut self, text: &mut String, mut hits: Vec<Hit>) {
        if hits.is_empty() {
            return;
        }
        // The sort is stable: among those that begin together, known forms come before assignments.
        hits.sort_by_key(|hit| hit.range.start);
        let mut redacted = String::new();
        let mut done = 0;
        for hit in hits {
            if hit.range.start < done {
                done = done.max(hit.range.end);
                continue;
            }
            redacted.push_str(&text[done..hit.range.start]);
            redacted.push_str(&self.marker(&hit.kind));
            done = hit.range.end;
        }
        redacted.push_str(&text[done..]);
        *text = redacted;
    }

    fn marker(&mut self, kind: &str) -> String {
        *self.counts.entry(kind.to_owned()).or_default() += 1;
        format!("[REDACTED:{kind}]")
    }

    /// Tokens that were split over neighbours: strings in a list, or the texts of content blocks.
    fn across(&mut self, items: &mut [Value]) {
        // Cutting moves what comes after, so each cut is followed by another look.
        while self.patterns.built_in && self.cut_first_across(items) {}
    }

    fn cut_first_across(&mut self, items: &mut [Value]) -> bool {
        let mut joined = String::new();
        let mut starts = Vec::new();
        for item in &mut *items {
            let Some(text) = part(item) else { return false };
            starts.push(joined.len());
            joined.push_str(text);
        }
        for hit in forms::find(&joined) {
            let first = starts.partition_point(|start| *start <= hit.range.start) - 1;
            let last = starts.partition_point(|start| *start < hit.range.end) - 1;
            if first == last || holds(items, &starts, first, &hit) {
                continue;
            }
            let marker = self.marker(&hit.kind);
            for index in first..=last {
                let Some(text) = part(&mut items[index]) else { continue };
                let start = hit.range.start.saturating_sub(starts[index]).min(text.len());
                let end = (hit.range.end - starts[index]).min(text.len());
                text.replace_range(start..end, if index == first { &marker } else { "" });
            }
            return true;
        }
        false
    }
}

/// Whether the first part holds a whole token of the same kind by itself, which the walk over it will find: what
/// follows in the next string only happens to look like more of it.
fn holds(items: &mut [Value], starts: &[usize], first: usize, hit: &Hit) -> bool {
    let Some(text) = part(&mut items[first]) else { return false };
    let from = hit.range.start - starts[first];
    forms::find(text).iter().any(|own| own.range.start == from && own.kind == hit.kind)
}

/// The text that an item of a list carries.
fn part(item: &mut Value) -> Option<&mut String> {
    match item {
        Value::String(text) => Some(text),
        Value::Object(map) => match map.get_mut("text") {
            Some(Value::String(text)) => Some(text),
            _ => None,
        },
        _ => None,
    }
}
