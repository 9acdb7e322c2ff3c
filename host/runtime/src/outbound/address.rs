//! Where a name leads, and whether that is a public address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::grants::{Grants, Target};

/// The most addresses of one name that are looked at.
const MAX_ADDRESSES: usize = 16;
/// Names that are looked up at the same time, by the whole process. The system's resolver cannot be called off, so a
/// lookup that hangs keeps its place.
static LOOKUPS: Semaphore = Semaphore::const_new(32);

/// Why a target has no address.
pub(super) enum NoAddress {
    /// One that may not be reached: the refusal.
    Refused(String),
    /// The name leads nowhere.
    Unknown,
}

/// The addresses to connect to, every one of them checked. One bad address refuses the name: what a name says may change
/// from one answer to the next.
pub(super) async fn resolve(target: &Target, grants: &Grants, host: &Handle) -> Result<Vec<SocketAddr>, NoAddress> {
    let addresses = match target.host.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, target.port)],
        Err(_) => look_up(target.host.clone(), target.port, host).await.ok_or(NoAddress::Unknown)?,
    };
    for address in &addresses {
        let ip = address.ip();
        let why = match kind(ip) {
            Kind::Public => continue,
            Kind::Private(_) if target.private => continue,
            Kind::Private(what) | Kind::NoHost(what) => what,
        };
        tracing::debug!(target: "chio::plugin", %target, %ip, why, "an address is refused");
        return Err(NoAddress::Refused(grants.refused_address(target, why)));
    }
    Ok(addresses)
}

/// On a thread of the host, which a call that ends does not wait for.
async fn look_up(name: String, port: u16, host: &Handle) -> Option<Vec<SocketAddr>> {
    let place = LOOKUPS.acquire().await.ok()?;
    let asked = host.spawn_blocking(move || {
        let found = std::net::ToSocketAddrs::to_socket_addrs(&(name.as_str(), port));
        drop(place);
        found.map(|found| found.take(MAX_ADDRESSES).collect::<Vec<_>>())
    });
    let found = asked.await.ok()?.ok()?;
    (!found.is_empty()).then_some(found)
}

/// What an address is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A host of the internet.
    Public,
    /// A host that only somebody near can reach.
    Private(&'static str),
    /// No single host at all.
    NoHost(&'static str),
}

fn kind(address: IpAddr) -> Kind {
    match address {
        IpAddr::V4(address) => kind_v4(address),
        IpAddr::V6(address) => kind_v6(address),
    }
}

/// The special ranges of <https://www.iana.org/assignments/iana-ipv4-special-registry>.
fn kind_v4(address: Ipv4Addr) -> Kind {
    match address.octets() {
        [0, ..] => Kind::NoHost("an unspecified address"),
        [127, ..] => Kind::Private("a loopback address"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Kind::Private("a private address"),
        [169, 254, ..] => Kind::Private("a link-local address"),
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18..=19, ..] | [198, 51, 100, _] | [203, 0, 113, _] => {
            Kind::Private("a reserved address")
        }
        [224..=239, ..] => Kind::NoHost("a multicast address"),
        [240..=255, ..] => Kind::NoHost("a reserved address"),
        _ => Kind::Public,
    }
}

/// The special ranges of <https://www.iana.org/assignments/iana-ipv6-special-registry>. Global unicast is `2000::/3`, and
/// what wraps an IPv4 address is as good as that.
fn kind_v6(address: Ipv6Addr) -> Kind {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        kind_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => Kind::NoHost("an unspecified address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Kind::Private("a loopback address"),
        // Mapped, translated (RFC 6052), 6to4.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            embedded(high, low)
        }
        [0xfe80..=0xfebf, ..] => Kind::Private("a link-local address"),
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => Kind::Private("a private address"),
        [0xff00..=0xffff, ..] => Kind::NoHost("a multicast address"),
        // Teredo and the other protocol assignments; documentation.
        [0x2001, 0..=0x01ff | 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => Kind::Private("a reserved address"),
        [0x2000..=0x3fff, ..] => Kind::Public,
        _ => Kind::Private("a reserved address"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_public_is_told_apart() {
        for (address, expected) in [
            ("1.1.1.1", "public"),
            ("2606:4700::1111", "public"),
            ("64:ff9b::101:101", "public"),
            ("::ffff:1.1.1.1", "public"),
            ("127.0.0.1", "private"),
            ("127.255.255.254", "private"),
            ("10.0.0.1", "private"),
            ("172.16.0.1", "private"),
            ("172.32.0.1", "public"),
            ("192.168.1.1", "private"),
            ("100.64.0.1", "private"),
            ("169.254.169.254", "private"),
            ("198.51.100.1", "private"),
            ("::1", "private"),
            ("fe80::1", "private"),
            ("fd00:ec2::254", "private"),
            ("::ffff:127.0.0.1", "private"),
            ("::ffff:169.254.169.254", "private"),
            ("64:ff9b::7f00:1", "private"),
            ("64:ff9b:1::1", "private"),
            ("2002:7f00:1::", "private"),
            ("::127.0.0.1", "private"),
            ("2001:db8::1", "private"),
            ("0.0.0.0", "none"),
            ("0.1.2.3", "none"),
            ("255.255.255.255", "none"),
            ("239.1.1.1", "none"),
            ("::", "none"),
            ("ff02::1", "none"),
            ("::ffff:0.0.0.0", "none"),
        ] {
            let found = match kind(address.parse().unwrap()) {
                Kind::Public => "public",
                Kind::Private(_) => "private",
                Kind::NoHost(_) => "none",
            };
            assert_eq!(found, expected, "{address}");
        }
    }
}
