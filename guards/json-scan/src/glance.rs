//! Whether a JSON text holds anything at all, read as it is parsed: most hold nothing, and building their values would
//! cost more than looking.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use crate::finder::Finder;
use crate::joins::Joins;
use crate::names::{Path, name_of, names_another};

/// Whether `json` is JSON in which nothing is found. What holds something, or is not JSON, is for the walk over its
/// values to say. The keys of its objects come sorted, as they do in canonical JSON.
pub fn is_clean<F: Finder>(finder: &F, json: &str) -> bool {
    let joins = RefCell::new(Joins::new(finder));
    let mut json = serde_json::Deserializer::from_str(json);
    let glance = Glance { finder, joins: &joins, name: "", key: "", path: Path::ROOT, is_wanted: false };
    let is_read = glance.deserialize(&mut json).and_then(|_| json.end()).is_ok();
    is_read && joins.into_inner().finish().is_empty()
}

/// Reads one value; its error says that it holds something.
struct Glance<'a, 'f, F> {
    finder: &'f F,
    joins: &'a RefCell<Joins<'f, F>>,
    name: &'a str,
    key: &'a str,
    path: Path,
    /// Whether a string is to be handed back.
    is_wanted: bool,
}

impl<F: Finder> Glance<'_, '_, F> {
    fn look<E: Error>(&self, text: &str) -> Result<(), E> {
        let found = self.finder.text(self.name, text);
        if !found.hits.is_empty() {
            return Err(something());
        }
        self.joins.borrow_mut().string(self.path, self.key, text, &found.open);
        Ok(())
    }

    fn number<E: Error>(&self, number: impl Into<Number>) -> Result<(), E> {
        let hits = self.finder.number(self.name, &number.into().to_string());
        if hits.is_empty() { Ok(()) } else { Err(something()) }
    }
}

fn something<E: Error>() -> E {
    E::custom("it holds something")
}

impl<'de, F: Finder> DeserializeSeed<'de> for Glance<'_, '_, F> {
    type Value = Option<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de, F: Finder> Visitor<'de> for Glance<'_, '_, F> {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        self.number(number).map(|()| None)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        self.number(number).map(|()| None)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        match Number::from_f64(number) {
            Some(number) => self.number(number).map(|()| None),
            None => Err(something()),
        }
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        self.look(text)?;
        Ok(self.is_wanted.then_some(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        self.look(text)?;
        Ok(self.is_wanted.then(|| Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let path = self.path.item();
        loop {
            let item = Glance {
                finder: self.finder,
                joins: self.joins,
                name: self.name,
                key: self.key,
                path,
                is_wanted: false,
            };
            if items.next_element_seed(item)?.is_none() {
                return Ok(None);
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut beside: Option<Cow<'de, str>> = None;
        while let Some(key) = entries.next_key_seed(Key(self.finder))? {
            let is_wanted = names_another(&key);
            let value = entries.next_value_seed(Glance {
                finder: self.finder,
                joins: self.joins,
                name: name_of(&key, beside.as_deref(), self.name),
                key: &key,
                path: self.path.key(&key),
                is_wanted,
            })?;
            if is_wanted {
                beside = value.or(beside);
            }
        }
        Ok(None)
    }
}

/// Reads an object's key.
struct Key<'f, F>(&'f F);

impl<F: Finder> Key<'_, F> {
    fn look<E: Error>(&self, key: &str) -> Result<(), E> {
        let is_clean = !self.0.tells(key) && self.0.text("", key).hits.is_empty();
        if is_clean { Ok(()) } else { Err(something()) }
    }
}

impl<'de, F: Finder> DeserializeSeed<'de> for Key<'_, F> {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Cow<'de, str>, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'de, F: Finder> Visitor<'de> for Key<'_, F> {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<Cow<'de, str>, E> {
        self.look(key).map(|()| Cow::Borrowed(key))
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Cow<'de, str>, E> {
        self.look(key).map(|()| Cow::Owned(key.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Words;

    #[test]
    fn what_is_no_json_is_not_clean() {
        for (json, is) in
            [("1", true), ("[\"a\",{\"b\":null}]", true), ("{", false), ("1 2", false), ("1e999", false), ("", false)]
        {
            assert_eq!(is_clean(&Words, json), is, "{json}");
        }
        assert!(!is_clean(&Words, &format!("{}{}", "[".repeat(200), "]".repeat(200))));
    }

    #[test]
    fn everything_is_looked_at() {
        for json in [
            r#""a badge""#,
            r#"{"badge":1}"#,
            r#"{"a":[7]}"#,
            r#"{"a":1.7}"#,
            r#"{"a":-7}"#,
            r#"["ba","dge"]"#,
            r#"{"secret":["x"]}"#,
            r#"{"secret":{"value":"x"}}"#,
            r#"[{"name":"secret","value":"x"}]"#,
            r#""b\u0061dge""#,
            r#"{"kind":"x"}"#,
        ] {
            assert!(!is_clean(&Words, json), "{json}");
        }
        assert!(is_clean(&Words, r#"{"a":"ba","b":["x","dge"],"name":"secret","z":"y"}"#));
    }
}
