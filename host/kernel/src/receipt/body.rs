//! The identity fields of a receipt, as the first document of the project shows them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The schema that these receipts follow. It is the format's name and does not stand in the record.
pub const SCHEMA: &str = "chio.receipt.v1";
/// The `guard` of a decision that the kernel itself took.
pub const KERNEL: &str = "kernel";
/// `receipt_kind` of a decision about a mediated call.
pub const KIND_MEDIATED: &str = "mediated_decision";
/// `receipt_kind` of a change of an account or a hold, which an operator or the host itself makes.
pub const KIND_ECONOMIC: &str = "governed_economic_mutation";
/// `boundary_class` of a boundary that stops calls, rather than watching them.
pub const BOUNDARY_PREVENT: &str = "prevent";
/// `tool_origin` of a tool that the caller chose.
pub const ORIGIN_CALLER: &str = "caller_executed";
/// `trust_level` of what went through the kernel.
pub const TRUST_MEDIATED: &str = "mediated";

/// Everything in a receipt but `id`, `algorithm` and `signature`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReceiptBody {
    /// Seconds since 1970.
    pub timestamp: u64,
    /// The capability that was presented.
    pub capability_id: String,
    /// The tool server that was asked for.
    pub tool_server: String,
    /// The tool that was asked for.
    pub tool_name: String,
    /// The arguments.
    pub action: Action,
    /// What was decided.
    pub decision: Decision,
    /// [`KIND_MEDIATED`].
    pub receipt_kind: String,
    /// [`BOUNDARY_PREVENT`].
    pub boundary_class: String,
    /// [`ORIGIN_CALLER`].
    pub tool_origin: String,
    /// Whether arguments were taken out before signing.
    pub redaction_mode: RedactionMode,
    /// SHA-256 of the canonical JSON of the output that was released; of `null` where none was. Lower-case hex.
    pub content_hash: String,
    /// SHA-256 of the resolved policy, lower-case hex.
    pub policy_hash: String,
    /// One entry per guard that ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// Who, when and how, in parts of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// [`TRUST_MEDIATED`].
    pub trust_level: String,
    /// Public key of the kernel that signs, lower-case hex.
    pub kernel_key: String,
}

/// What the tool was asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// The arguments, secret ones replaced by a marker.
    pub parameters: Value,
    /// SHA-256 of the canonical JSON of the arguments as they came, lower-case hex.
    pub parameter_hash: String,
}

/// What was decided about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Decision {
    /// The call was let through, and its output released.
    Allow,
    /// The call, or its output, was refused.
    Deny {
        /// Why.
        reason: String,
        /// Who refused: a guard's or hook's name, or [`KERNEL`].
        guard: String,
    },
    /// The caller gave up, or its connection broke.
    Cancelled {
        /// How.
        reason: String,
    },
    /// The tool was entered and did not finish well, or nobody knows.
    Incomplete {
        /// What is known.
        reason: String,
    },
    /// The call waits for a human or for a nonce.
    Pending {
        /// For what.
        reason: String,
        /// Who asked for it.
        guard: String,
    },
}

impl Decision {
    /// The word in the record: `allow`, `deny`, `cancelled`, `incomplete`, `pending`.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny { .. } => "deny",
            Self::Cancelled { .. } => "cancelled",
            Self::Incomplete { .. } => "incomplete",
            Self::Pending { .. } => "pending",
        }
    }

    /// Why, save for an allow.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Allow => None,
            Self::Deny { reason, .. }
            | Self::Cancelled { reason }
            | Self::Incomplete { reason }
            | Self::Pending { reason, .. } => Some(reason),
        }
    }
}

/// What one guard or hook had to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Its name in the policy.
    pub guard_name: String,
    /// Whether it let the call go on.
    pub verdict: bool,
    /// In its own words, or the host's for a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

/// Whether the receipt's arguments are the call's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RedactionMode {
    /// They are.
    #[default]
    None,
    /// Secret ones were replaced; the hash is of the true ones.
    Redacted,
}
