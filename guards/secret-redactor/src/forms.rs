//! The forms that tokens have, as their issuers write them.
//!
//! A table and not regular expressions: every call runs in a fresh instance, and compiling the expressions would cost it
//! far more than looking.

use std::iter;
use std::ops::Range;

/// A secret, and where it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hit {
    pub(crate) range: Range<usize>,
    pub(crate) kind: String,
}

impl Hit {
    pub(crate) fn new(range: Range<usize>, kind: &str) -> Self {
        Self { range, kind: kind.into() }
    }
}

/// Which characters go on with a token.
#[derive(Clone, Copy)]
enum Body {
    Upper,
    Hex,
    Alphanumeric,
    /// Base64 for addresses: with `-` and `_`.
    Url,
    /// `Url` with dots, which part a token's sections.
    Dotted,
    /// Base64.
    Base64,
}

impl Body {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
        }
    }
}

struct Form {
    prefix: &'static str,
    kind: &'static str,
    body: Body,
    /// How many characters follow the prefix, in bytes.
    least: usize,
    most: usize,
}

const fn form(prefix: &'static str, kind: &'static str, body: Body, least: usize, most: usize) -> Form {
    Form { prefix, kind, body, least, most }
}

const LONG: usize = 4096;

/// A longer prefix comes before one that it begins with.
const FORMS: &[Form] = &[
    form("AKIA", "aws-access-key", Body::Upper, 16, 16),
    form("ASIA", "aws-access-key", Body::Upper, 16, 16),
    form("ABIA", "aws-access-key", Body::Upper, 16, 16),
    form("ACCA", "aws-access-key", Body::Upper, 16, 16),
    form("ghp_", "github-token", Body::Alphanumeric, 30, 255),
    form("gho_", "github-token", Body::Alphanumeric, 30, 255),
    form("ghs_", "github-token", Body::Dotted, 30, LONG),
    form("ghu_", "github-token", Body::Alphanumeric, 30, 255),
    form("ghr_", "github-token", Body::Alphanumeric, 30, 255),
    form("github_pat_", "github-token", Body::Url, 22, 255),
    form("glpat-", "gitlab-token", Body::Dotted, 20, 300),
    form("gldt-", "gitlab-token", Body::Dotted, 20, 300),
    form("glrt-", "gitlab-token", Body::Dotted, 20, 300),
    form("xoxb-", "slack-token", Body::Url, 10, 300),
    form("xoxp-", "slack-token", Body::Url, 10, 300),
    form("xoxa-", "slack-token", Body::Url, 10, 300),
    form("xoxo-", "slack-token", Body::Url, 10, 300),
    form("xoxr-", "slack-token", Body::Url, 10, 300),
    form("xoxs-", "slack-token", Body::Url, 10, 300),
    form("xoxe-", "slack-token", Body::Url, 10, 300),
    form("xoxe.xox", "slack-token", Body::Url, 10, 300),
    form("xapp-", "slack-token", Body::Url, 10, 300),
    form("hooks.slack.com/services/", "slack-webhook", Body::Base64, 20, 200),
    form("sk_live_", "stripe-key", Body::Alphanumeric, 16, 300),
    form("rk_live_", "stripe-key", Body::Alphanumeric, 16, 300),
    form("sk_test_", "stripe-key", Body::Alphanumeric, 16, 300),
    form("rk_test_", "stripe-key", Body::Alphanumeric, 16, 300),
    form("whsec_", "stripe-key", Body::Base64, 24, 200),
    form("AIza", "google-api-key", Body::Url, 35, 35),
    form("ya29.", "google-oauth-token", Body::Url, 20, LONG),
    form("GOCSPX-", "google-oauth-secret", Body::Url, 20, 60),
    form("sk-ant-", "anthropic-key", Body::Url, 20, 300),
    form("sk-proj-", "openai-key", Body::Url, 20, 300),
    form("sk-svcacct-", "openai-key", Body::Url, 20, 300),
    form("sk-admin-", "openai-key", Body::Url, 20, 300),
    form("sk-or-v1-", "openrouter-key", Body::Hex, 32, 100),
    form("sk-", "openai-key", Body::Alphanumeric, 32, 100),
    form("npm_", "npm-token", Body::Alphanumeric, 36, 36),
    form("pypi-", "pypi-token", Body::Url, 50, 1000),
    form("hf_", "huggingface-token", Body::Alphanumeric, 30, 100),
    form("SG.", "sendgrid-key", Body::Dotted, 60, 80),
    form("dop_v1_", "digitalocean-token", Body::Hex, 64, 64),
    form("hvs.", "vault-token", Body::Url, 24, 300),
    form("hvb.", "vault-token", Body::Url, 24, 300),
    form("AGE-SECRET-KEY-1", "age-key", Body::Upper, 58, 58),
    form("AccountKey=", "azure-storage-key", Body::Base64, 40, 100),
    form("lin_api_", "linear-key", Body::Alphanumeric, 32, 60),
    form("shpat_", "shopify-token", Body::Hex, 32, 32),
    form("dckr_pat_", "docker-token", Body::Url, 20, 60),
];

/// What begins a token that is more than a prefix and a body.
const JSON_WEB_TOKEN: &str = "eyJ";
const PEM: &str = "-----BEGIN ";
const PUTTY: &str = "PuTTY-User-Key-File-";
const OTHERS: [&str; 3] = [JSON_WEB_TOKEN, PEM, PUTTY];

/// How many of a prefix's first bytes the index looks at; none is shorter.
const INDEXED_BYTES: usize = 3;

/// Which prefixes have a byte at a place, a bit each: first the forms in their order, then the others.
const INDEX: [[u64; 256]; INDEXED_BYTES] = {
    assert!(FORMS.len() + OTHERS.len() <= 64, "a prefix is a bit");
    let mut index = [[0; 256]; INDEXED_BYTES];
    let mut prefix = 0;
    while prefix < FORMS.len() + OTHERS.len() {
        let text = if prefix < FORMS.len() { FORMS[prefix].prefix } else { OTHERS[prefix - FORMS.len()] };
        let mut place = 0;
        while place < INDEXED_BYTES {
            index[place][text.as_bytes()[place] as usize] |= 1 << prefix;
            place += 1;
        }
        prefix += 1;
    }
    index
};

/// Which prefixes the text may begin with, judged by its first bytes.
fn prefixes(rest: &[u8]) -> u64 {
    let Some(first) = rest.first_chunk::<INDEXED_BYTES>() else { return 0 };
    let has = |place: usize| INDEX[place][usize::from(first[place])];
    has(0) & has(1) & has(2)
}

/// Whether a byte may begin a token, where none before it is a letter or a digit.
pub(crate) const fn may_begin(byte: u8) -> bool {
    INDEX[0][byte as usize] != 0
}

/// Whether a text begins as a token does.
pub(crate) fn begins(rest: &[u8]) -> bool {
    bits(prefixes(rest)).any(|prefix| match FORMS.get(prefix) {
        Some(form) => rest.starts_with(form.prefix.as_bytes()),
        None => rest.starts_with(OTHERS[prefix - FORMS.len()].as_bytes()),
    })
}

/// The bits that are set, from the lowest.
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        bit
    })
}

/// Every token in `text`, from left to right.
pub(crate) fn find(text: &str) -> Vec<Hit> {
    let bytes = text.as_bytes();
    let mut hits = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let hit = starts_here(bytes, at)
            .then(|| private_key(text, at).or_else(|| json_web_token(bytes, at)).or_else(|| token(bytes, at)))
            .flatten()
            .or_else(|| if bytes[at] == b':' { password_in_address(bytes, at) } else { None });
        match hit {
            Some(hit) => {
                at = hit.range.end;
                hits.push(hit);
            }
            None => at += 1,
        }
    }
    hits
}

/// A token does not begin in the middle of a word: that is somebody's base64.
fn starts_here(bytes: &[u8], at: usize) -> bool {
    may_begin(bytes[at]) && (at == 0 || !bytes[at - 1].is_ascii_alphanumeric()) && prefixes(&bytes[at..]) != 0
}

fn token(bytes: &[u8], at: usize) -> Option<Hit> {
    let rest = &bytes[at..];
    bits(prefixes(rest)).filter_map(|prefix| FORMS.get(prefix)).find_map(|form| {
        let body = rest.strip_prefix(form.prefix.as_bytes())?;
        let length = body.iter().take(form.most + 1).take_while(|byte| form.body.has(**byte)).count();
        let fits = length >= form.least && length <= form.most;
        (fits && !is_placeholder(&body[..length])).then(|| Hit::new(at..at + form.prefix.len() + length, form.kind))
    })
}

/// One character over and over, as in `sk-xxxxxxxx`, or a word that says what to put there.
fn is_placeholder(body: &[u8]) -> bool {
    let letters = || body.iter().filter(|byte| byte.is_ascii_alphanumeric());
    let first = letters().next().map(u8::to_ascii_lowercase);
    let lower = String::from_utf8_lossy(body).to_ascii_lowercase();
    letters().all(|byte| Some(byte.to_ascii_lowercase()) == first)
        || ["your", "placeholder", "xxxxxx", "redacted"].iter().any(|word| lower.contains(word))
}

/// Three parts of base64, the first two of which begin a JSON object.
fn json_web_token(bytes: &[u8], at: usize) -> Option<Hit> {
    let rest = &bytes[at..];
    if !rest.starts_with(JSON_WEB_TOKEN.as_bytes()) {
        return None;
    }
    let length = rest.iter().take_while(|byte| Body::Dotted.has(**byte)).count();
    let mut parts = rest[..length].split(|byte| *byte == b'.');
    let (header, payload) = (parts.next()?, parts.next()?);
    parts.next()?;
    (header.len() > 10 && payload.len() > 10 && payload.starts_with(b"eyJ")).then(|| Hit::new(at..at + length, "jwt"))
}

/// A PEM block of any kind of private key, to its end line or, where that was cut off, as far as base64 goes.
fn private_key(text: &str, at: usize) -> Option<Hit> {
    const LABEL_BYTES: usize = 60;
    // An armour's body is more than this; a text that only names the header has none.
    const LEAST_BYTES: usize = 16;
    let rest = text.get(at..)?;
    if let Some(body) = rest.strip_prefix(PUTTY) {
        return body.contains("Private-").then(|| Hit::new(at..text.len(), "private-key"));
    }
    let label_and_body = rest.strip_prefix(PEM)?;
    let label_length = label_and_body.find("-----").filter(|length| *length <= LABEL_BYTES)?;
    if !label_and_body[..label_length].contains("PRIVATE KEY") {
        return None;
    }
    let start = PEM.len() + label_length + "-----".len();
    let body = &rest[start..];
    let end = match body.find("-----END ") {
        Some(end) => {
            let line = &body[end + "-----END ".len()..];
            end + "-----END ".len() + line.find("-----").map_or(line.len(), |length| length + "-----".len())
        }
        None => body.bytes().take_while(|byte| Body::Base64.has(*byte) || b" \t\r\n\\:,-".contains(byte)).count(),
    };
    let letters = body[..end].bytes().filter(u8::is_ascii_alphanumeric).count();
    (letters >= LEAST_BYTES).then(|| Hit::new(at..at + start + end, "private-key"))
}

/// `https://user:password@host`; the password alone is the secret.
fn password_in_address(bytes: &[u8], at: usize) -> Option<Hit> {
    const AUTHORITY_BYTES: usize = 300;
    let authority = bytes[at..].strip_prefix(b"://")?;
    let length = authority
        .iter()
        .take(AUTHORITY_BYTES)
        .take_while(|byte| byte.is_ascii_graphic() && !b"/?#\"'`<>\\".contains(byte))
        .count();
    let authority = &authority[..length];
    let end = authority.iter().rposition(|byte| *byte == b'@')?;
    let colon = authority[..end].iter().position(|byte| *byte == b':')?;
    let password = &authority[colon + 1..end];
    let told = matches!(password.first(), None | Some(b'$' | b'<' | b'{' | b'*' | b'%'))
        || [b"password".as_slice(), b"pass", b"secret", b"pwd", b"token"].contains(&password)
        || is_placeholder(password);
    let start = at + "://".len() + colon + 1;
    (!told).then(|| Hit::new(start..start + password.len(), "url-password"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<String> {
        find(text).into_iter().map(|hit| hit.kind).collect()
    }

    #[test]
    fn each_form_is_found_where_it_begins() {
        for form in FORMS {
            let unit = match form.body {
                Body::Upper => "A2B3",
                Body::Hex => "a1b2",
                _ => "aB3d",
            };
            let body: String = unit.chars().cycle().take(form.least).collect();
            let text = format!("x={}{body} y", form.prefix);
            assert_eq!(kinds(&text), [form.kind], "{text}");
            assert_eq!(kinds(&format!("x{}{body}", form.prefix)), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_key_is_cut_to_its_end() {
        let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAA\n-----END OPENSSH PRIVATE KEY-----";
        assert_eq!(find(&format!("a {key} b")), [Hit::new(2..2 + key.len(), "private-key")]);
        assert_eq!(kinds(&key[..60]), ["private-key"]);
        assert!(kinds("look for -----BEGIN PRIVATE KEY----- in it").is_empty());
        assert!(kinds("-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgI\n-----END CERTIFICATE-----").is_empty());
        assert_eq!(
            kinds(
                "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQOYBF0AAAABCADabcdefgh\n-----END PGP PRIVATE KEY BLOCK-----"
            ),
            ["private-key"]
        );
    }

    #[test]
    fn a_password_in_an_address_is_cut_alone() {
        assert_eq!(find("postgres://app:s3cr3t!x@db/x"), [Hit::new(15..23, "url-password")]);
        for text in ["https://user:password@host", "https://host:8080/a@b", "https://u:$PASS@h", "ssh://git@host"] {
            assert!(kinds(text).is_empty(), "{text}");
        }
    }
}
