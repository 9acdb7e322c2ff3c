//! The token: a body, and the issuer's signature over its canonical JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Scope;
use crate::canonical::{self, Bounds};
use crate::keys::{KeyError, Keypair, PublicKey};

/// The one schema there is.
pub const SCHEMA: &str = "chio.capability.v1";

/// The most links above a token, whatever a policy allows: each is verified with all those above it.
pub const MAX_CHAIN: usize = 16;

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
    /// The links above it, from the root on; empty for a direct one. At most [`MAX_CHAIN`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delegation_chain: Vec<DelegationLink>,
}

/// A capability that another was derived from: all of it but its own chain, which is the links before it. So a chain is
/// verified offline, hop by hop, with the root issuer's key alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegationLink {
    /// [`SCHEMA`].
    pub schema: String,
    /// Its id.
    pub id: String,
    /// Public key of who signed it, lower-case hex: for all but the first, the subject of the link before.
    pub issuer: String,
    /// Public key of who could use it, lower-case hex.
    pub subject: String,
    /// What it covers.
    pub scope: Scope,
    /// Seconds since 1970.
    pub issued_at: u64,
    /// Seconds since 1970.
    pub expires_at: u64,
    /// Its issuer's signature.
    pub signature: String,
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
    /// The chain above it does not hold together.
    #[error("delegation: {0}")]
    Chain(String),
    /// It would allow more than the one that it is derived from.
    #[error("{0}")]
    Wider(String),
}

/// A capability as it travels: body and signature. Its signature has not been checked yet; [`CapabilityToken::verify`]
/// does, and the kernel always does.
#[derive(Clone, Debug)]
pub struct CapabilityToken {
    body: CapabilityBody,
    signature: String,
    signed: Vec<u8>,
    digest: String,
    /// Those that it was derived from, from the root on.
    ancestors: Vec<Self>,
}

impl CapabilityToken {
    /// Signs a body.
    #[must_use]
    pub fn issue(body: CapabilityBody, issuer: &Keypair) -> Self {
        let signed = signed_bytes(&body);
        let signature = issuer.sign(&signed);
        Self::assemble(body, signature, signed)
    }

    /// Derives a narrower capability for somebody else. `holder` is this one's subject; nobody else is asked.
    ///
    /// # Errors
    /// It would allow more than this one, live longer, or be one hop too many; or the holder is not this one's subject.
    pub fn attenuate(&self, narrower: Narrower, holder: &Keypair) -> Result<Self, CapabilityError> {
        let mut chain = self.body.delegation_chain.clone();
        chain.push(self.to_link());
        let body = CapabilityBody {
            schema: SCHEMA.to_owned(),
            id: narrower.id,
            issuer: holder.public().hex().to_owned(),
            subject: narrower.subject,
            scope: narrower.scope,
            issued_at: narrower.issued_at,
            expires_at: narrower.expires_at,
            delegation_chain: chain,
        };
        let token = Self::issue(body, holder);
        if token.ancestors.len() > MAX_CHAIN {
            return Err(CapabilityError::Chain(format!("it is longer than {MAX_CHAIN} links")));
        }
        token.continues(self)?;
        token.narrows(self).map_err(CapabilityError::Wider)?;
        Ok(token)
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
        let ids = body.delegation_chain.iter().map(|link| &link.id).chain([&body.id]);
        for id in ids {
            if id.is_empty() || id.len() > 256 || id.chars().any(char::is_control) {
                return Err(malformed("its id, or that of a link, is empty, too long, or not printable".into()));
            }
        }
        if body.delegation_chain.len() > MAX_CHAIN {
            return Err(malformed(format!("its delegation chain has more than {MAX_CHAIN} links")));
        }
        let signed = signed_bytes(&body);
        Ok(Self::assemble(body, signature, signed))
    }

    fn assemble(body: CapabilityBody, signature: String, signed: Vec<u8>) -> Self {
        let mut all = signed.clone();
        all.extend_from_slice(signature.as_bytes());
        let ancestors = (0..body.delegation_chain.len()).map(|i| Self::of_link(&body.delegation_chain, i)).collect();
        Self { body, signature, digest: canonical::sha256_hex(&all), signed, ancestors }
    }

    /// The token that a link stands for. It knows its ancestors as links alone: each is looked at by itself.
    fn of_link(chain: &[DelegationLink], index: usize) -> Self {
        let (before, link) = (&chain[..index], &chain[index]);
        let body = CapabilityBody {
            schema: link.schema.clone(),
            id: link.id.clone(),
            issuer: link.issuer.clone(),
            subject: link.subject.clone(),
            scope: link.scope.clone(),
            issued_at: link.issued_at,
            expires_at: link.expires_at,
            delegation_chain: before.to_vec(),
        };
        let signed = signed_bytes(&body);
        let mut all = signed.clone();
        all.extend_from_slice(link.signature.as_bytes());
        let (signature, digest) = (link.signature.clone(), canonical::sha256_hex(&all));
        Self { body, signature, digest, signed, ancestors: Vec::new() }
    }

    fn to_link(&self) -> DelegationLink {
        let body = &self.body;
        DelegationLink {
            schema: body.schema.clone(),
            id: body.id.clone(),
            issuer: body.issuer.clone(),
            subject: body.subject.clone(),
            scope: body.scope.clone(),
            issued_at: body.issued_at,
            expires_at: body.expires_at,
            signature: self.signature.clone(),
        }
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

    /// The capabilities that this one was derived from, from the root on.
    #[must_use]
    pub fn ancestors(&self) -> &[Self] {
        &self.ancestors
    }

    /// The one that a trusted issuer has to have signed: the first of the chain.
    #[must_use]
    pub fn root(&self) -> &Self {
        self.ancestors.first().unwrap_or(self)
    }

    /// What its budget is counted under. The id of one that was handed on is chosen by whoever did that, who must not be able
    /// to name somebody else's; its digest nobody chooses.
    #[must_use]
    pub fn budget_id(&self) -> String {
        if self.body.delegation_chain.is_empty() {
            canonical::printable(&self.body.id, 256)
        } else {
            format!("delegated:{}", self.digest)
        }
    }

    /// Checks the signature against the issuer that the body names, and so for every link of the chain, each of which was
    /// signed by the subject of the one before. Whether the root's issuer is trusted is another question, and so is
    /// [what they allow](Self::check_attenuation).
    ///
    /// # Errors
    /// No usable issuer key, not its signature, or a chain that does not hold together.
    pub fn verify(&self) -> Result<(), CapabilityError> {
        self.verify_own()?;
        for (i, ancestor) in self.ancestors.iter().enumerate() {
            let of_link =
                |why: CapabilityError| CapabilityError::Chain(format!("link {i}, {}: {why}", shown(ancestor)));
            ancestor.verify_own().map_err(of_link)?;
            if ancestor.body.schema != SCHEMA {
                return Err(of_link(CapabilityError::Schema(canonical::printable(&ancestor.body.schema, 64))));
            }
            self.ancestors.get(i + 1).unwrap_or(self).continues(ancestor)?;
        }
        Ok(())
    }

    fn verify_own(&self) -> Result<(), CapabilityError> {
        let issuer = PublicKey::from_hex(&self.body.issuer).map_err(CapabilityError::Issuer)?;
        issuer.verify(&self.signed, &self.signature).map_err(|_| CapabilityError::Signature)
    }

    fn continues(&self, parent: &Self) -> Result<(), CapabilityError> {
        if self.body.issuer == parent.body.subject {
            return Ok(());
        }
        Err(CapabilityError::Chain(format!("{} was not signed by the subject of {}", shown(self), shown(parent))))
    }

    /// Whether no link of the chain allows more than the one before, in scope and in time.
    ///
    /// # Errors
    /// Says which link does, and in what.
    pub fn check_attenuation(&self) -> Result<(), String> {
        for (i, parent) in self.ancestors.iter().enumerate() {
            let child = self.ancestors.get(i + 1).unwrap_or(self);
            child.narrows(parent).map_err(|why| format!("{} is wider than {}: {why}", shown(child), shown(parent)))?;
        }
        Ok(())
    }

    fn narrows(&self, parent: &Self) -> Result<(), String> {
        let (own, wide) = (&self.body, &parent.body);
        if own.issued_at < wide.issued_at {
            return Err(format!("it is good from {}, and its parent from {}", own.issued_at, wide.issued_at));
        }
        if own.expires_at > wide.expires_at {
            return Err(format!("it expires at {}, and its parent at {}", own.expires_at, wide.expires_at));
        }
        own.scope.attenuates(&wide.scope)
    }

    /// The token as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut value = serde_json::to_value(&self.body).expect("a body is plain data");
        value["signature"] = self.signature.clone().into();
        value
    }
}

/// What a capability that is derived from another says.
#[derive(Clone, Debug)]
pub struct Narrower {
    /// Its id.
    pub id: String,
    /// Who may use it: a public key, lower-case hex.
    pub subject: String,
    /// What it covers.
    pub scope: Scope,
    /// Seconds since 1970.
    pub issued_at: u64,
    /// Seconds since 1970.
    pub expires_at: u64,
}

fn shown(token: &CapabilityToken) -> String {
    canonical::printable(&token.body.id, 80)
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
