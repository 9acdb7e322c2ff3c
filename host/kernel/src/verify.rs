//! Admitting a capability: who is asking, and whether it may.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::call::{Call, Snapshot};
use crate::capability::{CapabilityToken, Constraint, Grant, Unmet};
use crate::denial::Denial;
use crate::facts::Fact;
use crate::ledger::{Ledger, LedgerError, NonceKey};
use crate::reservation::RuntimeReservation;

/// How many verified tokens are remembered.
const REMEMBERED: usize = 1024;

/// Tokens whose signature was checked, by the digest of their bytes, until they expire. Everything but the signature is
/// checked again for every call.
#[derive(Default)]
pub(crate) struct VerifiedTokens(Mutex<HashMap<String, u64>>);

impl VerifiedTokens {
    fn verify(&self, token: &CapabilityToken, now: u64) -> Result<(), Denial> {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).contains_key(token.digest()) {
            return Ok(());
        }
        token.verify()?;
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.len() >= REMEMBERED {
            tokens.retain(|_, expires_at| *expires_at > now);
        }
        if tokens.len() < REMEMBERED {
            tokens.insert(token.digest().to_owned(), token.body().expires_at);
        }
        Ok(())
    }
}

/// Who is asking: the issuer is trusted, the signature is its own, and the caller is the subject. The schema was checked
/// when the token was read.
pub(crate) fn identify(call: &Call, trusted: &[String], tokens: &VerifiedTokens, now: u64) -> Result<(), Denial> {
    let body = call.capability.body();
    if !trusted.contains(&call.capability.root().body().issuer) {
        return Err(Denial::Issuer);
    }
    tokens.verify(&call.capability, now)?;
    if body.subject != call.agent {
        return Err(Denial::Subject { actual: call.agent.clone(), expected: body.subject.clone() });
    }
    Ok(())
}

/// Whether the token is good at this moment: `issued_at <= now < expires_at`.
pub(crate) fn in_time(token: &CapabilityToken, now: u64, max_ttl: u64) -> Result<(), Denial> {
    let body = token.body();
    if now < body.issued_at {
        return Err(Denial::NotYetValid);
    }
    if now >= body.expires_at {
        return Err(Denial::Expired);
    }
    let actual = body.expires_at - body.issued_at;
    if actual > max_ttl {
        return Err(Denial::Lifetime { actual, limit: max_ttl });
    }
    Ok(())
}

/// Whether the token was handed on no further than the policy allows, and narrowed at every hop.
pub(crate) fn delegation(token: &CapabilityToken, limit: u32) -> Result<(), Denial> {
    let depth = token.ancestors().len();
    if depth > limit as usize {
        let why = format!("it went through {depth} hands, and the policy's delegation_depth_limit is {limit}");
        return Err(Denial::Delegation(why));
    }
    token.check_attenuation().map_err(Denial::Delegation)
}

/// Whether the token, or one that it was derived from, was revoked: the one nearest to the root.
pub(crate) fn revoked(token: &CapabilityToken, ledger: &dyn Ledger) -> Result<Option<Denial>, LedgerError> {
    for ancestor in token.ancestors() {
        let id = &ancestor.body().id;
        if ledger.revoked_at(id)?.is_some() {
            return Ok(Some(Denial::AncestorRevoked { id: id.clone() }));
        }
    }
    let id = &token.body().id;
    Ok(ledger.revoked_at(id)?.map(|_| Denial::Revoked { id: id.clone() }))
}

/// Whether the call satisfies what the chosen grant asks of it. There is no other grant to fall through to. Answers the mark
/// that keeps the proof from being used again, where the grant asks for one.
pub(crate) fn satisfies(grant: &Grant, call: &Call, facts: &[Fact], now: u64) -> Result<Option<NonceKey>, Denial> {
    let proof = match &call.admission.proof {
        Some(proof) if grant.dpop_required == Some(true) => Some(proof.verify(call, now)),
        None if grant.dpop_required == Some(true) => {
            Some(Err("the grant asks for a proof, and none was presented".to_owned()))
        }
        _ => None,
    };
    let proof = proof.transpose().map_err(Denial::ProofOfPossession)?;
    let unmet = |unmet: Unmet| Denial::Constraint(unmet.to_string());
    grant.constraints.iter().try_for_each(|c| c.admit(&call.arguments, facts)).map_err(unmet)?;
    Ok(proof)
}

/// The digest that the output of a call under this grant must have.
pub(crate) fn output_digest(grant: &Grant) -> Option<String> {
    grant.constraints.iter().find_map(Constraint::expected_output_digest)
}

/// Whether the snapshot's call is free of everything that has to outlive the process.
pub(crate) fn leaves_nothing_to_lose(grant: &Grant, snapshot: &Snapshot) -> bool {
    grant.max_invocations.is_none()
        && snapshot.exposure.is_none()
        && grant.dpop_required != Some(true)
        && reservations(grant).is_empty()
}

/// The single-use ids that the grant names. Its constraints were checked before, so those that name one can be read.
pub(crate) fn reservations(grant: &Grant) -> Vec<RuntimeReservation> {
    grant.constraints.iter().filter_map(Constraint::reservation).collect()
}
