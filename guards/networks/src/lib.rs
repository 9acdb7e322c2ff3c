//! Which addresses are no public host of the internet.
//!
//! A library without dependencies: whoever judges an address, before a call or when it connects, can ask the same list.
//! The ranges are those of the registries at <https://www.iana.org/assignments/iana-ipv4-special-registry> and
//! <https://www.iana.org/assignments/iana-ipv6-special-registry>, and the addresses at which clouds hand out their secrets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is no public host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Special {
    /// What follows from it.
    pub kind: Kind,
    /// What it is, for a message: `a loopback address`.
    pub what: &'static str,
    /// The address that decided: what was asked about, or the IPv4 address in it.
    pub address: IpAddr,
}

/// What an address that is special is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A host that only somebody near can reach.
    Internal,
    /// The service that tells a cloud's machine who it is, with credentials.
    Metadata,
    /// No single host at all.
    NoHost,
}

/// What an address is, unless it is a public host's.
#[must_use]
pub fn special(address: IpAddr) -> Option<Special> {
    match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    }
}

/// The IPv4 address that packets to this IPv6 address end at, where it says so: mapped, compatible, translated (RFC 2765,
/// RFC 6052, RFC 8215), 6to4 and ISATAP.
#[must_use]
pub fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let (high, low) = match address.segments() {
        // The unspecified and the loopback address are written like compatible ones.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => return None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 1, _, _, _, high, low]
        | [0x2002, high, low, ..]
        | [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => (high, low),
        _ => return None,
    };
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    Some(Ipv4Addr::new(a, b, c, d))
}

const METADATA: &str = "a cloud's metadata service";

/// Where clouds answer with credentials. Azure's is in the middle of a public range.
const METADATA_V4: &[[u8; 4]] = &[
    [169, 254, 169, 254],
    [169, 254, 170, 2],
    [169, 254, 170, 23],
    [169, 254, 0, 23],
    [169, 254, 42, 42],
    [100, 100, 100, 200],
    [192, 0, 0, 192],
    [168, 63, 129, 16],
];
const METADATA_V6: &[[u16; 8]] = &[
    [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254],
    [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23],
    [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254],
    [0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe],
    [0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42],
    [0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe],
];

fn special_v4(address: Ipv4Addr) -> Option<Special> {
    let octets = address.octets();
    let (kind, what) = match octets {
        _ if METADATA_V4.contains(&octets) => (Kind::Metadata, METADATA),
        [0, ..] => (Kind::NoHost, "an unspecified address"),
        [127, ..] => (Kind::Internal, "a loopback address"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => (Kind::Internal, "a private address"),
        [100, 64..=127, ..] => (Kind::Internal, "an address of a carrier's own network"),
        [169, 254, ..] => (Kind::Internal, "a link-local address"),
        [198, 18..=19, ..] => (Kind::Internal, "a benchmarking address"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => (Kind::Internal, "a documentation address"),
        [192, 0, 0, _] | [192, 88, 99, _] => (Kind::Internal, "a reserved address"),
        [224..=239, ..] => (Kind::NoHost, "a multicast address"),
        [240..=255, ..] => (Kind::NoHost, "a reserved address"),
        _ => return None,
    };
    Some(Special { kind, what, address: address.into() })
}

fn special_v6(address: Ipv6Addr) -> Option<Special> {
    let segments = address.segments();
    let inner = embedded(address).and_then(special_v4);
    let (kind, what) = match segments {
        _ if METADATA_V6.contains(&segments) => (Kind::Metadata, METADATA),
        // The address within says more than what it is wrapped in.
        _ if inner.is_some() => return inner,
        [0, 0, 0, 0, 0, 0, 0, 0] => (Kind::NoHost, "an unspecified address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => (Kind::Internal, "a loopback address"),
        [0x64, 0xff9b, 1, ..] => (Kind::Internal, "an address of a local translator"),
        [0xfe80..=0xfebf, ..] => (Kind::Internal, "a link-local address"),
        [0xfc00..=0xfdff, ..] => (Kind::Internal, "a private address"),
        [0xfec0..=0xfeff, ..] => (Kind::Internal, "a site-local address"),
        [0xff00..=0xffff, ..] => (Kind::NoHost, "a multicast address"),
        [0x2001, 0, ..] => (Kind::Internal, "an address of a Teredo tunnel"),
        [0x2001, 2, 0, ..] => (Kind::Internal, "a benchmarking address"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => (Kind::Internal, "a documentation address"),
        [0x2001, 1..=0x01ff, ..] => (Kind::Internal, "a reserved address"),
        // A public address, mapped or translated, and global unicast.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0x2000..=0x3fff, ..] => return None,
        _ => (Kind::Internal, "a reserved address"),
    };
    Some(Special { kind, what, address: address.into() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_not_public_is_told_apart() {
        for (address, expected) in [
            ("1.1.1.1", None),
            ("172.32.0.1", None),
            ("100.128.0.1", None),
            ("198.20.0.1", None),
            ("2606:4700::1111", None),
            ("64:ff9b::101:101", None),
            ("::ffff:1.1.1.1", None),
            ("2002:101:101::", None),
            ("127.0.0.1", Some(Kind::Internal)),
            ("127.255.255.254", Some(Kind::Internal)),
            ("10.0.0.1", Some(Kind::Internal)),
            ("172.31.255.255", Some(Kind::Internal)),
            ("192.168.1.1", Some(Kind::Internal)),
            ("100.64.0.1", Some(Kind::Internal)),
            ("198.19.255.255", Some(Kind::Internal)),
            ("203.0.113.7", Some(Kind::Internal)),
            ("192.88.99.1", Some(Kind::Internal)),
            ("169.254.1.1", Some(Kind::Internal)),
            ("169.254.169.254", Some(Kind::Metadata)),
            ("100.100.100.200", Some(Kind::Metadata)),
            ("168.63.129.16", Some(Kind::Metadata)),
            ("fd00:ec2::254", Some(Kind::Metadata)),
            ("::ffff:169.254.169.254", Some(Kind::Metadata)),
            ("64:ff9b::a9fe:a9fe", Some(Kind::Metadata)),
            ("::1", Some(Kind::Internal)),
            ("fe80::1", Some(Kind::Internal)),
            ("fc00::1", Some(Kind::Internal)),
            ("fec0::1", Some(Kind::Internal)),
            ("::ffff:127.0.0.1", Some(Kind::Internal)),
            ("::ffff:0:127.0.0.1", Some(Kind::Internal)),
            ("::127.0.0.1", Some(Kind::Internal)),
            ("::1.1.1.1", Some(Kind::Internal)),
            ("64:ff9b::7f00:1", Some(Kind::Internal)),
            ("64:ff9b:1::101:101", Some(Kind::Internal)),
            ("2002:7f00:1::", Some(Kind::Internal)),
            ("2001:0:7f00:1::", Some(Kind::Internal)),
            ("2001:db8::1", Some(Kind::Internal)),
            ("3fff::1", Some(Kind::Internal)),
            ("2a00::5efe:10.0.0.1", Some(Kind::Internal)),
            ("5f00::1", Some(Kind::Internal)),
            ("0.0.0.0", Some(Kind::NoHost)),
            ("0.1.2.3", Some(Kind::NoHost)),
            ("255.255.255.255", Some(Kind::NoHost)),
            ("239.1.1.1", Some(Kind::NoHost)),
            ("::", Some(Kind::NoHost)),
            ("ff02::1", Some(Kind::NoHost)),
            ("::ffff:0.0.0.0", Some(Kind::NoHost)),
        ] {
            assert_eq!(special(address.parse().unwrap()).map(|special| special.kind), expected, "{address}");
        }
    }

    #[test]
    fn the_address_within_decides() {
        let special = special("64:ff9b::a00:1".parse().unwrap()).unwrap();
        assert_eq!((special.what, special.address), ("a private address", "10.0.0.1".parse().unwrap()));
    }

    proptest! {
        #[test]
        fn no_wrapping_makes_an_address_public(octets: [u8; 4]) {
            let address = Ipv4Addr::from(octets);
            let [a, b, c, d] = octets;
            let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            for wrapped in [
                address.to_ipv6_mapped(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0x2a00, 1, 2, 3, 0, 0x5efe, high, low),
            ] {
                let own = special(address.into());
                prop_assert!(own.is_none() || special(wrapped.into()).is_some(), "{}", wrapped);
            }
        }
    }
}
