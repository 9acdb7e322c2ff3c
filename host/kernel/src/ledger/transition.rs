//! What a transition is made of.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::call::{Namespace, RequestId};
use crate::operation::{Operation, OperationId, State};
use crate::receipt::SignedReceipt;

/// One atomic change.
#[derive(Clone, Debug)]
pub struct Transition {
    /// The writer's lease epoch.
    pub lease_epoch: u64,
    /// The operation that moves, if one does.
    pub operation: Option<OperationWrite>,
    /// What changes with it, in order.
    pub mutations: Vec<Mutation>,
}

/// How an operation changes.
#[derive(Clone, Debug)]
pub struct OperationWrite {
    /// The version that must be stored now; 0 where there must be none.
    pub expected_version: u64,
    /// The states it moves through, each a legal move from the one before; empty for a new operation.
    pub path: Vec<State>,
    /// As it stands afterwards.
    pub record: Operation,
}

/// One typed change.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a transition holds a handful, and boxing each key buys nothing")]
pub enum Mutation {
    /// Says what a request id means. Refused if it means something else than expected by now.
    BindRequest {
        /// Whose id.
        key: RequestKey,
        /// What must be stored now.
        expected: Option<RequestRecord>,
        /// What is stored then.
        record: RequestRecord,
    },
    /// Takes a hold with all its claims; refused if one of them cannot be met.
    TakeHold(Hold),
    /// Consumes a held hold, in the dispatch commit.
    CommitHold {
        /// The hold.
        id: String,
    },
    /// Closes a committed hold: its claims stay used.
    SettleHold {
        /// The hold.
        id: String,
    },
    /// Closes a held hold: its claims are given back.
    ReleaseHold {
        /// The hold.
        id: String,
    },
    /// Closes a committed hold whose operation provably had no dispatch: its claims are given back.
    ReverseHold {
        /// The hold.
        id: String,
    },
    /// Keeps an operation's output, for a replay of its request id.
    KeepOutput {
        /// The operation.
        operation: OperationId,
        /// Canonical JSON, however large.
        bytes: Vec<u8>,
    },
    /// Appends a receipt to the log.
    AppendReceipt {
        /// The receipt.
        receipt: Box<SignedReceipt>,
        /// What a later replay needs beside it.
        replay: Option<Vec<u8>>,
    },
    /// Revokes a capability. Revoking it again keeps the first time.
    Revoke {
        /// The capability.
        capability_id: String,
        /// Seconds since 1970.
        at: u64,
    },
}

/// Whose request id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestKey {
    /// The caller's public key, lower-case hex.
    pub subject: String,
    /// Calls and checks have ids of their own.
    pub namespace: Namespace,
    /// The id.
    pub request_id: RequestId,
}

/// What a request id means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// The tool server that it was used for.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// SHA-256 of the canonical arguments, lower-case hex.
    pub parameter_hash: String,
    /// How often it was tried: 1 for the first, one more after each clean unwind.
    pub attempt: u32,
    /// What became of it.
    pub outcome: RequestOutcome,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestOutcome {
    /// An operation carries it.
    Open {
        /// Which.
        operation: OperationId,
    },
    /// It was unwound without a trace; the id may be used again.
    Unwound,
    /// It ended with a receipt.
    Closed {
        /// The operation, where there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        operation: Option<OperationId>,
        /// The receipt.
        receipt_id: String,
    },
}

/// The name of a counter: steps joined by NUL, so that no step can pretend to be two.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CounterKey(String);

impl CounterKey {
    /// A key of these steps; a NUL within a step is replaced.
    #[must_use]
    pub fn new(steps: &[&str]) -> Self {
        Self(steps.iter().map(|s| s.replace('\0', "\u{fffd}")).collect::<Vec<_>>().join("\0"))
    }

    /// The key as bytes in order.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A key that was stored.
    #[must_use]
    pub fn from_stored(key: String) -> Self {
        Self(key)
    }
}

impl fmt::Display for CounterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.replace('\0', "/"))
    }
}

/// A stretch of time in which a counter counts; at its end it starts from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Seconds since 1970 at which it began.
    pub start: u64,
    /// How long it is.
    pub seconds: u64,
}

/// A counter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// How much is used.
    pub used: u64,
    /// In which window; none for one that never starts again.
    pub window: Option<Window>,
}

/// A claim on a counter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Which.
    pub counter: CounterKey,
    /// In which window. A counter that is in an older one starts from 0; one in a newer is left there, and the claim is
    /// taken in the newer, so that a clock that steps back opens nothing twice.
    pub window: Option<Window>,
    /// How much.
    pub amount: u64,
    /// The most that the counter may reach.
    pub limit: u64,
}

/// What is set aside for one call before it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// `hold-` and a UUIDv7.
    pub id: String,
    /// For whom.
    pub operation: OperationId,
    /// What is set aside.
    pub claims: Vec<Claim>,
    /// Whether the call may have run.
    pub state: HoldState,
}

/// How far a hold is. A settled or released one is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldState {
    /// Set aside.
    Held,
    /// Consumed by a dispatch commit.
    Committed,
}
