//! The execution nonce: a short-lived, single-use token that binds a hold to one call (the second seed, "Exactly once, and
//! what enforces it").
//!
//! It is signed when it leaves the process, for a caller to present again. One that is minted, reserved and consumed within
//! one evaluation never leaves, and its operation's record is proof enough of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical::{self, Bounds, printable};
use crate::keys::Keypair;
use crate::ledger::NonceKey;
use crate::operation::{NonceRef, Operation};

/// The one schema there is.
pub const SCHEMA: &str = "chio.execution_nonce.v1";

/// What is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NonceBody {
    /// [`SCHEMA`].
    pub schema: String,
    /// `nonce-` and a UUIDv7.
    pub nonce_id: String,
    /// Seconds since 1970.
    pub issued_at: u64,
    /// Seconds since 1970; the first moment it is no longer good.
    pub expires_at: u64,
    /// Who may present it: a public key, lower-case hex.
    pub subject: String,
    /// The caller's id of the call.
    pub request_id: String,
    /// The capability.
    pub capability_id: String,
    /// The tool server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// SHA-256 of the canonical arguments, lower-case hex.
    pub parameter_hash: String,
    /// The operation that waits for it.
    pub operation_id: String,
    /// The hold that it binds to the call.
    pub hold_id: String,
}

/// A nonce as it travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionNonce {
    /// What it binds.
    pub body: NonceBody,
    /// Ed25519 by the kernel over the canonical JSON of the body, lower-case hex.
    pub signature: String,
}

/// Why a nonce is not accepted, in the order in which it is checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NonceError {
    /// Not JSON of the right shape.
    #[error("not an execution nonce: {0}")]
    Malformed(String),
    /// Another schema.
    #[error("schema \"{0}\" is not supported; {SCHEMA} is")]
    Schema(String),
    /// Its time is over.
    #[error("it has expired")]
    Expired,
    /// It was made for something else.
    #[error("its {0} is not this call's")]
    Binding(&'static str),
    /// The kernel did not sign it.
    #[error("its signature is invalid")]
    Signature,
    /// It was presented before.
    #[error("it was used before")]
    Replayed,
    /// There is no room to remember that it was used.
    #[error("the store of nonces is full; try again later")]
    Full,
    /// No operation waits for it.
    #[error("no operation waits for it")]
    Unawaited,
}

impl NonceError {
    /// As it stands in stable codes: `nonce.expired`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::Schema(_) => "schema",
            Self::Expired => "expired",
            Self::Binding(_) => "binding",
            Self::Signature => "signature",
            Self::Replayed => "replayed",
            Self::Full => "full",
            Self::Unawaited => "unawaited",
        }
    }
}

impl ExecutionNonce {
    /// Reads a nonce.
    ///
    /// # Errors
    /// Not strict JSON, or unknown or missing fields.
    pub fn parse(text: &[u8]) -> Result<Self, NonceError> {
        let malformed = |e: String| NonceError::Malformed(printable(&e, 300));
        let value = canonical::parse(text, Bounds::RECORD).map_err(|e| malformed(e.to_string()))?;
        Self::from_json(value)
    }

    /// Reads a nonce that was parsed strictly before.
    ///
    /// # Errors
    /// Unknown or missing fields.
    pub fn from_json(value: Value) -> Result<Self, NonceError> {
        serde_json::from_value(value).map_err(|e| NonceError::Malformed(printable(&e.to_string(), 300)))
    }

    /// Signs the nonce of an operation that waits for it. The same operation always has the same one.
    pub(crate) fn of(operation: &Operation, signer: &Keypair) -> Option<Self> {
        let body = body(operation)?;
        let signature = signer.sign(&signed_bytes(&body));
        Some(Self { body, signature })
    }

    /// Checks everything but whether it was used before: schema, expiry, each binding in the order of the fields,
    /// signature. Whether it was used is the ledger's to say, when it is reserved.
    pub(crate) fn verify(&self, operation: &Operation, now: u64, signer: &Keypair) -> Result<NonceKey, NonceError> {
        if self.body.schema != SCHEMA {
            return Err(NonceError::Schema(printable(&self.body.schema, 64)));
        }
        if now >= self.body.expires_at {
            return Err(NonceError::Expired);
        }
        let expected = body(operation).ok_or(NonceError::Unawaited)?;
        let bindings: [(&'static str, &str, &str); 9] = [
            ("subject", &self.body.subject, &expected.subject),
            ("request", &self.body.request_id, &expected.request_id),
            ("capability", &self.body.capability_id, &expected.capability_id),
            ("server", &self.body.server, &expected.server),
            ("tool", &self.body.tool, &expected.tool),
            ("parameter hash", &self.body.parameter_hash, &expected.parameter_hash),
            ("operation", &self.body.operation_id, &expected.operation_id),
            ("hold", &self.body.hold_id, &expected.hold_id),
            ("id", &self.body.nonce_id, &expected.nonce_id),
        ];
        if let Some((what, ..)) = bindings.iter().find(|(_, presented, expected)| presented != expected) {
            return Err(NonceError::Binding(what));
        }
        signer.public().verify(&signed_bytes(&self.body), &self.signature).map_err(|_| NonceError::Signature)?;
        Ok(NonceKey { expires_at: self.body.expires_at, id: self.body.nonce_id.clone() })
    }
}

fn body(operation: &Operation) -> Option<NonceBody> {
    let NonceRef { id, issued_at, expires_at } = operation.participants.nonce.clone()?;
    let binding = &operation.binding;
    Some(NonceBody {
        schema: SCHEMA.to_owned(),
        nonce_id: id,
        issued_at,
        expires_at,
        subject: binding.subject.clone(),
        request_id: binding.request_id.as_str().to_owned(),
        capability_id: operation.admission.capability_id.clone(),
        server: binding.server.clone(),
        tool: binding.tool.clone(),
        parameter_hash: binding.parameter_hash.clone(),
        operation_id: operation.id.to_string(),
        hold_id: operation.participants.hold.clone()?,
    })
}

fn signed_bytes(body: &NonceBody) -> Vec<u8> {
    canonical::to_vec(&serde_json::to_value(body).expect("a body is plain data"))
}
