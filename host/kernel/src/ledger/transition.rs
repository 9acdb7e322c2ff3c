//! What a transition is made of.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Namespace, RequestId};
use crate::money::Money;
use crate::operation::{NonceRef, Operation, OperationId, State};
use crate::receipt::SignedReceipt;
use crate::reservation::RuntimeReservation;

/// One atomic change.
#[derive(Clone, Debug)]
pub struct Transition {
    /// The writer's lease epoch.
    pub lease_epoch: u64,
    /// The operation that moves, if one does.
    pub operation: Option<OperationWrite>,
    /// What changes with it, in order.
    pub mutations: Vec<Mutation>,
    /// Who recovers the operation, where this is recovery.
    pub claimant: Option<Claimant>,
}

/// A worker that recovers an operation, and the time by its clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimant {
    /// As in its [`AdmissionRecoveryLease`](crate::operation::AdmissionRecoveryLease).
    pub id: String,
    /// Milliseconds since 1970.
    pub now_ms: u64,
}

impl Transition {
    /// A change of no operation.
    #[must_use]
    pub fn of(lease_epoch: u64, mutations: Vec<Mutation>) -> Self {
        Self { lease_epoch, operation: None, mutations, claimant: None }
    }
}

/// How an operation changes.
#[derive(Clone, Debug)]
pub struct OperationWrite {
    /// The version that must be stored now; 0 where there must be none.
    pub expected_version: u64,
    /// The states it moves through, each a legal move from the one before; empty for a new operation, and for a note on
    /// one that does not move: who recovers it, and why that failed.
    pub path: Vec<State>,
    /// As it stands afterwards.
    pub record: Operation,
}

/// One typed change.
#[derive(Clone, Debug)]
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
    /// Closes a committed hold: its claims stay used, and of its charge `realized` is captured and the rest is free again.
    SettleHold {
        /// The hold.
        id: String,
        /// Minor units; at most the charge.
        realized: u64,
    },
    /// Gives a held hold back, or a part of it. The hold is gone when nothing is left of it.
    ReleaseHold {
        /// The hold.
        id: String,
        /// What of it.
        part: HoldPart,
    },
    /// Freezes a committed hold: nobody knows what it paid for, and an operator has to say.
    FreezeHold {
        /// The hold.
        id: String,
    },
    /// Closes a frozen hold as [`Mutation::SettleHold`] closes a committed one.
    ResolveHold {
        /// The hold.
        id: String,
        /// Minor units; at most the charge.
        realized: u64,
    },
    /// Opens a prepaid account, or changes its total. Refused if less than what is captured and held would remain, and in
    /// another currency.
    SetAccount {
        /// Its name.
        name: String,
        /// What the policy says that it holds at first.
        base: u64,
        /// What it holds in all.
        total: Money,
    },
    /// Takes a nonce for an operation, for the first time or after a roll back. Refused if it is taken, has expired, or the
    /// store of marks is full.
    ReserveNonce {
        /// The nonce.
        nonce: NonceKey,
        /// For whom.
        operation: OperationId,
        /// Seconds since 1970, as the kernel knows it.
        now: u64,
    },
    /// Consumes a reserved nonce. Its mark is kept at least until its expiry.
    ConsumeNonce {
        /// The nonce.
        nonce: NonceKey,
        /// Who reserved it.
        operation: OperationId,
    },
    /// Gives a reserved nonce back. Refused for anybody but its owner, and once it is consumed.
    RollBackNonce {
        /// The nonce.
        nonce: NonceKey,
        /// Who reserved it.
        operation: OperationId,
    },
    /// Takes a single-use id. Refused if anybody took it before and has not given it back.
    TakeReservation {
        /// The id.
        reservation: RuntimeReservation,
        /// For whom.
        operation: OperationId,
    },
    /// Gives a single-use id back. Refused for anybody but its owner.
    ReleaseReservation {
        /// The id.
        reservation: RuntimeReservation,
        /// Who took it.
        operation: OperationId,
    },
    /// Keeps an approval of an operation. Refused if it has one.
    GrantApproval {
        /// The operation.
        operation: OperationId,
        /// The approval's id.
        id: String,
        /// As its approver signed it.
        token: Value,
    },
    /// Consumes the approval of an operation, in the dispatch commit or with the release of its output.
    ConsumeApproval {
        /// The operation.
        operation: OperationId,
        /// The approval's id.
        id: String,
    },
    /// Keeps what the receipt of an operation will say, in place of what was kept before. It goes when the operation ends.
    KeepDraft {
        /// The operation.
        operation: OperationId,
        /// JSON, however large.
        bytes: Vec<u8>,
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

/// Money that is set aside: the worst case of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// How much.
    pub amount: Money,
    /// The prepaid account that it is taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The cap on all that a grant may spend; claimed in full, and given back down to what is realized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<Claim>,
}

/// A share of a parent capability's budget, which a capability that was derived from it has for as long as any of its calls is
/// under way.
///
/// While somebody holds the lease, all that the child may still use is set aside at the parent; when its last holder leaves,
/// what the child did not use goes back. So siblings together never get more than the parent has, and none has to be told
/// of the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetLease {
    /// What the parent's grant counts.
    pub parent: CounterKey,
    /// The most that it may reach.
    pub parent_limit: u64,
    /// What the child's grant counts.
    pub child: CounterKey,
    /// The most that that may reach: the child's share.
    pub share: u64,
}

/// What is set aside for one call before it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// `hold-` and a UUIDv7.
    pub id: String,
    /// For whom.
    pub operation: OperationId,
    /// Shares of the budgets above, from the root's on. Taken before the claims, and given back after them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<BudgetLease>,
    /// What is set aside.
    pub claims: Vec<Claim>,
    /// What it may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charge: Option<Charge>,
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
    /// Consumed, and nobody knows for what.
    Frozen,
}

/// What of a hold is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldPart {
    /// All of it.
    All,
    /// The money.
    Charge,
    /// The invocation slot, and the guards' reservations.
    Claims,
    /// The shares of the budgets above.
    Leases,
}

/// A prepaid account. What is neither captured nor held is free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// What the policy said that it holds at first.
    pub base: u64,
    /// What it holds in all.
    pub total: Money,
    /// Minor units that were spent.
    pub captured: u64,
    /// Minor units that open holds set aside.
    pub held: u64,
}

impl Account {
    /// Minor units that can still be held.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.total.units.saturating_sub(self.captured).saturating_sub(self.held)
    }
}

/// A human's word about one operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRecord {
    /// The approval's id.
    pub id: String,
    /// Whether its effect may have happened.
    pub consumed: bool,
    /// As its approver signed it.
    pub token: Value,
}

/// A nonce by its expiry and its id: marks are kept in this order, so that the ones that have expired come first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NonceKey {
    /// Seconds since 1970; the first moment it is no longer good.
    pub expires_at: u64,
    /// The id.
    pub id: String,
}

/// How far a nonce is. One that was never reserved has no mark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NonceMark {
    /// Who reserved it.
    pub operation: OperationId,
    /// Whether its effect may have happened.
    pub consumed: bool,
}

/// All marks together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NonceMarks {
    /// How many there are.
    pub live: u64,
    /// Marks that expired up to this moment may be gone, so no nonce that does is taken any more, whatever the clock says.
    pub pruned_to: u64,
    /// No mark that is there expires before.
    pub oldest: u64,
}

impl From<&NonceRef> for NonceKey {
    fn from(nonce: &NonceRef) -> Self {
        Self { expires_at: nonce.expires_at, id: nonce.id.clone() }
    }
}
