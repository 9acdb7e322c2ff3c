//! Constraints of a grant. Each is enforced, or the call is refused because it is not.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical::printable;
use crate::facts::{Fact, FactKind, normalise};
use crate::reservation::RuntimeReservation;

/// One condition of a grant, as it is signed: a type and, mostly, a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// `path_prefix`, `output_digest_sha256`, `runtime_reservation`, or a type that this host does not know.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the type says it is.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub value: Value,
}

/// Why a constraint is not met.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Unmet {
    /// The host has no way to enforce it, so nothing passes it.
    #[error("constraint {0} is not one that this host enforces")]
    Unknown(String),
    /// Its value makes no sense.
    #[error("constraint {0} needs {1}")]
    Value(&'static str, &'static str),
    /// The call does not satisfy it.
    #[error("{0}")]
    Violated(String),
}

const PATH_PREFIX: &str = "path_prefix";
const OUTPUT_DIGEST: &str = "output_digest_sha256";
const RESERVATION: &str = "runtime_reservation";

impl Constraint {
    /// Every path in the call's arguments lies at or below `prefix`.
    #[must_use]
    pub fn path_prefix(prefix: &str) -> Self {
        Self { kind: PATH_PREFIX.into(), value: prefix.into() }
    }

    /// The output's canonical JSON has this SHA-256.
    #[must_use]
    pub fn output_digest(sha256_hex: &str) -> Self {
        Self { kind: OUTPUT_DIGEST.into(), value: sha256_hex.into() }
    }

    /// Checks what can be checked before the call runs.
    ///
    /// # Errors
    /// The constraint is violated, malformed, or unknown.
    pub fn admit(&self, facts: &[Fact]) -> Result<(), Unmet> {
        match self.kind.as_str() {
            PATH_PREFIX => self.admit_paths(facts),
            OUTPUT_DIGEST => self.expected_output_digest().map(|_| ()),
            // Taken at admission, for as long as the call may have run.
            RESERVATION => self.reservation().map(|_| ()),
            other => Err(Unmet::Unknown(printable(other, 64))),
        }
    }

    /// The digest that the output must have, where this is such a constraint.
    ///
    /// # Errors
    /// The value is no digest.
    pub fn expected_output_digest(&self) -> Result<Option<&str>, Unmet> {
        if self.kind != OUTPUT_DIGEST {
            return Ok(None);
        }
        let is_digest = |d: &&str| d.len() == 64 && d.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let digest = self.value.as_str().filter(is_digest);
        digest.map(Some).ok_or(Unmet::Value(OUTPUT_DIGEST, "64 lower-case hex digits"))
    }

    /// The single-use id that a call under the grant takes, where this is such a constraint.
    ///
    /// # Errors
    /// The value names none.
    pub fn reservation(&self) -> Result<Option<RuntimeReservation>, Unmet> {
        if self.kind != RESERVATION {
            return Ok(None);
        }
        let needs = "{ kind: destructive_lease | treaty_continuation | swarm_continuation, id: … }";
        let named = serde_json::from_value::<RuntimeReservation>(self.value.clone()).ok().filter(|r| r.of.is_none());
        named.map(Some).ok_or(Unmet::Value(RESERVATION, needs))
    }

    /// A call takes this single-use id.
    #[must_use]
    pub fn takes(reservation: &RuntimeReservation) -> Self {
        let value = serde_json::to_value(reservation).expect("a reservation is plain data");
        Self { kind: RESERVATION.into(), value }
    }

    fn admit_paths(&self, facts: &[Fact]) -> Result<(), Unmet> {
        let prefix = self.value.as_str().and_then(normalise).ok_or(Unmet::Value(PATH_PREFIX, "a path"))?;
        let mut seen = false;
        for fact in facts {
            if let FactKind::Path(path) = &fact.kind {
                seen = true;
                let inside = path.normalised.as_deref().is_some_and(|p| is_within(p, &prefix));
                if !inside {
                    return Err(Unmet::Violated(format!("path {} is not under {prefix}", printable(&path.raw, 128))));
                }
            }
        }
        // A rule on an argument that is not there must not turn a refusal into a pass.
        if seen { Ok(()) } else { Err(Unmet::Violated(format!("no argument is known to be a path under {prefix}"))) }
    }
}

/// Whether a normalised path is `folder` or lies below it, compared step by step.
fn is_within(path: &str, folder: &str) -> bool {
    match folder {
        "/" => path.starts_with('/'),
        "." => !path.starts_with('/') && !path.starts_with(".."),
        _ => path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::facts::{ArgumentFact, ArgumentKind, extract};

    fn admit(prefix: &str, path: &str) -> Result<(), Unmet> {
        let described = [ArgumentFact { at: "/path".into(), is: ArgumentKind::Path }];
        Constraint::path_prefix(prefix).admit(&extract(&json!({ "path": path }), &described))
    }

    #[test]
    fn a_prefix_ends_at_a_step() {
        assert_eq!(admit("/data/", "/data/x"), Ok(()));
        assert_eq!(admit("/data", "/data"), Ok(()));
        for outside in ["/data-evil/x", "/data/../etc", "/etc", "data/x", "%2e%2e/data"] {
            assert!(matches!(admit("/data", outside), Err(Unmet::Violated(_))), "{outside}");
        }
    }

    #[test]
    fn what_cannot_be_enforced_is_refused() {
        let unknown = Constraint { kind: "phase_of_moon".into(), value: Value::Null };
        assert!(matches!(unknown.admit(&[]), Err(Unmet::Unknown(_))));
        assert!(matches!(Constraint::path_prefix("/x").admit(&[]), Err(Unmet::Violated(_))));
        assert!(matches!(Constraint::output_digest("abc").admit(&[]), Err(Unmet::Value(..))));
    }
}
