//! Reads typed values off the tree. A reader that is not satisfied reports why and answers `None`; nothing stops early.
//!
//! The keys that a mapping may have are those that its reader asks for, so a key is known in one place.

use std::ops::RangeInclusive;

use chio_host_kernel::canonical::printable;
use serde_json::{Map, Value};

use super::scalar::{self, Plain};
use super::tree::{Entry, Kind, Node, join_item, join_key};
use crate::problem::{Located, Report, Spot, quote, suggestion};

/// The longest list, other than in a plugin's own configuration.
const MAX_ITEMS: usize = 256;

/// A value and the way to it.
pub(crate) struct Cursor<'a> {
    node: &'a Node,
    spot: Spot,
    report: &'a Report,
}

impl<'a> Cursor<'a> {
    /// The whole file.
    pub(crate) fn root(node: &'a Node, report: &'a Report) -> Self {
        let spot = Spot { file: report.file().clone(), line: node.line, column: node.column, path: String::new() };
        Self { node, spot, report }
    }

    /// A scalar is where it stands; a mapping or a list is where its key stands.
    fn of_entry(entry: &'a Entry, parent: &str, report: &'a Report) -> Self {
        let is_shown = matches!(&entry.value.kind, Kind::Scalar { text, plain } if !plain || !text.is_empty());
        let (line, column) = if is_shown { (entry.value.line, entry.value.column) } else { (entry.line, entry.column) };
        let spot = Spot { file: report.file().clone(), line, column, path: join_key(parent, &entry.key) };
        Self { node: &entry.value, spot, report }
    }

    pub(crate) fn spot(&self) -> &Spot {
        &self.spot
    }

    pub(crate) fn report(&self) -> &'a Report {
        self.report
    }

    /// Reports something wrong with this value.
    pub(crate) fn refuse(&self, message: impl Into<String>) {
        self.report.at(&self.spot, message);
    }

    pub(crate) fn locate<T>(&self, value: T) -> Located<T> {
        Located { value, spot: self.spot.clone() }
    }

    fn is_null(&self) -> bool {
        matches!(&self.node.kind, Kind::Scalar { text, plain: true } if Plain::read(text) == Plain::Null)
    }

    /// What stands here, for a message.
    fn shown(&self) -> String {
        match &self.node.kind {
            Kind::Scalar { .. } if self.is_null() => "nothing".to_owned(),
            Kind::Scalar { text, plain: true } => printable(text, 64),
            Kind::Scalar { text, plain: false } => quote(text),
            Kind::List(_) => "a list".to_owned(),
            Kind::Map(_) | Kind::Broken => "a mapping".to_owned(),
        }
    }

    /// Reports that something else is needed here, unless this value was already reported as a whole.
    fn mismatch<T>(&self, needed: &str) -> Option<T> {
        if let Kind::Scalar { text, plain: true } = &self.node.kind
            && let Plain::Refused(why) = Plain::read(text)
        {
            self.refuse(format!("{} {why}", self.shown()));
        } else if !matches!(self.node.kind, Kind::Broken) {
            self.refuse(format!("{} is not {needed}", self.shown()));
        }
        None
    }

    /// Text: a scalar that is neither a number, nor a boolean, nor nothing; or any in quotes.
    pub(crate) fn text(&self, needed: &str) -> Option<&'a str> {
        match &self.node.kind {
            Kind::Scalar { text, plain } if !plain || Plain::read(text) == Plain::Text => Some(text),
            Kind::Scalar { text, .. } if matches!(Plain::read(text), Plain::Number(_) | Plain::Bool(_)) => {
                self.mismatch(&format!("{needed}; put it in quotes if it is text"))
            }
            _ => self.mismatch(needed),
        }
    }

    pub(crate) fn boolean(&self) -> Option<bool> {
        match &self.node.kind {
            Kind::Scalar { text, plain: true } => match Plain::read(text) {
                Plain::Bool(value) => Some(value),
                _ => self.mismatch("true or false"),
            },
            _ => self.mismatch("true or false"),
        }
    }

    /// A whole number within `range`.
    pub(crate) fn integer(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let found = self.plain_integer().filter(|n| range.contains(n));
        found.or_else(|| self.mismatch(&format!("a whole number from {} to {}", range.start(), range.end())))
    }

    fn plain_integer(&self) -> Option<u64> {
        match &self.node.kind {
            Kind::Scalar { text, plain: true } => match Plain::read(text) {
                Plain::Number(n) => n.as_u64(),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a whole number stands here, of whatever size.
    pub(crate) fn is_integer(&self) -> bool {
        self.plain_integer().is_some()
    }

    /// Bytes: a whole number, or `16MiB`.
    pub(crate) fn size(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let found = self.plain_integer().or_else(|| self.quantity(scalar::size)).filter(|n| range.contains(n));
        found.or_else(|| {
            let (low, high) = (range.start(), range.end());
            self.mismatch(&format!("a size from {low} to {high} bytes, such as 16MiB, 64KiB or 65536"))
        })
    }

    /// Milliseconds: `50ms`, `30s`.
    pub(crate) fn duration_ms(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let found = self.quantity(scalar::duration_ms).filter(|n| range.contains(n));
        found.or_else(|| {
            let (low, high) = (range.start(), range.end());
            self.mismatch(&format!("a duration from {low}ms to {high}ms, such as 50ms, 30s or 2m"))
        })
    }

    fn quantity(&self, read: impl Fn(&str) -> Option<u64>) -> Option<u64> {
        match &self.node.kind {
            Kind::Scalar { text, .. } => read(text),
            _ => None,
        }
    }

    /// One of a few words.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Option<T> {
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        let needed = format!("one of {}", words.join(", "));
        let text = self.text(&needed)?;
        let found = choices.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        found.or_else(|| self.mismatch(&format!("{needed}{}", suggestion(text, words))))
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self.node.kind, Kind::List(_))
    }

    /// The items of a list, of which there are at most [`MAX_ITEMS`].
    pub(crate) fn list(&self, needed: &str) -> Option<Vec<Cursor<'a>>> {
        let Kind::List(items) = &self.node.kind else { return self.mismatch(needed) };
        if items.len() > MAX_ITEMS {
            self.refuse(format!("holds {} items; at most {MAX_ITEMS} are read", items.len()));
            return None;
        }
        Some(self.items(items).collect())
    }

    fn items(&self, items: &'a [Node]) -> impl Iterator<Item = Cursor<'a>> {
        items.iter().enumerate().map(|(index, node)| {
            let path = join_item(&self.spot.path, index);
            let spot = Spot { file: self.spot.file.clone(), line: node.line, column: node.column, path };
            Cursor { node, spot, report: self.report }
        })
    }

    /// The entries of a mapping whose keys are names: the name, where it stands, and its value.
    pub(crate) fn entries(&self, needed: &str) -> Option<Vec<(Located<String>, Cursor<'a>)>> {
        let Kind::Map(entries) = &self.node.kind else { return self.mismatch(needed) };
        let entry = |entry: &'a Entry| {
            let cursor = Cursor::of_entry(entry, &self.spot.path, self.report);
            let spot = Spot { line: entry.line, column: entry.column, ..cursor.spot.clone() };
            (Located { value: entry.key.clone(), spot }, cursor)
        };
        Some(entries.iter().map(entry).collect())
    }

    /// Reads a mapping by its keys. A key that `read` does not ask for is reported; nothing at all is an empty mapping.
    pub(crate) fn fields<T>(&self, needed: &str, read: impl FnOnce(&mut Fields<'a, '_>) -> T) -> Option<T> {
        let entries = match &self.node.kind {
            Kind::Map(entries) => entries.as_slice(),
            Kind::Scalar { .. } if self.is_null() => &[],
            _ => return self.mismatch(needed),
        };
        let mut fields = Fields { entries, asked: Vec::new(), of: self };
        let value = read(&mut fields);
        fields.report_unknown();
        Some(value)
    }

    /// Anything that JSON can hold.
    pub(crate) fn json(&self) -> Value {
        match &self.node.kind {
            Kind::Broken => Value::Null,
            Kind::List(items) => self.items(items).map(|item| item.json()).collect(),
            Kind::Map(_) => {
                let entries = self.entries("").unwrap_or_default();
                Value::Object(entries.into_iter().map(|(key, value)| (key.value, value.json())).collect::<Map<_, _>>())
            }
            Kind::Scalar { text, plain: false } => Value::String(text.clone()),
            Kind::Scalar { text, plain: true } => match Plain::read(text) {
                Plain::Null => Value::Null,
                Plain::Bool(value) => Value::Bool(value),
                Plain::Number(number) => Value::Number(number),
                Plain::Text => Value::String(text.clone()),
                Plain::Refused(why) => {
                    self.refuse(format!("{} {why}", self.shown()));
                    Value::Null
                }
            },
        }
    }

    /// A mapping as JSON; absent is null.
    pub(crate) fn json_object(&self, needed: &str) -> Option<Value> {
        if matches!(self.node.kind, Kind::Map(_)) { Some(self.json()) } else { self.mismatch(needed) }
    }
}

/// A mapping that is being read by its keys.
pub(crate) struct Fields<'a, 'c> {
    entries: &'a [Entry],
    asked: Vec<&'static str>,
    of: &'c Cursor<'a>,
}

impl<'a> Fields<'a, '_> {
    pub(crate) fn report(&self) -> &'a Report {
        self.of.report
    }

    /// The value of a key; a key with nothing behind it counts as absent.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Cursor<'a>> {
        self.asked.push(key);
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(Cursor::of_entry(entry, &self.of.spot.path, self.of.report)).filter(|cursor| !cursor.is_null())
    }

    /// The value of a key that holds any JSON: nothing behind it is null, and counts.
    pub(crate) fn take_json(&mut self, key: &'static str) -> Option<Value> {
        self.asked.push(key);
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(Cursor::of_entry(entry, &self.of.spot.path, self.of.report).json())
    }

    /// The value of a key that must be there; `needed` says what it would hold.
    pub(crate) fn need(&mut self, key: &'static str, needed: &str) -> Option<Cursor<'a>> {
        let found = self.take(key);
        if found.is_none() {
            self.report_missing(key, needed);
        }
        found
    }

    /// Reports that a key is missing; `needed` says what it would hold.
    pub(crate) fn report_missing(&self, key: &str, needed: &str) {
        self.of.refuse(format!("{key} is missing: {needed}"));
    }

    /// Reports something wrong with the entry that was found last.
    pub(crate) fn refuse_last(&self, message: impl Into<String>) {
        let mut asked = self.asked.iter().rev();
        let last = asked.find_map(|key| self.entries.iter().find(|entry| entry.key == *key));
        match last {
            Some(entry) => Cursor::of_entry(entry, &self.of.spot.path, self.of.report).refuse(message),
            None => self.of.refuse(message),
        }
    }

    /// A value with a default, which also stands in for one that was refused: the file is not used then.
    pub(crate) fn or<T>(&mut self, key: &'static str, default: T, read: impl FnOnce(Cursor<'a>) -> Option<T>) -> T {
        self.take(key).and_then(read).unwrap_or(default)
    }

    fn report_unknown(&self) {
        for entry in self.entries.iter().filter(|entry| !self.asked.contains(&entry.key.as_str())) {
            if self.of.report.is_full() {
                self.of.report.count();
                continue;
            }
            let path = join_key(&self.of.spot.path, &entry.key);
            let spot = Spot { file: self.of.spot.file.clone(), line: entry.line, column: entry.column, path };
            let near = suggestion(&entry.key, self.asked.iter().copied());
            let known = if near.is_empty() { format!("; known here: {}", self.asked.join(", ")) } else { near };
            self.of.report.at(&spot, format!("unknown key{known}"));
        }
    }
}
