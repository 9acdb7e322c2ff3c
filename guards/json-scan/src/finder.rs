//! What is asked of whoever knows what to look for.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::{Map, Value};

/// Something that must not be seen, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Its bytes, on the borders of characters.
    pub range: Range<usize>,
    /// What it is: up to 64 letters, digits, `-` and `_`.
    pub kind: Cow<'static, str>,
}

impl Hit {
    /// A hit of this kind.
    #[must_use]
    pub fn new(range: Range<usize>, kind: &'static str) -> Self {
        Self { range, kind: Cow::Borrowed(kind) }
    }
}

/// What was found in one string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// In any order. Of two that begin together, the first names both.
    pub hits: Vec<Hit>,
    /// Where something begins that may go on in the next string.
    pub open: Vec<usize>,
}

/// What a text is that begins where something was left open, and goes on over the border of strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Joined {
    /// It is nothing, whatever comes next.
    Nothing,
    /// It may become something.
    Open,
    /// It is something by now, and what comes next may belong to it.
    Partial(Hit),
    /// It is something, and complete.
    Whole(Hit),
}

/// Knows what to look for.
pub trait Finder {
    /// What a string holds. `name` is the key that it stands under, empty where there is none.
    fn text(&self, name: &str, text: &str) -> Found;

    /// What a number holds, as it is written.
    fn number(&self, name: &str, number: &str) -> Vec<Hit>;

    /// What the text is that begins with something left open.
    fn joined(&self, _text: &str) -> Joined {
        Joined::Nothing
    }

    /// Whether an object that has this key has to be shown to [`Finder::members`].
    fn tells(&self, _key: &str) -> bool {
        false
    }

    /// Keys of an object whose values must not be seen, by what the object is as a whole, and what they are.
    fn members(&self, _object: &Map<String, Value>) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }
}
