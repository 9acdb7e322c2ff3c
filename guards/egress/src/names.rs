//! Names that lead to an internal network, as far as the name alone tells.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use special_networks::{Kind, special};

/// Why a host is not a public one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Why {
    pub(crate) kind: Kind,
    pub(crate) what: &'static str,
    /// Where it leads, where that is known.
    pub(crate) address: Option<IpAddr>,
}

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

const METADATA: &[&str] = &[
    "metadata.google.internal",
    "metadata.goog",
    "metadata.tencentyun.com",
    "metadata.packet.net",
    "metadata.platformequinix.com",
    "metadata.azure.internal",
    "instance-data.ec2.internal",
    "instance-data",
    "metadata",
    "rancher-metadata",
];

/// Endings that no public name has; those of RFC 6761, RFC 6762 and RFC 8375, and those that ICANN keeps out for the use
/// that networks make of them.
const INTERNAL: &[&str] =
    &["local", "internal", "intranet", "private", "corp", "home", "lan", "localdomain", "home.arpa", "svc"];

/// Public names that lead to this machine, and all names below them do.
const TO_THIS_MACHINE: &[&str] = &[
    "localtest.me",
    "lvh.me",
    "vcap.me",
    "lacolhost.com",
    "localho.st",
    "fuf.me",
    "localdev.me",
    "lndo.site",
    "ddev.site",
    "127-0-0-1.org.uk",
    "localhost.localstack.cloud",
];

/// Services that answer with the address written in the name.
const WRITTEN: &[&str] =
    &["nip.io", "sslip.io", "xip.io", "traefik.me", "backname.io", "local-ip.co", "local-ip.sh", "plex.direct"];

/// Services whose names change where they lead between two questions, which is all that they are for.
const REBINDING: &[&str] = &["rbndr.us", "1u.ms", "rebind.it", "rebind.network"];

/// What a name is, unless it may be a public one. It is in lower case and has no dot at its end.
pub(crate) fn special_name(name: &str) -> Option<Why> {
    let why = |kind, what, address| Some(Why { kind, what, address });
    let is_below = |tops: &[&str]| tops.iter().any(|top| is_or_below(name, top));
    if METADATA.contains(&name) {
        return why(Kind::Metadata, "a cloud's metadata service", None);
    }
    if is_below(&["localhost"]) {
        return why(Kind::Internal, "a loopback name", Some(LOOPBACK));
    }
    if !name.contains('.') {
        return why(Kind::Internal, "a name without a domain, which only the network nearby knows", None);
    }
    if is_below(INTERNAL) {
        return why(Kind::Internal, "a name of an internal network", None);
    }
    if is_below(TO_THIS_MACHINE) {
        return why(Kind::Internal, "a name that leads to this machine", Some(LOOPBACK));
    }
    if is_below(REBINDING) {
        return why(Kind::NoHost, "a name that changes where it leads", None);
    }
    let labels = WRITTEN.iter().find_map(|service| name.strip_suffix(service)?.strip_suffix('.'))?;
    written_addresses(labels).find_map(special).map(|special| Why {
        kind: special.kind,
        what: special.what,
        address: Some(special.address),
    })
}

pub(crate) fn is_or_below(name: &str, top: &str) -> bool {
    name.strip_suffix(top).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The addresses written in the labels of a name: `10.0.0.1`, `app-10-0-0-1`, `0a000001`, `--1`.
fn written_addresses(labels: &str) -> impl Iterator<Item = IpAddr> {
    let runs = labels.split('.').flat_map(|label| {
        let hexadecimal = label.rsplit('-').next().and_then(hexadecimal).map(IpAddr::V4);
        let six = label.replace('-', ":").parse::<Ipv6Addr>().ok().map(IpAddr::V6);
        quads(label, '-').chain(hexadecimal).chain(six)
    });
    quads(labels, '.').chain(runs)
}

/// Every four decimal bytes in a row.
fn quads(text: &str, separator: char) -> impl Iterator<Item = IpAddr> {
    let parts: Vec<Option<u8>> = text.split(separator).map(decimal).collect();
    let windows: Vec<IpAddr> = parts
        .windows(4)
        .filter_map(|window| match window {
            [Some(a), Some(b), Some(c), Some(d)] => Some(Ipv4Addr::new(*a, *b, *c, *d).into()),
            _ => None,
        })
        .collect();
    windows.into_iter()
}

fn decimal(text: &str) -> Option<u8> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn hexadecimal(text: &str) -> Option<Ipv4Addr> {
    let is_one = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_one.then(|| u32::from_str_radix(text, 16).ok()).flatten().map(Ipv4Addr::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_inside() {
        for name in [
            "localhost",
            "api.localhost",
            "router",
            "printer.local",
            "vault.corp",
            "nas.home.arpa",
            "db.prod.svc.cluster.local",
            "kubernetes.default.svc",
            "metadata.google.internal",
            "metadata.goog",
            "app.localtest.me",
            "127.0.0.1.nip.io",
            "app.10.0.0.1.nip.io",
            "app-192-168-1-1.sslip.io",
            "7f000001.nip.io",
            "web-0a000001.nip.io",
            "--1.sslip.io",
            "fe80--1.sslip.io",
            "0-0-0-0-0-ffff-7f00-1.sslip.io",
            "7f000001.c0a80001.rbndr.us",
        ] {
            assert!(special_name(name).is_some(), "{name}");
        }
    }

    #[test]
    fn public_names() {
        for name in [
            "example.com",
            "local.example.com",
            "notlocalhost.com",
            "mylocal.io",
            "internal.example.com",
            "nip.io",
            "8.8.8.8.nip.io",
            "docs.sslip.io",
            "corp.com",
            "home.cern",
        ] {
            assert_eq!(special_name(name), None, "{name}");
        }
    }
}
