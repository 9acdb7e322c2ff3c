//! Which ledger this is, and in which format.

use serde::{Deserialize, Serialize};

/// The format that this build writes, and the only one that it reads. In 1, rows stood under the hashes of ids; in 2,
/// they all stood in sled.
pub(super) const FORMAT: u32 = 3;

/// Written once, when the ledger is created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// [`FORMAT`] of the build that created it.
    pub(super) format: u32,
    /// A `UUIDv7`.
    pub(super) id: String,
}
