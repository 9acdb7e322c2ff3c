//! Values beside a name that tells what they are: `password=…`, `"api_key": "…"`, `Authorization: Bearer …`,
//! `--token …`, `<password>…</password>`.

use json_scan::Hit;

use crate::value::{self, is_code, is_elided, looks_secret};

/// Names, without their separators, that tell of a secret.
const TELLING: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "authkey",
    "signingkey",
    "encryptionkey",
    "accountkey",
    "sharedkey",
    "masterkey",
    "subscriptionkey",
    "credential",
    "authorization",
    "connectionstring",
    "bearer",
    "pwd",
];
/// None of them is shorter, in bytes.
const SHORTEST_BYTES: usize = 3;
/// Those of them whose value may be a number.
const TELLING_OF_DIGITS: &[&str] = &["password", "passwd", "passphrase", "passcode", "secret", "apikey", "pwd"];
/// Names that tell of something else, wherever they stand: tokens of a text, of a page, of a public key.
const HARMLESS: &[&str] = &[
    "tokeniz",
    "tokens",
    "tokencount",
    "tokenlimit",
    "public",
    "passwordpolicy",
    "fingerprint",
    "pagetoken",
    "nexttoken",
    "continuation",
    "synctoken",
    "idempotency",
    "cancellation",
];
/// Ends of names that tell of something made from a secret, pointing to one, or said about one.
const HARMLESS_ENDS: &[&str] = &[
    "hash",
    "digest",
    "checksum",
    "integrity",
    "name",
    "field",
    "type",
    "tokenid",
    "keyid",
    "url",
    "uri",
    "path",
    "file",
    "arn",
    "edat",
    "expiresat",
    "expires",
    "expiry",
    "expiration",
    "ttl",
    "date",
    "time",
    "timeout",
    "length",
    "size",
    "limit",
    "count",
    "policy",
    "rules",
    "enabled",
    "required",
    "regex",
    "pattern",
    "prefix",
    "suffix",
    "header",
    "headers",
    "clientid",
    "label",
    "hint",
    "placeholder",
    "endpoint",
    "provider",
    "version",
    "algorithm",
    "status",
    "format",
    "scope",
    "scopes",
    "ref",
    "reference",
];
/// Words before a secret in a header.
const SCHEMES: [&str; 4] = ["bearer ", "basic ", "token ", "apikey "];
/// The longest name that is looked at, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// How much may stand between a name and its value, in bytes.
const MAX_GAP_BYTES: usize = 64;

/// Every telling assignment in `text` whose value looks random.
pub(crate) fn find(text: &str) -> Vec<Hit> {
    let bytes = text.as_bytes();
    let mut hits = Vec::new();
    let (mut name_end, mut done) = (0, 0);
    for (at, byte) in bytes.iter().enumerate() {
        if at < done {
            continue;
        }
        let is_telling = match byte {
            // Two colons are a path of names (`token::Token`).
            b':' if bytes.get(at + 1) == Some(&b':') || at > 0 && bytes.get(at - 1) == Some(&b':') => false,
            b'=' | b':' => has_telling_name(text, name_end),
            b' ' | b'\t' => name_end == at && is_telling_flag(text, at),
            b'>' => is_telling_tag(text, at),
            _ => false,
        };
        if is_telling && let Some(hit) = assignment(text, at, name_end) {
            (name_end, done) = (hit.range.end, hit.range.end);
            hits.push(hit);
            continue;
        }
        if !is_between(*byte) {
            name_end = at + 1;
        }
    }
    hits
}

/// The value of a JSON string that stands under `name`, if that tells and the value looks random.
pub(crate) fn named(name: &str, text: &str) -> Option<Hit> {
    if name.is_empty() || text.len() < value::MIN_BYTES || !is_telling(name) {
        return None;
    }
    let start = text.len() - text.trim_start().len();
    let start = start + scheme_length(text, start);
    let value = text.get(start..)?.trim_end();
    let head = value.get(..value.floor_char_boundary(value::MAX_BYTES))?;
    (looks_secret(head) && !value.contains(char::is_whitespace)).then(|| Hit::new(start..start + value.len(), KIND))
}

/// Whether a number that stands under `name` is a secret.
pub(crate) fn named_digits(name: &str, number: &str) -> bool {
    value::are_secret_digits(number) && is_telling(name) && {
        let plain = plain(name);
        TELLING_OF_DIGITS.iter().any(|word| plain.contains(word))
    }
}

const KIND: &str = "assigned-secret";

/// Whether a byte may stand between a name and what separates it from its value.
pub(crate) const fn is_between(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'\\' | b':')
}

/// Whether the name that ends here tells that what comes next is a secret.
pub(crate) fn has_telling_name(text: &str, end: usize) -> bool {
    name_before(text, end).is_some_and(|name| name.len() >= SHORTEST_BYTES && is_telling(name))
}

/// Whether an element's opening tag ends here, and tells.
pub(crate) fn is_telling_tag(text: &str, end: usize) -> bool {
    name_before(text, end).is_some_and(|name| {
        let start = end - name.len();
        name.len() >= SHORTEST_BYTES && text[..start].ends_with('<') && is_telling(name)
    })
}

/// Whether a word that ends here is a flag, and tells.
fn is_telling_flag(text: &str, end: usize) -> bool {
    name_before(text, end).is_some_and(|name| name.starts_with("--") && is_telling(name))
}

/// Whether a flag begins here, and tells.
pub(crate) fn begins_telling_flag(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes().get(at..).unwrap_or_default();
    if !bytes.starts_with(b"--") {
        return false;
    }
    let length = bytes.iter().take(MAX_NAME_BYTES).take_while(|byte| is_name(**byte)).count();
    text.get(at..at + length).is_some_and(is_telling)
}

fn name_before(text: &str, end: usize) -> Option<&str> {
    let before = text.as_bytes().get(..end)?;
    let length = before.iter().rev().take(MAX_NAME_BYTES).take_while(|byte| is_name(**byte)).count();
    text.get(end - length..end)
}

/// The value after the separator, if it looks random.
fn assignment(text: &str, separator: usize, name_end: usize) -> Option<Hit> {
    let bytes = text.as_bytes();
    let gap = bytes[separator..].iter().take(MAX_GAP_BYTES).take_while(|byte| b"=:> \t\"'\\".contains(byte)).count();
    let start = separator + gap;
    let start = start + scheme_length(text, start);
    let quote = bytes.get(start - 1).copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'\\'));
    let is_variable = is_variable(text, separator, name_end, start);
    let room = value::MAX_BYTES.min(bytes.len() - start);
    let length = value_length(&bytes[start..start + room], quote, is_variable);
    // What is longer is judged by its beginning, and found to its end.
    let value = text.get(start..start + length)?;
    let is_called = || matches!(bytes.get(start + length), Some(b'(' | b'['));
    let is_plain_code = || quote.is_none() && !is_variable && (is_called() || is_code(value));
    let is_told = || is_badge(text, name_end, value) || text[start + length..].starts_with('…') && is_elided(value);
    let is_secret = looks_secret(value) && !is_plain_code() && !is_told() && !is_of_an_arn(text, separator, name_end);
    is_secret.then(|| Hit::new(start..start + value_length(&bytes[start..], quote, is_variable), KIND))
}

/// How long a value is: to its closing quote, or else to what ends one where it has none.
fn value_length(bytes: &[u8], quote: Option<u8>, is_variable: bool) -> usize {
    let ends = |(at, byte): (usize, &u8)| {
        let next = bytes.get(at + 1);
        match (quote, byte) {
            (_, byte) if !byte.is_ascii_graphic() => true,
            (_, b'"' | b'\'' | b'`') => quote.is_none_or(|quote| quote == *byte || quote == b'\\'),
            (Some(_), b'\\') => next.is_none_or(|next| matches!(next, b'"' | b'\'' | b'\\' | b'n' | b'r')),
            (Some(_), _) => false,
            // A shell ends a word with it; in a file of variables it is a letter like any other.
            (None, b'&') if is_variable => next.is_none_or(|next| *next == b'&' || !next.is_ascii_graphic()),
            (None, byte) => b",;()[]{}<>\\&|".contains(byte),
        }
    };
    bytes.iter().enumerate().position(|(at, byte)| ends((at, byte))).unwrap_or(bytes.len())
}

/// `arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbC12f`, the name of a secret.
fn is_of_an_arn(text: &str, separator: usize, name_end: usize) -> bool {
    let Some(before) = text.get(..name_end).filter(|_| name_end == separator) else { return false };
    let is_service = |before: &str| before.rsplit(':').take(3).nth(2).is_some_and(|word| word.ends_with("arn"));
    before.ends_with(":secretsmanager") && is_service(before)
        || before.strip_suffix(":secret").is_some_and(|before| before.ends_with(|c: char| c.is_ascii_digit()))
}

/// `DB_PASSWORD=…`, as a shell and an environment file have it: what follows is a value and no code.
fn is_variable(text: &str, separator: usize, name_end: usize, start: usize) -> bool {
    let is_tight = name_end == separator && start == separator + 1 && text[separator..].starts_with('=');
    let name = name_before(text, name_end).unwrap_or_default();
    is_tight && (name.starts_with("--") || !name.bytes().any(|byte| byte.is_ascii_lowercase()))
}

/// `badge.svg?token=…`: a short token for an image that everybody may see.
fn is_badge(text: &str, name_end: usize, value: &str) -> bool {
    const MOST_BYTES: usize = 12;
    let start = name_end - name_before(text, name_end).map_or(0, str::len);
    value.len() <= MOST_BYTES && text.get(..start).is_some_and(|before| before.ends_with(".svg?"))
}

/// How long the word is that stands before a secret here, if one does.
fn scheme_length(text: &str, at: usize) -> usize {
    let is_here =
        |scheme: &&&str| text.get(at..at + scheme.len()).is_some_and(|word| word.eq_ignore_ascii_case(scheme));
    SCHEMES.iter().find(is_here).map_or(0, |scheme| scheme.len())
}

/// Whether a name tells that its value is a secret.
fn is_telling(name: &str) -> bool {
    let mut letters = [0; MAX_NAME_BYTES];
    if !name.is_ascii() || name.len() > letters.len() {
        let plain = plain(name);
        return TELLING.iter().any(|word| plain.contains(word)) && !is_harmless(plain.as_bytes());
    }
    let mut length = 0;
    for (letter, byte) in letters.iter_mut().zip(name.bytes().filter(u8::is_ascii_alphanumeric)) {
        *letter = byte.to_ascii_lowercase();
        length += 1;
    }
    let plain = &letters[..length];
    contains_telling(plain) && !is_harmless(plain)
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn is_harmless(plain: &[u8]) -> bool {
    HARMLESS_ENDS.iter().any(|word| plain.ends_with(word.as_bytes()))
        || HARMLESS.iter().any(|word| plain.windows(word.len()).any(|part| part == word.as_bytes()))
}

/// Which of the telling words have a byte at their first and at their second place, a bit each.
static INDEX: [[u32; 128]; 2] = {
    assert!(TELLING.len() <= 32, "a word is a bit");
    let mut index = [[0; 128]; 2];
    let mut word = 0;
    while word < TELLING.len() {
        let bytes = TELLING[word].as_bytes();
        assert!(bytes.len() >= SHORTEST_BYTES, "the shortest is shorter");
        index[0][bytes[0] as usize] |= 1 << word;
        index[1][bytes[1] as usize] |= 1 << word;
        word += 1;
    }
    index
};

fn contains_telling(plain: &[u8]) -> bool {
    let is_telling = |(at, pair): (usize, &[u8])| {
        let words = INDEX[0][usize::from(pair[0])] & INDEX[1][usize::from(pair[1])];
        words != 0 && TELLING.iter().any(|word| plain[at..].starts_with(word.as_bytes()))
    };
    plain.windows(2).enumerate().any(is_telling)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_random_beside_a_telling_name() {
        for text in [
            "password=hunter2!xyz",
            "DB_PASSWORD: 'Tr0ub4dor&3'",
            "DB_PASSWORD=Winter24",
            "api_key = \"9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c\"",
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLf1Y",
            "{\"clientSecret\":\"q8F~aB3dE5gH7jK9\"}",
            "{\\\"clientSecret\\\": \\\"q8F~aB3dE5gH7jK9\\\"}",
            "Authorization: Bearer abcDEF123456ghiJKL",
            "Authorization: Basic dXNlcjpodW50ZXIyIXh5eg==",
            "--token=abcDEF123456",
            "login --password hunter2!xyz --verbose",
            "<password>hunter2!xyz</password>",
            "hashicorp_token: 'abcDEF123456'",
            "'secret' => 'hunter2!xyz'",
            "token: KX7QJ2MPLS9WTZ4A",
            "password: 'p&ss;w0rd(1)'",
            "DB_PASSWORD=p&ss_w0rd1",
            "https://evil.example/pixel.svg?token=hK2PqR7XwV4NzT9LmB3",
        ] {
            assert_eq!(find(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_value_is_found_to_its_end() {
        let value = |text: &str| find(text).first().map(|hit| text[hit.range.clone()].to_owned());
        for (text, wanted) in [
            ("password: 'Tr0ub4dor&3' # x", "Tr0ub4dor&3"),
            ("password = \"a,b;c(1)$x\"; next", "a,b;c(1)$x"),
            ("{\\\"pwd\\\": \\\"hunter2!,xyz\\\"}", "hunter2!,xyz"),
            ("DB_PASSWORD=Tr0ub4dor&3\nX=1", "Tr0ub4dor&3"),
            ("DB_PASSWORD=Tr0ub4dor&& run", "Tr0ub4dor"),
            ("https://x/?password=Tr0ub4dor&page=3", "Tr0ub4dor"),
            ("f(password=Tr0ub4dor3, x)", "Tr0ub4dor3"),
        ] {
            assert_eq!(value(text).as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn words_references_digests_and_code_are_none() {
        for text in [
            "password=",
            "password: string",
            "password = required",
            "token = getToken(user1)",
            "let token = parser.nextToken2(input)",
            "token: Uint8Array,",
            "const token = response.data.accessToken1;",
            "$token->getValue1()",
            "use crate::token::Token2::*;",
            "![coverage](https://codecov.io/gh/a/b/graph/badge.svg?token=A2YC4A0BLG)",
            "TOKEN_PRIVILEGES_ATTRIBUTES = 2147483648u32",
            "password=$DB_PASSWORD1",
            "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIi...",
            "GITHUB_TOKEN=ghp_aB3dE5…",
            "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbC12f",
            "api_key=<your-key-1>",
            "secret: my-secret-v2",
            "token: 550e8400-e29b-41d4-a716-446655440000",
            "token_hash = 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "checksum = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"",
            "PublicKeyToken=b77a5c561934e089",
            "\"nextPageToken\": \"CAUQAA1b2c3d4e\"",
            "\"token_expires_at\": \"2026-01-04T12:00:00Z\"",
            "max_tokens: 128000",
            "secret_path: /run/secrets/db1",
            "git log --token-file a1b2c3d4e5f6",
        ] {
            assert_eq!(find(text), [], "{text}");
        }
    }

    #[test]
    fn the_value_under_a_telling_key() {
        let at = |name: &str, text: &str| named(name, text).map(|hit| hit.range);
        assert_eq!(at("password", "hunter2!xyz"), Some(0..11));
        assert_eq!(at("Authorization", "Bearer abcDEF123456ghiJKL"), Some(7..25));
        assert_eq!(at("token", " abcDEF123456\n"), Some(1..13));
        for (name, text) in [("", "hunter2!xyz"), ("user", "hunter2!xyz"), ("password", "required")] {
            assert_eq!(at(name, text), None, "{name}: {text}");
        }
        let long = "aB3$dE5f".repeat(500);
        assert_eq!(at("token", &long), Some(0..4_000));
        assert_eq!(at("token", &format!("{long} and more")), None);
        assert_eq!(find(&format!("token={long}; x")), [Hit::new(6..4_006, KIND)]);
        assert!(named_digits("password", "8392017465") && named_digits("clientSecret", "8392017465"));
        assert!(!named_digits("token", "8392017465") && !named_digits("password_changed_at", "1699887745"));
    }
}
