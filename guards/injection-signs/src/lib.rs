//! Signs that a text gives orders to whoever reads it.
//!
//! A library, not a guard: `prompt-injection` asks it about a call's arguments, `injection-marker` about what tools return.
//!
//! No single phrase tells an attack from an article about attacks. So signs have points, several of one family count once,
//! and what is quoted within a sentence, or what ordinary texts have as well, counts one point in all. At
//! [`DEFAULT_THRESHOLD`] a text is taken for an attack: two independent signs, such as an order to ignore instructions and
//! one to tell nobody; or one that no ordinary text has, such as a text in tag characters.
//!
//! What it does not see: orders in words of its own that no phrase here speaks of, in languages other than English, German,
//! French, Spanish, Portuguese, Italian and Russian (and the plainest phrases in Chinese, Japanese and Korean), in pictures
//! or sound, encoded more than twice or by a cipher, spread over many texts, or quoted in a text that says it is about such
//! attacks. A record of a conversation in the marks of a model looks as data sets do, and is taken for one.

mod collected;
mod context;
mod encoded;
mod fold;
mod foreign;
mod hidden;
mod images;
mod odd;
mod patterns;
mod phrases;
mod reader;
mod roles;
mod sign;
mod vocabulary;

pub use collected::Collected;
use collected::Regions;
pub use patterns::Custom;
pub use sign::{Kind, Signs};

use context::Context;
use fold::fold;
use patterns::Patterns;
use reader::{Found, Reader, Stop};
use serde_json::Value;
use sign::Family;

/// How many points are enough.
pub const DEFAULT_THRESHOLD: u32 = 4;
/// The highest threshold that makes sense: more points than most attacks have.
pub const MAX_THRESHOLD: u32 = 20;
/// A text that is shorter, in bytes, holds no sign, unless there are characters in it beyond ASCII.
const MIN_BYTES: usize = 12;
/// How often what is inside of a text is looked into again: a JSON text in a text, with base64 in it.
const MAX_DEPTH: u8 = 2;

/// Looks for signs.
#[derive(Debug)]
pub struct Detector {
    patterns: Patterns,
    built_in: bool,
}

impl Detector {
    /// A detector with `patterns` beside the built-in signs, or instead of them where `replace` says so.
    ///
    /// # Errors
    /// Names the pattern that is none, and says why.
    pub fn new(patterns: &[Custom], replace: bool) -> Result<Self, String> {
        Ok(Self { patterns: Patterns::new(patterns)?, built_in: !replace })
    }

    /// The signs of a text.
    #[must_use]
    pub fn read(&self, text: &str) -> Signs {
        self.read_at(text, 0)
    }

    /// The signs of an address, as it is and with its escapes undone.
    #[must_use]
    pub fn read_address(&self, address: &str) -> Signs {
        let mut signs = self.read(address);
        let plain = encoded::of_address(address);
        if plain != address {
            signs.merge(&self.read(&plain));
        }
        signs
    }

    fn read_at(&self, text: &str, depth: u8) -> Signs {
        let mut signs = Signs::default();
        for name in self.patterns.matching(text) {
            signs.note_pattern(name);
        }
        if !self.built_in || (text.len() < MIN_BYTES && text.is_ascii()) {
            return signs;
        }
        if depth < MAX_DEPTH
            && text.trim_start().starts_with(['{', '['])
            && let Ok(value) = serde_json::from_str(text)
        {
            let mut collected = Collected::default();
            self.values(&value, depth + 1, &mut collected);
            signs.merge(&collected.into_signs());
            return signs;
        }
        self.plain(text, depth, &mut signs);
        signs
    }

    /// The strings and keys of a JSON text. Its reader allows 128 levels.
    fn values(&self, value: &Value, depth: u8, collected: &mut Collected) {
        match value {
            Value::String(text) => collected.add("", self.read_at(text, depth)),
            Value::Array(items) => items.iter().for_each(|item| self.values(item, depth, collected)),
            Value::Object(map) => {
                for (key, item) in map {
                    collected.add("", self.read_at(key, depth));
                    self.values(item, depth, collected);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn plain(&self, text: &str, depth: u8, signs: &mut Signs) {
        let folded = fold(text);
        let tags = hidden::find(text, &folded, signs);
        if folded.has_ideographs {
            foreign::find(text, signs);
        }
        if let Some(tags) = tags.filter(|_| depth < MAX_DEPTH) {
            signs.merge(&self.read_at(&tags, MAX_DEPTH));
        }
        let text = folded.text.as_ref();
        let context = Context::of(text);
        let mut reader = Reader::new(text);
        let mut regions = Regions::default();
        let mut region = Signs::default();
        loop {
            let stop = reader.fill();
            phrases::find(&mut reader.found().hits, stop == Stop::End, &context, &mut region);
            if stop == Stop::Batch {
                continue;
            }
            self.closer(text, reader.found(), depth, &context, &mut region);
            regions.add(std::mem::take(&mut region));
            if stop == Stop::End {
                break;
            }
        }
        signs.merge(&regions.into_worst());
        if depth < MAX_DEPTH && reader.found().has_escapes {
            self.plain(&encoded::unescaped(text), MAX_DEPTH, signs);
        }
    }

    /// Looks closer at what was found in a region beside its words, and takes it out.
    fn closer(&self, text: &str, found: &mut Found, depth: u8, context: &Context<'_>, signs: &mut Signs) {
        if std::mem::take(&mut found.spelt_out) {
            signs.note(Family::Override, 2);
            signs.note(Family::Disguise, 2);
        }
        roles::find(text, &found.marks, &found.roles, context, signs);
        images::find(text, &found.links, &found.marks, signs);
        for run in found.runs.drain(..) {
            let Some(decoded) = text.get(run).filter(|_| depth < MAX_DEPTH).and_then(encoded::decode) else { continue };
            let inner = self.read_at(&decoded, depth + 1);
            if inner.points() >= 2 {
                signs.merge(&inner);
                signs.note(Family::Encoded, 2);
            }
        }
        found.marks.clear();
        found.roles.clear();
        found.links.clear();
    }
}

#[cfg(test)]
mod tests;
