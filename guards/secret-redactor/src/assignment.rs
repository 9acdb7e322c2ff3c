//! Values beside a name that tells what they are: `password=…`, `"api_key": "…"`, `Authorization: Bearer …`.

use crate::forms::Hit;

/// Names, without their separators, that tell of a secret.
const TELLING: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "authkey",
    "signingkey",
    "encryptionkey",
    "accountkey",
    "credential",
    "authorization",
    "connectionstring",
    "pwd",
];
/// None of them is shorter, in bytes.
const SHORTEST_BYTES: usize = 3;
/// Names that tell of something made from one, or pointing to one.
const HARMLESS: &[&str] = &[
    "hash",
    "digest",
    "checksum",
    "fingerprint",
    "integrity",
    "tokenizer",
    "tokens",
    "tokencount",
    "secretname",
    "passwordpolicy",
    "public",
    "passwordfield",
    "tokentype",
    "tokenid",
    "keyid",
    "url",
    "path",
    "file",
    "arn",
];
/// The longest name that is looked at, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// The shortest value that is taken for a secret, and the longest, in bytes.
const MIN_VALUE_BYTES: usize = 8;
const MAX_VALUE_BYTES: usize = 512;
/// How much a value's characters must vary, in bits each.
const MIN_ENTROPY_BITS: f64 = 2.75;

/// Every telling assignment in `text` whose value looks random.
pub(crate) fn find(text: &str) -> Vec<Hit> {
    let bytes = text.as_bytes();
    let mut hits = Vec::new();
    let mut name_end = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(byte, b'=' | b':') && has_telling_name(text, name_end) {
            hits.extend(assignment(text, at));
        }
        if !is_between(*byte) {
            name_end = at + 1;
        }
    }
    hits
}

/// Whether a byte may stand between a name and what separates it from its value.
pub(crate) const fn is_between(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'\\' | b':')
}

/// Whether the name that ends here tells that what comes next is a secret.
pub(crate) fn has_telling_name(text: &str, end: usize) -> bool {
    let length = text.as_bytes()[..end].iter().rev().take(MAX_NAME_BYTES).take_while(|byte| is_name(**byte)).count();
    length >= SHORTEST_BYTES && is_telling(&text[end - length..end])
}

/// The value after the separator, if it looks random.
fn assignment(text: &str, separator: usize) -> Option<Hit> {
    let bytes = text.as_bytes();
    let skipped = bytes[separator..].iter().take_while(|byte| b"=:> \t\"'\\".contains(byte)).count();
    let mut start = separator + skipped;
    for scheme in ["bearer ", "basic ", "token "] {
        if text.get(start..start + scheme.len()).is_some_and(|word| word.eq_ignore_ascii_case(scheme)) {
            start += scheme.len();
        }
    }
    let length = bytes[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_graphic() && !b"\"'`,;()[]{}<>\\&|".contains(byte))
        .count();
    looks_secret(&text[start..start + length]).then(|| Hit::new(start..start + length, "assigned-secret"))
}

/// Whether a name tells that its value is a secret.
pub(crate) fn is_telling(name: &str) -> bool {
    let mut letters = [0; MAX_NAME_BYTES];
    if !name.is_ascii() || name.len() > letters.len() {
        let plain: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
        return TELLING.iter().any(|word| plain.contains(word)) && !HARMLESS.iter().any(|word| plain.contains(word));
    }
    let mut length = 0;
    for byte in name.bytes().filter(u8::is_ascii_alphanumeric) {
        letters[length] = byte.to_ascii_lowercase();
        length += 1;
    }
    let plain = &letters[..length];
    contains_telling(plain) && !HARMLESS.iter().any(|word| contains(plain, word.as_bytes()))
}

/// Which of the telling words have a byte at their first and at their second place, a bit each.
static INDEX: [[u16; 128]; 2] = {
    assert!(TELLING.len() <= 16, "a word is a bit");
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

fn contains(plain: &[u8], word: &[u8]) -> bool {
    plain.windows(word.len()).any(|part| part == word)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Whether a value is more than a word, a reference or a placeholder.
pub(crate) fn looks_secret(value: &str) -> bool {
    if !(MIN_VALUE_BYTES..=MAX_VALUE_BYTES).contains(&value.len()) || value.contains(char::is_whitespace) {
        return false;
    }
    let lower = value.to_ascii_lowercase();
    let told = lower.starts_with(['$', '<', '{', '%', '*', '/', '.'])
        || [
            "example",
            "your",
            "xxxx",
            "placeholder",
            "changeme",
            "redacted",
            "dummy",
            "://",
            "env.",
            "sha256-",
            "sha512-",
            "sha256:",
        ]
        .iter()
        .any(|word| lower.contains(word));
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_other = value.bytes().any(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'-' | b'_' | b'.'));
    let mixes_case =
        value.bytes().any(|byte| byte.is_ascii_uppercase()) && value.bytes().any(|byte| byte.is_ascii_lowercase());
    let varied = has_digit || (has_other && mixes_case);
    !told && varied && !is_uuid(value) && !is_identifier(value) && entropy_bits(value) >= MIN_ENTROPY_BITS
}

fn is_uuid(value: &str) -> bool {
    let lengths: Vec<usize> = value.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Words joined by separators, each of letters or of few digits (`prod-database-v2`, `2024-01-01`).
fn is_identifier(value: &str) -> bool {
    let is_word = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        let upper_inside = part.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
            && part.bytes().any(|byte| byte.is_ascii_lowercase());
        part.len() <= 16
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && !upper_inside
            && (digits <= 1 || digits == part.len() && digits <= 4)
    };
    value.contains(['-', '_', '.']) && value.split(['-', '_', '.']).all(is_word)
}

/// How surprising a character of `value` is, given the others.
#[expect(clippy::cast_precision_loss, reason = "a value has at most 512 characters")]
fn entropy_bits(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = value.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / total)
        .map(|share| -share * share.log2())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_random_beside_a_telling_name() {
        for text in [
            "password=hunter2!xyz",
            "DB_PASSWORD: 'Tr0ub4dor&3'",
            "api_key = \"9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c\"",
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLf1Y",
            "{\"clientSecret\":\"q8F~aB3dE5gH7jK9\"}",
            "Authorization: Bearer abcDEF123456ghiJKL",
            "--token=abcDEF123456",
        ] {
            assert_eq!(find(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn words_references_and_digests_are_none() {
        for text in [
            "password=",
            "password: string",
            "password = required",
            "token = getToken(user1)",
            "password=$DB_PASSWORD1",
            "api_key=<your-key-1>",
            "secret: my-secret-v2",
            "token: 550e8400-e29b-41d4-a716-446655440000",
            "token_hash = 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "checksum = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"",
            "max_tokens: 128000",
            "secret_path: /run/secrets/db1",
        ] {
            assert_eq!(find(text), [], "{text}");
        }
    }
}
