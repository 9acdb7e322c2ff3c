//! Arguments that a tool says are URLs.

use chio_sdk::{HostKind, Url, UrlFact};

use crate::rules::{Rules, Sure, refuse_unread};
use crate::target::{Target, Unread, is_special, is_usual_login};
use crate::text;

/// Schemes whose URLs lead to no host, and hold no other URL that is opened.
const INERT: &[&str] = &["data", "mailto", "about", "blob", "tel", "sms", "urn", "cid", "mid", "magnet"];
/// Schemes for a socket of this machine.
const SOCKETS: &[&str] = &["http+unix", "https+unix"];

/// Why a URL is refused, if it is.
pub(crate) fn judge(rules: &Rules, fact: &UrlFact) -> Option<String> {
    // What the WHATWG rules take off, and with that every reader.
    let raw = fact.raw.trim_matches(|c: char| c <= ' ');
    let refuse = |unread| refuse_unread(&unread, Sure::Described);
    let Some(url) = &fact.parsed else {
        // A better reason than that it does not parse, where there is one.
        return text::judge(rules, raw).or_else(|| bare(rules, raw)).or_else(|| refuse(Unread::Unparsable));
    };
    if raw.chars().any(char::is_control) {
        return refuse(Unread::Ambiguous);
    }
    if url.host_kind == HostKind::None {
        return hostless(rules, url, raw);
    }
    if SOCKETS.contains(&url.scheme.as_str()) {
        return Some("a URL is refused (it leads to a socket of this machine)".to_owned());
    }
    let Some(authority) = authority(&url.scheme, raw) else { return refuse(Unread::Ambiguous) };
    if authority.contains('\\') || authority.chars().any(char::is_whitespace) {
        return refuse(Unread::Ambiguous);
    }
    let login = authority.rsplit_once('@').map(|(login, _)| login);
    if (url.has_credentials || login.is_some()) && !login.is_some_and(|login| is_usual_login(&url.scheme, login)) {
        return refuse(Unread::Login(url.host.clone()));
    }
    if authority.rsplit('@').next().is_some_and(|host| host.contains('%')) {
        return refuse(Unread::Ambiguous);
    }
    // In a scheme that the WHATWG rules do not know a host is left as it is written, and a client reads it as it likes.
    let host = if url.host_kind == HostKind::Ipv6 { format!("[{}]", url.host) } else { url.host.clone() };
    match Target::read(Some(&url.scheme), &host) {
        Ok(target) => {
            let target = Target { port: url.port.or(target.port), ..target };
            rules.refuse(&target, Sure::Described).or_else(|| text::word(rules, raw))
        }
        Err(unread) => refuse(unread),
    }
}

/// What stands between the scheme and the path; nothing where there are more or other slashes than two before it, which
/// only the WHATWG rules take for those.
fn authority<'a>(scheme: &str, raw: &'a str) -> Option<&'a str> {
    let rest = raw.get(scheme.len() + 1..)?.strip_prefix("//")?;
    if is_special(scheme) && rest.starts_with(['/', '\\']) {
        return None;
    }
    rest.split(['/', '?', '#']).next()
}

/// `localhost:8080` is a URL of the scheme `localhost`; others hold a URL (`view-source:http://x`).
fn hostless(rules: &Rules, url: &Url, raw: &str) -> Option<String> {
    let is_port = |text: &str| {
        let digits = text.split(['/', '?', '#']).next().unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    if raw.split_once(':').is_some_and(|(_, rest)| is_port(rest)) && !INERT.contains(&url.scheme.as_str()) {
        return bare(rules, raw);
    }
    if INERT.contains(&url.scheme.as_str()) { None } else { text::word(rules, raw) }
}

/// A host without a scheme.
fn bare(rules: &Rules, raw: &str) -> Option<String> {
    match Target::read_bare(raw.trim_start_matches(['/', '\\'])) {
        Ok(target) => rules.refuse(&target, Sure::Described),
        Err(_) => None,
    }
}
