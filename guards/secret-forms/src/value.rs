//! Whether a value looks like a secret, and not like a word, a reference or a placeholder.

use crate::table;

/// The shortest value that is taken for a secret, and the longest that is judged as a whole, in bytes.
pub(crate) const MIN_BYTES: usize = 8;
pub(crate) const MAX_BYTES: usize = 512;
/// How much a value's characters must vary, in bits each.
const MIN_ENTROPY_BITS: f64 = 2.75;

/// What a value that is none begins with: a reference, a template, a path.
const BEGINNINGS: &[&str] =
    &["$", "<", "{", "[", "(", "%", "*", "/", ".", "arn:", "!ref", "!sub", "projects/", "roles/"];
/// What stands in a value that is a placeholder, a digest or an address.
const PARTS: &[&str] = &[
    "example",
    "your",
    "xxxx",
    "****",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "replaceme",
    "replace-me",
    "replace_me",
    "redacted",
    "dummy",
    "sample",
    "keyvault",
    "://",
    "env.",
    "sha256-",
    "sha384-",
    "sha512-",
    "sha256:",
    "hmac-sha",
];

/// What somebody writes who needs any value, with digits behind it (`password123`).
const NOBODYS: &[&str] =
    &["password", "passwd", "secret", "token", "apikey", "api_key", "api-key", "mypassword", "mysecret", "mytoken"];

/// Whether a value is more than a word, a reference or a placeholder.
pub(crate) fn looks_secret(value: &str) -> bool {
    if !(MIN_BYTES..=MAX_BYTES).contains(&value.len()) || value.contains(char::is_whitespace) {
        return false;
    }
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_other = value.bytes().any(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'-' | b'_' | b'.'));
    let mixes_case =
        value.bytes().any(|byte| byte.is_ascii_uppercase()) && value.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_varied = has_digit || (has_other && mixes_case);
    is_varied && entropy_bits(value) >= MIN_ENTROPY_BITS && !is_told(value) && !is_name(value)
}

/// Whether digits alone look like a secret: many of them, and varied.
pub(crate) fn are_secret_digits(number: &str) -> bool {
    (MIN_BYTES..=MAX_BYTES).contains(&number.len())
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && entropy_bits(number) >= MIN_ENTROPY_BITS
}

/// Whether a value says itself that it is none.
fn is_told(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    BEGINNINGS.iter().any(|beginning| lower.starts_with(beginning))
        || PARTS.iter().any(|part| lower.contains(part))
        || value.strip_suffix("...").is_some_and(is_elided)
        || NOBODYS.contains(&lower.trim_end_matches(|c: char| c.is_ascii_digit()))
        || is_subscript(value)
}

/// `Shards[-1].ShardId`, `list[V1Reference]`, `f(x1)`: a part of something, or what is made of it.
fn is_subscript(value: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '[' | ']' | '(' | ')');
    let balances = |open: char, close: char| value.matches(open).count() == value.matches(close).count();
    value.contains(['[', '(']) && value.chars().all(is_part) && balances('[', ']') && balances('(', ')')
}

/// Whether what stands before dots, as documentation has it (`ghp_aB3dE5...`), is the beginning of a token: a whole one is
/// found by its form.
pub(crate) fn is_elided(beginning: &str) -> bool {
    table::begins(beginning.as_bytes())
}

/// Whether a value names something: a UUID, a time, a version, words joined by separators.
fn is_name(value: &str) -> bool {
    is_uuid(value) || is_time(value) || is_identifier(value)
}

fn is_uuid(value: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    value.split('-').map(str::len).eq(lengths) && value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// `2026-01-04T12:00:00Z`, `12:30:00.000`, `1.2.3`.
fn is_time(value: &str) -> bool {
    value.contains(['-', ':', '.']) && value.bytes().all(|byte| byte.is_ascii_digit() || b"-:.TZ+,".contains(&byte))
}

/// Words joined by separators, each of letters, of few digits or of digits alone (`prod-database-v2`,
/// `projects/123456/secrets/db`); among three and more words one may end in some digits (`team256/home/keys`).
fn is_identifier(value: &str) -> bool {
    const SEPARATORS: [char; 7] = ['-', '_', '.', '/', ':', '#', '@'];
    const WORD_BYTES: usize = 16;
    const NUMBER_BYTES: usize = 12;
    let parts = value.split(SEPARATORS).count();
    let is_word = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        let upper_inside = part.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
            && part.bytes().any(|byte| byte.is_ascii_lowercase());
        let is_number = digits == part.len() && (digits <= 4 || parts > 2 && digits <= NUMBER_BYTES);
        let is_numbered = parts > 2
            && digits <= 3
            && part.len() >= digits + 4
            && part.bytes().take(part.len() - digits).all(|byte| byte.is_ascii_lowercase());
        part.len() <= WORD_BYTES
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && !upper_inside
            && (digits <= 1 || is_number || is_numbered)
    };
    parts > 1 && value.split(SEPARATORS).all(is_word)
}

/// Whether a value without quotes is code: a number (`16384u32`), an identifier (`Uint8Array`, `authToken1`), or several
/// of them in a chain (`response.data.accessToken1`).
pub(crate) fn is_code(value: &str) -> bool {
    let value = value.trim_end_matches(['?', '!', '.']);
    let is_chain = value.contains(['.', ':']);
    // Where names are joined, or no digit is, what else stands between them is no letter of a password.
    let is_expression = value.contains('.') || !value.contains(|c: char| c.is_ascii_digit());
    let is_between = |c: char| matches!(c, '.' | ':') || is_expression && matches!(c, '=' | '?');
    let is_word = |part: &str| {
        let part = part.trim_start_matches(['$', '-']);
        part.is_empty() || is_small_number(part) || is_code_word(part, is_chain)
    };
    is_literal(value) || value.split(is_between).all(is_word)
}

fn is_small_number(word: &str) -> bool {
    word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// In an identifier digits end a word (`SHA256_INTERNAL`, `Poly1305`); in a password they stand for letters, and in a token
/// anywhere.
fn is_code_word(word: &str, is_in_chain: bool) -> bool {
    const FEW_DIGITS: usize = 3;
    const CHAIN_DIGITS: usize = 5;
    let bytes = word.as_bytes();
    let next = |at: usize| bytes.get(at + 1);
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let ends = |(at, byte): &(usize, &u8)| byte.is_ascii_digit() && !next(*at).is_some_and(u8::is_ascii_digit);
    let groups = bytes.iter().enumerate().filter(ends).count();
    let is_split = |(at, _): (usize, &u8)| next(at).is_some_and(u8::is_ascii_lowercase);
    !bytes.first().is_some_and(u8::is_ascii_digit)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && !bytes.iter().enumerate().filter(ends).any(is_split)
        && (groups <= 1 && digits <= if is_in_chain { CHAIN_DIGITS } else { FEW_DIGITS }
            || is_snake_case(word)
            || is_camel_case(bytes, digits))
}

/// Words with underscores between them, each of letters with digits behind them, or with one among them (`D3DKMT_TOKEN_0`).
fn is_snake_case(word: &str) -> bool {
    const WORD_DIGITS: usize = 5;
    let is_word = |part: &str| {
        let digits = part.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        digits.len() <= WORD_DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit())
            || part.bytes().filter(u8::is_ascii_digit).count() <= 1
    };
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    word.contains('_') && letters >= digits && word.split('_').all(is_word)
}

/// Words that begin with a capital and go on in small letters, with digits at the end of some that is not the last.
fn is_camel_case(word: &[u8], digits: usize) -> bool {
    const MANY_LETTERS: usize = 10;
    let letters = word.len() - digits;
    let begins_word =
        |at: usize| !word[at].is_ascii_uppercase() || word.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    let tail = word.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let is_inside = tail < digits;
    letters >= MANY_LETTERS && 2 * letters >= 3 * digits && is_inside && (0..word.len()).all(begins_word)
}

/// A number as programs write it: in hexadecimal, or with its type behind it.
fn is_literal(value: &str) -> bool {
    const TYPES: [&str; 16] =
        ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "UL", "L", "U", "n"];
    let is_hex =
        |digits: &str| digits.len() <= 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'_');
    let is_typed =
        |number: &str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    value.strip_prefix("0x").is_some_and(is_hex)
        || TYPES.iter().any(|name| value.strip_suffix(name).is_some_and(is_typed))
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
    fn what_varies_looks_secret() {
        for value in [
            "hunter2!xyz",
            "Tr0ub4dor&3",
            "9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLf1Y",
            "q8F~aB3dE5gH7jK9",
            "Summer2024",
            "hunter2!xyz...",
            "token-9f8a7b6c",
            "a,b;c(1)$x",
        ] {
            assert!(looks_secret(value), "{value}");
        }
    }

    #[test]
    fn names_references_and_placeholders_do_not() {
        for value in [
            "required",
            "my-secret-v2",
            "550e8400-e29b-41d4-a716-446655440000",
            "2026-01-04T12:00:00Z",
            "team256/home#assets/crates-credentials",
            "projects/123456/secrets/db-password/versions/1",
            "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbC12f",
            "vault:secret/data/app#key1",
            "op://vault/item1/field",
            "$DB_PASSWORD1",
            "${{ secrets.TOKEN1 }}",
            "<your-key-1>",
            "change-me-1",
            "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            "1.22.333.4444",
            "aaaaaaa1",
            "password123",
            "Token1234",
            "StreamDescription.Shards[-1].ShardId",
            "list[V1LocalObjectReference]",
            "projects/PROJECT_1/locations/KMS/keyRings/RING",
            "****1a2b3c4d",
            "sk-proj-aB3dE5fG7...",
            "two words1",
        ] {
            assert!(!looks_secret(value), "{value}");
        }
    }

    #[test]
    fn code_is_told_from_passwords() {
        for value in [
            "Uint8Array",
            "authToken1",
            "response.data.accessToken1",
            "crate::auth::Token2",
            "Base64String",
            "Chacha20Poly1305",
            "Curve25519SeedBin",
            "ed25519.Ed25519PrivateKey",
            "x25519_generate_private_key",
            "TLS13_CHACHA20_POLY1305_SHA256_INTERNAL",
            "D3DKMT_PRESENTHISTORYTOKEN_0",
            "f.onMatch=f.token",
            "r1?r.index:-1",
            "bool=False",
            "251658240i32",
            "0x0001f4a3",
        ] {
            assert!(is_code(value), "{value}");
        }
        for value in [
            "Sup3rSecret",
            "abcDEF123456",
            "hunter2!xyz",
            "Passw0rd1",
            "1password",
            "MyPassword2024",
            "a1b2_c3d4",
            "KX7QJ2MPLS9WTZ4A",
            "A2YC4_A0BLG9K",
            "X7K2.M9P4QR8",
            "hK2PqR7XwV4NzT9LmB3",
        ] {
            assert!(!is_code(value), "{value}");
        }
    }

    #[test]
    fn digits_are_secret_when_they_are_many_and_varied() {
        assert!(are_secret_digits("8392017465"));
        for number in ["1234567", "11112222", "-8392017465", "839201.7465", "100000000"] {
            assert!(!are_secret_digits(number), "{number}");
        }
    }
}
