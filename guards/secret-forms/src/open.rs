//! Secrets that begin in one string and go on in the next.

use json_scan::{Hit, Joined};

use crate::forms::{begins_word, body_length, is_placeholder};
use crate::table::{self, JSON_WEB_TOKEN, PEM, SSH2};
use crate::{key, web};

/// How far back from a string's end a token may have begun, in bytes.
const MAX_TAIL_BYTES: usize = 4 << 10;
/// How many beginnings of one string are followed up.
const MAX_STARTS: usize = 4;

/// Where in a text something begins that its end cuts off.
pub(crate) fn starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let tail = bytes.iter().rev().take(MAX_TAIL_BYTES).take_while(|byte| is_token(**byte)).count();
    let begins = |at: &usize| begins_word(bytes, *at) && bytes.get(*at).is_some_and(|byte| table::may_begin(*byte));
    (bytes.len() - tail..bytes.len())
        .filter(begins)
        .filter(|at| bytes.get(*at..).is_some_and(table::may_become_one) && is_open(text, *at))
        .take(MAX_STARTS)
        .collect()
}

/// Where the last private key of a text begins, if its end is cut off.
pub(crate) fn key_start(text: &str) -> Option<usize> {
    [PEM, SSH2].iter().filter_map(|prefix| text.rfind(prefix)).max().filter(|at| is_open(text, *at))
}

fn is_open(text: &str, at: usize) -> bool {
    text.get(at..).is_some_and(|rest| matches!(joined(rest), Joined::Open | Joined::Partial(_)))
}

/// Whether a byte may stand in any token. A private key has others, once its header is complete.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'+' | b'/' | b'=')
}

/// What a text is that begins with something cut off.
pub(crate) fn joined(text: &str) -> Joined {
    let bytes = text.as_bytes();
    if text.starts_with(PEM) || text.starts_with(SSH2) {
        return key::joined(text);
    }
    let tokens = table::forms(bytes).map(|form| of_form(form, bytes));
    let others = [web_token(bytes), key::joined(text)];
    tokens.chain(others).reduce(better).unwrap_or(Joined::Nothing)
}

fn of_form(form: &table::Form, bytes: &[u8]) -> Joined {
    if form.prefix.as_bytes().starts_with(bytes) {
        return Joined::Open;
    }
    let Some(length) = body_length(form, bytes) else { return Joined::Nothing };
    let end = form.prefix.len() + length;
    let body = bytes.get(form.prefix.len()..end).unwrap_or_default();
    match length {
        _ if length > form.most => Joined::Nothing,
        _ if length < form.least && end == bytes.len() => Joined::Open,
        _ if length < form.least || is_placeholder(body) => Joined::Nothing,
        _ => Joined::Whole(Hit::new(0..end, form.kind)),
    }
}

/// A web token is complete once its last part is as long as a signature.
fn web_token(bytes: &[u8]) -> Joined {
    const SIGNATURE_BYTES: usize = 20;
    if JSON_WEB_TOKEN.as_bytes().starts_with(bytes) {
        return Joined::Open;
    }
    if !bytes.starts_with(JSON_WEB_TOKEN.as_bytes()) {
        return Joined::Nothing;
    }
    let length = web::run_length(bytes);
    let reaches_the_end = length == bytes.len() && web::header_may_go_on(bytes);
    match web::token_length(bytes) {
        Some(length) if !reaches_the_end || last_part(bytes, length) >= SIGNATURE_BYTES => {
            Joined::Whole(Hit::new(0..length, web::JWT))
        }
        _ if reaches_the_end => Joined::Open,
        _ => Joined::Nothing,
    }
}

fn last_part(bytes: &[u8], length: usize) -> usize {
    bytes.iter().take(length).rev().take_while(|byte| **byte != b'.').count()
}

/// The one of two that says more.
fn better(a: Joined, b: Joined) -> Joined {
    let rank = |joined: &Joined| match joined {
        Joined::Nothing => 0,
        Joined::Open => 1,
        Joined::Partial(_) => 2,
        Joined::Whole(_) => 3,
    };
    if rank(&b) > rank(&a) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_open_where_its_end_is_missing() {
        let token = "AKIAQ3EGWNBV7XK2MPLS";
        for length in 1..token.len() {
            let text = format!("key={}", &token[..length]);
            assert_eq!(starts(&text).first(), Some(&4), "{text}");
        }
        for text in ["key=AKIAQ3EGWNBV7XK2MPLS", "key=AKIAQ3 ", "xAKIA", "", "hello wor~", "AKIA~", "ünïcödé"] {
            assert_eq!(starts(text), Vec::<usize>::new(), "{text}");
        }
        assert_eq!(starts("x-ghp_aB3"), [2]);
    }

    #[test]
    fn a_joined_text_is_a_token_once_it_is_long_enough() {
        assert_eq!(joined("AKIAQ3EGWNBV7XK2MPLS and"), Joined::Whole(Hit::new(0..20, "aws-access-key")));
        assert_eq!(joined("AKIAQ3EGWNBV7XK2MPLSX"), Joined::Nothing);
        assert_eq!(joined("AKIAQ3EGWNBV and"), Joined::Nothing);
        assert_eq!(joined("AKIAQ3EGWNBV"), Joined::Open);
        let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
        for length in 1..69 {
            assert_eq!(joined(&token[..length]), Joined::Open, "{}", &token[..length]);
        }
        assert_eq!(joined(token), Joined::Whole(Hit::new(0..token.len(), web::JWT)));
        for cursors in ["eyJwYWdlIjoxfQeyJwYWdlIjoyfQ", "eyJwYWdlIjoxfQabc", "eyJ____________"] {
            assert_eq!(joined(cursors), Joined::Nothing, "{cursors}");
        }
    }

    #[test]
    fn a_private_key_is_open_in_the_middle() {
        let text = "see\n-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0";
        assert_eq!(key_start(text), Some(4));
        assert_eq!(key_start(&text[..20]), Some(4));
        assert_eq!(key_start(&format!("{text}\n-----END RSA PRIVATE KEY-----")), None);
        assert_eq!(key_start("-----BEGIN CERTIFICATE-----\nMII"), None);
        assert_eq!(starts("see\n-----BEG"), [4]);
    }
}
