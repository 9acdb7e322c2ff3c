//! What the policy lets calls reach.

use serde::Deserialize;
use special_networks::Kind;

use crate::entry::Entry;
use crate::names::Why;
use crate::target::{Host, Target, Unread};

/// The most entries of a list.
const MAX_ENTRIES: usize = 1_000;
/// How many allowed hosts a refusal names.
const SHOWN: usize = 3;

/// The guard's `config`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// The hosts that calls may reach; where it is absent, every public one.
    allow: Option<Vec<String>>,
    /// Hosts that they may not reach, whatever `allow` says.
    deny: Vec<String>,
    /// Which internal networks they may reach all the same.
    internal: Internal,
    /// Whether `deny` stands alone, without the built-in refusal of internal networks.
    replace: bool,
}

/// `true`, `false`, or a list of networks and hosts.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "internal is true, false, or a list of networks and hosts")]
enum Internal {
    All(bool),
    These(Vec<String>),
}

impl Default for Internal {
    fn default() -> Self {
        Self::All(false)
    }
}

/// The same, read.
#[derive(Debug)]
pub(crate) struct Rules {
    allow: Option<Vec<Entry>>,
    deny: Vec<Entry>,
    all_internal: bool,
    internal: Vec<Entry>,
    built_in: bool,
}

/// How sure it is that a call reaches a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sure {
    /// It stands inside another URL, or alone in a text: only what nobody ever means well is refused.
    Hardly,
    /// It is a URL, or where a command goes.
    Plainly,
    /// The tool says that it is a URL.
    Described,
}

impl Rules {
    pub(crate) fn new(config: &Config) -> Result<Self, String> {
        let (all_internal, internal) = match &config.internal {
            Internal::All(all) => (*all, Vec::new()),
            Internal::These(entries) => (false, list("internal", entries)?),
        };
        let allow = config.allow.as_deref().map(|entries| list("allow", entries)).transpose()?;
        let deny = list("deny", &config.deny)?;
        Ok(Self { allow, deny, all_internal, internal, built_in: !config.replace })
    }

    /// Whether the policy lists the hosts that may be reached.
    pub(crate) fn has_list(&self) -> bool {
        self.allow.is_some()
    }

    /// Why the target is refused, if it is.
    pub(crate) fn refuse(&self, target: &Target, sure: Sure) -> Option<String> {
        let special = target.special();
        let host = &target.host;
        if sure > Sure::Hardly && self.deny.iter().any(|entry| entry.means(target, special)) {
            return Some(format!("host {host} is refused (this host's policy denies it)"));
        }
        if let Some(why) = special.filter(|why| self.refuses(target, *why, sure)) {
            return Some(format!("host {host} is refused ({})", why.what));
        }
        match host {
            Host::Unknown(_) if sure == Sure::Described => {
                return Some(format!("host {host} is refused (it is no name that a host can have)"));
            }
            _ => {}
        }
        let is_certain = sure == Sure::Described || (sure == Sure::Plainly && !target.may_be_a_bucket());
        if is_certain { self.refuse_unlisted(target) } else { None }
    }

    fn refuses(&self, target: &Target, why: Why, sure: Sure) -> bool {
        let is_at_stake = self.built_in && (sure > Sure::Hardly || why.kind == Kind::Metadata);
        is_at_stake && !self.opens(target, why)
    }

    /// Whether the policy allows a target although it is special.
    fn opens(&self, target: &Target, why: Why) -> bool {
        let listed = || {
            let means = |entry: &&Entry| entry.means(target, Some(why));
            self.internal.iter().filter(means).any(|entry| why.kind == Kind::Internal || entry.is_exact())
        };
        let allowed = || {
            let allow = self.allow.iter().flatten();
            allow.filter(|entry| entry.allows(target)).any(|entry| entry.opens(why))
        };
        (self.all_internal && why.kind == Kind::Internal) || listed() || allowed()
    }

    fn refuse_unlisted(&self, target: &Target) -> Option<String> {
        let allow = self.allow.as_ref()?;
        if allow.iter().any(|entry| entry.allows(target)) {
            return None;
        }
        let host = &target.host;
        if let Some(entry) = allow.iter().find(|entry| entry.covers_host(target)) {
            let port = target.port.map_or_else(|| "this port".to_owned(), |port| format!("port {port}"));
            return Some(format!(
                "{port} of host {host} is refused (the policy allows {})",
                chio_sdk::quote(&entry.text)
            ));
        }
        let mut shown: Vec<_> = allow.iter().take(SHOWN).map(|entry| chio_sdk::quote(&entry.text)).collect();
        if allow.len() > SHOWN {
            shown.push("others".to_owned());
        }
        let allowed = if shown.is_empty() { "none".to_owned() } else { shown.join(", ") };
        Some(format!("host {host} is refused (the policy allows {allowed})"))
    }
}

/// Why something that leads nowhere is refused, if it is.
pub(crate) fn refuse_unread(unread: &Unread, sure: Sure) -> Option<String> {
    let why = match unread {
        _ if sure == Sure::Hardly => return None,
        Unread::Empty if sure < Sure::Described => return None,
        Unread::Login(host) => {
            let host = chio_sdk::quote(host);
            format!("with a login in it is refused (its host is {host}; leave out what stands before the @)")
        }
        Unread::Zone => "with a zone in its address is refused (it names a link of this machine)".to_owned(),
        Unread::Ambiguous => "is refused (two readers could find two hosts in it)".to_owned(),
        Unread::Empty | Unread::Unparsable => {
            "is refused (it does not parse, so nobody knows where it leads; it needs a scheme and a host)".to_owned()
        }
    };
    Some(format!("a URL {why}"))
}

fn list(key: &str, entries: &[String]) -> Result<Vec<Entry>, String> {
    if entries.len() > MAX_ENTRIES {
        return Err(format!("{key} has more than {MAX_ENTRIES} entries"));
    }
    entries.iter().map(|entry| Entry::parse(entry).map_err(|why| format!("{key}: {why}"))).collect()
}
