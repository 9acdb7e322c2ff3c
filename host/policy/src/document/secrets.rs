//! `secrets`: where their values come from, and which request of which component gets one.

use super::{environment, named, network, path};
use crate::policy::{SecretGrant, SecretSource};
use crate::problem::{Located, quote};
use crate::yaml::{Cursor, Fields};

/// The most words of a command.
const MAX_WORDS: usize = 64;
/// The longest name of a header, and the longest format around a value, in bytes.
const MAX_HEADER: usize = 64;
const MAX_FORMAT: usize = 256;

/// Headers that decide how a message is framed or where it goes. The host sets them itself, or nobody does.
const NOT_FOR_SECRETS: [&str; 19] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "date",
    "expect",
    "host",
    "http2-settings",
    "if-range",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// One secret, as written.
#[derive(Debug)]
pub(crate) struct SecretEntry {
    pub(crate) name: Located<String>,
    pub(crate) source: Located<SecretSource>,
}

/// One secret that a component's requests may carry, as written.
#[derive(Debug)]
pub(crate) struct SecretGrantEntry {
    pub(crate) grant: SecretGrant,
    pub(crate) name: Located<()>,
    pub(crate) host: Located<()>,
}

/// `NAME: { env: VAR } | { file: PATH } | { command: [..] }`
pub(super) fn read(section: &Cursor<'_>) -> Option<Vec<SecretEntry>> {
    let entries = named(section, "a mapping of secrets, such as api_key: { env: API_KEY }")?;
    let read = |(name, cursor): (Located<String>, Cursor<'_>)| {
        let source = cursor.fields("a mapping, such as { env: API_KEY }", |f| source(&cursor, f))??;
        Some(SecretEntry { name, source })
    };
    Some(entries.into_iter().filter_map(read).collect())
}

fn source(cursor: &Cursor<'_>, f: &mut Fields<'_, '_>) -> Option<Located<SecretSource>> {
    let (env, file, command) = (f.take("env"), f.take("file"), f.take("command"));
    match (env, file, command) {
        (Some(c), None, None) => variable(&c).map(|name| c.locate(SecretSource::Env(name))),
        (None, Some(c), None) => {
            path(&c).map(|path| c.locate(SecretSource::File { path: path.to_owned(), host: path.into() }))
        }
        (None, None, Some(c)) => words(&c).map(|words| c.locate(SecretSource::Command { words, program: None })),
        _ => {
            cursor.refuse("one source is needed: env: VARIABLE, file: PATH or command: [PROGRAM, ARGUMENT]");
            None
        }
    }
}

fn variable(cursor: &Cursor<'_>) -> Option<String> {
    let text = cursor.text("the name of an environment variable")?;
    let is_one = environment::is_name(text);
    if !is_one {
        cursor.refuse(format!("{} is no name of an environment variable; API_KEY is", quote(text)));
    }
    is_one.then(|| text.to_owned())
}

fn words(cursor: &Cursor<'_>) -> Option<Vec<String>> {
    let items = cursor.list("a list, such as [pass, show, api-key]")?;
    if items.is_empty() || items.len() > MAX_WORDS {
        cursor.refuse(format!("a command has 1 to {MAX_WORDS} words, such as [pass, show, api-key]"));
        return None;
    }
    let word = |item: &Cursor<'_>| {
        let word = item.text("a word of a command")?;
        let is_one = word.len() <= 4096 && !word.contains('\0');
        if !is_one {
            item.refuse("is no word of a command; it is too long, or holds a NUL character");
        }
        is_one.then(|| word.to_owned())
    };
    let words: Vec<_> = items.iter().map(word).collect();
    if words.first().is_some_and(|program| program.as_ref().is_some_and(String::is_empty)) {
        cursor.refuse("the first word of a command is a program, and is empty here");
        return None;
    }
    words.into_iter().collect()
}

/// `[{ name: api_key, host: api.example.com, header: Authorization, format: "Bearer {}" }]`
pub(super) fn grants(section: &Cursor<'_>) -> Option<Vec<SecretGrantEntry>> {
    let items = section.list(
        "a list, such as [{ name: api_key, host: api.example.com, header: Authorization, format: \"Bearer {}\" }]",
    )?;
    let mut grants: Vec<SecretGrantEntry> = Vec::new();
    for item in items {
        let Some(entry) = grant(&item) else { continue };
        let (host, header) = (&entry.grant.host, &entry.grant.header);
        if grants.iter().any(|earlier| earlier.grant.host == *host && earlier.grant.header == *header) {
            item.refuse(format!("a second secret as {header} for {host}; keep one"));
        }
        grants.push(entry);
    }
    Some(grants)
}

fn grant(item: &Cursor<'_>) -> Option<SecretGrantEntry> {
    item.fields("a mapping, such as { name: api_key, host: api.example.com, header: Authorization }", |f| {
        let name =
            f.need("name", "one of `secrets`").and_then(|c| Some(c.locate(c.text("the name of a secret")?.to_owned())));
        let host =
            f.need("host", "one of the hosts under network").and_then(|c| network::host(&c).map(|host| c.locate(host)));
        let header = f.need("header", "the header that carries it, such as Authorization").and_then(|c| header(&c));
        let format = f.take("format").map_or_else(|| Some("{}".to_owned()), |c| format(&c));
        let (name, host) = (name?, host?);
        Some(SecretGrantEntry {
            name: Located { value: (), spot: name.spot },
            host: Located { value: (), spot: host.spot },
            grant: SecretGrant { name: name.value, host: host.value, header: header?, format: format? },
        })
    })?
}

/// A header's name, in lower case.
fn header(cursor: &Cursor<'_>) -> Option<String> {
    let text = cursor.text("the name of a header")?;
    // RFC 9110, section 5.6.2.
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let name = text.to_ascii_lowercase();
    if name.is_empty() || name.len() > MAX_HEADER || !name.bytes().all(is_token) {
        cursor.refuse(format!("{} is no name of a header; Authorization is", quote(text)));
        return None;
    }
    if NOT_FOR_SECRETS.contains(&name.as_str()) {
        cursor.refuse(format!("{name} carries no secret; name another header, such as Authorization"));
        return None;
    }
    Some(name)
}

/// What stands around the value.
fn format(cursor: &Cursor<'_>) -> Option<String> {
    let text = cursor.text("a format, such as \"Bearer {}\"")?;
    let is_printable = text.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
    if text.len() > MAX_FORMAT || !is_printable || text.trim() != text || text.matches("{}").count() != 1 {
        cursor.refuse(format!(
            "{} is no format; it is printable ASCII with one {{}}, such as \"Bearer {{}}\"",
            quote(text)
        ));
        return None;
    }
    Some(text.to_owned())
}
