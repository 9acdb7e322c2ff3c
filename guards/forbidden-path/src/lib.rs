//! A guard that denies calls naming a place where secrets are kept: system credentials, SSH keys, cloud logins,
//! environment files, histories, key stores.
//!
//! What it judges:
//! - every `path`, raw and normalised, and what it may match where it is a pattern; one that the host could not normalise is
//!   denied;
//! - every `text` and object key that is a path as a whole, one word with a path glued to it (`--file=.env`), or JSON with
//!   strings that begin as paths;
//! - the words of a `command`, save those that it only says or looks for (`echo`, the pattern of `grep`);
//! - every URL that leads to a file, or to nowhere on the web.
//!
//! What it does not stop:
//! - prose that mentions such a path, and `content` that is written elsewhere: neither opens it;
//! - a symbolic link with a harmless name: the sandbox opens files below the granted folders only;
//! - a path that a running shell puts together from parts that only it knows.

mod command;

use std::iter;

use chio_sdk::{Call, CommandFact, Fact, FactKind, PathFact, UrlFact, Verdict, quote};
use secret_places::{Places, path_like};
use serde::Deserialize;

/// A path longer than this, in bytes, is not judged but denied.
const MAX_PATH_BYTES: usize = 16 << 10;

/// Schemes whose paths are another machine's.
const WEB: &[&str] = &["http", "https", "ws", "wss"];

/// The guard's `config`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// More forbidden places: paths with `*` and `?`, at any depth unless they begin with `/`.
    patterns: Vec<String>,
    /// Whether `patterns` stand alone, without the built-in places.
    replace: bool,
    /// Places that are allowed all the same.
    exceptions: Vec<String>,
}

fn check(call: &Call) -> Result<Verdict, String> {
    let Config { patterns, replace, exceptions } = chio_sdk::config()?;
    let places = Places::configured(&patterns, replace, &exceptions)?;
    let denial = call.facts.iter().find_map(|fact| judge(&places, fact));
    Ok(denial.map_or_else(Verdict::allow, Verdict::deny))
}

/// Why the fact is refused, if it is.
fn judge(places: &Places, fact: &Fact) -> Option<String> {
    match &fact.kind {
        FactKind::Path(path) => judge_path(places, path),
        FactKind::Url(url) => judge_url(places, url),
        FactKind::Command(CommandFact::Line(line)) => command::line(places, line),
        FactKind::Command(CommandFact::Words(words)) => command::words(places, words),
        FactKind::Text(text) => judge_text(places, text),
        FactKind::Key(key) => judge_key(places, key),
        FactKind::Content(_) => None,
    }
}

fn judge_path(places: &Places, path: &PathFact) -> Option<String> {
    let shown = || quote(&path.raw);
    let Some(normalised) = &path.normalised else {
        let shown = shown();
        return Some(format!("path {shown} is forbidden (it cannot be normalised, so nobody knows what it names)"));
    };
    if path.raw.len() > MAX_PATH_BYTES {
        let shown = shown();
        return Some(format!("path {shown} is forbidden (longer than {MAX_PATH_BYTES} bytes)"));
    }
    let raw = Some(&path.raw).filter(|raw| *raw != normalised);
    let readings = iter::once(normalised).chain(raw);
    readings.into_iter().find_map(|path| places.find_expanded(path)).map(|what| forbidden(&path.raw, what))
}

fn judge_url(places: &Places, url: &UrlFact) -> Option<String> {
    match &url.parsed {
        Some(parsed) if parsed.scheme == "file" => [&parsed.path, &url.raw]
            .into_iter()
            .find_map(|path| places.find(path))
            .map(|what| forbidden(&url.raw, what)),
        // Another machine's path.
        Some(parsed) if WEB.contains(&parsed.scheme.as_str()) => None,
        // `c:\x`, `jar:file:…`, `php://filter/resource=…`, and what is no URL.
        _ => judge_text(places, &url.raw),
    }
}

fn judge_text(places: &Places, text: &str) -> Option<String> {
    if places.clears(text) {
        return None;
    }
    path_like(text).into_iter().find_map(|path| places.find(path).map(|what| forbidden(path, what)))
}

/// An object's key is judged as text is, save that a bare name with an ending (`primary.key`) is a key like any other.
fn judge_key(places: &Places, key: &str) -> Option<String> {
    let is_bare = !key.contains(['/', '\\', '~', '%']) && !key.starts_with('.') && key.is_ascii();
    let ends_in_a_file_type = is_bare && key.contains('.');
    if ends_in_a_file_type { None } else { judge_text(places, key) }
}

fn forbidden(path: &str, what: &str) -> String {
    format!("path {} is forbidden ({what})", quote(path))
}

chio_sdk::guard!(check);

#[cfg(test)]
mod tests;
