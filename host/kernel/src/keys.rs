//! Ed25519 keys: how they are written, read, and kept out of logs.

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use zeroize::Zeroizing;

/// Why a key or signature is not one.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum KeyError {
    /// Not lower-case hex of the right length.
    #[error("{what} is not {want} lower-case hex digits")]
    Hex {
        /// Key or signature.
        what: &'static str,
        /// How many digits there should be.
        want: usize,
    },
    /// Bytes that are no point of the curve, or one of the few whose signatures prove nothing (ed25519-dalek#130).
    #[error("the public key is not usable: {0}")]
    Weak(&'static str),
    /// The signature does not match.
    #[error("the signature does not match")]
    Mismatch,
}

/// Hex in one spelling only, so that a changed letter case is a changed signature.
fn bytes_of<const N: usize>(what: &'static str, text: &str) -> Result<[u8; N], KeyError> {
    let mut bytes = [0; N];
    let error = KeyError::Hex { what, want: N * 2 };
    if text.bytes().any(|b| b.is_ascii_uppercase()) || hex::decode_to_slice(text, &mut bytes).is_err() {
        return Err(error);
    }
    Ok(bytes)
}

/// A public key that signatures can be checked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    key: VerifyingKey,
    hex: String,
}

impl PublicKey {
    /// Reads 64 lower-case hex digits.
    ///
    /// # Errors
    /// Not hex, not a point, or a weak key.
    pub fn from_hex(text: &str) -> Result<Self, KeyError> {
        let bytes = bytes_of::<32>("the public key", text)?;
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| KeyError::Weak("it is no point of the curve"))?;
        if key.is_weak() {
            return Err(KeyError::Weak("it is a weak point, for which anybody can make signatures"));
        }
        Ok(Self { key, hex: text.to_owned() })
    }

    /// 64 lower-case hex digits.
    #[must_use]
    pub fn hex(&self) -> &str {
        &self.hex
    }

    /// Checks a signature of 128 lower-case hex digits, strictly (RFC 8032 with the cofactor-free check).
    ///
    /// # Errors
    /// Not hex, or no signature of these bytes by this key.
    pub fn verify(&self, bytes: &[u8], signature: &str) -> Result<(), KeyError> {
        let signature = Signature::from_bytes(&bytes_of::<64>("the signature", signature)?);
        self.key.verify_strict(bytes, &signature).map_err(|_| KeyError::Mismatch)
    }
}

/// A private key. Zeroised when dropped; its `Debug` shows the public half only.
#[derive(Clone)]
pub struct Keypair {
    signing: SigningKey,
    public: PublicKey,
}

impl Keypair {
    /// The key that a 32-byte seed stands for (RFC 8032).
    #[must_use]
    pub fn from_seed(seed: &Zeroizing<[u8; 32]>) -> Self {
        let signing = SigningKey::from_bytes(seed);
        let key = signing.verifying_key();
        Self { signing, public: PublicKey { key, hex: hex::encode(key.as_bytes()) } }
    }

    /// A new key from the system's randomness.
    ///
    /// # Errors
    /// The system has none to give.
    pub fn generate() -> Result<(Self, Zeroizing<[u8; 32]>), getrandom::Error> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut())?;
        Ok((Self::from_seed(&seed), seed))
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The signature of some bytes, in lower-case hex.
    #[must_use]
    pub fn sign(&self, bytes: &[u8]) -> String {
        hex::encode(self.signing.sign(bytes).to_bytes())
    }
}

impl std::fmt::Debug for Keypair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keypair({})", self.public.hex)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_keys_and_other_spellings_are_refused() {
        let identity = format!("01{}", "00".repeat(31));
        assert!(matches!(PublicKey::from_hex(&identity), Err(KeyError::Weak(_))));
        let (pair, _) = Keypair::generate().unwrap();
        assert!(PublicKey::from_hex(pair.public().hex()).is_ok());
        assert!(matches!(PublicKey::from_hex(&pair.public().hex()[1..]), Err(KeyError::Hex { .. })));
        let signature = pair.sign(b"x");
        assert_eq!(pair.public().verify(b"x", &signature), Ok(()));
        assert_eq!(pair.public().verify(b"y", &signature), Err(KeyError::Mismatch));
        if signature.to_uppercase() != signature {
            assert!(pair.public().verify(b"x", &signature.to_uppercase()).is_err());
        }
    }

    #[test]
    fn a_private_key_is_not_printed() {
        let seed = Zeroizing::new([7; 32]);
        assert_eq!(
            format!("{:?}", Keypair::from_seed(&seed)),
            "Keypair(ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c)"
        );
    }
}
