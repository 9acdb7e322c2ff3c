//! From text to a tree whose every key and value knows its place.
//!
//! Of YAML this takes mappings, lists and scalars. What makes a file mean something other than what it shows is
//! refused: aliases and anchors (and with them expansion bombs), tags, duplicate keys, keys that are no text, a second
//! document.

use std::collections::HashSet;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput};

use super::scalar::Plain;
use crate::problem::{Report, Spot, quote};

/// The longest file that is read, in bytes.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// The deepest nesting of mappings and lists.
const MAX_DEPTH: usize = 32;

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Scalar {
        text: String,
        /// Without quotes, so it may be a number, a boolean or nothing.
        plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<Entry>),
    /// Refused, and reported.
    Broken,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) value: Node,
}

/// The tree of a file; `None` when there is none to speak of, which has been reported.
pub(crate) fn read(text: &str, report: &Report) -> Option<Node> {
    if text.len() > MAX_BYTES {
        report.whole(format!("is {} bytes long; at most {MAX_BYTES} are read", text.len()));
        return None;
    }
    let mut builder = Builder { parser: Parser::new_from_str(text), report, way: Vec::new() };
    match builder.document() {
        Ok(node) => node,
        Err(stop) => {
            let spot = Spot { file: report.file().clone(), line: stop.line, column: stop.column, path: builder.path() };
            report.at(&spot, stop.message);
            None
        }
    }
}

/// Why reading cannot go on.
struct Stop {
    line: usize,
    column: usize,
    message: String,
}

impl Stop {
    fn new(at: Marker, message: impl Into<String>) -> Self {
        Self { line: at.line(), column: at.col() + 1, message: message.into() }
    }
}

impl From<ScanError> for Stop {
    fn from(error: ScanError) -> Self {
        Self::new(*error.marker(), format!("not YAML: {}", error.info()))
    }
}

enum Step {
    Key(String),
    Item(usize),
}

struct Builder<'a> {
    parser: Parser<'a, StrInput<'a>>,
    report: &'a Report,
    way: Vec<Step>,
}

impl<'a> Builder<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Stop> {
        match self.parser.next_event() {
            Some(event) => Ok(event?),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn document(&mut self) -> Result<Option<Node>, Stop> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => break,
                Event::DocumentStart(_) if root.is_some() => {
                    return Err(Stop::new(span.start, "a second document begins here; one file holds one"));
                }
                Event::DocumentStart(_) => {
                    let (event, span) = self.next()?;
                    root = Some(self.node(event, span)?);
                }
                _ => {}
            }
        }
        if root.is_none() {
            self.report.whole("is empty");
        }
        Ok(root)
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Result<Node, Stop> {
        let at = span.start;
        let (anchor, tag) = match &event {
            Event::Scalar(_, _, anchor, tag) | Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => {
                (*anchor, tag)
            }
            Event::Alias(_) => (0, &None),
            other => return Err(Stop::new(at, format!("a value is missing here ({other:?})"))),
        };
        let refusal = if anchor != 0 {
            Some("anchors (&name) are not read; write the value where it is used".to_owned())
        } else if matches!(event, Event::Alias(_)) {
            Some("aliases (*name) are not read; write the value out".to_owned())
        } else {
            tag.as_ref().map(|tag| format!("tags ({}) are not read; write the value without", quote(&tag.to_string())))
        };
        if let Some(message) = &refusal {
            self.problem(at, message);
        }
        let kind = match event {
            Event::Scalar(text, style, ..) => {
                Kind::Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain }
            }
            Event::SequenceStart(..) => self.list(at)?,
            Event::MappingStart(..) => self.map(at)?,
            _ => Kind::Broken,
        };
        let kind = if refusal.is_some() { Kind::Broken } else { kind };
        Ok(Node { line: at.line(), column: at.col() + 1, kind })
    }

    fn deeper(&mut self, step: Step, at: Marker) -> Result<(), Stop> {
        if self.way.len() >= MAX_DEPTH {
            return Err(Stop::new(at, format!("nested more than {MAX_DEPTH} levels deep")));
        }
        self.way.push(step);
        Ok(())
    }

    fn list(&mut self, at: Marker) -> Result<Kind, Stop> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(Kind::List(items));
            }
            self.deeper(Step::Item(items.len()), at)?;
            items.push(self.node(event, span)?);
            self.way.pop();
        }
    }

    fn map(&mut self, at: Marker) -> Result<Kind, Stop> {
        let mut entries = Vec::new();
        let mut seen = HashSet::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Kind::Map(entries));
            }
            let key = self.key(event, span)?;
            self.deeper(Step::Key(key.clone().unwrap_or_else(|| "?".to_owned())), at)?;
            let is_duplicate = key.as_ref().is_some_and(|key| !seen.insert(key.clone()));
            if is_duplicate {
                self.problem(span.start, "this key stands twice; keep one");
            }
            let (event, value_span) = self.next()?;
            let value = self.node(event, value_span)?;
            self.way.pop();
            if let Some(key) = key.filter(|_| !is_duplicate) {
                entries.push(Entry { key, line: span.start.line(), column: span.start.col() + 1, value });
            }
        }
    }

    /// A key, if it is usable as one.
    fn key(&mut self, event: Event<'a>, span: Span) -> Result<Option<String>, Stop> {
        self.deeper(Step::Key("?".to_owned()), span.start)?;
        let node = self.node(event, span)?;
        self.way.pop();
        match node.kind {
            Kind::Scalar { text, plain } if !plain || matches!(Plain::read(&text), Plain::Text) => Ok(Some(text)),
            Kind::Scalar { text, .. } => {
                let message = format!("the key {} is no text; put it in quotes", quote(&text));
                self.problem(span.start, &message);
                Ok(None)
            }
            Kind::List(_) | Kind::Map(_) => {
                self.problem(span.start, "a list or mapping is no key; a key is text");
                Ok(None)
            }
            Kind::Broken => Ok(None),
        }
    }

    fn problem(&self, at: Marker, message: &str) {
        let spot = Spot { file: self.report.file().clone(), line: at.line(), column: at.col() + 1, path: self.path() };
        self.report.at(&spot, message);
    }

    fn path(&self) -> String {
        self.way.iter().fold(String::new(), |path, step| match step {
            Step::Key(key) => join_key(&path, key),
            Step::Item(index) => join_item(&path, *index),
        })
    }
}

/// The way to a key of a mapping.
pub(super) fn join_key(path: &str, key: &str) -> String {
    let key = chio_host_kernel::canonical::printable(key, 64);
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// The way to an item of a list.
pub(super) fn join_item(path: &str, index: usize) -> String {
    format!("{path}[{index}]")
}
