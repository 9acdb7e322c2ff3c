//! Signing: the id is the hash of the canonical body, the signature covers both.

use serde_json::Value;

use super::ReceiptBody;
use crate::canonical;
use crate::keys::Keypair;

/// A receipt as it is stored and shown.
#[derive(Clone, Debug, PartialEq)]
pub struct SignedReceipt {
    id: String,
    body: ReceiptBody,
    record: Value,
}

impl SignedReceipt {
    /// Signs a body.
    #[must_use]
    pub fn sign(body: ReceiptBody, kernel: &Keypair) -> Self {
        let mut record = serde_json::to_value(&body).expect("a receipt is plain data");
        let identity = canonical::to_vec(&record);
        let id = canonical::sha256_hex(&identity);
        let signature = kernel.sign(&signed_bytes(&identity, &id));
        record["id"] = id.clone().into();
        record["signature"] = signature.into();
        Self { id, body, record }
    }

    /// Reads a record that this host stored. What it says is checked by [`super::verify`], not here.
    ///
    /// # Errors
    /// The record is not of this host's shape.
    pub fn from_record(record: Value) -> Result<Self, serde_json::Error> {
        let body = serde::Deserialize::deserialize(&record)?;
        let id = record["id"].as_str().unwrap_or_default().to_owned();
        Ok(Self { id, body, record })
    }

    /// SHA-256 of the canonical body, lower-case hex.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The identity fields.
    #[must_use]
    pub fn body(&self) -> &ReceiptBody {
        &self.body
    }

    /// The whole record: body, id and signature.
    #[must_use]
    pub fn record(&self) -> &Value {
        &self.record
    }
}

/// Canonical JSON of `{"body":…,"id":…}`, put together from bytes that are canonical already.
pub(super) fn signed_bytes(identity: &[u8], id: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(identity.len() + id.len() + 20);
    bytes.extend_from_slice(b"{\"body\":");
    bytes.extend_from_slice(identity);
    bytes.extend_from_slice(b",\"id\":\"");
    bytes.extend_from_slice(id.as_bytes());
    bytes.extend_from_slice(b"\"}");
    bytes
}
