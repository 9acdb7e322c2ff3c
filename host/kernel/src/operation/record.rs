//! The record itself: everything that the drop path and recovery need to know about a call.

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{Kind, Requirements, State};
use crate::approval::{ApprovalSubject, Asker};
use crate::call::{EffectClass, RequestId};
use crate::canonical;
use crate::money::Money;
use crate::reservation::RuntimeReservation;

const ID_DOMAIN: &[u8] = b"chio.operation_id.v1";

/// SHA-256 over who asked what of which ledger, lower-case hex.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OperationId(String);

impl OperationId {
    /// An id as a ledger lists it, of an operation whose record may be unreadable.
    pub(crate) fn from_listed(id: String) -> Self {
        Self(id)
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for OperationId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What makes an operation the one it is. A replay is compared by server, tool and parameter hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The ledger that holds it.
    pub ledger_id: String,
    /// The caller's public key, lower-case hex.
    pub subject: String,
    /// The caller's id for the call.
    pub request_id: RequestId,
    /// 1 for the first; one more after each clean unwind.
    pub attempt: u32,
    /// The tool server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// SHA-256 of the canonical arguments, lower-case hex.
    pub parameter_hash: String,
}

impl Binding {
    /// The operation's id: from the ledger, the subject, the request id and the attempt.
    #[must_use]
    pub fn operation_id(&self) -> OperationId {
        let identity = canonical::to_vec(&json!({
            "attempt": self.attempt,
            "ledger_id": self.ledger_id,
            "request_id": self.request_id,
            "subject": self.subject,
        }));
        let mut hash = Sha256::new();
        hash.update(ID_DOMAIN);
        hash.update([0]);
        hash.update(identity);
        OperationId(hex::encode(hash.finalize()))
    }
}

/// What part a component plays in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Judges the call.
    Guard,
    /// Inspects the output.
    OutputHook,
    /// Runs the tool.
    ToolServer,
    /// Moves the money.
    Rail,
}

/// A component, as records and receipts name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Component {
    /// Its part.
    pub role: Role,
    /// Its name in the policy.
    pub name: String,
    /// SHA-256 of its bytes, lower-case hex.
    pub digest: String,
}

/// What was admitted, and under what. Recorded, and not compared on a replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admission {
    /// The capability.
    pub capability_id: String,
    /// SHA-256 of the token, lower-case hex.
    pub capability_digest: String,
    /// The chosen grant's position.
    pub grant_index: u32,
    /// The policy in force.
    pub policy_hash: String,
    /// Every component that takes part.
    pub components: Vec<Component>,
    /// What the tool can do.
    pub effect_class: EffectClass,
    /// The most that the call can cost; none where it costs nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposure: Option<Money>,
}

/// An execution nonce, as the operation remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NonceRef {
    /// `nonce-` and a UUIDv7.
    pub id: String,
    /// Seconds since 1970.
    pub issued_at: u64,
    /// Seconds since 1970; the first moment it is no longer good.
    pub expires_at: u64,
}

/// Ids of what the operation holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Participants {
    /// The hold, once it is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// The execution nonce.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<NonceRef>,
    /// The approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// The broker's attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker_attempt: Option<String>,
    /// The payment at a rail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment: Option<PaymentRef>,
    /// Single-use ids that were taken for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reservations: Vec<RuntimeReservation>,
}

/// A payment at a rail, as the operation remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentRef {
    /// The rail's name in the policy.
    pub rail: String,
    /// The account's.
    pub account: String,
    /// The host's reference: the hold's id.
    pub reference: String,
    /// The rail's id of what it set aside, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization: Option<String>,
}

/// An operation that waits for its caller to come back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// The `pending` receipt that says so.
    pub receipt_id: String,
    /// Seconds since 1970; from then on it is ended without.
    pub until: u64,
    /// For what.
    #[serde(default)]
    pub awaits: Awaits,
}

/// What an operation waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Awaits {
    /// Its caller, with the nonce.
    #[default]
    Nonce,
    /// A human, before its tool runs; then its caller.
    Approval(Asked),
    /// A human, before its output is released.
    Release(Asked),
}

impl Awaits {
    /// What a human is asked, where one is.
    #[must_use]
    pub fn asked(&self) -> Option<(ApprovalSubject, &Asked)> {
        match self {
            Self::Nonce => None,
            Self::Approval(asked) => Some((ApprovalSubject::Call, asked)),
            Self::Release(asked) => Some((ApprovalSubject::Output, asked)),
        }
    }
}

/// What a human is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// By whom.
    pub by: Vec<Asker>,
    /// Why; the first reason.
    pub reason: String,
    /// SHA-256 of the chosen grant's canonical JSON, lower-case hex.
    pub grant_hash: String,
    /// SHA-256 of the withheld output's canonical JSON, lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_hash: Option<String>,
}

/// The right to recover one operation, for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdmissionRecoveryLease {
    /// The operation.
    pub operation: OperationId,
    /// Who recovers it.
    pub claimant: String,
    /// The lease epoch under which it was claimed.
    pub epoch: u64,
    /// The operation's version when it was claimed.
    pub version: u64,
    /// Milliseconds since 1970; from then on another may claim it.
    pub expires_at_ms: u64,
}

/// When the tool was handed the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DispatchCommit {
    /// The operation's version at that moment.
    pub version: u64,
    /// The lease epoch that committed.
    pub lease_epoch: u64,
    /// Milliseconds since 1970.
    pub at_ms: u64,
}

/// What `finalizing` decided about the output, so that recovery never runs a hook again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Release it.
    Deliver,
    /// A hook blocked it.
    Block,
    /// The capability was revoked while the tool ran.
    Revoked,
    /// It is not what the grant's digest fixed.
    Mismatch,
    /// It waits for a human.
    Withheld,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    /// The receipt; none after a clean unwind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_id: Option<String>,
}

/// The durable record of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Derived from the binding.
    pub id: OperationId,
    /// What it is about.
    pub kind: Kind,
    /// What it has to consume.
    pub requirements: Requirements,
    /// Who asked what.
    pub binding: Binding,
    /// Under what.
    pub admission: Admission,
    /// Where it stands.
    pub state: State,
    /// 1 when recorded, one more with every move.
    pub version: u64,
    /// The lease epoch that last wrote it.
    pub lease_epoch: u64,
    /// What it holds.
    #[serde(default)]
    pub participants: Participants,
    /// When the tool was handed the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatch_commit: Option<DispatchCommit>,
    /// What was decided about the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// That it waits for its caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<Parked>,
    /// Who recovers it, where somebody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<AdmissionRecoveryLease>,
    /// The last thing that went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<Terminal>,
}

impl Operation {
    /// An operation that is about to be recorded: `prepared`, and holding nothing.
    #[must_use]
    pub fn prepared(
        kind: Kind,
        requirements: Requirements,
        binding: Binding,
        admission: Admission,
        lease_epoch: u64,
    ) -> Self {
        Self {
            id: binding.operation_id(),
            kind,
            requirements,
            binding,
            admission,
            state: State::Prepared,
            version: 1,
            lease_epoch,
            participants: Participants::default(),
            dispatch_commit: None,
            delivery: None,
            parked: None,
            recovery: None,
            last_error: None,
            terminal: None,
        }
    }
}
