//! What is spread over several strings: neighbours in the JSON, or the same field of a list's elements.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::finder::{Finder, Hit, Joined};
use crate::names::{Path, is_label};

/// How long a joined text grows, in bytes. No token is longer, nor the largest private key in use.
const MAX_BYTES: usize = 32 << 10;

/// How many beginnings are followed at once at one path. Where there are more the oldest is given up, and counts as found:
/// what is not read is not let through.
const MAX_OPEN: usize = 32;
/// What is given up is called this.
const UNREAD: &str = "unread";

/// Something that is spread over strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Join {
    pub(crate) kind: Cow<'static, str>,
    /// The strings that hold a part, by their number in the walk, and which bytes.
    pub(crate) parts: Vec<(usize, Range<usize>)>,
}

/// Follows a walk over the strings of a JSON, in its order. Keys are none of them.
pub(crate) struct Joins<'f, F> {
    finder: &'f F,
    /// What the string before left open.
    before: Vec<Open>,
    /// What the last string at the same path left open.
    chains: BTreeMap<Path, Vec<Open>>,
    strings: usize,
    found: Vec<Join>,
}

/// Something that may go on.
#[derive(Clone)]
struct Open {
    text: String,
    parts: Vec<Part>,
    /// What it is so far.
    so_far: Option<Hit>,
}

#[derive(Clone)]
struct Part {
    string: usize,
    /// Where in the string it begins, and where in the joined text.
    from: usize,
    at: usize,
}

impl<'f, F: Finder> Joins<'f, F> {
    pub(crate) fn new(finder: &'f F) -> Self {
        Self { finder, before: Vec::new(), chains: BTreeMap::new(), strings: 0, found: Vec::new() }
    }

    /// The next string, where it stands and under which key, and what begins in it.
    pub(crate) fn string(&mut self, path: Path, key: &str, text: &str, open: &[usize]) {
        let string = self.strings;
        self.strings += 1;
        if text.is_empty() || is_label(key, text) {
            return;
        }
        let mut before = std::mem::take(&mut self.before);
        let mut chain = if self.chains.is_empty() { Vec::new() } else { self.chains.remove(&path).unwrap_or_default() };
        // The same field first: what goes on there is no part of the fields between.
        for opens in [&mut chain, &mut before] {
            opens.retain_mut(|open| self.goes_on(open, string, text));
        }
        for tail in open.iter().filter_map(|start| Some((*start, text.get(*start..)?))) {
            let (from, tail) = tail;
            if tail.len() < MAX_BYTES {
                let part = Part { string, from, at: 0 };
                let open = Open { text: tail.to_owned(), parts: vec![part], so_far: None };
                chain.push(open.clone());
                before.push(open);
            }
        }
        for opens in [&mut chain, &mut before] {
            let too_many = opens.len().saturating_sub(MAX_OPEN);
            for mut open in opens.drain(..too_many) {
                open.so_far = Some(Hit::new(0..open.text.len(), UNREAD));
                self.settle(&open);
            }
        }
        self.before = before;
        if !chain.is_empty() {
            self.chains.insert(path, chain);
        }
    }

    /// What was found, once the walk is over.
    pub(crate) fn finish(mut self) -> Vec<Join> {
        let chains = std::mem::take(&mut self.chains).into_values().flatten();
        for open in std::mem::take(&mut self.before).into_iter().chain(chains) {
            self.settle(&open);
        }
        self.found
    }

    /// Adds a string, and says whether more may follow.
    fn goes_on(&mut self, open: &mut Open, string: usize, text: &str) -> bool {
        let room = MAX_BYTES.saturating_sub(open.text.len());
        let head = &text[..text.floor_char_boundary(room)];
        open.parts.push(Part { string, from: 0, at: open.text.len() });
        open.text.push_str(head);
        let may_go_on = match self.finder.joined(&open.text) {
            Joined::Nothing => false,
            Joined::Open => true,
            Joined::Partial(hit) => {
                open.so_far = Some(hit);
                true
            }
            Joined::Whole(hit) => {
                open.so_far = Some(hit);
                false
            }
        };
        let goes_on = may_go_on && head.len() == text.len();
        if !goes_on {
            self.settle(open);
        }
        goes_on
    }

    /// Keeps what an open text became, if that stands in more than one string and was not found in another order.
    fn settle(&mut self, open: &Open) {
        let Some(hit) = &open.so_far else { return };
        let ends = open.parts.iter().skip(1).map(|part| part.at).chain([open.text.len()]);
        let parts: Vec<_> = open
            .parts
            .iter()
            .zip(ends)
            .filter_map(|(part, end)| {
                let (start, end) = (hit.range.start.max(part.at), hit.range.end.min(end));
                (start < end).then(|| (part.string, part.from + start - part.at..part.from + end - part.at))
            })
            .collect();
        let is_known = self.found.iter().any(|join| join.parts.first() == parts.first());
        if parts.len() > 1 && !is_known {
            self.found.push(Join { kind: hit.kind.clone(), parts });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Words;

    fn joins(strings: &[(&str, &str)]) -> Vec<Join> {
        let mut joins = Joins::new(&Words);
        for (path, text) in strings {
            joins.string(Path::ROOT.key(path), path, text, &Words.text("", text).open);
        }
        joins.finish()
    }

    fn parts(strings: &[(&str, &str)]) -> Vec<Vec<(usize, Range<usize>)>> {
        joins(strings).into_iter().map(|join| join.parts).collect()
    }

    #[test]
    fn neighbours_are_joined() {
        assert_eq!(parts(&[("a", "x ba"), ("b", "dge y")]), [vec![(0, 2..4), (1, 0..3)]]);
        assert_eq!(parts(&[("a", "b"), ("b", ""), ("c", "ad"), ("d", "ge")]), [vec![(0, 0..1), (2, 0..2), (3, 0..2)]]);
        assert!(parts(&[("a", "ba"), ("b", "x"), ("c", "dge")]).is_empty());
        assert!(parts(&[("a", "badge"), ("b", "s")]).is_empty(), "it stands in one string");
    }

    #[test]
    fn the_same_field_of_elements_is_joined() {
        assert_eq!(parts(&[("t", "ba"), ("k", "text"), ("t", "dge"), ("k", "text")]), [vec![(0, 0..2), (2, 0..3)]]);
        assert_eq!(parts(&[("t", "ba"), ("t", "dge")]).len(), 1, "it is found once");
        assert_eq!(parts(&[("t", "<"), ("type", "text"), ("t", "a>")]), [vec![(0, 0..1), (2, 0..2)]]);
    }

    #[test]
    fn what_is_given_up_counts_as_found() {
        let many = [("t", "<")].repeat(MAX_OPEN);
        assert!(joins(&many).iter().all(|join| join.kind == "tag"));
        let more = [("t", "<")].repeat(MAX_OPEN + 2);
        assert!(joins(&more).iter().any(|join| join.kind == UNREAD));
    }

    #[test]
    fn what_grows_is_taken_as_far_as_it_goes() {
        assert_eq!(parts(&[("a", "<"), ("b", "a"), ("c", "b>"), ("d", "x")]), [vec![(0, 0..1), (1, 0..1), (2, 0..2)]]);
        assert_eq!(parts(&[("a", "<"), ("b", "a"), ("c", "b")]), [vec![(0, 0..1), (1, 0..1), (2, 0..1)]]);
    }
}
