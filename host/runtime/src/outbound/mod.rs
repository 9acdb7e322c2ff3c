//! Outbound HTTP: where a component may send requests, and the secrets that the host adds to them.
//!
//! A request is checked, and then sent by the host, to an address that was checked: nothing is looked up twice, and no
//! redirect is followed. A component that was granted nothing has the same interface, and every request is refused.

mod address;
mod body;
mod client;
mod grants;
mod needles;
mod requests;
mod scrub;
mod secret;

#[cfg(test)]
pub(crate) use client::Stream;
pub(crate) use grants::Grants;
pub use grants::{NetworkGrant, Outbound, Scheme, SecretGrant};
pub(crate) use requests::{Ended, Requests};
pub use secret::SecretSource;
