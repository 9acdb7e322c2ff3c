//! A guard that denies calls which reach where they may not: an internal network, or a host that the policy does not allow.
//!
//! What it judges:
//! - every `url`, as the host parsed it; one that does not parse, holds a login, or can be read in two ways is denied;
//! - every URL in a `text`, an object key or a `path` that begins as a URL, is one word with URLs in it, or is JSON with a
//!   string that begins as a URL;
//! - in a `command`, every word that is a URL, and where `curl`, `nc`, `ssh` and their like go.
//!
//! A URL within another (`?next=http://…`) is refused only where it leads to a cloud's metadata service.
//!
//! What it does not stop:
//! - prose that mentions a URL, and `content` that is written elsewhere: neither fetches it;
//! - a redirect, and a name that leads to an internal address: the host checks both when it connects, for tools in its
//!   sandbox;
//! - a host that a program or a running shell puts together, a number or a name that only a tool knows to be a host, and a
//!   program that connects by itself.

mod clients;
mod command;
mod entry;
mod names;
mod options;
mod rules;
mod target;
mod text;
mod url;

use chio_sdk::{Call, CommandFact, FactKind, Verdict};

use rules::{Config, Rules};

fn check(call: &Call) -> Result<Verdict, String> {
    let rules = Rules::new(&chio_sdk::config::<Config>()?)?;
    let denial = call.facts.iter().find_map(|fact| judge(&rules, &fact.kind));
    Ok(denial.map_or_else(Verdict::allow, Verdict::deny))
}

/// Why the fact is refused, if it is.
fn judge(rules: &Rules, fact: &FactKind) -> Option<String> {
    match fact {
        FactKind::Url(fact) => url::judge(rules, fact),
        FactKind::Command(CommandFact::Line(line)) => command::line(rules, line),
        FactKind::Command(CommandFact::Words(words)) => command::words(rules, words),
        FactKind::Text(text) => text::judge(rules, text).or_else(|| command::text(rules, text)),
        FactKind::Key(text) => text::judge(rules, text),
        FactKind::Path(path) => text::judge(rules, &path.raw),
        FactKind::Content(_) => None,
    }
}

chio_sdk::guard!(check);

#[cfg(test)]
mod tests;
