//! Whose components may take part, and which never: the one gate between a plugin's files and a policy in force.

use std::sync::Arc;

use serde::Serialize;

use crate::parts::{Beside, Parts};
use crate::policy::{Component, Origin};
use crate::problem::quote;
use crate::signature::{self, SignatureProblem};

/// `plugins`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Trust {
    /// Public keys of those whose components may take part, lower-case hex, sorted.
    pub signers: Vec<String>,
    /// Whether a component of whom nobody knows who made it may take part.
    pub allow_unsigned: bool,
    /// Digests of components that may not, whoever signed them, sorted.
    pub blocklist: Vec<String>,
}

/// Why a component may not take part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Its digest is on the blocklist.
    #[error("is blocked: the policy's blocklist has its digest, {0}; use another version of it")]
    Blocked(String),
    /// Nobody signed it, and the policy does not say that this may be.
    #[error("is not signed: there is no {}; sign it with `plugin sign`", quote(file))]
    Unsigned {
        /// The file that would hold a signature.
        file: String,
    },
    /// Its signature does not hold.
    #[error("{0}")]
    Signature(SignatureProblem),
    /// A signer that the policy does not list.
    #[error("is signed by {0}, whom the policy does not trust")]
    Untrusted(String),
    /// Another signer than the one that its entry names.
    #[error("is signed by {found}, and not by the signer that is named here")]
    Signer {
        /// Who signed.
        found: String,
    },
}

impl Trust {
    /// Whether it is what holds for a policy without the section.
    pub(crate) fn says_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Lets a component take part. Built-ins are the host's own binary and need no signature; the blocklist holds for them
    /// too. `signer` is the one that its entry names: nobody else will do.
    ///
    /// A signature that is there holds, even where none is needed: one that does not is a change that nobody vouches for.
    ///
    /// # Errors
    /// Everything that speaks against it: at least one refusal.
    pub fn admit(&self, parts: &Parts, signer: Option<&str>) -> Result<Component, Vec<Refusal>> {
        let mut refusals = Vec::new();
        if self.blocklist.contains(&parts.digest) {
            refusals.push(Refusal::Blocked(parts.digest.clone()));
        }
        let signed_by = match &parts.origin {
            Origin::Builtin(_) => None,
            Origin::File(_) => self.signed_by(parts, signer).unwrap_or_else(|found| {
                refusals.extend(found);
                None
            }),
        };
        if !refusals.is_empty() {
            return Err(refusals);
        }
        Ok(Component {
            bytes: parts.component.clone(),
            digest: parts.digest.clone(),
            origin: parts.origin.clone(),
            fixtures: parts.fixtures.as_deref().map(Arc::from),
            signed_by,
        })
    }

    fn signed_by(&self, parts: &Parts, signer: Option<&str>) -> Result<Option<String>, Vec<Refusal>> {
        if parts.signature.is_none() {
            if signer.is_none() && self.allow_unsigned {
                return Ok(None);
            }
            return Err(vec![Refusal::Unsigned { file: parts.file(Beside::Signature) }]);
        }
        let found = signature::verify(parts)
            .map_err(|problems| problems.into_iter().map(Refusal::Signature).collect::<Vec<_>>())?;
        match signer {
            Some(wanted) if wanted != found => Err(vec![Refusal::Signer { found }]),
            None if !self.allow_unsigned && !self.signers.contains(&found) => Err(vec![Refusal::Untrusted(found)]),
            _ => Ok(Some(found)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chio_host_kernel::canonical::sha256_hex;

    use super::*;

    #[test]
    fn what_is_let_in_are_the_very_bytes_that_were_checked() {
        let parts = Parts {
            name: "x.wasm".to_owned(),
            origin: Origin::File("/x.wasm".into()),
            component: b"component".as_slice().into(),
            digest: sha256_hex(b"component"),
            manifest: None,
            signature: None,
            fixtures: None,
        };
        let trust = Trust { allow_unsigned: true, ..Trust::default() };
        let component = trust.admit(&parts, None).unwrap();
        assert!(Arc::ptr_eq(&component.bytes, &parts.component));
        assert!(Trust::default().admit(&parts, None).is_err());
        assert!(trust.admit(&parts, Some("00")).is_err(), "its entry names a signer");
    }
}
