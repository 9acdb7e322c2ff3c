//! Verifying: of any record in the format, whoever wrote it, fields that this host does not know included.

use serde_json::Value;

use super::signed::signed_bytes;
use crate::canonical::{self, Bounds};
use crate::keys::PublicKey;

/// What a receipt that verifies proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The content address.
    pub id: String,
    /// Public key of the kernel that signed, lower-case hex. Whether it is one's own is the caller's question.
    pub kernel_key: String,
}

/// What is wrong with a receipt.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ReceiptError {
    /// Not a JSON object written as one compact line.
    #[error("not a receipt: {0}")]
    Malformed(String),
    /// A field that every receipt has is missing or of another type.
    #[error("the receipt has no \"{0}\"")]
    Missing(&'static str),
    /// The id is not the hash of the body: something in the body was changed.
    #[error("the id is {claimed}, but the body hashes to {actual}")]
    Id {
        /// As it stands in the record.
        claimed: String,
        /// As it should be.
        actual: String,
    },
    /// The arguments do not hash to `parameter_hash`, though nothing says that they were redacted.
    #[error("the parameters do not hash to the parameter_hash")]
    Parameters,
    /// An algorithm other than Ed25519.
    #[error("algorithm \"{0}\" is not supported; ed25519 is")]
    Algorithm(String),
    /// The key is unusable or the signature is not its.
    #[error("signature by {key}: {why}")]
    Signature {
        /// The key that the receipt names.
        key: String,
        /// What is wrong.
        why: String,
    },
}

/// Verifies one line of a JSON Lines export, without its newline.
///
/// # Errors
/// Says what is wrong. White space around or between the tokens is wrong as well: an export is compact, and a byte that
/// nothing vouches for is a byte that was changed.
pub fn verify_line(line: &[u8]) -> Result<Verified, ReceiptError> {
    let malformed = |why: String| ReceiptError::Malformed(canonical::printable(&why, 200));
    let value = canonical::parse(line, Bounds::RECORD).map_err(|e| malformed(e.to_string()))?;
    let compact = serde_json::to_vec(&value).map_err(|e| malformed(e.to_string()))?;
    if compact.len() != line.len() {
        return Err(malformed("the line is not compact JSON".into()));
    }
    verify(&value)
}

/// Verifies a receipt: its id, its signature by the key that it names, and its parameter hash.
///
/// # Errors
/// Says what is wrong.
pub fn verify(record: &Value) -> Result<Verified, ReceiptError> {
    let mut body = record.clone();
    let Some(fields) = body.as_object_mut() else {
        return Err(ReceiptError::Malformed("it is no object".into()));
    };
    let id = take_text(fields.remove("id"), "id")?;
    let signature = take_text(fields.remove("signature"), "signature")?;
    if let Some(algorithm) = fields.remove("algorithm")
        && algorithm != "ed25519"
    {
        return Err(ReceiptError::Algorithm(canonical::printable(&algorithm.to_string(), 48)));
    }
    let kernel_key = take_text(fields.get("kernel_key").cloned(), "kernel_key")?;

    let identity = canonical::to_vec(&body);
    let actual = canonical::sha256_hex(&identity);
    if actual != id {
        return Err(ReceiptError::Id { claimed: canonical::printable(&id, 80), actual });
    }
    verify_parameters(&body)?;
    PublicKey::from_hex(&kernel_key)
        .and_then(|key| key.verify(&signed_bytes(&identity, &id), &signature))
        .map_err(|e| ReceiptError::Signature { key: canonical::printable(&kernel_key, 80), why: e.to_string() })?;
    Ok(Verified { id, kernel_key })
}

fn verify_parameters(body: &Value) -> Result<(), ReceiptError> {
    let action = body.get("action").ok_or(ReceiptError::Missing("action"))?;
    let parameters = action.get("parameters").ok_or(ReceiptError::Missing("action.parameters"))?;
    let redacted = body["redaction_mode"] != "none";
    if redacted || action["parameter_hash"] == canonical::hash(parameters).as_str() {
        Ok(())
    } else {
        Err(ReceiptError::Parameters)
    }
}

fn take_text(value: Option<Value>, name: &'static str) -> Result<String, ReceiptError> {
    match value {
        Some(Value::String(text)) => Ok(text),
        _ => Err(ReceiptError::Missing(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Keypair;
    use crate::receipt::SignedReceipt;

    const FOREIGN: &[u8] = include_bytes!("../../../../tests/vectors/foreign-receipts.jsonl");

    fn published() -> Value {
        serde_json::from_str(include_str!("../../../../tests/vectors/receipts.json")).unwrap()
    }

    #[test]
    fn published_receipts_verify_and_are_made_again_byte_for_byte() {
        for case in published()["receipts"].as_array().unwrap() {
            let record = &case["receipt"];
            let verified = verify(record).unwrap();
            let mut identity = record.clone();
            identity.as_object_mut().unwrap().retain(|k, _| k != "id" && k != "signature");
            let signed = signed_bytes(&canonical::to_vec(&identity), &verified.id);
            assert_eq!(signed.len() as u64, case["signed_bytes"].as_u64().unwrap());
            assert_eq!(canonical::sha256_hex(&signed), case["signed_sha256"].as_str().unwrap());
            let read = SignedReceipt::from_record(record.clone()).unwrap();
            assert_eq!(serde_json::to_value(read.body()).unwrap(), identity);
            if record["kernel_key"] == Keypair::from_seed(&[7; 32].into()).public().hex() {
                let again = SignedReceipt::sign(read.body().clone(), &Keypair::from_seed(&[7; 32].into()));
                assert_eq!(again.record(), record);
            }
        }
    }

    #[test]
    fn another_kernels_receipts_verify() {
        let lines: Vec<_> = FOREIGN.split(|b| *b == b'\n').filter(|l| !l.is_empty()).collect();
        assert!(lines.len() > 1);
        for line in lines {
            verify_line(line).unwrap();
        }
    }

    #[test]
    fn a_changed_byte_anywhere_is_refused() {
        let line = FOREIGN.split(|b| *b == b'\n').next().unwrap();
        for i in 0..line.len() {
            for flip in [0x01, 0x20] {
                let mut changed = line.to_vec();
                changed[i] ^= flip;
                assert!(verify_line(&changed).is_err(), "byte {i} ^ {flip:#x}");
            }
        }
        for padded in [[b" ", line].concat(), [line, b" "].concat(), [line, b"\r"].concat()] {
            assert!(verify_line(&padded).is_err());
        }
    }
}
