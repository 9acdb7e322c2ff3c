//! The log: which receipt came when, each entry sealing the one before it.

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::canonical;

const DOMAIN: &[u8] = b"chio.log_entry.v1";

/// One position of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// 0, 1, 2 … without a gap.
    pub seq: u64,
    /// [`LogEntry::hash`] of the entry before; 64 zeros for the first.
    pub previous: String,
    /// The receipt.
    pub receipt_id: String,
}

impl LogEntry {
    /// The entry that follows `last`.
    #[must_use]
    pub fn after(last: Option<&Self>, receipt_id: &str) -> Self {
        Self {
            seq: last.map_or(0, |l| l.seq + 1),
            previous: last.map_or_else(|| "0".repeat(64), Self::hash),
            receipt_id: receipt_id.to_owned(),
        }
    }

    /// SHA-256 over a domain tag, NUL and the entry's canonical JSON, lower-case hex.
    #[must_use]
    pub fn hash(&self) -> String {
        let entry = json!({ "seq": self.seq, "previous": self.previous, "receipt_id": self.receipt_id });
        let mut hash = Sha256::new();
        hash.update(DOMAIN);
        hash.update([0]);
        hash.update(canonical::to_vec(&entry));
        hex::encode(hash.finalize())
    }
}
