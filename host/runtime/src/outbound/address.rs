//! Where a name leads, and whether that is a public address.

use std::net::{IpAddr, SocketAddr};

use special_networks::{Kind, Special};
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
        let Some(special) = refused(ip, target) else { continue };
        tracing::debug!(target: "chio::plugin", %target, %ip, why = special.what, "an address is refused");
        return Err(NoAddress::Refused(grants.refused_address(target, special)));
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

/// What is special about an address to which nothing may be sent. `private: true` opens the networks around, but no name of them leads to a cloud's
/// metadata service, which hands out the machine's own credentials: only a grant of the address itself does.
fn refused(address: IpAddr, target: &Target) -> Option<Special> {
    let special = special_networks::special(address)?;
    let is_granted = match special.kind {
        Kind::Internal => target.private,
        Kind::Metadata => target.private && target.host.parse() == Ok(address),
        Kind::NoHost => false,
    };
    (!is_granted).then_some(special)
}

#[cfg(test)]
mod tests {
    use super::super::grants::Scheme;
    use super::*;

    #[test]
    fn a_special_address_needs_a_grant_that_means_it() {
        let target = |host: &str, private| Target { scheme: Scheme::Http, host: host.to_owned(), port: 80, private };
        for (host, address, plain, private) in [
            ("a.example", "1.1.1.1", true, true),
            ("a.example", "64:ff9b::101:101", true, true),
            ("a.example", "127.0.0.1", false, true),
            ("a.example", "::ffff:10.0.0.1", false, true),
            ("a.example", "169.254.169.254", false, false),
            ("a.example", "::ffff:169.254.169.254", false, false),
            ("a.example", "168.63.129.16", false, false),
            ("169.254.169.254", "169.254.169.254", false, true),
            ("a.example", "0.0.0.0", false, false),
            ("255.255.255.255", "255.255.255.255", false, false),
            ("a.example", "ff02::1", false, false),
        ] {
            let is_reached = |private| refused(address.parse().unwrap(), &target(host, private)).is_none();
            assert_eq!((is_reached(false), is_reached(true)), (plain, private), "{host} at {address}");
        }
    }
}
