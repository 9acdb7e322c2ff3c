//! The URLs in a text.
//!
//! A text that nobody described is judged when it begins as a URL, or is one word with URLs in it (`--url=http://x`); one
//! that is an object or a list in JSON, by each string in it that begins as a URL. Prose that mentions one fetches nothing, and refusing it would refuse every issue about a server
//! that runs on this machine.

use std::borrow::Cow;

use crate::rules::{Rules, Sure, refuse_unread};
use crate::target::{Host, Target, Unread, is_special};

/// A word longer than this, in bytes, is no URL: no server takes one of half of it.
const MAX_WORD_BYTES: usize = 16 << 10;
/// How much of a URL is looked at for its host; a name has 253 bytes at most.
const MAX_AUTHORITY_BYTES: usize = 1 << 10;
/// How much of a text is read again without the line breaks that a URL parser drops.
const MAX_JOINED_BYTES: usize = 2 << 10;
/// The longest scheme that is looked for, in bytes.
const MAX_SCHEME_BYTES: usize = 32;

/// Characters that end a URL inside a longer word, and behind which another one begins.
const ENDS: &[char] = &[',', ';', '|', '"', '\'', '<', '>', '(', ')', '{', '}', '`', '&', '!', '[', ']'];

/// A URL somewhere in a text.
#[derive(Debug, PartialEq)]
struct Found<'a> {
    scheme: String,
    /// What comes after the scheme's colon and the slashes.
    rest: &'a str,
    /// Whether it is written loosely, so that it may be another thing with a colon: `http:x`.
    is_loose: bool,
    /// Whether it stands inside the URL before it.
    is_nested: bool,
    /// Whether a quote opens before it.
    is_quoted: bool,
}

/// Why a text is refused, if it is.
pub(crate) fn judge(rules: &Rules, text: &str) -> Option<String> {
    let text = text.trim_matches(is_margin);
    if !text.contains(char::is_whitespace) {
        return if text.len() > MAX_WORD_BYTES { None } else { word(rules, text).or_else(|| alone(rules, text)) };
    }
    text.split_whitespace()
        .take_while(|word| begins_as_url(word))
        .find_map(|url| word(rules, url))
        .or_else(|| joined(rules, text))
        .or_else(|| if text.starts_with(['{', '[']) { strings(rules, text) } else { None })
}

/// Why an object or a list in JSON is refused, for one of the strings that begin as a URL.
fn strings(rules: &Rules, text: &str) -> Option<String> {
    let is_short = |word: &&str| word.len() <= MAX_WORD_BYTES;
    let mut words = text.split_whitespace().filter(is_short);
    words.find_map(|word| urls(word).filter(|found| found.is_quoted).find_map(|found| judge_url(rules, &found)))
}

/// Why a word is refused, for one of the URLs in it.
pub(crate) fn word(rules: &Rules, word: &str) -> Option<String> {
    if !word.bytes().any(|byte| byte == b':') {
        return None;
    }
    urls(word).find_map(|found| judge_url(rules, &found)).or_else(|| encoded(rules, word))
}

/// Why the text of a program is refused, for a URL anywhere in it.
pub(crate) fn program(rules: &Rules, text: &str) -> Option<String> {
    text.split_whitespace().find_map(|part| word(rules, part))
}

fn is_margin(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

/// Whether a word is a URL from its beginning, but for an opening quote or bracket.
fn begins_as_url(word: &str) -> bool {
    let word = word.trim_start_matches(['"', '\'', '<', '(', '[', '{', '`']);
    let Some((scheme, rest)) = word.split_once(':') else { return false };
    let scheme = scheme.to_ascii_lowercase();
    is_scheme(&scheme) && (rest.starts_with("//") || (is_special(&scheme) && rest.starts_with(['/', '\\'])))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(is_scheme_byte)
}

fn is_scheme_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// The URLs in a word, from the first.
fn urls(word: &str) -> impl Iterator<Item = Found<'_>> {
    let mut has_one = false;
    word.match_indices(':').filter_map(move |(colon, _)| {
        let before = &word.as_bytes()[..colon];
        let tail = before.iter().rev().take(MAX_SCHEME_BYTES).take_while(|byte| is_scheme_byte(**byte)).count();
        let start = (colon - tail..colon).find(|at| before.get(*at).is_some_and(u8::is_ascii_alphabetic))?;
        let scheme = word.get(start..colon)?.to_ascii_lowercase();
        let after = word.get(colon + 1..)?;
        let is_special = is_special(&scheme);
        let rest = if is_special { after.trim_start_matches(['/', '\\']) } else { after.strip_prefix("//")? };
        let slashes = after.len() - rest.len();
        let is_nested = has_one && !word[..start].ends_with(ENDS);
        has_one = true;
        let is_quoted = word[..start].ends_with('"');
        Some(Found { scheme, rest, is_loose: slashes < 2, is_nested, is_quoted })
    })
}

fn judge_url(rules: &Rules, found: &Found<'_>) -> Option<String> {
    let sure = if found.is_nested { Sure::Hardly } else { Sure::Plainly };
    let head = &found.rest[..found.rest.floor_char_boundary(MAX_AUTHORITY_BYTES)];
    let end = head.find(['/', '\\', '?', '#']).unwrap_or(head.len());
    let (whole, behind) = head.split_at(end);
    let is_too_long = end == head.len() && head.len() < found.rest.len();
    if is_too_long && (!found.is_loose || found.rest.contains('@')) {
        return refuse_unread(&Unread::Unparsable, sure);
    }
    // Some readers take a backslash for a slash, and some for a part of the login.
    if behind.starts_with('\\') && !found.is_nested {
        let longer = head.split(['/', '?', '#']).next().unwrap_or_default();
        let is_escape = behind.starts_with("\\/") || behind.starts_with("\\\"") || behind.len() == 1;
        if longer.contains('@') || (rules.has_list() && !is_escape) {
            return refuse_unread(&Unread::Ambiguous, sure);
        }
    }
    let ends = |c: char| ENDS.contains(&c) && !(matches!(c, '[' | ']') && whole.starts_with('['));
    let cut = whole.find(ends).map_or(whole, |at| &whole[..at]);
    let longer = (cut != whole && whole.contains('@')).then_some(whole);
    [Some(cut), longer].into_iter().flatten().find_map(|authority| judge_authority(rules, found, authority, sure))
}

fn judge_authority(rules: &Rules, found: &Found<'_>, authority: &str, sure: Sure) -> Option<String> {
    match Target::read(Some(&found.scheme), authority) {
        Ok(target) if found.is_loose && !is_certain_host(&target.host, authority) => None,
        Ok(target) => rules.refuse(&target, sure),
        // A text like `http:` is many things, and what no WHATWG rule reads is only a URL where it looks like one.
        Err(Unread::Unparsable | Unread::Empty) if found.is_loose => None,
        Err(Unread::Unparsable) if !is_special(&found.scheme) && !rules.has_list() => None,
        Err(unread) => refuse_unread(&unread, sure),
    }
}

/// Whether a host is one even where it could be a word or a number.
pub(crate) fn is_certain_host(host: &Host, written: &str) -> bool {
    match host {
        Host::Name(name) => name.contains('.') || name == "localhost",
        Host::Address(_) => !is_small_number(written),
        Host::Unknown(_) => false,
    }
}

/// A number that would be an address in the network 0, and is a port, a count or a time.
fn is_small_number(text: &str) -> bool {
    let digits = text.split(':').next().unwrap_or_default();
    digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u64>().is_ok_and(|number| number < 1 << 24)
}

/// A URL that is percent-encoded inside another.
fn encoded(rules: &Rules, word: &str) -> Option<String> {
    if !word.contains("%2") && !word.contains("%3") {
        return None;
    }
    let decoded = percent_decoded(word);
    let mut inner = urls(&decoded).collect::<Vec<_>>();
    for found in &mut inner {
        found.is_nested = true;
    }
    inner.iter().find_map(|found| judge_url(rules, found))
}

fn percent_decoded(text: &str) -> Cow<'_, str> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        match (first, tail) {
            (b'%', [high, low, after @ ..]) if hex(high).is_some() && hex(low).is_some() => {
                decoded.push(hex(high).unwrap_or(0) << 4 | hex(low).unwrap_or(0));
                rest = after;
            }
            _ => {
                decoded.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned().into()
}

/// A URL parser drops tabs and line breaks, so a text may begin as a URL only then, or lead elsewhere.
fn joined(rules: &Rules, text: &str) -> Option<String> {
    if !text.contains(['\t', '\n', '\r']) {
        return None;
    }
    let head: String = text.chars().take(MAX_JOINED_BYTES).filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    let url = head.split_whitespace().next().filter(|word| begins_as_url(word))?;
    urls(url).take(1).find_map(|found| judge_url(rules, &found))
}

/// A word that is a host without a scheme: only where it can be nothing but a place that hands out credentials, or the name
/// of another machine's share (`\\10.0.0.1\x`).
fn alone(rules: &Rules, text: &str) -> Option<String> {
    let is_short = text.len() <= 300;
    let is_share = text.starts_with(r"\\") || text.starts_with("//");
    let may_be = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit() || c == '[' || !c.is_ascii())
            || ["metadata", "instance-data"].iter().any(|name| {
                text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
                    && text.contains(['.', '/'])
            })
    };
    if !is_short || !(is_share || may_be(text)) {
        return None;
    }
    let host = text.trim_start_matches(['/', '\\']);
    let target = Target::read_bare(host).ok()?;
    let is_address = matches!(target.host, Host::Address(_)) && host.contains(['.', ':']);
    let sure = if is_share && is_address { Sure::Plainly } else { Sure::Hardly };
    if is_certain_host(&target.host, host) { rules.refuse(&target, sure) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_found_where_they_begin() {
        let shape = |word: &str| {
            urls(word)
                .map(|found| {
                    let marks = [(found.is_loose, "~"), (found.is_nested, "^")];
                    let marks: String = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
                    format!("{marks}{} {}", found.scheme, found.rest)
                })
                .collect::<Vec<_>>()
                .join(" | ")
        };
        assert_eq!(shape("--url=HTTP://a/b"), "http a/b");
        assert_eq!(shape("http:\\\\a\\b"), "http a\\b");
        assert_eq!(shape("http:/a"), "~http a");
        assert_eq!(shape("a://b?c=http://d"), "a b?c=http://d | ^http d");
        assert_eq!(shape("http://a,http://b"), "http a,http://b | http b");
        assert_eq!(shape("jdbc:mysql://a"), "mysql a");
        assert_eq!(shape("1http://a"), "http a");
        assert_eq!(shape("://a a:b :"), "");
    }

    #[test]
    fn a_text_that_begins_as_a_url() {
        for text in ["http://x", "\"https://x", "(git+ssh://x)", "http:/x", "HTTPS:\\\\x"] {
            assert!(begins_as_url(text), "{text}");
        }
        for text in ["see", "a:b", "http", "http:x", "1://x", ":", "localhost:3000"] {
            assert!(!begins_as_url(text), "{text}");
        }
    }
}
