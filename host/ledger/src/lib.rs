//! The kernel's ledgers: one in memory, one on disk.
//!
//! What a transition means is written once, in `apply`, over a small set of rows; an implementation only says how rows
//! are kept, so that none can be laxer than another. The suite in `tests/ledger/conformance` runs against each.
//!
//! - [`MemoryLedger`] keeps rows in maps: for tests, and, in its volatile form, for calls that need nothing durable.
//! - [`SledLedger`] keeps them on disk. Its folder, its keys and its group commit are described at the type;
//!   [`SupervisedLedger`] opens it again when its storage failed.

#![forbid(unsafe_code)]

mod accounts;
mod apply;
mod claims;
mod disk;
mod leases;
mod memory;
mod nonces;
mod reservations;
mod rows;
mod supervised;

pub use disk::{OpenError, Options, SledLedger};
pub use memory::MemoryLedger;
pub use supervised::SupervisedLedger;

/// The most nonce marks that are kept at one time, unless a ledger is made with another limit. With the longest lifetime
/// that a policy can give a nonce, an hour, it admits 291 calls a second; with the 30 s of the default, 34,952.
pub const NONCE_LIMIT: u64 = 1 << 20;
