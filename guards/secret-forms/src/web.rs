//! Secrets with an inner form: JSON web tokens, passwords in addresses, bots' tokens.

use json_scan::Hit;

use crate::encoded;
use crate::forms::{begins_word, is_placeholder};
use crate::table::{Body, JSON_WEB_TOKEN};

/// The longest part of a token that is looked at, in bytes.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// Looks for web tokens in a text, from left to right: three parts of base64 (signed) or five (encrypted), of which the
/// first holds a JSON object with the algorithm.
#[derive(Default)]
pub(crate) struct Tokens {
    /// Where the part ends that was read last: what was read over once is not read over again.
    part_end: usize,
}

impl Tokens {
    /// The token that begins here.
    pub(crate) fn at(&mut self, bytes: &[u8], at: usize) -> Option<Hit> {
        let rest = bytes.get(at..)?;
        if !rest.starts_with(JSON_WEB_TOKEN.as_bytes()) {
            return None;
        }
        if at >= self.part_end {
            self.part_end = at + rest.iter().take_while(|byte| Body::Url.has(**byte)).count();
        }
        let has_dot = bytes.get(self.part_end) == Some(&b'.') && self.part_end - at < MAX_TOKEN_BYTES;
        if !has_dot {
            return None;
        }
        token_length(rest).map(|length| Hit::new(at..at + length, JWT))
    }
}

pub(crate) const JWT: &str = "jwt";

/// How long the token is that the text begins with.
pub(crate) fn token_length(text: &[u8]) -> Option<usize> {
    const LEAST_BYTES: usize = 10;
    if !text.starts_with(JSON_WEB_TOKEN.as_bytes()) {
        return None;
    }
    // Part by part, so that little is read of what is none.
    let mut end = part_length(text);
    let header = text.get(..end)?;
    let payload = next_part(text, &mut end)?;
    let is_known = payload.starts_with(JSON_WEB_TOKEN.as_bytes());
    let is_header = header.len() > LEAST_BYTES && (is_known || has_algorithm(header));
    next_part(text, &mut end)?;
    let three = end;
    match (next_part(text, &mut end), next_part(text, &mut end)) {
        (Some(text), Some(tag)) if is_header && !text.is_empty() && !tag.is_empty() => Some(end),
        _ => (payload.len() > LEAST_BYTES && (is_header || is_known)).then_some(three),
    }
}

/// The part after the dot that stands at `end`, which moves behind it.
fn next_part<'t>(text: &'t [u8], end: &mut usize) -> Option<&'t [u8]> {
    let part = text.get(*end..)?.strip_prefix(b".")?;
    let part = part.get(..part_length(part))?;
    *end += 1 + part.len();
    Some(part)
}

/// How many bytes of base64 a text begins with, as far as a token's part may reach.
pub(crate) fn part_length(text: &[u8]) -> usize {
    text.iter().take(MAX_TOKEN_BYTES).take_while(|byte| Body::Url.has(**byte)).count()
}

/// Whether a text without a dot may be the beginning of a token's header: an object that is not closed before its end. A
/// list of cursors (`eyJwYWdlIjoxfQ`) is no token in pieces.
pub(crate) fn header_may_go_on(text: &[u8]) -> bool {
    const MOST_BYTES: usize = 8 << 10;
    if text.contains(&b'.') {
        return true;
    }
    let (header, read) = encoded::base64(text.get(..text.len().min(MOST_BYTES)).unwrap_or_default());
    let mut depth = 0_usize;
    let closes = header.bytes().position(|byte| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    // Up to two bytes of what is not yet decoded.
    read == text.len() && header.len() + 2 >= text.len() / 4 * 3 && closes.is_none_or(|at| at + 1 == header.len())
}

/// How many bytes a token's characters go on for.
pub(crate) fn run_length(text: &[u8]) -> usize {
    text.iter().take(MAX_TOKEN_BYTES).take_while(|byte| Body::Dotted.has(**byte)).count()
}

fn has_algorithm(header: &[u8]) -> bool {
    let (text, _) = encoded::base64(header);
    text.contains("\"alg\"") && text.starts_with('{')
}

/// `https://user:password@host`; the password alone is the secret.
pub(crate) fn password_in_address(bytes: &[u8], at: usize) -> Option<Hit> {
    const AUTHORITY_BYTES: usize = 300;
    const LEAST_BYTES: usize = 4;
    const TOLD: [&[u8]; 8] = [b"password", b"passwd", b"pass", b"secret", b"pwd", b"token", b"changeme", b"example"];
    let authority = bytes.get(at..)?.strip_prefix(b"://")?;
    let length = authority
        .iter()
        .take(AUTHORITY_BYTES)
        .take_while(|byte| byte.is_ascii_graphic() && !b"/?#\"'`<>\\".contains(byte))
        .count();
    let authority = authority.get(..length)?;
    let end = authority.iter().rposition(|byte| *byte == b'@')?;
    let colon = authority.iter().take(end).position(|byte| *byte == b':')?;
    let (user, password) = (authority.get(..colon)?, authority.get(colon + 1..end)?);
    // `postgres:postgres` is what nobody has changed yet.
    let told = matches!(password.first(), None | Some(b'$' | b'<' | b'{' | b'*' | b'%' | b'['))
        || password.len() < LEAST_BYTES
        || password.starts_with(b"&lt;")
        || password == user
        || TOLD.iter().any(|word| password.eq_ignore_ascii_case(word))
        || is_placeholder(password);
    let start = at + "://".len() + colon + 1;
    (!told).then(|| Hit::new(start..start + password.len(), "url-password"))
}

/// `123456789:AA…`, as Telegram's bots have it.
pub(crate) fn bot_token(bytes: &[u8], colon: usize) -> Option<Hit> {
    const DIGITS: std::ops::RangeInclusive<usize> = 8..=10;
    const BODY_BYTES: usize = 35;
    let body = bytes.get(colon + 1..)?;
    if !body.starts_with(b"AA") {
        return None;
    }
    let digits =
        bytes.get(..colon)?.iter().rev().take(DIGITS.end() + 1).take_while(|byte| byte.is_ascii_digit()).count();
    let length = body.iter().take(BODY_BYTES + 1).take_while(|byte| Body::Url.has(**byte)).count();
    let start = colon - digits;
    // In the address of the interface `bot` stands before it.
    let begins = begins_word(bytes, start) || bytes.get(..start).is_some_and(|before| before.ends_with(b"/bot"));
    let fits = DIGITS.contains(&digits) && length == BODY_BYTES && begins;
    fits.then(|| Hit::new(start..colon + 1 + length, "telegram-token"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "eyJhbGciOiJIUzI1NiJ9";

    fn json_web_token(bytes: &[u8], at: usize) -> Option<Hit> {
        Tokens::default().at(bytes, at)
    }

    #[test]
    fn a_web_token_is_signed_or_encrypted() {
        let signed = format!("{HEADER}.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U");
        let opaque = format!("{HEADER}.SXQgaXMgbm90IEpTT04.dozjgNryP4J3jVmNHl0w5N");
        let unsigned = "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0NTY3ODkwIn0.".to_owned();
        let encrypted = "eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..QkJCQkJC.c2VjcmV0IHRleHQ.dGFnIHRhZyB0YWc".to_owned();
        for token in [&signed, &opaque, &unsigned, &encrypted] {
            assert_eq!(json_web_token(token.as_bytes(), 0), Some(Hit::new(0..token.len(), JWT)), "{token}");
        }
        assert_eq!(json_web_token(format!("{signed}. And so on").as_bytes(), 0), Some(Hit::new(0..signed.len(), JWT)));
        for text in
            [HEADER.to_owned(), format!("{HEADER}.{HEADER}"), "eyJ.eyJ.x".to_owned(), format!("{HEADER}.js.map")]
        {
            assert_eq!(json_web_token(text.as_bytes(), 0), None, "{text}");
        }
    }

    fn password(text: &str) -> Option<&str> {
        let at = text.find("://")?;
        password_in_address(text.as_bytes(), at).map(|hit| &text[hit.range])
    }

    #[test]
    fn a_password_in_an_address_is_cut_alone() {
        assert_eq!(password("postgres://app:s3cr3t!x@db/x"), Some("s3cr3t!x"));
        assert_eq!(password("redis://:s3cr3t@db:6379"), Some("s3cr3t"));
        for text in [
            "https://user:password@host",
            "https://host:8080/a@b",
            "https://u:$PASS@h",
            "ssh://git@host",
            "postgres://postgres:postgres@localhost:5432/db",
            "https://u:p@h",
            "://",
        ] {
            assert_eq!(password(text), None, "{text}");
        }
    }

    #[test]
    fn a_bot_token_is_digits_and_its_body() {
        let token = format!("123456789:AA{}", "aB3-dE5_f".repeat(4).get(..33).unwrap());
        let text = format!("bot {token}");
        assert_eq!(bot_token(text.as_bytes(), 13), Some(Hit::new(4..text.len(), "telegram-token")));
        let address = format!("https://api.telegram.org/bot{token}/getMe");
        assert_eq!(bot_token(address.as_bytes(), 37), Some(Hit::new(28..28 + token.len(), "telegram-token")));
        assert_eq!(bot_token(text.replace("123456789", "12:30").as_bytes(), 9), None);
    }
}
