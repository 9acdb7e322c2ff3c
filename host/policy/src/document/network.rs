//! `network`: where a component may send requests, as policies grant it and manifests ask for it.

use std::net::IpAddr;

use chio_host_kernel::facts::{HostKind, UrlFact};

use crate::policy::{NetworkGrant, Scheme};
use crate::problem::{Located, quote};
use crate::yaml::Cursor;

const EXAMPLE: &str = "a list, such as [{ host: api.example.com }]";
/// The longest name of a host, in bytes (RFC 1035, section 2.3.4).
const MAX_HOST: usize = 253;

/// `[{ scheme: https, host: api.example.com, port: 443 }]`
pub(crate) fn network(section: &Cursor<'_>) -> Option<Vec<Located<NetworkGrant>>> {
    let mut grants: Vec<Located<NetworkGrant>> = Vec::new();
    for item in section.list(EXAMPLE)? {
        let Some(grant) = entry(&item) else { continue };
        let is_same =
            |other: &NetworkGrant| (other.scheme, &other.host, other.port) == (grant.scheme, &grant.host, grant.port);
        if grants.iter().any(|earlier| is_same(&earlier.value)) {
            item.refuse(format!("{grant} stands here twice; keep one"));
        }
        grants.push(item.locate(grant));
    }
    Some(grants)
}

fn entry(item: &Cursor<'_>) -> Option<NetworkGrant> {
    item.fields("a mapping, such as { host: api.example.com }", |f| {
        let scheme = match f.take("scheme") {
            Some(c) => c.choice(&[("https", Scheme::Https), ("http", Scheme::Http)]),
            None => Some(Scheme::Https),
        };
        let host = f.need("host", "a host, such as api.example.com or *.example.com").and_then(|c| host(&c));
        let port = match f.take("port") {
            Some(c) => c.integer(1..=u64::from(u16::MAX)).and_then(|port| u16::try_from(port).ok()),
            None => scheme.map(Scheme::default_port),
        };
        let private = f.or("private", false, |c| c.boolean());
        Some(NetworkGrant { scheme: scheme?, host: host?, port: port?, private })
    })?
}

/// A host as a URL's parser writes it: a name in lower case and punycode, `*.` and such a name, or an address.
pub(super) fn host(cursor: &Cursor<'_>) -> Option<String> {
    const NEEDED: &str = "a host, such as api.example.com, *.example.com or 192.0.2.7";
    let text = cursor.text(NEEDED)?;
    let name = text.strip_prefix("*.").unwrap_or(text);
    let why = match parse(name) {
        None => format!("is not {NEEDED}: no scheme, port or path stands here"),
        Some((HostKind::Domain, _)) if name.ends_with('.') => "ends with a dot; write it without".to_owned(),
        Some((HostKind::Domain, host)) if name == text => return Some(host),
        Some((HostKind::Domain, host)) if host.contains('.') => return Some(format!("*.{host}")),
        Some((HostKind::Domain, _)) => "would grant every name of a whole domain; name more of it".to_owned(),
        Some(_) if name != text => "is an address, which has no names under it; write it without *.".to_owned(),
        Some((HostKind::Ipv4, host)) if host != text => format!("is {host} in another spelling; write {host}"),
        Some((_, host)) => match host.parse::<IpAddr>() {
            Ok(address) if address.is_unspecified() || address.is_multicast() => "is no host's address".to_owned(),
            Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
                "is an IPv4 address inside an IPv6 one; write the IPv4 address".to_owned()
            }
            _ if host != text => format!("is {host} in another spelling; write {host}"),
            _ => return Some(host),
        },
    };
    cursor.refuse(format!("{} {why}", quote(text)));
    None
}

/// What the text is as the host of a URL, if it is one and nothing beside it.
fn parse(text: &str) -> Option<(HostKind, String)> {
    let is_v6 = text.parse::<std::net::Ipv6Addr>().is_ok();
    let has_more = !is_v6 && text.contains(|c: char| ":/?#\\@[]*%".contains(c) || c.is_whitespace() || c.is_control());
    if text.is_empty() || text.len() > MAX_HOST || has_more {
        return None;
    }
    let authority = if is_v6 { format!("[{text}]") } else { text.to_owned() };
    let parsed = UrlFact::new(&format!("https://{authority}/")).parsed?;
    (!parsed.has_credentials && parsed.path == "/").then_some((parsed.host_kind, parsed.host))
}
