//! The names of counters.
//!
//! A name is at most 64 printable bytes, and names of agents and tools are longer and the caller's. So they go into a
//! digest, each with its length before it: what is counted for two different subjects never meets in one counter.

use chio_sdk::Call;
use sha2::{Digest, Sha256};

use crate::limit::{Limit, Per, Unit};

/// How much of the digest is kept, in bytes: too much for anybody to find two that agree.
const DIGEST_BYTES: usize = 16;

/// What makes two limits of one window count on the same counter. How much they allow is not in it, so that raising a limit
/// forgets nothing.
pub(crate) fn identity(limit: &Limit) -> Vec<&str> {
    let (unit, currency) = match &limit.unit {
        Unit::Calls => ("calls", ""),
        Unit::Spend { currency } => ("spend", currency.as_str()),
    };
    let mut parts = vec![unit, currency, limit.per.as_str()];
    match (&limit.name, &limit.pattern) {
        // A limit with a name stays the same one when what it matches is edited.
        (Some(name), _) => parts.extend(["name", name]),
        (None, Some(pattern)) => parts.extend(["match", &pattern.server, &pattern.tool]),
        (None, None) => parts.push("all"),
    }
    parts
}

/// The name of the counter that `limit` takes `call` from.
pub(crate) fn name(limit: &Limit, call: &Call) -> String {
    let mut digest = Sha256::new();
    let mut add = |part: &str| {
        digest.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        digest.update(part);
    };
    identity(limit).into_iter().for_each(&mut add);
    add(&limit.window_seconds.to_string());
    match limit.per {
        Per::Agent => add(&call.agent),
        Per::Server => add(&call.server),
        Per::Tool => {
            add(&call.server);
            add(&call.tool);
        }
        Per::Capability => add(&call.capability_id),
        Per::All => {}
    }
    let digest = digest.finalize();
    let label = limit.name.as_deref().unwrap_or(match limit.unit {
        Unit::Calls => "calls",
        Unit::Spend { .. } => "spend",
    });
    let kept: Vec<u8> = digest.iter().copied().take(DIGEST_BYTES).collect();
    format!("{label}.{}", hex::encode(kept))
}
