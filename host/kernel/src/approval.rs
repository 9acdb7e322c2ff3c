//! Approvals: a human's word about one parked call, or about one withheld output.
//!
//! A host shows an [`ApprovalRequest`]; an approver signs it, with a key that the policy lists and the host does not have; the
//! host believes the signature and nothing beside it. What is signed names everything that the approval is about, so it
//! fits no other call, and not this one once anything of it has changed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical::{self, Bounds, printable};
use crate::keys::{Keypair, PublicKey};
use crate::money::Money;

/// The one schema there is.
pub const SCHEMA: &str = "chio.approval.v1";
/// The longest reason, in bytes.
pub const MAX_BECAUSE: usize = 1000;
/// How far ahead of the host's clock an approval may be dated, in seconds.
const SKEW_SECS: u64 = 60;

/// What an approver decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalDecision {
    /// The call may run, or the output be released.
    Approved,
    /// It may not.
    Denied,
}

/// What a decision is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalSubject {
    /// Running a call.
    Call,
    /// Releasing what a call returned.
    Output,
}

/// Who asked for a human: a guard, an output hook, or a constraint of the capability.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asker {
    /// Its name in the policy; `capability` for a constraint.
    pub name: String,
    /// SHA-256 of the component, or of the grant, lower-case hex.
    pub digest: String,
}

/// What an approver is asked, and signs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRequest {
    /// Call or output.
    pub about: ApprovalSubject,
    /// The operation that waits.
    pub operation_id: String,
    /// The caller's id of the call.
    pub request_id: String,
    /// The caller's public key, lower-case hex.
    pub subject: String,
    /// The tool server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// SHA-256 of the chosen grant's canonical JSON, lower-case hex.
    pub grant_hash: String,
    /// SHA-256 of the canonical arguments, lower-case hex.
    pub parameter_hash: String,
    /// The policy in force.
    pub policy_hash: String,
    /// Who asked.
    pub asked_by: Vec<Asker>,
    /// The most that the call may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Money>,
    /// SHA-256 of the withheld output's canonical JSON, lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_hash: Option<String>,
}

/// What is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalBody {
    /// [`SCHEMA`].
    pub schema: String,
    /// `approval-` and a UUIDv7, by custom; any printable text.
    pub id: String,
    /// The approver's public key, lower-case hex.
    pub approver: String,
    /// What was decided.
    pub decision: ApprovalDecision,
    /// About what.
    pub request: ApprovalRequest,
    /// Seconds since 1970.
    pub issued_at: u64,
    /// Seconds since 1970; the first moment it is no longer good.
    pub expires_at: u64,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// An approval as it travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalToken {
    /// What was decided.
    pub body: ApprovalBody,
    /// Ed25519 by the approver over [`SCHEMA`], NUL and the canonical JSON of the body, lower-case hex.
    pub signature: String,
}

/// Why an approval is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalError {
    /// Not JSON of the right shape.
    #[error("not an approval: {0}")]
    Malformed(String),
    /// Another schema.
    #[error("schema \"{0}\" is not supported; {SCHEMA} is")]
    Schema(String),
    /// The policy does not list whoever signed.
    #[error("{0} is not one of the policy's approvers")]
    Approver(String),
    /// Whoever asks for the call says yes to it.
    #[error("a caller does not approve its own calls")]
    Own,
    /// Its time is over, or has not come.
    #[error("it is not good at this time")]
    Time,
    /// It is about something else.
    #[error("its {0} is not what waits")]
    Binding(&'static str),
    /// The approver did not sign it.
    #[error("its signature is invalid")]
    Signature,
}

impl ApprovalToken {
    /// Signs a decision.
    #[must_use]
    pub fn sign(body: ApprovalBody, approver: &Keypair) -> Self {
        let signature = approver.sign(&signed_bytes(&body));
        Self { body, signature }
    }

    /// Reads an approval.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &[u8]) -> Result<Self, ApprovalError> {
        let value = canonical::parse(text, Bounds::ARGUMENTS).map_err(|e| ApprovalError::Malformed(e.to_string()))?;
        Self::from_value(value)
    }

    /// The same for JSON that was parsed strictly before.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn from_value(value: Value) -> Result<Self, ApprovalError> {
        let malformed = |e: String| ApprovalError::Malformed(printable(&e, 200));
        let token: Self = serde_json::from_value(value).map_err(|e| malformed(e.to_string()))?;
        let texts = [Some(&token.body.id), token.body.because.as_ref()];
        let is_bad = |text: &String| text.is_empty() || text.len() > MAX_BECAUSE || text.chars().any(char::is_control);
        if texts.into_iter().flatten().any(is_bad) {
            return Err(malformed("its id or its reason is empty, too long, or not printable".to_owned()));
        }
        Ok(token)
    }

    /// The token as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("an approval is plain data")
    }

    /// Checks it against what waits: schema, approver, time, every binding in the order of the request, signature.
    pub(crate) fn verify(&self, waits: &ApprovalRequest, approvers: &[String], now: u64) -> Result<(), ApprovalError> {
        let body = &self.body;
        if body.schema != SCHEMA {
            return Err(ApprovalError::Schema(printable(&body.schema, 64)));
        }
        if !approvers.contains(&body.approver) {
            return Err(ApprovalError::Approver(printable(&body.approver, 80)));
        }
        if body.approver == waits.subject {
            return Err(ApprovalError::Own);
        }
        if body.issued_at > now.saturating_add(SKEW_SECS) || now >= body.expires_at {
            return Err(ApprovalError::Time);
        }
        if let Some(other) = body.request.differs_from(waits) {
            return Err(ApprovalError::Binding(other));
        }
        let key = PublicKey::from_hex(&body.approver).map_err(|_| ApprovalError::Signature)?;
        key.verify(&signed_bytes(body), &self.signature).map_err(|_| ApprovalError::Signature)
    }
}

impl ApprovalRequest {
    /// The first part in which it is about something else than `waits`. Fewer askers than signed for, and a lower cost, are
    /// within what was approved.
    fn differs_from(&self, waits: &Self) -> Option<&'static str> {
        let cost_is_within = match (&self.max_cost, &waits.max_cost) {
            (_, None) => true,
            (Some(most), Some(cost)) => most.currency == cost.currency && cost.units <= most.units,
            (None, Some(_)) => false,
        };
        [
            ("subject matter", self.about == waits.about),
            ("operation", self.operation_id == waits.operation_id),
            ("request id", self.request_id == waits.request_id),
            ("subject", self.subject == waits.subject),
            ("server", self.server == waits.server),
            ("tool", self.tool == waits.tool),
            ("grant", self.grant_hash == waits.grant_hash),
            ("parameter hash", self.parameter_hash == waits.parameter_hash),
            ("policy", self.policy_hash == waits.policy_hash),
            ("guard", waits.asked_by.iter().all(|asker| self.asked_by.contains(asker))),
            ("maximum cost", cost_is_within),
            ("output", self.output_hash == waits.output_hash),
        ]
        .into_iter()
        .find_map(|(what, same)| (!same).then_some(what))
    }
}

fn signed_bytes(body: &ApprovalBody) -> Vec<u8> {
    let mut bytes = SCHEMA.as_bytes().to_vec();
    bytes.push(0);
    bytes.extend(canonical::to_vec(&serde_json::to_value(body).expect("a body is plain data")));
    bytes
}
