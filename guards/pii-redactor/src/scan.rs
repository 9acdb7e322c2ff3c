//! One text, what was found in it, and what is beside a place.

use std::cell::OnceCell;
use std::ops::Range;

use json_scan::Hit;

use crate::kind::{Kind, Kinds};
use crate::words::{self, Labels};

/// A text that is being read.
pub(crate) struct Scan<'t> {
    pub(crate) text: &'t str,
    /// The key that the text stands under.
    pub(crate) name: &'t str,
    /// What is looked for.
    wanted: Kinds,
    of_name: OnceCell<Kinds>,
    labels: OnceCell<Labels>,
    is_patch: OnceCell<bool>,
    pub(crate) hits: Vec<Hit>,
}

impl<'t> Scan<'t> {
    pub(crate) fn new(name: &'t str, text: &'t str, wanted: Kinds) -> Self {
        Self {
            text,
            name,
            wanted,
            of_name: OnceCell::new(),
            labels: OnceCell::new(),
            is_patch: OnceCell::new(),
            hits: Vec::new(),
        }
    }

    pub(crate) fn wants(&self, kind: Kind) -> bool {
        self.wanted.has(kind)
    }

    /// What the key says of the text.
    pub(crate) fn of_name(&self) -> Kinds {
        *self.of_name.get_or_init(|| words::of_name(self.name))
    }

    pub(crate) fn labels(&self) -> &Labels {
        self.labels.get_or_init(|| Labels::of(self.text))
    }

    /// What the key or any word of the text says.
    pub(crate) fn said(&self) -> Kinds {
        self.labels().kinds().and(self.of_name())
    }

    /// Whether the key, or the words beside a place, say that it is of this kind.
    pub(crate) fn is_said(&self, kind: Kind, place: &Range<usize>) -> bool {
        self.of_name().has(kind)
            || self.labels().kinds().has(kind) && self.labels().around(self.text, place.start, place.end).has(kind)
    }

    /// Whether the text is a patch, in which a plus at a line's begin is no part of the line.
    pub(crate) fn is_patch(&self) -> bool {
        let begins = |mark: &str| self.text.starts_with(mark) || self.text.contains(&format!("\n{mark}"));
        *self.is_patch.get_or_init(|| begins("@@ -") || begins("diff --git "))
    }

    pub(crate) fn found(&mut self, place: Range<usize>, kind: Kind) {
        if self.wants(kind) {
            self.hits.push(Hit::new(place, kind.name()));
        }
    }
}
