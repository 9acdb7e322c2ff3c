//! Which ledger this is, and in which format.

use serde::{Deserialize, Serialize};

/// The format that this build writes. It reads no newer one.
pub(super) const FORMAT: u32 = 1;

/// Written once, when the ledger is created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// [`FORMAT`] of the build that created it.
    pub(super) format: u32,
    /// A `UUIDv7`.
    pub(super) id: String,
}
