//! Every way in which the kernel refuses a call, with its exact reason and its stable code.

use crate::capability::CapabilityError;
use crate::nonce::NonceError;
use crate::ports::{Fault, Stop};

/// A refusal. Its text is the receipt's reason (design, section 13); [`Denial::code`] stays the same when texts change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// The token is past its end.
    #[error("capability has expired")]
    Expired,
    /// The token's time has not come.
    #[error("capability not yet valid")]
    NotYetValid,
    /// The token lives longer than the policy lets any live.
    #[error("capability lifetime of {actual} s is longer than the policy's {limit} s")]
    Lifetime {
        /// Seconds from issue to expiry.
        actual: u64,
        /// `kernel.max_capability_ttl`.
        limit: u64,
    },
    /// The token was revoked.
    #[error("capability has been revoked: {id}")]
    Revoked {
        /// Its id.
        id: String,
    },
    /// A token that it was derived from was revoked.
    #[error("delegation chain revoked at ancestor {id}")]
    AncestorRevoked {
        /// Its id.
        id: String,
    },
    /// The token is not what its issuer signed.
    #[error("capability signature is invalid")]
    Signature,
    /// The token's issuer may not issue.
    #[error("capability issuer is not a trusted CA")]
    Issuer,
    /// The token was issued to somebody else.
    #[error("request agent {actual} does not match capability subject {expected}")]
    Subject {
        /// Who asks.
        actual: String,
        /// Who may.
        expected: String,
    },
    /// No grant covers the request.
    #[error("requested tool {tool} on server {server} is not in capability scope")]
    OutOfScope {
        /// The tool.
        tool: String,
        /// The server.
        server: String,
    },
    /// The policy does not let the tool of another server call it.
    #[error(
        "requested tool {tool} on server {server} is not in capability scope of a tool of {by}; \
         servers.{by}.permissions.invoke: [{{ server: {server}, tool: {tool} }}] would grant it"
    )]
    NotInvocable {
        /// The tool.
        tool: String,
        /// Its server.
        server: String,
        /// Whose tool asked.
        by: String,
    },
    /// The token was handed on in a way that is not accepted.
    #[error("delegation admission failed: {0}")]
    Delegation(String),
    /// The chosen grant's constraint is not met, or cannot be enforced.
    #[error("invalid capability constraint: {0}")]
    Constraint(String),
    /// The chosen grant asks for a proof that is missing or wrong.
    #[error("DPoP proof verification failed: {0}")]
    ProofOfPossession(String),
    /// The grant has no invocation left.
    #[error("invocation budget exhausted for capability {id}")]
    InvocationsExhausted {
        /// The capability.
        id: String,
    },
    /// The grant's cap on all that it may spend leaves too little for the worst case of this call.
    #[error("cost budget exhausted for capability {id}")]
    CostExhausted {
        /// The capability.
        id: String,
    },
    /// Nothing pays for the call, or too little.
    #[error("durable admission failed: {0}")]
    Account(String),
    /// The payment rail did not do it.
    #[error("payment failed: {0}")]
    Payment(String),
    /// Somebody has used the single-use id, or is using it.
    #[error("durable admission failed: {0}")]
    Reserved(String),
    /// The nonce that was presented is not accepted.
    #[error("execution nonce rejected: {0}")]
    Nonce(#[from] NonceError),
    /// A human said no, or not what is asked now, or nothing in time.
    #[error("approval rejected: {0}")]
    Approval(String),
    /// There is no room for the call just now; its request id means nothing yet.
    #[error("durable admission failed: {0}")]
    Busy(&'static str),
    /// A guard said no, or its reservation could not be taken.
    #[error("guard denied the request: guard \"{name}\" denied the request")]
    Guard {
        /// Its name.
        name: String,
    },
    /// A guard broke, which is a no.
    #[error("guard denied the request: guard \"{name}\" error (fail-closed): {fault}")]
    GuardFault {
        /// Its name.
        name: String,
        /// How.
        fault: Fault,
    },
    /// The operation could not be recorded, or the request id is taken.
    #[error("durable admission failed: {0}")]
    Admission(String),
    /// In scope, but nobody offers it.
    #[error("tool not registered: {tool}")]
    NotRegistered {
        /// The tool.
        tool: String,
    },
    /// The tool was not entered, or failed.
    #[error("tool server error: {why}")]
    Tool {
        /// How.
        why: String,
        /// What stopped it, where something did.
        stop: Option<Stop>,
    },
    /// A stage took longer than it may.
    #[error("hot-path deadline exceeded at {stage}: budget {budget_ms}ms")]
    Deadline {
        /// Which.
        stage: &'static str,
        /// How long it may take.
        budget_ms: u128,
    },
    /// A hook withheld the output.
    #[error("output hook blocked the output: hook \"{name}\": {why}")]
    Hook {
        /// Its name.
        name: String,
        /// Its reason.
        why: String,
    },
    /// A hook broke, which withholds the output.
    #[error("output hook blocked the output: hook \"{name}\" error (fail-closed): {fault}")]
    HookFault {
        /// Its name.
        name: String,
        /// How.
        fault: Fault,
    },
    /// The output is not the one that the grant fixed.
    #[error("output digest {actual} does not match the digest {expected} that the grant fixes")]
    OutputDigest {
        /// SHA-256 of the output's canonical JSON.
        actual: String,
        /// The grant's.
        expected: String,
    },
}

impl Denial {
    /// `stage.kind`, stable across versions.
    #[must_use]
    pub fn code(&self) -> String {
        let code = match self {
            Self::Expired => "capability.expired",
            Self::NotYetValid => "capability.not_yet_valid",
            Self::Lifetime { .. } => "capability.lifetime",
            Self::Revoked { .. } => "capability.revoked",
            Self::AncestorRevoked { .. } => "capability.ancestor_revoked",
            Self::Signature => "capability.signature",
            Self::Issuer => "capability.issuer",
            Self::Subject { .. } => "capability.subject",
            Self::OutOfScope { .. } | Self::NotInvocable { .. } => "scope.tool",
            Self::Delegation(_) => "capability.delegation",
            Self::Constraint(_) => "scope.constraint",
            Self::ProofOfPossession(_) => "capability.proof_of_possession",
            Self::InvocationsExhausted { .. } => "budget.invocations",
            Self::CostExhausted { .. } => "budget.cost",
            Self::Account(_) => "budget.account",
            Self::Payment(_) => "budget.payment",
            Self::Reserved(_) => "admission.reserved",
            Self::Nonce(why) => return format!("nonce.{}", why.kind()),
            Self::Approval(_) => "approval.rejected",
            Self::Busy(_) => "admission.busy",
            Self::Guard { .. } => "guard.denied",
            Self::GuardFault { fault, .. } => return format!("guard.{}", fault.stop.as_str()),
            Self::Admission(_) => "admission.refused",
            Self::NotRegistered { .. } => "tool.not_registered",
            Self::Tool { stop, .. } => return format!("tool.{}", stop.map_or("error", Stop::as_str)),
            Self::Deadline { stage, .. } => return format!("{stage}.deadline"),
            Self::Hook { .. } => "hook.blocked",
            Self::HookFault { fault, .. } => return format!("hook.{}", fault.stop.as_str()),
            Self::OutputDigest { .. } => "output.digest",
        };
        code.to_owned()
    }

    /// What stopped a plugin, where something did.
    #[must_use]
    pub fn stop(&self) -> Option<Stop> {
        match self {
            Self::GuardFault { fault, .. } | Self::HookFault { fault, .. } => Some(fault.stop),
            Self::Tool { stop, .. } => *stop,
            _ => None,
        }
    }

    /// Who refused: a plugin's name, where one did.
    #[must_use]
    pub fn plugin(&self) -> Option<&str> {
        match self {
            Self::Guard { name }
            | Self::GuardFault { name, .. }
            | Self::Hook { name, .. }
            | Self::HookFault { name, .. } => Some(name),
            _ => None,
        }
    }
}

impl From<CapabilityError> for Denial {
    fn from(error: CapabilityError) -> Self {
        match error {
            CapabilityError::Issuer(_) => Self::Issuer,
            CapabilityError::Chain(why) | CapabilityError::Wider(why) => Self::Delegation(why),
            _ => Self::Signature,
        }
    }
}
