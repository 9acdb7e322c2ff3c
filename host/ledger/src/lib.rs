//! The kernel's ledgers: one in memory, one on disk.
//!
//! What a transition means is written once, in `apply`, over a small set of rows; an implementation only says how rows
//! are kept, so that none can be laxer than another. The suite in `tests/ledger/conformance` runs against each.
//!
//! - [`MemoryLedger`] keeps rows in maps: for tests, and, in its volatile form, for calls that need nothing durable.
//! - [`SledLedger`] keeps them on disk. Its folder, its keys and its group commit are described at the type.

#![forbid(unsafe_code)]

mod apply;
mod claims;
mod disk;
mod memory;
mod rows;

pub use disk::{OpenError, SledLedger};
pub use memory::MemoryLedger;
