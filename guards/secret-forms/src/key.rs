//! Private keys in their armours.

use json_scan::{Hit, Joined};

use crate::forms::is_placeholder;
use crate::table::{Body, PEM, PUTTY, SSH2};

/// The longest label, in bytes.
const LABEL_BYTES: usize = 64;
/// An armour's body has a line of base64 at least this long, in bytes; a text that only names the header has none.
const LEAST_LINE: usize = 16;
/// One with an end line and nothing but base64 before it may be as short as this: somebody's key for tests.
const LEAST_BODY: usize = 6;
/// One in pieces shorter than a line has at least this many letters and digits before its end line.
const LEAST_LETTERS: usize = 100;

/// A private key of any kind, to its end line or, where that was cut off, as far as base64 goes.
pub(crate) fn private_key(text: &str, at: usize) -> Option<Hit> {
    let rest = text.get(at..)?;
    if let Some(body) = rest.strip_prefix(PUTTY) {
        return body.contains("Private-").then(|| Hit::new(at..text.len(), KIND));
    }
    let (length, _) = armour(rest).key()?;
    Some(Hit::new(at..at + length, KIND))
}

/// What a text is that begins as an armour does, and may go on in another string.
pub(crate) fn joined(text: &str) -> Joined {
    if [PEM, SSH2].iter().any(|prefix| prefix.starts_with(text)) {
        return Joined::Open;
    }
    let armour = armour(text);
    match (armour.key(), armour) {
        (Some((length, true)), _) => Joined::Partial(Hit::new(0..length, KIND)),
        (Some((length, false)), _) => Joined::Whole(Hit::new(0..length, KIND)),
        (None, Armour::Label | Armour::Body { goes_on: true, .. }) => Joined::Open,
        (None, _) => Joined::Nothing,
    }
}

const KIND: &str = "private-key";

/// How much of an armour a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Armour {
    /// None, or one of something public.
    None,
    /// Its label goes on behind the end of the text.
    Label,
    /// A private key's, up to here. It goes on where the text ends and neither base64 nor the armour's end does.
    Body { length: usize, has_key: bool, goes_on: bool },
}

impl Armour {
    /// How long the key is, and whether it may go on.
    fn key(self) -> Option<(usize, bool)> {
        match self {
            Self::Body { length, has_key: true, goes_on } => Some((length, goes_on)),
            _ => None,
        }
    }
}

fn armour(text: &str) -> Armour {
    let (begin, dashes) = if text.starts_with(PEM) { ("-----BEGIN ", "-----") } else { ("---- BEGIN ", "----") };
    let Some(label_and_body) = text.strip_prefix(begin) else { return Armour::None };
    let head = &label_and_body[..label_and_body.floor_char_boundary(LABEL_BYTES + dashes.len())];
    let Some(label_length) = head.find(dashes) else {
        let may_go_on = head.len() == label_and_body.len() && head.bytes().all(|byte| byte == b'-' || is_label(byte));
        return if may_go_on { Armour::Label } else { Armour::None };
    };
    if !is_private(&head[..label_length]) {
        return Armour::None;
    }
    let start = begin.len() + label_length + dashes.len();
    let rest = text.get(start..).unwrap_or_default();
    // Another armour ends this one.
    let body = rest.find(begin).and_then(|next| rest.get(..next)).unwrap_or(rest);
    let inside = body.bytes().take_while(|byte| is_body(*byte)).count();
    let end = end_line(body, dashes);
    let (length, has_key, goes_on) = match end {
        Some((end, Some(length))) => (start + length, has_key(&body[..end], true), false),
        Some((end, None)) => (start + body.len(), has_key(&body[..end], true), body.len() == rest.len()),
        None => (start + inside, has_key(&body[..inside], false), inside == rest.len()),
    };
    Armour::Body { length, has_key, goes_on }
}

/// Where the end line begins, and where it ends if it does.
fn end_line(body: &str, dashes: &str) -> Option<(usize, Option<usize>)> {
    const END: &str = "END";
    for (end, _) in body.match_indices(dashes) {
        let line = body.get(end + dashes.len()..)?.trim_start();
        if let Some(label) = line.strip_prefix(END) {
            let after = body.len() - label.len();
            return Some((end, label.find(dashes).map(|length| after + length + dashes.len())));
        }
    }
    None
}

/// Whether the body of an armour holds a key, and not just a word about one.
fn has_key(body: &str, is_ended: bool) -> bool {
    let words = || body.as_bytes().split(|byte| !Body::Base64.has(*byte));
    let is_line = |word: &[u8]| word.len() >= LEAST_LINE && looks_encoded(word);
    // It begins with a line of base64, or is mostly that: between two mentions of a header there may be one as well.
    let begins_with_line = words().find(|word| word.len() > "n".len()).is_some_and(is_line);
    let in_lines: usize = words().filter(|word| is_line(word)).map(<[u8]>::len).sum();
    begins_with_line
        || in_lines > 0 && 4 * in_lines >= body.len()
        || is_ended && (is_short_key(body) || is_in_pieces(body))
}

/// More than half of base64's letters are capitals or digits; of a sentence's or a name's, fewer than a quarter.
fn looks_encoded(word: &[u8]) -> bool {
    let telling = word.iter().filter(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()).count();
    4 * telling >= word.len() && !is_placeholder(word)
}

/// Nothing but base64, however little.
fn is_short_key(body: &str) -> bool {
    let body = body.trim().trim_matches(['\\', 'n', 'r', '"', ',']);
    body.len() >= LEAST_BODY
        && body.lines().all(|line| line.trim().bytes().all(|byte| Body::Base64.has(byte)))
        && !is_placeholder(body.as_bytes())
}

/// Base64 in words shorter than a line.
fn is_in_pieces(body: &str) -> bool {
    let letters: Vec<u8> = body.bytes().filter(u8::is_ascii_alphanumeric).take(4 * LEAST_LETTERS).collect();
    letters.len() >= LEAST_LETTERS && looks_encoded(&letters)
}

/// Whether a label (`RSA PRIVATE KEY`), with whatever for its spaces, is a secret's.
fn is_private(label: &str) -> bool {
    let plain: String = label.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect();
    plain.contains("PRIVATEKEY") || plain.contains("STATICKEY")
}

fn is_label(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'+' | b'_')
}

fn is_body(byte: u8) -> bool {
    Body::Base64.has(byte) || b" \t\r\n\\:,-".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(label: &str) -> String {
        format!("-----BEGIN {label}-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAoIB\n-----END {label}-----")
    }

    #[test]
    fn a_key_of_any_kind_is_cut_to_its_end() {
        for label in [
            "PRIVATE KEY",
            "RSA PRIVATE KEY",
            "EC PRIVATE KEY",
            "DSA PRIVATE KEY",
            "OPENSSH PRIVATE KEY",
            "ENCRYPTED PRIVATE KEY",
            "PGP PRIVATE KEY BLOCK",
            "ANY PRIVATE KEY",
            "SSH2 ENCRYPTED PRIVATE KEY",
            "OpenVPN Static key V1",
            "RSA+PRIVATE+KEY",
        ] {
            let key = key(label);
            assert_eq!(private_key(&format!("a {key} b"), 2), Some(Hit::new(2..2 + key.len(), KIND)), "{label}");
            assert_eq!(private_key(&key[..80], 0), Some(Hit::new(0..80, KIND)), "{label}");
        }
        let ssh2 = "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: \"x\"\nP2/56wAAAi4AAAA3aWYtbW9k\n---- END SSH2 ENCRYPTED PRIVATE KEY ----";
        assert_eq!(private_key(ssh2, 0), Some(Hit::new(0..ssh2.len(), KIND)));
        let short = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\nIIrY\n-----END EC PRIVATE KEY-----";
        assert_eq!(private_key(short, 0), Some(Hit::new(0..short.len(), KIND)));
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
        let padded = format!("-----BEGIN PRIVATE KEY-----\n{line}\n{}", "and so on and on ".repeat(40));
        assert!(private_key(&padded, 0).is_some());
        let pieces = line
            .repeat(2)
            .as_bytes()
            .chunks(9)
            .map(|piece| String::from_utf8_lossy(piece).into_owned())
            .collect::<Vec<_>>()
            .join(" ");
        assert!(private_key(&format!("-----BEGIN PRIVATE KEY-----{pieces}-----END PRIVATE KEY-----"), 0).is_some());
        let headers = format!(
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,3F17F5316E2BAC89\n\n{line}\n"
        );
        assert!(private_key(&headers, 0).is_some());
        let putty = "PuTTY-User-Key-File-2: ssh-rsa\nPublic-Lines: 1\nAAAA\nPrivate-Lines: 1\nBBBB";
        assert_eq!(private_key(putty, 0), Some(Hit::new(0..putty.len(), KIND)));
    }

    #[test]
    fn what_is_public_or_only_named_is_none() {
        for text in [
            "-----BEGIN PRIVATE KEY----- is how such a file begins",
            "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgI\n-----END CERTIFICATE-----",
            "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
            "-----BEGIN ",
            "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE...\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\nthe base64 goes here, line by line\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\n// an uncharacteristically long word between the two,\n// and more of them that are short, as they are in comments\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAAAAAA\n-----END PRIVATE KEY-----",
            "a file of PEM begins with -----BEGIN PRIVATE KEY----- and ends, after however many lines of base64 of 64 characters (A-Z, a-z, 0-9, + and /) it took to write the whole structure, with -----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\n<your key>\n-----END PRIVATE KEY-----",
        ] {
            assert_eq!(private_key(text, 0), None, "{text}");
        }
    }

    #[test]
    fn a_key_that_comes_in_parts_is_open_until_its_end() {
        let key = key("RSA PRIVATE KEY");
        let mut last = Joined::Open;
        for length in 1..=key.len() {
            last = joined(&key[..length]);
            let is_whole = matches!(last, Joined::Whole(_));
            assert_eq!(is_whole, length == key.len(), "{}", &key[..length]);
            assert_ne!(last, Joined::Nothing, "{}", &key[..length]);
        }
        assert_eq!(last, Joined::Whole(Hit::new(0..key.len(), KIND)));
        assert_eq!(joined("-----BEGIN CERTIFICATE-----"), Joined::Nothing);
        assert_eq!(joined("-----BEGIN PRIVATE KEY----- (see below)"), Joined::Nothing);
    }
}
