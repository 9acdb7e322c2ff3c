//! The forms in which a server may give a secret back.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

use super::secret::Value;

/// The shortest form that is looked for, in bytes.
const MIN: usize = 8;

/// A value as it is, and as JSON, a URL, hex or base64 would have it; for one that is base64 itself, what it says. Each
/// once, the longest first.
pub(super) fn of(value: &Value) -> Vec<Value> {
    let mut all: Vec<Value> = vec![value.clone()];
    forms(value, &mut all);
    // `Basic` credentials: the value is what the operator encoded, and a server may say what it decoded.
    if let Ok(decoded) = STANDARD.decode(value.as_slice()) {
        let decoded = Zeroizing::new(decoded);
        if let Some(colon) = decoded.iter().position(|byte| *byte == b':') {
            all.push(Zeroizing::new(decoded[colon + 1..].to_vec()));
        }
        all.push(decoded);
    }
    all.retain(|form| form.len() >= MIN);
    all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    all.dedup();
    all
}

fn forms(value: &Value, all: &mut Vec<Value>) {
    let text = Zeroizing::new(String::from_utf8_lossy(value).into_owned());
    let json = Zeroizing::new(serde_json::to_string(&*text).unwrap_or_default());
    all.push(Zeroizing::new(json.trim_start_matches('"').trim_end_matches('"').as_bytes().to_vec()));
    all.push(percent(value, "%20", Digits::Upper));
    all.push(percent(value, "%20", Digits::Lower));
    all.push(percent(value, "+", Digits::Upper));
    all.push(Zeroizing::new(hex::encode(value.as_slice()).into_bytes()));
    all.push(Zeroizing::new(hex::encode_upper(value.as_slice()).into_bytes()));
    for before in 0..3 {
        // Behind other text, a value begins at any of three places in a group of base64; what its neighbours have no part
        // in is the same for each.
        let mut shifted = Zeroizing::new(vec![0; before]);
        shifted.extend_from_slice(value);
        let from = (before * 8).div_ceil(6);
        let to = shifted.len() * 8 / 6;
        for encoded in [STANDARD_NO_PAD.encode(shifted.as_slice()), URL_SAFE_NO_PAD.encode(shifted.as_slice())] {
            let encoded = Zeroizing::new(encoded);
            all.push(Zeroizing::new(encoded.as_bytes()[from..to].to_vec()));
        }
    }
}

#[derive(Clone, Copy)]
enum Digits {
    Upper,
    Lower,
}

fn percent(value: &Value, space: &str, digits: Digits) -> Value {
    let mut encoded = Zeroizing::new(Vec::with_capacity(value.len() * 3));
    for byte in value.iter() {
        match byte {
            b' ' => encoded.extend_from_slice(space.as_bytes()),
            b if b.is_ascii_alphanumeric() || b"-._~".contains(b) => encoded.push(*b),
            b => encoded.extend_from_slice(
                match digits {
                    Digits::Upper => format!("%{b:02X}"),
                    Digits::Lower => format!("%{b:02x}"),
                }
                .as_bytes(),
            ),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_common_form_is_known() {
        let value: Value = Zeroizing::new(b"s3cret\"key/+ 42".to_vec());
        let needles = of(&value);
        let hidden = |text: &str| needles.iter().any(|n| text.as_bytes().windows(n.len()).any(|w| w == n.as_slice()));
        for text in [
            "s3cret\"key/+ 42",
            r#"{"key":"s3cret\"key/+ 42"}"#,
            "?k=s3cret%22key%2F%2B%2042",
            "?k=s3cret%22key%2f%2b%2042",
            "?k=s3cret%22key%2F%2B+42",
        ] {
            assert!(hidden(text), "{text}");
        }
        for prefix in ["", "a", "ab", "abc", "user:"] {
            let text = format!("{prefix}s3cret\"key/+ 42 and more");
            assert!(hidden(&STANDARD.encode(&text)), "{text}");
            assert!(hidden(&URL_SAFE_NO_PAD.encode(&text)), "{text}");
            assert!(hidden(&hex::encode(&text)), "{text}");
        }
        assert!(!hidden("s3cret"));
    }

    #[test]
    fn what_basic_credentials_say_is_known() {
        let value: Value = Zeroizing::new(STANDARD.encode("user:a long password").into_bytes());
        assert!(of(&value).iter().any(|needle| needle.as_slice() == b"a long password"));
    }
}
