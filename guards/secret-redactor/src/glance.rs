//! Whether an output holds anything at all, read as it is parsed: most hold nothing, and building their values would cost
//! more than looking.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::scan::Scan;
use crate::{assignment, forms};

/// Whether `output` is JSON in which nothing is to be found by the built-in patterns. What holds something, or is not
/// JSON, is for the walk over its values to say.
pub(crate) fn is_clean(scan: &Scan<'_>, output: &str) -> bool {
    let mut json = serde_json::Deserializer::from_str(output);
    Glance { scan }.deserialize(&mut json).and_then(|_| json.end()).is_ok()
}

/// Reads one value; its error says that it holds something.
#[derive(Clone, Copy)]
struct Glance<'a> {
    scan: &'a Scan<'a>,
}

/// What a value is to the list or the object that it stands in.
enum Part<'de> {
    Text(Cow<'de, str>),
    /// An object with a text (`{"type":"text","text":"…"}`).
    Block(Cow<'de, str>),
    Other,
}

impl<'a> Glance<'a> {
    fn text<E: Error>(self, text: Cow<'_, str>) -> Result<Part<'_>, E> {
        if self.scan.hits(&text).is_empty() { Ok(Part::Text(text)) } else { Err(found()) }
    }

    fn key(self) -> Key<'a> {
        Key(self)
    }
}

fn found<E: Error>() -> E {
    E::custom("it holds something")
}

impl<'de> DeserializeSeed<'de> for Glance<'_> {
    type Value = Part<'de>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Part<'de>, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Glance<'_> {
    type Value = Part<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Part<'de>, E> {
        Ok(Part::Other)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Part<'de>, E> {
        Ok(Part::Other)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Part<'de>, E> {
        Ok(Part::Other)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Part<'de>, E> {
        Ok(Part::Other)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Part<'de>, E> {
        Ok(Part::Other)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Part<'de>, E> {
        self.text(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Part<'de>, E> {
        self.text(Cow::Owned(text.to_owned()))
    }

    /// Tokens may be split over neighbours.
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Part<'de>, A::Error> {
        let mut joined = Some(String::new());
        let mut ends = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            match (&mut joined, item) {
                (Some(joined), Part::Text(text) | Part::Block(text)) => {
                    joined.push_str(&text);
                    ends.push(joined.len());
                }
                _ => joined = None,
            }
        }
        let Some(joined) = joined.filter(|_| ends.len() > 1) else { return Ok(Part::Other) };
        let crosses = |hit: &forms::Hit| ends.iter().any(|end| hit.range.start < *end && *end < hit.range.end);
        if forms::find(&joined).iter().any(crosses) { Err(found()) } else { Ok(Part::Other) }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Part<'de>, A::Error> {
        let mut block = Part::Other;
        while let Some(key) = entries.next_key_seed(self.key())? {
            let value = entries.next_value_seed(self)?;
            if let Part::Text(text) = &value
                && assignment::is_telling(&key)
                && assignment::looks_secret(text)
            {
                return Err(found());
            }
            if key == "text" {
                block = match value {
                    Part::Text(text) => Part::Block(text),
                    _ => Part::Other,
                };
            }
        }
        Ok(block)
    }
}

/// Reads an object's key.
struct Key<'a>(Glance<'a>);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Cow<'de, str>, D::Error> {
        match json.deserialize_str(self.0)? {
            Part::Text(text) => Ok(text),
            Part::Block(_) | Part::Other => Err(found()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::{Value, json};

    use super::*;
    use crate::patterns::Patterns;

    fn texts() -> impl Strategy<Value = String> {
        let pieces = vec![
            "AKIAIOSF",
            "ODNN7EXAMPLE",
            "ghp_aB3dE5fG7haB3dE5",
            "fG7haB3dE5fG7h123456",
            "hunter2!xyz",
            "password=",
            "text",
            "token",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx",
            "MjM0NTY3ODkwIn0.dozjgNryP4J3",
            " ",
            "\n",
            "\u{200b}",
            "é",
            "x",
        ];
        prop::collection::vec(select(pieces), 0..4).prop_map(|pieces| pieces.concat())
    }

    fn outputs() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![4 => texts().prop_map(Value::from), 1 => Just(json!(null)), 1 => Just(json!(1.5))];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let block = texts().prop_map(|text| json!({ "type": "text", "text": text }));
            prop_oneof![
                prop::collection::vec(prop_oneof![inner.clone(), block], 0..4).prop_map(Value::from),
                prop::collection::hash_map(texts(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn what_is_clean_at_a_glance_is_clean(output in outputs()) {
            let patterns = Patterns::new(&[], true).unwrap();
            let mut scan = Scan::new(&patterns);
            if is_clean(&scan, &output.to_string()) {
                let mut value = output.clone();
                scan.value(&mut value);
                prop_assert_eq!(&value, &output);
                prop_assert!(scan.found().is_empty());
            }
        }
    }

    #[test]
    fn what_is_no_json_is_not_clean() {
        let patterns = Patterns::new(&[], true).unwrap();
        for (output, is) in
            [("1", true), ("[\"a\",{\"b\":null}]", true), ("{", false), ("1 2", false), ("1e999", false)]
        {
            assert_eq!(is_clean(&Scan::new(&patterns), output), is, "{output}");
        }
        assert!(!is_clean(&Scan::new(&patterns), &format!("{}{}", "[".repeat(200), "]".repeat(200))));
    }
}
