//! What a component was granted, and the check of a request against it.

use std::fmt;
use std::net::IpAddr;

use chio_host_kernel::canonical::printable;
use chio_host_kernel::facts::{ParsedUrl, UrlFact};
use http::{HeaderName, Uri};
use special_networks::{Kind, Special};

use super::secret::SecretSource;
use crate::error::LoadError;

/// A scheme of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS.
    Https,
}

/// A place that requests may go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkGrant {
    /// How.
    pub scheme: Scheme,
    /// A name in lower case and punycode, an address (IPv6 without brackets), or `*.` and a name: every name under it.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether a name may lead to an address that is not public. One that is written as an address may anyway.
    pub private: bool,
}

/// A secret that requests to a host carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretGrant {
    /// The secret's name in the policy, for messages.
    pub name: String,
    /// Where its value is read, for each request anew.
    pub source: SecretSource,
    /// The host whose requests carry it, spelt as in [`NetworkGrant::host`]. Over http it is added only where this is a
    /// loopback address.
    pub host: String,
    /// The header that carries it.
    pub header: String,
    /// What the header says, with `{}` where the value goes.
    pub format: String,
}

/// What a component may send. Nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outbound {
    /// Where to.
    pub network: Vec<NetworkGrant>,
    /// What the host adds to requests that go there.
    pub secrets: Vec<SecretGrant>,
}

/// The same, checked, with what messages call the component.
#[derive(Debug)]
pub(crate) struct Grants {
    /// `servers.fetch`.
    who: String,
    network: Vec<NetworkGrant>,
    secrets: Vec<Injected>,
    secret_names: Vec<String>,
}

/// A secret whose header is one.
#[derive(Debug)]
pub(super) struct Injected {
    pub(super) grant: SecretGrant,
    pub(super) header: HeaderName,
}

/// Where an admitted request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) scheme: Scheme,
    /// As the WHATWG rules read it: what is checked is what is connected to, and what the server is told.
    pub(super) host: String,
    pub(super) port: u16,
    /// Whether it may lead to an address that is not public.
    pub(super) private: bool,
}

impl Scheme {
    /// As a URL spells it.
    fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl Grants {
    /// Checks what was granted; `who` is the component's place in the policy.
    pub(crate) fn new(who: String, outbound: Outbound) -> Result<Self, LoadError> {
        let secret_names = outbound.secrets.iter().map(|grant| grant.name.clone()).collect();
        let secrets = outbound.secrets.into_iter().map(|grant| {
            let refused = |why| LoadError::Secret { name: grant.name.clone(), why };
            let header = grant.header.parse().map_err(|_| refused("its header has no usable name"))?;
            if grant.format.matches("{}").count() != 1 {
                return Err(refused("its format needs one {}"));
            }
            Ok(Injected { grant, header })
        });
        Ok(Self { who, network: outbound.network, secrets: secrets.collect::<Result<_, _>>()?, secret_names })
    }

    /// The names of the secrets that requests may carry.
    pub(crate) fn secret_names(&self) -> &[String] {
        &self.secret_names
    }

    /// Whether nothing was granted.
    pub(crate) fn is_empty(&self) -> bool {
        self.network.is_empty()
    }

    /// Whose these are, as the policy's path to them.
    pub(super) fn who(&self) -> &str {
        &self.who
    }

    /// Where a request goes, if it may. A refusal says who, where to, and what would grant it.
    pub(super) fn admit(&self, uri: &Uri) -> Result<Target, String> {
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(format!("{} sends a request without a scheme or a host", self.who));
        };
        let (scheme, default) = match scheme {
            "https" => (Scheme::Https, Scheme::Https.default_port()),
            "http" => (Scheme::Http, Scheme::Http.default_port()),
            other => {
                let other = printable(other, 32);
                return Err(format!("{} may not send {other} requests; the host knows http and https", self.who));
            }
        };
        let parsed = UrlFact::new(&format!("{}://{authority}/", scheme.as_str())).parsed;
        let is_plain = |url: &ParsedUrl| !url.host.is_empty() && !url.has_credentials && url.path == "/";
        let Some(url) = parsed.filter(is_plain) else {
            let shown = printable(authority.as_str(), 128);
            return Err(format!("{} sends a request to \"{shown}\", which is no host and port", self.who));
        };
        let target = Target { scheme, host: url.host, port: url.port.unwrap_or(default), private: false };
        let mut granted = self.network.iter().filter(|grant| grant.covers(&target)).peekable();
        if granted.peek().is_none() {
            return Err(format!(
                "{} may not send requests to {target}; {} would grant it",
                self.who,
                self.line(&target)
            ));
        }
        let private = granted.any(|grant| grant.private || grant.is_address());
        Ok(Target { private, ..target })
    }

    /// The refusal of an address that a name leads to. It does not say which: what lies in a private network is not for a
    /// guest to find out.
    pub(super) fn refused_address(&self, target: &Target, special: Special) -> String {
        let (who, what) = (&self.who, special.what);
        let entry = format!("its entry of {who}.permissions.network");
        let grant = match special.kind {
            Kind::Internal => format!("private: true in {entry} would allow private addresses"),
            Kind::Metadata => format!("only that service's address as the host of {entry} would allow it"),
            Kind::NoHost => "that is no host's address, which nothing allows".to_owned(),
        };
        format!("{who} may not send requests to {target}, which leads to {what}; {grant}")
    }

    /// The secrets of a request that goes there.
    pub(super) fn secrets(&self, target: &Target) -> impl Iterator<Item = &Injected> {
        let is_safe = target.scheme == Scheme::Https || is_loopback(&target.host);
        self.secrets.iter().filter(move |secret| is_safe && covers(&secret.grant.host, &target.host))
    }

    /// What would have to stand in the policy.
    fn line(&self, target: &Target) -> String {
        let Target { scheme, host, port, .. } = target;
        let host = if host.contains(':') { format!("\"{host}\"") } else { host.clone() };
        let scheme = if *scheme == Scheme::Http { "scheme: http, " } else { "" };
        let port = if *port == target.scheme.default_port() { String::new() } else { format!(", port: {port}") };
        format!("{}.permissions.network: [{{ {scheme}host: {host}{port} }}]", self.who)
    }
}

impl NetworkGrant {
    fn covers(&self, target: &Target) -> bool {
        (self.scheme, self.port) == (target.scheme, target.port) && covers(&self.host, &target.host)
    }

    fn is_address(&self) -> bool {
        self.host.parse::<IpAddr>().is_ok()
    }
}

/// Whether a granted host is this one, or a wildcard above it. An address lies under no wildcard.
fn covers(granted: &str, host: &str) -> bool {
    match granted.strip_prefix("*.") {
        None => granted == host,
        Some(suffix) => {
            let is_under = |rest: &str| rest.len() > 1 && rest.ends_with('.');
            host.strip_suffix(suffix).is_some_and(is_under)
        }
    }
}

fn is_loopback(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl Target {
    /// What the request's `Host` says.
    pub(super) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == self.scheme.default_port() { host } else { format!("{host}:{}", self.port) }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        write!(f, "{}://{host}:{}", self.scheme.as_str(), self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(places: &[(Scheme, &str, u16)]) -> Grants {
        let place = |(scheme, host, port): &(Scheme, &str, u16)| NetworkGrant {
            scheme: *scheme,
            host: (*host).to_owned(),
            port: *port,
            private: false,
        };
        let network = places.iter().map(place).collect();
        Grants::new("servers.f".to_owned(), Outbound { network, secrets: Vec::new() }).unwrap()
    }

    #[test]
    fn only_what_is_listed_is_admitted() {
        let grants = grants(&[
            (Scheme::Https, "api.example.com", 443),
            (Scheme::Https, "*.wild.example", 443),
            (Scheme::Http, "127.0.0.1", 8080),
            (Scheme::Https, "::1", 443),
        ]);
        for (url, admitted) in [
            ("https://api.example.com/x?y", true),
            ("https://API.example.com:443/", true),
            ("https://api.example.com:8443/", false),
            ("http://api.example.com/", false),
            ("https://example.com/", false),
            ("https://a.wild.example/", true),
            ("https://a.b.wild.example/", true),
            ("https://wild.example/", false),
            ("https://evilwild.example/", false),
            ("https://a.wild.example.evil/", false),
            ("https://api.example.com./", false),
            ("https://api.example.com@evil.example/", false),
            ("https://evil.example#@api.example.com/", false),
            ("https://user@api.example.com/", false),
            ("http://127.0.0.1:8080/", true),
            ("http://127.1:8080/", true),
            ("http://2130706433:8080/", true),
            ("http://127.0.0.2:8080/", false),
            ("https://[::1]/", true),
            ("https://[0:0:0:0:0:0:0:1]/", true),
            ("https://[::ffff:127.0.0.1]/", false),
        ] {
            let Ok(uri) = url.parse::<Uri>() else { panic!("{url}") };
            assert_eq!(grants.admit(&uri).is_ok(), admitted, "{url}");
        }
    }

    #[test]
    fn a_refusal_says_what_would_grant_it() {
        let refusal = |url: &str| grants(&[]).admit(&url.parse().unwrap()).unwrap_err();
        assert_eq!(
            refusal("https://a.example/secret"),
            "servers.f may not send requests to https://a.example:443; \
             servers.f.permissions.network: [{ host: a.example }] would grant it"
        );
        assert_eq!(
            refusal("http://[::1]:8080/"),
            "servers.f may not send requests to http://[::1]:8080; \
             servers.f.permissions.network: [{ scheme: http, host: \"::1\", port: 8080 }] would grant it"
        );
        assert!(refusal("ftp://a.example/").ends_with("the host knows http and https"));
    }

    #[test]
    fn a_secret_goes_to_its_host_and_never_in_the_clear() {
        let secret = |host: &str| SecretGrant {
            name: "key".to_owned(),
            source: SecretSource::Env("X".to_owned()),
            host: host.to_owned(),
            header: "Authorization".to_owned(),
            format: "Bearer {}".to_owned(),
        };
        let secrets = ["api.example.com", "127.0.0.1", "*.wild.example"].map(secret).to_vec();
        let grants = Grants::new(String::new(), Outbound { network: Vec::new(), secrets }).unwrap();
        let carries = |scheme, host: &str| {
            let target = Target { scheme, host: host.to_owned(), port: 1, private: true };
            grants.secrets(&target).count()
        };
        assert_eq!(carries(Scheme::Https, "api.example.com"), 1);
        assert_eq!(carries(Scheme::Http, "api.example.com"), 0);
        assert_eq!(carries(Scheme::Https, "other.example.com"), 0);
        assert_eq!(carries(Scheme::Http, "127.0.0.1"), 1);
        assert_eq!(carries(Scheme::Https, "a.wild.example"), 1);
        assert_eq!(carries(Scheme::Https, "wild.example"), 0);
        let odd =
            Outbound { network: Vec::new(), secrets: vec![SecretGrant { format: "x".to_owned(), ..secret("a") }] };
        let error = Grants::new(String::new(), odd).unwrap_err().to_string();
        assert_eq!(error, "the secret \"key\" cannot be added to requests: its format needs one {}");
    }
}
