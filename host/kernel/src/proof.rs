//! Proof of possession: that whoever sends a call holds the key of the capability's subject, now, and for this call.
//!
//! Its use is remembered to its own last valid moment, which for one that is dated ahead lies later than for one that is
//! dated now.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::call::Call;
use crate::canonical::{self, Bounds, printable};
use crate::keys::{Keypair, PublicKey};
use crate::ledger::NonceKey;

/// The one schema there is.
pub const SCHEMA: &str = "chio.dpop_proof.v1";
/// How long a proof is good, in seconds.
pub const TTL_SECS: u64 = 60;
/// How far ahead of the host's clock a proof may be dated, in seconds.
pub const SKEW_SECS: u64 = 5;
/// The longest nonce, in bytes.
const MAX_NONCE: usize = 128;

/// What is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProofBody {
    /// [`SCHEMA`].
    pub schema: String,
    /// The capability.
    pub capability_id: String,
    /// The tool server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// SHA-256 of the canonical arguments, lower-case hex.
    pub parameter_hash: String,
    /// Fresh for each proof; 1 to 128 bytes.
    pub nonce: String,
    /// Seconds since 1970.
    pub issued_at: u64,
}

/// A proof as it travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProofOfPossession {
    /// What it binds.
    pub body: ProofBody,
    /// Ed25519 by the capability's subject over the canonical JSON of the body, lower-case hex.
    pub signature: String,
}

impl ProofOfPossession {
    /// A proof for this call, by the key of its caller.
    #[must_use]
    pub fn sign(call: &Call, nonce: String, issued_at: u64, subject: &Keypair) -> Self {
        let body = ProofBody {
            schema: SCHEMA.to_owned(),
            capability_id: call.capability.body().id.clone(),
            server: call.server.clone(),
            tool: call.tool.clone(),
            parameter_hash: call.arguments.hash().to_owned(),
            nonce,
            issued_at,
        };
        let signature = subject.sign(&signed_bytes(&body));
        Self { body, signature }
    }

    /// Reads a proof.
    ///
    /// # Errors
    /// Says why it is none.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let value = canonical::parse(text, Bounds::ARGUMENTS).map_err(|e| e.to_string())?;
        Self::from_value(value)
    }

    /// The same for JSON that was parsed strictly before.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn from_value(value: Value) -> Result<Self, String> {
        serde_json::from_value(value).map_err(|e| printable(&e.to_string(), 200))
    }

    /// Checks it against the call: schema, bindings in the order of the body, time, signature. Answers the mark that keeps it
    /// from being used again.
    pub(crate) fn verify(&self, call: &Call, now: u64) -> Result<NonceKey, String> {
        let body = &self.body;
        if body.schema != SCHEMA {
            return Err(format!("schema \"{}\" is not supported; {SCHEMA} is", printable(&body.schema, 64)));
        }
        for (what, own, expected) in [
            ("capability", body.capability_id.as_str(), call.capability.body().id.as_str()),
            ("server", &body.server, &call.server),
            ("tool", &body.tool, &call.tool),
            ("parameter hash", &body.parameter_hash, call.arguments.hash()),
        ] {
            if own != expected {
                return Err(format!("its {what} is not this call's"));
            }
        }
        if body.nonce.is_empty() || body.nonce.len() > MAX_NONCE {
            return Err("its nonce is not 1 to 128 bytes".to_owned());
        }
        if body.issued_at > now.saturating_add(SKEW_SECS) {
            return Err("it is dated ahead".to_owned());
        }
        let expires_at = body.issued_at.saturating_add(TTL_SECS);
        if now >= expires_at {
            return Err("it has expired".to_owned());
        }
        let subject = &call.capability.body().subject;
        let key = PublicKey::from_hex(subject).map_err(|e| e.to_string())?;
        key.verify(&signed_bytes(body), &self.signature).map_err(|_| "its signature is invalid".to_owned())?;
        let mut id = Sha256::new();
        id.update(subject.as_bytes());
        id.update([0]);
        id.update(body.nonce.as_bytes());
        Ok(NonceKey { expires_at, id: format!("proof-{}", hex::encode(id.finalize())) })
    }
}

fn signed_bytes(body: &ProofBody) -> Vec<u8> {
    let mut bytes = SCHEMA.as_bytes().to_vec();
    bytes.push(0);
    bytes.extend(canonical::to_vec(&serde_json::to_value(body).expect("a body is plain data")));
    bytes
}
