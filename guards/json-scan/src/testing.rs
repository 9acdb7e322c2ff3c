//! A finder for tests: the word `badge`, what stands between `<` and `>`, and numbers with a seven in them.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::finder::{Finder, Found, Hit, Joined};

pub(crate) struct Words;

impl Finder for Words {
    fn text(&self, name: &str, text: &str) -> Found {
        let mut hits: Vec<_> =
            text.match_indices("badge").map(|(at, word)| Hit::new(at..at + word.len(), "word")).collect();
        if name == "secret" && hits.is_empty() && !text.is_empty() {
            hits.push(Hit { range: 0..text.len(), kind: Cow::Borrowed("named") });
        }
        let starts = ["b", "ba", "bad", "badg", "<"];
        let open = starts.iter().filter(|start| text.ends_with(**start)).map(|start| text.len() - start.len());
        Found { hits, open: open.collect() }
    }

    fn number(&self, _name: &str, number: &str) -> Vec<Hit> {
        if number.contains('7') { vec![Hit::new(0..number.len(), "seven")] } else { Vec::new() }
    }

    fn joined(&self, text: &str) -> Joined {
        if text.starts_with("badge") {
            return Joined::Whole(Hit::new(0.."badge".len(), "word"));
        }
        if "badge".starts_with(text) {
            return Joined::Open;
        }
        match text.find('>') {
            _ if !text.starts_with('<') => Joined::Nothing,
            Some(end) => Joined::Whole(Hit::new(0..end + 1, "tag")),
            None => Joined::Partial(Hit::new(0..text.len(), "tag")),
        }
    }

    fn tells(&self, key: &str) -> bool {
        key == "kind"
    }

    fn members(&self, object: &Map<String, Value>) -> Vec<(&'static str, &'static str)> {
        if object.get("kind") == Some(&Value::from("lock")) { vec![("pin", "member")] } else { Vec::new() }
    }
}
