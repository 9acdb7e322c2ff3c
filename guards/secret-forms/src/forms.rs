//! Secrets that are known by their form, wherever they stand in a text.

use json_scan::Hit;

use crate::table::{self, Form};
use crate::{key, web};

/// Every secret of a known form in `text`, from left to right.
pub(crate) fn find(text: &str) -> Vec<Hit> {
    let bytes = text.as_bytes();
    let mut hits = Vec::new();
    let mut at = 0;
    let mut web_tokens = web::Tokens::default();
    while let Some(byte) = bytes.get(at) {
        let hit = match byte {
            b':' => web::password_in_address(bytes, at).or_else(|| web::bot_token(bytes, at)),
            _ if starts_here(bytes, at) => {
                key::private_key(text, at).or_else(|| web_tokens.at(bytes, at)).or_else(|| token(bytes, at))
            }
            _ => None,
        };
        at = hit.as_ref().map_or(at, |hit| hit.range.end).max(at + 1);
        hits.extend(hit);
    }
    hits
}

/// A secret does not begin in the middle of a word: that is somebody's base64.
fn starts_here(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.first().is_some_and(|byte| table::may_begin(*byte)) && begins_word(bytes, at) && table::may_be_one(rest)
}

/// Whether no letter and no digit comes before one; an armour begins wherever its dashes do.
pub(crate) fn begins_word(bytes: &[u8], at: usize) -> bool {
    let is_word = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    !is_word(at) || !at.checked_sub(1).is_some_and(is_word)
}

fn token(bytes: &[u8], at: usize) -> Option<Hit> {
    let rest = bytes.get(at..)?;
    table::forms(rest).find_map(|form| {
        let length = body_length(form, rest)?;
        let body = rest.get(form.prefix.len()..form.prefix.len() + length)?;
        let fits = (form.least..=form.most).contains(&length) && !is_placeholder(body);
        fits.then(|| Hit::new(at..at + form.prefix.len() + length, form.kind))
    })
}

/// How many bytes after the prefix go on with the token; one more than the most where there are more.
pub(crate) fn body_length(form: &Form, text: &[u8]) -> Option<usize> {
    let body = text.strip_prefix(form.prefix.as_bytes())?;
    Some(body.iter().take(form.most + 1).take_while(|byte| form.body.has(**byte)).count())
}

/// One character over and over, as in `sk-xxxxxxxx`, or a word that says what to put there. `EXAMPLE` in capitals is a
/// part of keys that have the form of real ones.
pub(crate) fn is_placeholder(body: &[u8]) -> bool {
    const WORDS: [&[u8]; 6] = [b"your", b"placeholder", b"xxxxxx", b"redacted", b"changeme", b"dummy"];
    let letters = || body.iter().filter(|byte| byte.is_ascii_alphanumeric());
    let first = letters().next().map(u8::to_ascii_lowercase);
    let has = |word: &[u8]| body.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    letters().all(|byte| Some(byte.to_ascii_lowercase()) == first)
        || WORDS.iter().any(|word| has(word))
        || body.windows(7).any(|part| part == b"example")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Body, FORMS};

    fn kinds(text: &str) -> Vec<String> {
        find(text).into_iter().map(|hit| hit.kind.into_owned()).collect()
    }

    #[test]
    fn each_form_is_found_where_it_begins() {
        for form in FORMS {
            let unit = match form.body {
                Body::Upper => "A2B3",
                Body::Lower | Body::Hex => "a1b2",
                _ => "aB3d",
            };
            let body: String = unit.chars().cycle().take(form.least).collect();
            let text = format!("x={}{body} y", form.prefix);
            assert_eq!(kinds(&text), [form.kind], "{text}");
            assert_eq!(kinds(&format!("x{}{body}", form.prefix)), Vec::<String>::new(), "{text}");
            assert_eq!(kinds(&format!("{}{}", form.prefix, &body[..form.least - 1])), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn placeholders_are_none() {
        for text in [
            "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "ghp_XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
            "sk-ant-your-key-goes-right-here",
            "xoxb-replace-with-your-token",
            "sk-proj-example-key-of-the-manual-0001",
            "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
            "AKIAXXXXXXXXXXXXXXXX",
        ] {
            assert_eq!(kinds(text), Vec::<String>::new(), "{text}");
        }
        assert_eq!(kinds("AKIAIOSFODNN7EXAMPLE"), ["aws-access-key"]);
    }
}
