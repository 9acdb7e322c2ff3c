//! A plugin's signature: its signer vouches for the component, the manifest and the fixtures together, so that none of them
//! can be exchanged for another, even one that the same signer signed.
//!
//! `NAME.signature.json` is the canonical JSON of a [`PluginSignature`] and a line's end, and nothing else is: a byte that the
//! signature does not cover could be changed.

use chio_host_kernel::canonical::{self, Bounds, printable, sha256_hex};
use chio_host_kernel::keys::{Keypair, PublicKey};
use serde::{Deserialize, Serialize};

use crate::parts::{Beside, MAX_SIGNATURE, Parts};

/// The one schema there is, and the domain of what is signed.
const SCHEMA: &str = "chio.plugin_signature.v1";

/// What is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignatureBody {
    /// `chio.plugin_signature.v1`.
    pub schema: String,
    /// The signer's public key, lower-case hex.
    pub signer: String,
    /// SHA-256 of the component, lower-case hex.
    pub component: String,
    /// SHA-256 of the manifest's bytes, lower-case hex.
    pub manifest: String,
    /// SHA-256 of the fixtures' bytes, lower-case hex; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixtures: Option<String>,
}

/// What stands in a signature file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginSignature {
    /// What was signed.
    pub body: SignatureBody,
    /// Ed25519 by the signer over the schema, NUL and the canonical JSON of the body, lower-case hex.
    pub signature: String,
}

/// One thing that is wrong with a plugin's signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureProblem {
    /// Nobody signed.
    #[error("no signature: there is no {file}")]
    Absent {
        /// The file that would hold it.
        file: String,
    },
    /// A file that is no signature.
    #[error("not a signature file: {0}")]
    Malformed(String),
    /// Something changed in the signature itself.
    #[error("signature invalid: {signer} did not sign what the signature file says")]
    Invalid {
        /// Who is said to have signed.
        signer: String,
    },
    /// Bytes that are not those that were signed.
    #[error("{what} altered: its SHA-256 is {found}, and {signed} was signed")]
    Altered {
        /// Component, manifest or fixtures.
        what: &'static str,
        /// What was signed.
        signed: String,
        /// What is there.
        found: String,
    },
    /// Something was signed that is not there.
    #[error("{} missing: it was signed, and there is no {file}", what.noun())]
    Gone {
        /// What.
        what: Beside,
        /// Where it should be.
        file: String,
    },
    /// Something is there that was not signed.
    #[error("{} not signed: {file} is not covered by the signature", what.noun())]
    Added {
        /// What.
        what: Beside,
        /// Which file.
        file: String,
    },
}

/// Signs a plugin's files as they are. `None` where there is no manifest: what a component asks for is signed with it.
#[must_use]
pub fn sign(parts: &Parts, signer: &Keypair) -> Option<PluginSignature> {
    let body = SignatureBody {
        schema: SCHEMA.to_owned(),
        signer: signer.public().hex().to_owned(),
        component: parts.digest.clone(),
        manifest: sha256_hex(parts.manifest.as_deref()?),
        fixtures: parts.fixtures.as_deref().map(sha256_hex),
    };
    let signature = signer.sign(&signed_bytes(&body));
    Some(PluginSignature { body, signature })
}

/// The public key of who signed a plugin's files, lower-case hex. Whether to trust it is the policy's to say.
///
/// # Errors
/// Everything that is wrong: at least one problem.
pub fn verify(parts: &Parts) -> Result<String, Vec<SignatureProblem>> {
    let Some(file) = &parts.signature else {
        return Err(vec![SignatureProblem::Absent { file: parts.file(Beside::Signature) }]);
    };
    let PluginSignature { body, signature } = PluginSignature::parse(file).map_err(|problem| vec![problem])?;
    let mut problems = Vec::new();
    let is_signed = PublicKey::from_hex(&body.signer).and_then(|key| key.verify(&signed_bytes(&body), &signature));
    if is_signed.is_err() {
        problems.push(SignatureProblem::Invalid { signer: printable(&body.signer, 64) });
    }
    if body.component != parts.digest {
        problems.push(SignatureProblem::Altered {
            what: "component",
            signed: printable(&body.component, 64),
            found: parts.digest.clone(),
        });
    }
    problems.extend(compare(parts, Beside::Manifest, Some(&body.manifest)));
    problems.extend(compare(parts, Beside::Fixtures, body.fixtures.as_ref()));
    if problems.is_empty() { Ok(body.signer) } else { Err(problems) }
}

/// Whether what stands beside a component is what was signed.
fn compare(parts: &Parts, what: Beside, signed: Option<&String>) -> Option<SignatureProblem> {
    let file = || parts.file(what);
    match (parts.beside(what).map(sha256_hex), signed) {
        (None, None) => None,
        (Some(found), Some(signed)) if found == *signed => None,
        (Some(found), Some(signed)) => {
            Some(SignatureProblem::Altered { what: what.noun(), signed: printable(signed, 64), found })
        }
        (None, Some(_)) => Some(SignatureProblem::Gone { what, file: file() }),
        (Some(_), None) => Some(SignatureProblem::Added { what, file: file() }),
    }
}

impl PluginSignature {
    /// The file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = canonical::to_vec(&serde_json::to_value(self).expect("a signature is plain data"));
        bytes.push(b'\n');
        bytes
    }

    /// Reads a file, of which every byte counts.
    ///
    /// # Errors
    /// It is no signature.
    pub fn parse(bytes: &[u8]) -> Result<Self, SignatureProblem> {
        const BOUNDS: Bounds = Bounds { bytes: MAX_SIGNATURE, depth: 4, values: 16 };
        let malformed = |why: &str| SignatureProblem::Malformed(printable(why, 200));
        let value = canonical::parse(bytes, BOUNDS).map_err(|e| malformed(&e.to_string()))?;
        let read: Self = serde_json::from_value(value).map_err(|e| malformed(&e.to_string()))?;
        if read.body.schema != SCHEMA {
            return Err(malformed(&format!("its schema is {:?}; {SCHEMA} is known", read.body.schema)));
        }
        if read.to_bytes() != bytes {
            return Err(malformed("it is not spelt as `plugin sign` spells it, byte by byte"));
        }
        Ok(read)
    }
}

fn signed_bytes(body: &SignatureBody) -> Vec<u8> {
    let mut bytes = SCHEMA.as_bytes().to_vec();
    bytes.push(0);
    bytes.extend(canonical::to_vec(&serde_json::to_value(body).expect("a body is plain data")));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Origin;

    fn parts() -> Parts {
        Parts {
            name: "p/x.wasm".to_owned(),
            origin: Origin::File("/p/x.wasm".into()),
            component: b"component".as_slice().into(),
            digest: sha256_hex(b"component"),
            manifest: Some(b"name: x\nkind: guard\n".to_vec()),
            signature: None,
            fixtures: Some(b"- a\n".to_vec()),
        }
    }

    fn signed(seed: u8) -> Parts {
        let mut parts = parts();
        parts.signature = sign(&parts, &Keypair::from_seed(&[seed; 32].into())).map(|s| s.to_bytes());
        parts
    }

    fn problems(parts: &Parts) -> String {
        verify(parts).unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    /// The format is what others verify against, so it is fixed here byte by byte.
    #[test]
    fn a_signature_is_over_its_domain_and_the_canonical_body() {
        let pair = Keypair::from_seed(&[7; 32].into());
        let signature = PluginSignature::parse(signed(7).signature.as_deref().unwrap()).unwrap();
        let body = format!(
            "{SCHEMA}\0{{\"component\":\"{}\",\"fixtures\":\"{}\",\"manifest\":\"{}\",\"schema\":\"{SCHEMA}\",\"signer\":\"{}\"}}",
            sha256_hex(b"component"),
            sha256_hex(b"- a\n"),
            sha256_hex(b"name: x\nkind: guard\n"),
            pair.public().hex(),
        );
        pair.public().verify(body.as_bytes(), &signature.signature).unwrap();
        assert_eq!(verify(&signed(7)).unwrap(), pair.public().hex());
    }

    #[test]
    fn every_changed_part_is_named() {
        type Change = fn(&mut Parts);
        let changes: [(Change, &str); 8] = [
            (|p| p.signature = None, "no signature: there is no p/x.signature.json"),
            (|p| p.digest = sha256_hex(b"other"), "component altered: its SHA-256 is "),
            (|p| p.manifest.as_mut().unwrap().push(b'\n'), "manifest altered: its SHA-256 is "),
            (|p| p.manifest = None, "manifest missing: it was signed, and there is no p/x.manifest.yaml"),
            (|p| p.fixtures.as_mut().unwrap().clear(), "fixtures altered: its SHA-256 is "),
            (|p| p.fixtures = None, "fixtures missing: it was signed, and there is no p/x.fixtures.yaml"),
            (|p| p.signature.as_mut().unwrap().push(b'\n'), "not a signature file: it is not spelt as"),
            (|p| p.signature = Some(b"{}".to_vec()), "not a signature file: missing field `body`"),
        ];
        for (change, expected) in changes {
            let mut parts = signed(7);
            change(&mut parts);
            let problems = problems(&parts);
            assert!(problems.starts_with(expected) && !problems.contains('\n'), "{expected}: {problems}");
        }
        let mut both = signed(7);
        (both.digest, both.manifest) = (sha256_hex(b"other"), None);
        assert_eq!(verify(&both).unwrap_err().len(), 2);
        let mut added = signed(7);
        added.fixtures = None;
        added.signature = sign(&added, &Keypair::from_seed(&[7; 32].into())).map(|s| s.to_bytes());
        assert!(verify(&added).is_ok());
        added.fixtures = Some(Vec::new());
        assert_eq!(problems(&added), "fixtures not signed: p/x.fixtures.yaml is not covered by the signature");
    }

    #[test]
    fn a_signature_fits_nobody_else_and_nothing_else() {
        let signature = |seed| PluginSignature::parse(signed(seed).signature.as_deref().unwrap()).unwrap();
        let mut parts = signed(7);
        // Another signer's name over this signature, and this signer's name over another's.
        for (named, made) in [(7, 8), (8, 7)] {
            let swapped = PluginSignature { body: signature(named).body, signature: signature(made).signature };
            parts.signature = Some(swapped.to_bytes());
            assert!(problems(&parts).starts_with("signature invalid: "), "{}", problems(&parts));
        }
        // The same bytes, signed under another domain.
        let pair = Keypair::from_seed(&[7; 32].into());
        let body = signature(7).body;
        let bare = canonical::to_vec(&serde_json::to_value(&body).unwrap());
        parts.signature = Some(PluginSignature { body, signature: pair.sign(&bare) }.to_bytes());
        assert!(problems(&parts).starts_with("signature invalid: "));
    }

    #[test]
    fn no_byte_of_the_file_can_change() {
        let good = signed(7);
        for at in 0..good.signature.as_ref().unwrap().len() {
            for change in [0x01, 0x20, 0x80] {
                let mut bad = good.clone();
                bad.signature.as_mut().unwrap()[at] ^= change;
                assert!(verify(&bad).is_err(), "byte {at} ^ {change:#x}");
            }
        }
    }
}
