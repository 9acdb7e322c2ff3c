//! The token: a body, and the issuer's signature over its canonical JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Scope;
use crate::canonical::{self, Bounds};
use crate::keys::{KeyError, Keypair, PublicKey};

/// The one schema there is.
pub const SCHEMA: &str = "chio.capability.v1";

/// What is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapabilityBody {
    /// [`SCHEMA`].
    pub schema: String,
    /// `cap-` and a UUIDv7, by custom; any printable text.
    pub id: String,
    /// Public key of who signed, lower-case hex.
    pub issuer: String,
    /// Public key of who may use it, lower-case hex.
    pub subject: String,
    /// What it covers.
    pub scope: Scope,
    /// Seconds since 1970; the first moment it is good.
    pub issued_at: u64,
    /// Seconds since 1970; the first moment it is not.
    pub expires_at: u64,
    /// The links above it, from the root on; empty for a direct one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegation_chain: Vec<Value>,
}

/// Why a text is no capability, or one that cannot be believed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CapabilityError {
    /// Not JSON of the right shape.
    #[error("not a capability token: {0}")]
    Malformed(String),
    /// Another schema.
    #[error("capability schema \"{0}\" is not supported; {SCHEMA} is")]
    Schema(String),
    /// The issuer's key is no key.
    #[error("capability issuer: {0}")]
    Issuer(KeyError),
    /// The signature is not the issuer's.
    #[error("capability signature is invalid")]
    Signature,
}

/// A capability as it travels: body and signature. Its signature has not been checked yet; [`CapabilityToken::verify`]
/// does, and the kernel always does.
#[derive(Clone, Debug)]
pub struct CapabilityToken {
    body: CapabilityBody,
    signature: String,
    signed: Vec<u8>,
    digest: String,
}

impl CapabilityToken {
    /// Signs a body.
    #[must_use]
    pub fn issue(body: CapabilityBody, issuer: &Keypair) -> Self {
        let signed = signed_bytes(&body);
        let signature = issuer.sign(&signed);
        Self::assemble(body, signature, signed)
    }

    /// Reads a token.
    ///
    /// # Errors
    /// Not strict JSON, unknown or missing fields, another schema.
    pub fn parse(text: &[u8]) -> Result<Self, CapabilityError> {
        let malformed = |e: String| CapabilityError::Malformed(canonical::printable(&e, 300));
        let mut value = canonical::parse(text, Bounds::RECORD).map_err(|e| malformed(e.to_string()))?;
        let signature = value.as_object_mut().and_then(|o| o.remove("signature"));
        let Some(Value::String(signature)) = signature else {
            return Err(malformed("it has no signature".into()));
        };
        let body: CapabilityBody = serde_json::from_value(value).map_err(|e| malformed(e.to_string()))?;
        if body.schema != SCHEMA {
            return Err(CapabilityError::Schema(canonical::printable(&body.schema, 64)));
        }
        if body.id.is_empty() || body.id.len() > 256 || body.id.chars().any(char::is_control) {
            return Err(malformed("its id is empty, too long, or not printable".into()));
        }
        let signed = signed_bytes(&body);
        Ok(Self::assemble(body, signature, signed))
    }

    fn assemble(body: CapabilityBody, signature: String, signed: Vec<u8>) -> Self {
        let mut all = signed.clone();
        all.extend_from_slice(signature.as_bytes());
        Self { body, signature, digest: canonical::sha256_hex(&all), signed }
    }

    /// What it says.
    #[must_use]
    pub fn body(&self) -> &CapabilityBody {
        &self.body
    }

    /// SHA-256 over body and signature, lower-case hex: what a verified token is remembered by.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Checks the signature against the issuer that the body names. Whether that issuer is trusted is another question.
    ///
    /// # Errors
    /// No usable issuer key, or not its signature.
    pub fn verify(&self) -> Result<(), CapabilityError> {
        let issuer = PublicKey::from_hex(&self.body.issuer).map_err(CapabilityError::Issuer)?;
        issuer.verify(&self.signed, &self.signature).map_err(|_| CapabilityError::Signature)
    }

    /// The token as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut value = serde_json::to_value(&self.body).expect("a body is plain data");
        value["signature"] = self.signature.clone().into();
        value
    }
}

fn signed_bytes(body: &CapabilityBody) -> Vec<u8> {
    canonical::to_vec(&serde_json::to_value(body).expect("a body is plain data"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn published() -> Value {
        let vectors: Value = serde_json::from_str(include_str!("../../../../tests/vectors/receipts.json")).unwrap();
        vectors["capabilities"][0].clone()
    }

    fn parse(value: &Value) -> Result<CapabilityToken, CapabilityError> {
        CapabilityToken::parse(&serde_json::to_vec(value).unwrap())
    }

    #[test]
    fn the_published_token_verifies_byte_for_byte() {
        let published = published();
        let token = parse(&published["token"]).unwrap();
        assert_eq!(token.verify(), Ok(()));
        assert_eq!(canonical::sha256_hex(&token.signed), published["signed_sha256"].as_str().unwrap());
        assert_eq!(canonical::hash(&token.to_json()), canonical::hash(&published["token"]));
    }

    #[test]
    fn a_token_that_was_touched_does_not() {
        let mut wider = published()["token"].clone();
        wider["scope"]["grants"][0]["max_invocations"] = json!(300);
        assert_eq!(parse(&wider).unwrap().verify(), Err(CapabilityError::Signature));
        let mut unknown = published()["token"].clone();
        unknown["scope"]["grants"][0]["surprise"] = json!(1);
        assert!(parse(&unknown).unwrap_err().to_string().contains("surprise"));
        let mut other = published()["token"].clone();
        other["schema"] = json!("chio.capability.v2");
        assert!(matches!(parse(&other), Err(CapabilityError::Schema(_))));
    }
}
