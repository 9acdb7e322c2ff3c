//! What a policy's list names: a host, every name below one, or a network, perhaps of one scheme and one port.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;
use special_networks::{Kind, embedded};

use crate::names::{Why, is_or_below, special_name};
use crate::target::{Host, Target, default_port, is_name};

/// The longest entry, in bytes.
const MAX_BYTES: usize = 300;

/// One entry of a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// As the policy has it, for messages.
    pub(crate) text: String,
    scheme: Option<String>,
    place: Place,
    port: Port,
}

#[derive(Clone, Debug, PartialEq)]
enum Place {
    Name(String),
    /// Every name below this one.
    Below(String),
    Network(IpNet),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Port {
    Unsaid,
    Any,
    Is(u16),
}

impl Entry {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let bad = |why: &str| format!("\"{}\" is not a host: {why}", chio_sdk::quote(text));
        if text.len() > MAX_BYTES || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(bad("it is longer than 300 bytes or has white space in it"));
        }
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme.to_ascii_lowercase()), rest.strip_suffix('/').unwrap_or(rest)),
            None => (None, text),
        };
        let is_scheme = |scheme: &str| {
            scheme.starts_with(|c: char| c.is_ascii_lowercase())
                && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        };
        if scheme.as_deref().is_some_and(|scheme| !is_scheme(scheme)) {
            return Err(bad("its scheme is none"));
        }
        if rest.contains('/') {
            let unbracketed = rest.replacen(['[', ']'], "", 2);
            let network = unbracketed.parse::<IpNet>().map_err(|_| bad("it has a path, or is no network"))?;
            if network != network.trunc() {
                return Err(bad(&format!("the network is {}", network.trunc())));
            }
            return Ok(Self { text: text.to_owned(), scheme, place: Place::Network(network), port: Port::Unsaid });
        }
        if rest.contains(['@', '?', '#', '\\', '%']) {
            return Err(bad("an entry is a host, with a scheme or a port at most"));
        }
        let (host, port) = split_port(rest).ok_or_else(|| bad("a port is a number from 1 to 65535, or *"))?;
        let place = Place::parse(host).map_err(|why| bad(&why))?;
        Ok(Self { text: text.to_owned(), scheme, place, port })
    }

    /// Whether a call may go to the target by this entry: an entry that says no port means the scheme's own.
    pub(crate) fn allows(&self, target: &Target) -> bool {
        let is_port = match self.port {
            Port::Any => true,
            Port::Is(port) => target.port == Some(port),
            Port::Unsaid => match &target.scheme {
                Some(scheme) => target.port.is_none() || target.port == default_port(scheme),
                None => target.port.is_none_or(|port| port == 80 || port == 443),
            },
        };
        is_port && self.covers_host(target)
    }

    /// Whether the entry names the host, on any port; a message says so.
    pub(crate) fn covers_host(&self, target: &Target) -> bool {
        self.is_scheme(target) && self.place.covers(&target.host)
    }

    /// Whether the entry means the target wherever it leads: an entry that says no port means every port, and the address
    /// that is written in a name or wrapped in another counts.
    pub(crate) fn means(&self, target: &Target, special: Option<Why>) -> bool {
        let is_port = match self.port {
            Port::Unsaid | Port::Any => true,
            Port::Is(port) => target.port == Some(port),
        };
        let leads = |network: &IpNet| {
            let inner = match &target.host {
                Host::Address(IpAddr::V6(address)) => embedded(*address).map(IpAddr::V4),
                _ => None,
            };
            let written = special.and_then(|why| why.address);
            inner.iter().chain(&written).any(|address| network.contains(address))
        };
        let covers = match &self.place {
            Place::Network(network) => self.place.covers(&target.host) || leads(network),
            _ => self.place.covers(&target.host),
        };
        is_port && covers && self.is_scheme(target)
    }

    /// Whether the entry is itself special, so that whoever wrote it meant to open what is special about the target. What
    /// hands out credentials is opened by its own name or address alone.
    pub(crate) fn opens(&self, why: Why) -> bool {
        let is_internal = match &self.place {
            Place::Network(network) => {
                special_networks::special(network.addr()).is_some_and(|special| special.kind != Kind::NoHost)
            }
            Place::Name(name) => special_name(name).is_some(),
            Place::Below(name) => special_name(&format!("x.{name}")).is_some(),
        };
        self.is_exact() || (why.kind == Kind::Internal && is_internal)
    }

    /// Whether it is one host, by name or address.
    pub(crate) fn is_exact(&self) -> bool {
        match &self.place {
            Place::Network(network) => network.prefix_len() == network.max_prefix_len(),
            Place::Name(_) => true,
            Place::Below(_) => false,
        }
    }

    fn is_scheme(&self, target: &Target) -> bool {
        self.scheme.is_none() || self.scheme == target.scheme
    }
}

impl Place {
    fn parse(host: &str) -> Result<Self, String> {
        if let Some(name) = host.strip_prefix("*.") {
            return match Host::read(name) {
                Ok(Host::Name(name)) => Ok(Self::Below(name)),
                _ => Err("`*.` stands before a name".to_owned()),
            };
        }
        match Host::read(host) {
            Ok(Host::Name(name)) if is_name(&name) => Ok(Self::Name(name)),
            Ok(Host::Address(address)) => Ok(Self::Network(address.to_canonical().into())),
            _ if host.contains('*') => Err("`*` stands only before a dot, at the beginning".to_owned()),
            _ => Err("it is neither a name nor an address".to_owned()),
        }
    }

    fn covers(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Name(own), Host::Name(name)) => own == name,
            (Self::Below(top), Host::Name(name)) => name != top && is_or_below(name, top),
            (Self::Network(network), host) => host.address().is_some_and(|address| network.contains(&address)),
            _ => false,
        }
    }
}

/// The host and the port, of which an IPv6 address without brackets has none.
fn split_port(text: &str) -> Option<(&str, Port)> {
    if text.parse::<Ipv6Addr>().is_ok() {
        return Some((text, Port::Unsaid));
    }
    let colon = text.rfind(':').filter(|colon| text.rfind(']').is_none_or(|bracket| bracket < *colon));
    match colon {
        None => Some((text, Port::Unsaid)),
        Some(colon) => match &text[colon + 1..] {
            "*" => Some((&text[..colon], Port::Any)),
            port => port.parse().ok().filter(|port| *port > 0).map(|port| (&text[..colon], Port::Is(port))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(entry: &str, scheme: &str, authority: &str) -> bool {
        Entry::parse(entry).unwrap().allows(&Target::read(Some(scheme), authority).unwrap())
    }

    #[test]
    fn hosts_schemes_and_ports() {
        for (entry, scheme, authority) in [
            ("api.example.com", "https", "API.example.com."),
            ("api.example.com", "http", "api.example.com:80"),
            ("api.example.com", "ssh", "git@api.example.com:22"),
            ("api.example.com:8443", "https", "api.example.com:8443"),
            ("api.example.com:*", "https", "api.example.com:8443"),
            ("https://api.example.com/", "https", "api.example.com"),
            ("*.example.com", "https", "a.b.example.com"),
            ("10.0.0.0/8", "http", "10.1.2.3"),
            ("[::1]:3000", "http", "[::1]:3000"),
            ("::1", "http", "[::1]"),
            ("[fd00::]/8", "http", "[fd12::1]"),
            ("8.8.8.8", "http", "[::ffff:8.8.8.8]"),
            ("m\u{fc}nchen.de", "https", "xn--mnchen-3ya.de"),
        ] {
            assert!(allows(entry, scheme, authority), "{entry} {authority}");
        }
        for (entry, scheme, authority) in [
            ("api.example.com", "https", "api.example.com:8443"),
            ("api.example.com", "https", "api.example.com.evil.example"),
            ("api.example.com", "https", "xapi.example.com"),
            ("https://api.example.com", "http", "api.example.com"),
            ("*.example.com", "https", "example.com"),
            ("*.example.com", "https", "evilexample.com"),
            ("10.0.0.0/8", "http", "11.0.0.1"),
            ("api.example.com:8443", "https", "api.example.com"),
        ] {
            assert!(!allows(entry, scheme, authority), "{entry} {authority}");
        }
    }

    #[test]
    fn what_is_no_entry_says_why() {
        for text in [
            "",
            "*",
            "*.*.com",
            "a.*.com",
            "a b",
            "user@host",
            "https://host/path",
            "host:0",
            "host:99999",
            "host:x",
            "10.0.0.1/8",
            "10.0.0.0/33",
            "*.10.0.0.1",
            "HT TP://x",
            "1://x",
            "a?b",
        ] {
            assert!(Entry::parse(text).is_err_and(|why| why.contains("is not a host")), "{text}");
        }
    }
}
