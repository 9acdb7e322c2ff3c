//! A guard that denies calls naming a path outside the folders that the policy allows.
//!
//! What it judges:
//! - every `path`, as the host normalised it and in every other way that a tool may read it; one without a normal form is
//!   denied;
//! - every `file:` URL;
//! - in a `text`, an object key and the words of a `command`, what can be nothing but a path: one that is absolute, of a home,
//!   that climbs, or that has a drive.
//!
//! An absolute path is allowed by an absolute entry, `~/…` by one of a home, and a relative one by a relative entry: it
//! starts in the tool's own folder, which `.` stands for, and is never allowed to leave it. A call can write unless its
//! component cannot, or the policy lists its tool among the `readers`.
//!
//! What it does not stop:
//! - a symbolic link below an allowed folder: the sandbox opens files under the granted folders only;
//! - a relative path in a text or a command, where it looks like any word; prose that mentions a path, and `content`;
//! - a path that a running shell puts together (`$X/y`), and a program that opens files by itself.

mod command;
mod entry;
mod reading;
mod rules;

use chio_sdk::{Call, CommandFact, FactKind, PathFact, UrlFact, Verdict, quote};
use secret_places::certain_paths;

use rules::{Config, Rules};

fn check(call: &Call) -> Result<Verdict, String> {
    let rules = Rules::new(&chio_sdk::config::<Config>()?, call)?;
    let denial = call.facts.iter().find_map(|fact| judge(&rules, &fact.kind));
    Ok(denial.map_or_else(Verdict::allow, Verdict::deny))
}

/// Why the fact is refused, if it is.
fn judge(rules: &Rules, fact: &FactKind) -> Option<String> {
    match fact {
        FactKind::Path(path) => judge_path(rules, path),
        FactKind::Url(url) => judge_url(rules, url),
        FactKind::Command(CommandFact::Line(line)) => command::line(rules, line),
        FactKind::Command(CommandFact::Words(words)) => command::words(rules, words),
        FactKind::Text(text) | FactKind::Key(text) => judge_text(rules, text),
        FactKind::Content(_) => None,
    }
}

fn judge_path(rules: &Rules, path: &PathFact) -> Option<String> {
    let Some(normalised) = &path.normalised else {
        let shown = quote(&path.raw);
        return Some(format!("path {shown} is not allowed (it cannot be normalised, so nobody knows what it names)"));
    };
    // The raw path is read as well: two readers have to agree.
    rules.refuse(normalised).or_else(|| rules.refuse(&path.raw))
}

fn judge_url(rules: &Rules, url: &UrlFact) -> Option<String> {
    match &url.parsed {
        Some(parsed) if parsed.scheme == "file" && parsed.host.is_empty() => {
            rules.refuse(&parsed.path).or_else(|| judge_text(rules, &url.raw))
        }
        // Another machine's path, or no path at all; `c:\x` is neither.
        Some(parsed) if parsed.scheme != "file" && parsed.scheme.len() > 1 => None,
        _ => rules.refuse_certain(&url.raw),
    }
}

fn judge_text(rules: &Rules, text: &str) -> Option<String> {
    certain_paths(text).into_iter().find_map(|path| rules.refuse_certain(path))
}

chio_sdk::guard!(check);

#[cfg(test)]
mod tests;
