//! Canonical JSON (RFC 8785) and the strict parser at the door.
//!
//! Everything that is hashed or signed goes through [`to_vec`]; everything that comes from outside comes in through
//! [`parse`]. The writer is our own because `serde_jcs` costs more than a signature per receipt; a property test proves
//! the two equal, and another asks node.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

/// The largest integer that every JSON implementation keeps exactly: 2^53 - 1 (RFC 8785, section 3.2.2.3).
pub const MAX_INTEGER: u64 = (1 << 53) - 1;

/// How much JSON is accepted from outside.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Length of the text, in bytes.
    pub bytes: usize,
    /// Nesting of arrays and objects.
    pub depth: usize,
    /// Values in all, the containers themselves included.
    pub values: usize,
}

impl Bounds {
    /// A call's arguments, and what a guest hands back as small JSON.
    pub const ARGUMENTS: Self = Self { bytes: 1 << 20, depth: 64, values: 65_536 };
    /// A tool's output.
    pub const OUTPUT: Self = Self { bytes: 16 << 20, depth: 64, values: 1 << 20 };
    /// A receipt or a capability.
    pub const RECORD: Self = Self { bytes: 4 << 20, depth: 96, values: 262_144 };
}

/// Why a text is not accepted as JSON.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ParseError {
    /// Longer than the bound.
    #[error("{actual} bytes of JSON; at most {limit} are accepted")]
    TooLong {
        /// The text's length.
        actual: usize,
        /// The bound.
        limit: usize,
    },
    /// Not JSON, or JSON that two readers could read differently.
    #[error("{0}")]
    Refused(String),
}

/// Parses JSON that means the same to every reader: no duplicate keys, no integer beyond 2^53 - 1, no number that is
/// not finite, no lone surrogates, within `bounds`.
///
/// # Errors
/// Says what is wrong and at which line and column.
pub fn parse(text: &[u8], bounds: Bounds) -> Result<Value, ParseError> {
    if text.len() > bounds.bytes {
        return Err(ParseError::TooLong { actual: text.len(), limit: bounds.bytes });
    }
    refuse_large_integers(text)?;
    let mut left = bounds.values;
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = Strict { depth: bounds.depth, left: &mut left }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|e| ParseError::Refused(e.to_string()))?;
    Ok(value)
}

/// Integers that do not fit 64 bits reach a visitor as floats, already rounded, so they are looked for in the text.
fn refuse_large_integers(text: &[u8]) -> Result<(), ParseError> {
    let mut i = 0;
    while i < text.len() {
        match text[i] {
            b'"' => {
                i += 1;
                while i < text.len() && text[i] != b'"' {
                    i += if text[i] == b'\\' { 2 } else { 1 };
                }
                i += 1;
            }
            b'0'..=b'9' => {
                let start = i;
                while i < text.len() && matches!(text[i], b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-') {
                    i += 1;
                }
                let digits = &text[start..i];
                if digits.iter().all(u8::is_ascii_digit) {
                    let exact = std::str::from_utf8(digits).ok().and_then(|d| d.parse::<u64>().ok());
                    if exact.is_none_or(|n| n > MAX_INTEGER) {
                        return Err(ParseError::Refused(format!(
                            "the integer at byte {start} is beyond 2^53 - 1; send it as a string"
                        )));
                    }
                }
            }
            _ => i += 1,
        }
    }
    Ok(())
}

struct Strict<'a> {
    depth: usize,
    left: &'a mut usize,
}

impl Strict<'_> {
    fn spend<E: de::Error>(&mut self) -> Result<(), E> {
        *self.left = self.left.checked_sub(1).ok_or_else(|| E::custom("too many values"))?;
        Ok(())
    }

    fn deeper<E: de::Error>(&mut self) -> Result<Strict<'_>, E> {
        let depth = self.depth.checked_sub(1).ok_or_else(|| E::custom("nested too deeply"))?;
        Ok(Strict { depth, left: self.left })
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(mut self, deserializer: D) -> Result<Value, D::Error> {
        self.spend()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict { depth: inner.depth, left: inner.left })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(de::Error::custom(format!("the key {} stands twice", Value::String(clip(&key, 64)))));
            }
            let value = entries.next_value_seed(Strict { depth: inner.depth, left: inner.left })?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// The first `max` bytes of a text, cut at a character, with an ellipsis where something was cut.
#[must_use]
pub fn clip(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let cut = (0..=max).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
    format!("{}…", &text[..cut])
}

/// A text that is safe to print in a reason, a receipt or a log: control characters become spaces, and it is clipped to
/// `max` bytes.
#[must_use]
pub fn printable(text: &str, max: usize) -> String {
    let is_unsafe = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    clip(&text.chars().take(max + 1).map(|c| if is_unsafe(c) { ' ' } else { c }).collect::<String>(), max)
}

/// The canonical bytes of a value.
///
/// Every [`Value`] has some: it cannot hold a number that is not finite. Integers past 2^53 - 1 are written as
/// ECMAScript would, rounded; [`parse`] keeps them out.
#[must_use]
pub fn to_vec(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    write_value(value, &mut out);
    out
}

/// The canonical text of a value.
#[must_use]
pub fn to_string(value: &Value) -> String {
    String::from_utf8(to_vec(value)).expect("canonical JSON is written from strings, so it is UTF-8")
}

/// SHA-256 of some bytes, in lower-case hex.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// SHA-256 of a value's canonical bytes, in lower-case hex.
#[must_use]
pub fn hash(value: &Value) -> String {
    sha256_hex(&to_vec(value))
}

fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_value(item, out);
            }
            out.push(b']');
        }
        Value::Object(map) => write_object(map, out),
    }
}

fn write_object(map: &Map<String, Value>, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut entries: Vec<_> = map.iter().collect();
    // A map without `preserve_order` comes sorted by bytes, which differs from UTF-16 units only beyond the basic plane.
    entries.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    for (i, (key, value)) in entries.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_string(key, out);
        out.push(b':');
        write_value(value, out);
    }
    out.push(b'}');
}

fn write_number(number: &Number, out: &mut Vec<u8>) {
    if let Some(n) = number.as_u64().filter(|n| *n <= MAX_INTEGER) {
        out.extend_from_slice(n.to_string().as_bytes());
    } else if let Some(n) = number.as_i64().filter(|n| n.unsigned_abs() <= MAX_INTEGER) {
        out.extend_from_slice(n.to_string().as_bytes());
    } else {
        let float = number.as_f64().expect("without arbitrary_precision every number is a float too");
        out.extend_from_slice(ryu_js::Buffer::new().format_finite(float).as_bytes());
    }
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut from = 0;
    for (i, &byte) in bytes.iter().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            0x08 => b"\\b",
            0x09 => b"\\t",
            0x0a => b"\\n",
            0x0c => b"\\f",
            0x0d => b"\\r",
            0..=0x1f => &[b'\\', b'u', b'0', b'0', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]],
            _ => continue,
        };
        out.extend_from_slice(&bytes[from..i]);
        out.extend_from_slice(escape);
        from = i + 1;
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn vectors() -> Value {
        serde_json::from_str(include_str!("../../../tests/vectors/receipts.json")).unwrap()
    }

    fn accept(text: &str) -> Value {
        parse(text.as_bytes(), Bounds::ARGUMENTS).unwrap()
    }

    fn refuse(text: &str) -> String {
        parse(text.as_bytes(), Bounds::ARGUMENTS).unwrap_err().to_string()
    }

    #[test]
    fn published_hashes_numbers_and_order_hold() {
        let vectors = vectors();
        for case in vectors["hashes"].as_array().unwrap() {
            assert_eq!(hash(&case["value"]), case["sha256"].as_str().unwrap());
        }
        let canonical = &vectors["canonical_json"];
        assert_eq!(hash(&canonical["sort_by_utf16"]["value"]), canonical["sort_by_utf16"]["sha256"].as_str().unwrap());
        for pair in canonical["numbers"].as_array().unwrap() {
            assert_eq!(to_string(&accept(pair[0].as_str().unwrap())), pair[1].as_str().unwrap());
        }
        for text in canonical["refused"].as_array().unwrap() {
            refuse(text.as_str().unwrap());
        }
    }

    #[test]
    fn what_two_readers_could_read_differently_is_refused() {
        assert!(refuse(r#"{"a":1,"a":2}"#).contains("stands twice"));
        assert!(refuse(r#"{"a":1,"\u0061":2}"#).contains("stands twice"));
        assert!(refuse("9007199254740992").contains("beyond 2^53"));
        assert!(refuse("-9007199254740992").contains("beyond 2^53"));
        assert!(refuse("100000000000000000000").contains("beyond 2^53"));
        assert!(refuse(&"[".repeat(10_000)).contains("nested too deeply"));
        assert!(refuse(&format!("[{}0]", "0,".repeat(70_000))).contains("too many values"));
        for text in [r#""\ud800""#, "1e400", "{} {}", "\u{feff}{}", "[1,]", "{'a':1}", "\"\u{1}\"", ""] {
            refuse(text);
        }
        assert_eq!(accept("9007199254740991"), json!(9_007_199_254_740_991_u64));
        assert_eq!(accept(r#""9007199254740993 \" 9007199254740993""#).as_str().unwrap().len(), 35);
    }

    /// `arbitrary_precision`, switched on anywhere in the build, would make numbers keep their spelling
    /// (`serde_json` issues 604 and 826); without `float_roundtrip` some would be one unit off (issue 1336).
    #[test]
    fn numbers_are_doubles_and_exact() {
        assert_eq!(accept("1.0e1"), accept("10.0"));
        assert_eq!(accept("2.638344616030823e-256").as_f64(), Some(2.638_344_616_030_823e-256));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            (-(1_i64 << 53) + 1..(1_i64 << 53)).prop_map(|n| json!(n)),
            any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(|f| json!(f)),
            any::<String>().prop_map(Value::String),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::Array),
                prop::collection::btree_map(any::<String>(), inner, 0..8)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn our_writer_is_serde_jcs(value in any_json()) {
            prop_assert_eq!(to_vec(&value), serde_jcs::to_vec(&value).unwrap());
        }

        #[test]
        fn what_we_write_we_read_back_and_write_again(value in any_json()) {
            let text = to_vec(&value);
            let again = serde_json::from_slice::<Value>(&text).unwrap();
            prop_assert_eq!(to_vec(&again), text);
        }

        #[test]
        fn a_printable_text_has_no_control_characters(text in any::<String>(), max in 0_usize..64) {
            let printed = printable(&text, max);
            prop_assert!(printed.len() <= max + '…'.len_utf8());
            prop_assert!(!printed.chars().any(char::is_control));
        }
    }
}
