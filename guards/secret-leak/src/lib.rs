//! A guard that denies calls whose arguments hold a secret: a token or a key in its known form, a private key, a password
//! beside its name. What it denied stands in no receipt.
//!
//! It judges every string, key and number of the arguments, whatever the tool says they are: as they are; without
//! invisible characters, percent-encoding and escapes; what base64 and hexadecimal in them decode to; spread over
//! neighbouring strings; a URL also as it is requested, a path as it is opened, the words of a command also as one line.
//! What looks like a secret, and what does not, is said in the crate `secret-forms`. The access keys of Amazon's
//! documentation (`AKIAIOSFODNN7EXAMPLE`) are let through.
//!
//! What is not read is denied: arguments larger than `max_bytes`, and (as `unread`) more beginnings of secrets at once than
//! are followed over the borders of strings.
//!
//! Where a tool has to be given a secret, the policy says so under `expected`: there it is allowed, and still kept out of
//! the receipt.
//!
//! What it does not stop: a secret without a known form and without a telling name; one that is encrypted, compressed, or
//! encoded more than three times; one that a command or a program puts together or reads by itself (`cat key | curl …`);
//! one that is sent in small pieces by several calls; an assignment (`password=…`) whose value is spread over several
//! strings.

mod expected;
mod marks;

use chio_sdk::{Call, CommandFact, FactKind, Verdict, quote};
use json_scan::{Finder, Place, is_clean, locate};
use secret_forms::{Custom, Secrets};
use serde::Deserialize;
use serde_json::Value;

use expected::{Entry, Expected};
use marks::mark;

/// The largest `max_bytes`: the host hands over no larger arguments.
const MAX_BYTES: usize = 1 << 20;

/// The guard's `config`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// More secrets, each with the kind that is reported for it.
    patterns: Vec<Custom>,
    /// Whether `patterns` stand alone, without the built-in ones.
    replace: bool,
    /// Regular expressions; what one of them matches as a whole is no secret.
    exceptions: Vec<String>,
    /// Where a secret is expected: it is allowed there, and kept out of the receipt.
    expected: Vec<Entry>,
    /// A call whose arguments are larger than this is denied.
    max_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            patterns: Vec::new(),
            replace: false,
            exceptions: Vec::new(),
            expected: Vec::new(),
            max_bytes: MAX_BYTES,
        }
    }
}

fn check(call: &Call) -> Result<Verdict, String> {
    let Config { patterns, replace, exceptions, expected, max_bytes } = chio_sdk::config()?;
    if !(1..=MAX_BYTES).contains(&max_bytes) {
        return Err(format!("max_bytes is {max_bytes}; it takes 1 to {MAX_BYTES}"));
    }
    let expected = Expected::new(&expected, &call.server, &call.tool)?;
    let secrets = Secrets::new(&patterns, replace, &exceptions)?.sparing_examples();
    if call.arguments.len() > max_bytes {
        let size = call.arguments.len();
        let reason = format!("the arguments have {size} bytes, more than the {max_bytes} that are read for secrets");
        return Ok(Verdict::deny(reason).with_secret_argument(""));
    }
    let mut places = from_facts(call, &secrets);
    if places.is_empty() && expected.is_nowhere() && is_clean(&secrets, &call.arguments) {
        return Ok(Verdict::allow());
    }
    let arguments: Value = call.arguments()?;
    places.splice(0..0, locate(&secrets, &arguments));
    let denied: Vec<&Place> = places.iter().filter(|place| !expected.covers(&place.at)).collect();
    let verdict = match denied.first() {
        Some(place) => Verdict::deny(reason(place, &denied)),
        None => Verdict::allow(),
    };
    let found = places.iter().map(|place| place.at.clone());
    Ok(mark(verdict, expected.places(&arguments).into_iter().chain(found)))
}

/// What the facts hold that the arguments do not: strings as the host reads them, and words that make a line.
fn from_facts(call: &Call, secrets: &Secrets) -> Vec<Place> {
    let mut places = Vec::new();
    for fact in &call.facts {
        let read = match &fact.kind {
            FactKind::Url(url) => url.parsed.as_ref().map(|parsed| &parsed.href).filter(|href| **href != url.raw),
            FactKind::Path(path) => path.normalised.as_ref().filter(|normalised| **normalised != path.raw),
            FactKind::Command(CommandFact::Words(words)) if words.len() > 1 => Some(&words.join(" ")),
            _ => None,
        };
        let hits = read.map(|text| secrets.text("", text).hits).unwrap_or_default();
        places.extend(hits.into_iter().map(|hit| Place { at: fact.at.clone(), kind: hit.kind }));
    }
    places
}

/// Names where the first secret stands and what it is; never the secret.
fn reason(first: &Place, all: &[&Place]) -> String {
    let mut others: Vec<&str> = all.iter().map(|place| place.at.as_str()).filter(|at| *at != first.at).collect();
    others.sort_unstable();
    others.dedup();
    let place = match first.at.as_str() {
        "" => "the arguments hold".to_owned(),
        at => format!("argument {} holds", quote(at)),
    };
    let more = match others.len() {
        0 => String::new(),
        1 => ", and so does another argument".to_owned(),
        count => format!(", and so do {count} other arguments"),
    };
    let kind = &first.kind;
    format!("{place} a secret ({kind}){more}; leave it out, or have the policy expect it there")
}

chio_sdk::guard!(check);

#[cfg(test)]
mod tests;
