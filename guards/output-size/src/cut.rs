//! Cutting strings.

use serde_json::{Map, Value};

/// Cuts every string that would be longer than `max` bytes of JSON, keys included, and says how many there were. What is
/// binary stays whole: half of an image is none.
pub(crate) fn strings(value: &mut Value, max: usize) -> u32 {
    match value {
        Value::String(text) => match shortened(text, max) {
            Some(short) => {
                *text = short;
                1
            }
            None => 0,
        },
        Value::Array(items) => items.iter_mut().map(|item| strings(item, max)).fold(0, u32::saturating_add),
        Value::Object(map) => {
            let is_content = map.get("mimeType").is_some_and(Value::is_string);
            let is_binary = |key: &str| is_content && matches!(key, "data" | "blob");
            let texts = map.iter_mut().filter(|(key, value)| !(is_binary(key) && value.is_string()));
            let inside = texts.map(|(_, value)| strings(value, max)).fold(0, u32::saturating_add);
            inside.saturating_add(keys(map, max))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Two keys that begin alike stay two.
fn keys(map: &mut Map<String, Value>, max: usize) -> u32 {
    if map.keys().all(|key| written(key) <= max) {
        return 0;
    }
    let mut count = 0_u32;
    let mut short = Map::new();
    for (key, value) in std::mem::take(map) {
        let Some(mut own) = shortened(&key, max) else {
            short.insert(key, value);
            continue;
        };
        count = count.saturating_add(1);
        let begin = own.clone();
        let mut number = 2;
        while short.contains_key(&own) {
            own = format!("{begin} {number}");
            number += 1;
        }
        short.insert(own, value);
    }
    *map = short;
    count
}

/// The beginning of a text that is too long, and how much it lost, on a border of characters.
fn shortened(text: &str, max: usize) -> Option<String> {
    if written(text) <= max {
        return None;
    }
    // Room for what is said: a number, and what makes two keys differ.
    let room = max.saturating_sub(48);
    let mut kept = 0;
    let mut end = 0;
    for c in text.chars() {
        kept += escaped(c);
        if kept > room {
            break;
        }
        end += c.len_utf8();
    }
    let (begin, lost) = text.split_at(end);
    Some(format!("{begin}[CUT: {} bytes]", lost.len()))
}

/// How many bytes a text has in JSON, without its quotes.
fn written(text: &str) -> usize {
    text.chars().map(escaped).sum()
}

fn escaped(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if u32::from(c) < 0x20 => 6,
        c => c.len_utf8(),
    }
}
