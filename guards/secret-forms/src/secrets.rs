//! A text, looked at in all its readings.

use json_scan::{Custom, Finder, Found, Hit, Joined, Patterns, lenient};
use serde_json::{Map, Value};

use crate::outline::{Look, Outline};
use crate::{assignment, encoded, forms, open};

/// How many encodings deep is looked.
const MAX_DEPTH: usize = 3;

/// What is looked for: the known forms, and what a policy adds and takes away.
#[derive(Debug)]
pub struct Secrets {
    patterns: Patterns,
    built_in: bool,
    spares_examples: bool,
}

impl Secrets {
    /// The known forms, or none of them where `replace` says so, with a policy's patterns and without its exceptions:
    /// regular expressions for whole values.
    ///
    /// # Errors
    /// Names what is no pattern, and says why; so does `replace` without any pattern, which would look for nothing.
    pub fn new(patterns: &[Custom], replace: bool, exceptions: &[String]) -> Result<Self, String> {
        if replace && patterns.is_empty() {
            return Err("`replace` without `patterns` leaves nothing to look for".to_owned());
        }
        let patterns = Patterns::new(patterns, exceptions)?;
        Ok(Self { patterns, built_in: !replace, spares_examples: false })
    }

    /// Without the access keys of Amazon's documentation, which end in `EXAMPLE`. To take one out of an output costs
    /// nothing; to deny a call for one keeps somebody from writing documentation and tests.
    #[must_use]
    pub fn sparing_examples(self) -> Self {
        Self { spares_examples: true, ..self }
    }

    fn without_exceptions(&self, text: &str, hits: &mut Vec<Hit>) {
        self.patterns.without_exceptions(text, hits);
        if self.spares_examples {
            hits.retain(|hit| !text.get(hit.range.clone()).is_some_and(is_example));
        }
    }

    /// What `text` holds, in all its readings.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<Hit> {
        self.find_in(text, Outline::of(text), MAX_DEPTH)
    }

    fn find_in(&self, text: &str, outline: Outline, depth: usize) -> Vec<Hit> {
        let mut hits = self.patterns.find(text);
        if self.built_in && outline.has(Look::Forms) {
            hits.extend(forms::find(text));
        }
        if self.built_in && outline.has(Look::Assignments) {
            hits.extend(assignment::find(text));
        }
        self.without_exceptions(text, &mut hits);
        let Some(depth) = depth.checked_sub(1) else { return hits };
        if outline.has(Look::Hidden)
            && let Some(reading) = lenient(text)
        {
            let found = self.find_in(&reading.text, Outline::of(&reading.text), depth).into_iter();
            hits.extend(found.map(|hit| Hit { range: reading.origin(&hit.range), ..hit }));
        }
        let runs = if outline.has(Look::Encoded) { encoded::readings(text) } else { Vec::new() };
        let pairs = if outline.has(Look::Pairs) { encoded::pairs(text) } else { Vec::new() };
        for (range, decoded) in pairs.into_iter().chain(runs) {
            let found = self.find_in(&decoded, Outline::of(&decoded), depth);
            hits.extend(found.into_iter().next().map(|hit| Hit { range, ..hit }));
        }
        hits
    }
}

/// Whether an access key is one of Amazon's documentation.
fn is_example(value: &str) -> bool {
    const KEY_BYTES: usize = 20;
    value.len() == KEY_BYTES && value.starts_with('A') && value.ends_with("EXAMPLE")
}

impl Finder for Secrets {
    fn text(&self, name: &str, text: &str) -> Found {
        let outline = Outline::of(text);
        let mut hits = self.find_in(text, outline, MAX_DEPTH);
        if !self.built_in {
            return Found { hits, open: Vec::new() };
        }
        // A token of a known form is named by its form.
        if hits.is_empty() {
            hits.extend(assignment::named(name, text));
            self.without_exceptions(text, &mut hits);
        }
        let mut open = open::starts(text);
        if outline.has(Look::Forms) {
            open.extend(open::key_start(text));
        }
        Found { hits, open }
    }

    fn number(&self, name: &str, number: &str) -> Vec<Hit> {
        let mut hits = self.patterns.find(number);
        if self.built_in && hits.is_empty() && !name.is_empty() && assignment::named_digits(name, number) {
            hits.push(Hit::new(0..number.len(), "assigned-secret"));
        }
        self.patterns.without_exceptions(number, &mut hits);
        hits
    }

    fn joined(&self, text: &str) -> Joined {
        let joined = open::joined(text);
        match &joined {
            Joined::Whole(hit) | Joined::Partial(hit)
                if text
                    .get(hit.range.clone())
                    .is_some_and(|value| self.patterns.excepts(value) || self.spares_examples && is_example(value)) =>
            {
                Joined::Nothing
            }
            _ => joined,
        }
    }

    fn tells(&self, key: &str) -> bool {
        self.built_in && key == "kty"
    }

    /// The private parts of a JSON web key.
    fn members(&self, object: &Map<String, Value>) -> Vec<(&'static str, &'static str)> {
        const PRIVATE: [&str; 7] = ["d", "p", "q", "dp", "dq", "qi", "k"];
        const LEAST_BYTES: usize = 16;
        let is_key = object.get("kty").is_some_and(Value::is_string);
        let is_private = |member: &&str| {
            object.get(*member).and_then(Value::as_str).is_some_and(|value| {
                value.len() >= LEAST_BYTES && value.bytes().all(encoded::is_run) && !self.patterns.excepts(value)
            })
        };
        let private = PRIVATE.into_iter().filter(|member| is_key && is_private(member));
        private.map(|member| (member, "private-key")).collect()
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use json_scan::{is_clean, redact};
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::json;

    use super::*;

    const AWS: &str = "AKIAQ3EGWNBV7XK2MPLS";

    fn secrets() -> Secrets {
        Secrets::new(&[], false, &[]).unwrap()
    }

    #[test]
    fn encodings_are_undone_in_any_order() {
        let base64 = |text: &str| BASE64_STANDARD.encode(text);
        let percent = |text: &str| text.bytes().fold(String::new(), |text, byte| format!("{text}%{byte:02X}"));
        let key = format!("the key is {AWS}");
        for text in [
            base64(&key),
            hex::encode(&key),
            percent(&key),
            percent(&percent(AWS)),
            base64(&base64(&key)),
            base64(&hex::encode(&key)),
            percent(&base64(&key)),
            base64(&key.chars().flat_map(|c| [c, '\0']).collect::<String>()),
            AWS.replace('A', "\\u0041"),
            AWS.replace('A', "\\\\u0041"),
            AWS.replace('Q', "\u{200b}Q"),
            AWS.replace('A', "Ａ"),
        ] {
            let found = secrets().find(&format!("see {text} there"));
            assert!(found.iter().any(|hit| hit.kind == "aws-access-key"), "{text}: {found:?}");
        }
    }

    #[test]
    fn exceptions_hold_behind_encodings_too() {
        let secrets = Secrets::new(&[], false, &["AKIA[A-Z0-9]{9}EXAMPLE".into()]).unwrap();
        let key = "AKIAIOSFODNN7EXAMPLE";
        for text in [key.to_owned(), hex::encode(format!("the key {key}")), key.replace('A', "%41")] {
            assert_eq!(secrets.find(&text), [], "{text}");
        }
        assert_eq!(secrets.find(AWS).len(), 1);
    }

    #[test]
    fn the_examples_of_documentation_are_spared_on_request() {
        let key = "AKIAIOSFODNN7EXAMPLE";
        assert_eq!(secrets().find(key).len(), 1);
        let sparing = secrets().sparing_examples();
        assert_eq!(sparing.find(&format!("aws_access_key_id={key}")), []);
        assert!(is_clean(&sparing, &json!([key, &key[..9], &key[9..], key.replace('A', "%41")]).to_string()));
        assert_eq!(sparing.find(AWS).len(), 1);
    }

    #[test]
    fn a_web_key_has_private_members() {
        let mut key = json!({ "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "d": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI" });
        assert!(!is_clean(&secrets(), &key.to_string()));
        assert_eq!(redact(&secrets(), &mut key).get("private-key"), Some(&1));
        assert_eq!(key["d"], "[REDACTED:private-key]");
        let mut public = json!({ "kty": "EC", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU" });
        assert!(redact(&secrets(), &mut public).is_empty());
    }

    fn texts() -> impl Strategy<Value = String> {
        let pieces = vec![
            "AKIAQ3EG",
            "WNBV7XK2MPLS",
            "ghp_aB3dE5fG7haB3dE5",
            "fG7haB3dE5fG7h123456",
            "hunter2!xyz",
            "password=",
            "text",
            "token",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx",
            "MjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
            "-----BEGIN PRIVATE KEY-----",
            "MIIEvQIBADANBgkqhkiG9w0BAQ",
            "-----END PRIVATE KEY-----",
            " ",
            "\n",
            "\u{200b}",
            "é",
            "x",
        ];
        prop::collection::vec(select(pieces), 0..4).prop_map(|pieces| pieces.concat())
    }

    fn outputs() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![4 => texts().prop_map(Value::from), 1 => Just(json!(null)), 1 => Just(json!(8_392_017_465_u64))];
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
            let mut left = output.clone();
            let found = redact(&secrets(), &mut left);
            prop_assert_eq!(is_clean(&secrets(), &output.to_string()), found.is_empty(), "{} {}", output, left);
        }

        #[test]
        fn any_text_is_read(text in prop_oneof![any::<String>(), texts(), "[%\\\\u0-9a-fA-F&#x;+/=:-]{0,200}"]) {
            for hit in secrets().find(&text) {
                prop_assert!(text.get(hit.range).is_some());
            }
        }
    }
}
