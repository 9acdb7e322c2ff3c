//! A guard that says which tools may be called, with which arguments, and which only after a human was asked.
//!
//! Three lists of rules: `deny`, `ask` and `allow`, asked in this order; the first list with a rule for the call decides.
//! Where there is an `allow` list, be it empty, a call that no rule is for is denied; without one it is allowed. A rule names
//! a server and a tool, both with `*` and `?`, and may set conditions on arguments by JSON pointer.
//!
//! A condition that cannot be judged, because the argument is absent, null or of another type than the condition speaks
//! of, counts against the call: a rule of `deny` and `ask` holds all the same, a rule of `allow` does not. So leaving an
//! argument out never turns a no into a yes. Only `present` asks for absence itself.
//!
//! Names are compared exactly, upper and lower case apart. A name with control characters, or with characters that nobody
//! sees, is denied whatever the rules say.
//!
//! What it does not stop: what a tool that may be called does with its arguments, two tools that do together what neither
//! may do alone, and a server that offers the same thing under another name, save where there is an `allow` list.

mod condition;
mod rule;

use chio_sdk::{Call, Verdict, quote};
use serde::Deserialize;
use unseen_characters::is_plain_name;

use rule::{Arguments, Entry, List, Rule, Rules};

/// The guard's `config`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// What may be called. Absent: whatever the other lists leave.
    allow: Option<Vec<Entry>>,
    /// What may not be called, whatever else is said of it.
    deny: Vec<Entry>,
    /// What may be called once a human has agreed.
    ask: Vec<Entry>,
    /// The most bytes that the arguments of any call may have, as canonical JSON.
    max_argument_bytes: Option<u64>,
}

fn check(call: &Call) -> Result<Verdict, String> {
    let Config { allow, deny, ask, max_argument_bytes } = chio_sdk::config()?;
    if max_argument_bytes == Some(0) {
        return Err("max_argument_bytes is 0, and no arguments are so short".into());
    }
    let mut patterns = 0;
    let deny = Rules::new(deny, List::Deny, &mut patterns)?;
    let ask = Rules::new(ask, List::Ask, &mut patterns)?;
    let allow = allow.map(|rules| Rules::new(rules, List::Allow, &mut patterns)).transpose()?;
    judge(call, &deny, &ask, allow.as_ref(), max_argument_bytes)
}

fn judge(
    call: &Call,
    deny: &Rules,
    ask: &Rules,
    allow: Option<&Rules>,
    max_argument_bytes: Option<u64>,
) -> Result<Verdict, String> {
    for (what, name) in [("server", &call.server), ("tool", &call.tool)] {
        if name.is_empty() || !is_plain_name(name) {
            return Ok(Verdict::deny(format!(
                "the {what} name \"{}\" holds characters that a name has not, or none at all",
                quote(name)
            )));
        }
    }
    let bytes = u64::try_from(call.arguments.len()).unwrap_or(u64::MAX);
    if let Some(most) = max_argument_bytes
        && bytes > most
    {
        return Ok(Verdict::deny(oversized(call, bytes, most)));
    }
    let arguments = Arguments::new(&call.arguments);
    if let Some(rule) = deny.first(call, &arguments)? {
        let why = because(rule, &arguments);
        return Ok(Verdict::deny(format!("{} is denied ({why})", named(call))));
    }
    let asking = ask.all(call, &arguments)?;
    if let Some(most) = asking.iter().filter_map(|rule| rule.max_argument_bytes).min()
        && bytes > most
    {
        return Ok(Verdict::deny(oversized(call, bytes, most)));
    }
    if let Some(rule) = asking.first() {
        let why = because(rule, &arguments);
        return Ok(Verdict::pending_approval(format!(
            "{} is called only after a human was asked ({why})",
            named(call)
        )));
    }
    let Some(allow) = allow else { return Ok(Verdict::allow()) };
    let allowing = allow.all(call, &arguments)?;
    let most = allowing.iter().map(|rule| rule.max_argument_bytes.unwrap_or(u64::MAX)).max();
    Ok(match most {
        Some(most) if bytes > most => Verdict::deny(oversized(call, bytes, most)),
        Some(_) => Verdict::allow(),
        None if allow.names(call) => Verdict::deny(format!("{} is not allowed with these arguments", named(call))),
        None => Verdict::deny(format!("{} is on no list of what is allowed", named(call))),
    })
}

fn named(call: &Call) -> String {
    format!("tool {} of server {}", quote(&call.tool), quote(&call.server))
}

/// Which rule it was, and which argument it could not judge.
fn because(rule: &Rule, arguments: &Arguments<'_>) -> String {
    match rule.open_at(arguments) {
        Some(at) => format!("{rule}; what it asks of {} is absent or of another type", quote(at)),
        None => rule.to_string(),
    }
}

fn oversized(call: &Call, bytes: u64, most: u64) -> String {
    format!("the arguments of {} have {bytes} bytes, and at most {most} are allowed", named(call))
}

chio_sdk::guard!(check);

#[cfg(test)]
mod tests;
