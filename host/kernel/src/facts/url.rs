//! URLs, read by the rules browsers follow (WHATWG), so that a guard sees the host that a client would reach.

use url::{Host, Url};

/// A URL as the caller wrote it, and as the WHATWG rules read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlFact {
    /// As it was sent.
    pub raw: String,
    /// Absent where it does not parse.
    pub parsed: Option<ParsedUrl>,
}

/// The parts of a URL that decide where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedUrl {
    /// The serialised URL.
    pub href: String,
    /// Lower case.
    pub scheme: String,
    /// What the host is.
    pub host_kind: HostKind,
    /// Lower case, punycode; an IPv6 address without brackets; empty without a host.
    pub host: String,
    /// The port in force: the one written, else the scheme's.
    pub port: Option<u16>,
    /// The path.
    pub path: String,
    /// Whether a user name or password stands in it.
    pub has_credentials: bool,
}

/// What a URL's host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostKind {
    /// A name.
    Domain,
    /// An IPv4 address, in whatever spelling.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// None.
    None,
}

impl UrlFact {
    /// The fact about a raw URL.
    #[must_use]
    pub fn new(raw: &str) -> Self {
        Self { raw: raw.to_owned(), parsed: Url::parse(raw).ok().as_ref().map(ParsedUrl::new) }
    }
}

impl ParsedUrl {
    fn new(url: &Url) -> Self {
        let (host_kind, host) = match url.host() {
            Some(Host::Domain(name)) => (HostKind::Domain, name.to_owned()),
            Some(Host::Ipv4(address)) => (HostKind::Ipv4, address.to_string()),
            Some(Host::Ipv6(address)) => (HostKind::Ipv6, address.to_string()),
            None => (HostKind::None, String::new()),
        };
        Self {
            href: url.as_str().to_owned(),
            scheme: url.scheme().to_owned(),
            host_kind,
            host,
            port: url.port_or_known_default(),
            path: url.path().to_owned(),
            has_credentials: !url.username().is_empty() || url.password().is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_address_is_that_address() {
        for raw in
            ["http://127.1", "http://0x7f000001/", "http://017700000001", "http://2130706433", "http://１２７.0.0.1"]
        {
            let parsed = UrlFact::new(raw).parsed.unwrap();
            assert_eq!((parsed.host_kind, parsed.host.as_str()), (HostKind::Ipv4, "127.0.0.1"), "{raw}");
        }
        let parsed = UrlFact::new("https://good.example@EVIL.example\\@good.example:8443/x").parsed.unwrap();
        assert_eq!((parsed.host.as_str(), parsed.has_credentials), ("evil.example", true));
        assert_eq!(UrlFact::new("http://[::1]:80/").parsed.unwrap().host, "::1");
        assert_eq!(UrlFact::new("no url").parsed, None);
    }
}
