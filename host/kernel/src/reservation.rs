//! Runtime reservations: single-use ids that stand for something outside the host which must happen at most once.
//!
//! A grant or a call's admission metadata names one; admission takes it durably. A call that provably never ran gives it
//! back. After dispatch it is kept, because giving it back would license a second effect (the second seed, "After
//! dispatch, the call is recorded"); an operator who knows better releases it.

use serde::{Deserialize, Serialize};

/// The longest id, in bytes.
const MAX_ID: usize = 256;

/// What a reservation stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReservationKind {
    /// Leave to destroy something once.
    DestructiveLease,
    /// The next step of an agreement between hosts.
    TreatyContinuation,
    /// The next step of a plan that several agents share.
    SwarmContinuation,
}

impl ReservationKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::DestructiveLease, Self::TreatyContinuation, Self::SwarmContinuation];

    /// The kind of this name.
    ///
    /// # Errors
    /// There is none; says which there are.
    pub fn named(name: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(Self::as_str).join(", ");
        Self::ALL.into_iter().find(|k| k.as_str() == name).ok_or_else(|| format!("a kind is one of {}", known()))
    }

    /// As records and receipts spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DestructiveLease => "destructive_lease",
            Self::TreatyContinuation => "treaty_continuation",
            Self::SwarmContinuation => "swarm_continuation",
        }
    }
}

/// One single-use id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeReservation {
    /// What it stands for.
    pub kind: ReservationKind,
    /// Which.
    pub id: ReservationId,
    /// The caller that named it, by its public key; none for one that a grant names. What a caller names is its own: it
    /// cannot use up what somebody else's grant stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
}

/// An id of 1 to 256 bytes without control characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ReservationId(String);

impl ReservationId {
    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ReservationId {
    type Error = &'static str;

    fn try_from(id: String) -> Result<Self, Self::Error> {
        if id.is_empty() || id.len() > MAX_ID || id.chars().any(char::is_control) {
            return Err("a reservation's id is 1 to 256 bytes without control characters");
        }
        Ok(Self(id))
    }
}

impl From<ReservationId> for String {
    fn from(id: ReservationId) -> Self {
        id.0
    }
}

impl RuntimeReservation {
    /// A reservation of this kind.
    ///
    /// # Errors
    /// An id that no record could hold safely.
    pub fn new(kind: ReservationKind, id: impl Into<String>) -> Result<Self, &'static str> {
        Ok(Self { kind, id: ReservationId::try_from(id.into())?, of: None })
    }
}

impl RuntimeReservation {
    /// The same, as this caller names it.
    #[must_use]
    pub(crate) fn named_by(&self, caller: &str) -> Self {
        Self { of: Some(caller.to_owned()), ..self.clone() }
    }
}

impl std::fmt::Display for RuntimeReservation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind.as_str(), self.id.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_could_break_a_log_is_refused() {
        for bad in ["", "a\nb", &"x".repeat(MAX_ID + 1)] {
            assert!(RuntimeReservation::new(ReservationKind::DestructiveLease, bad).is_err());
        }
        let text = r#"{"kind":"treaty_continuation","id":"t-1"}"#;
        let read: RuntimeReservation = serde_json::from_str(text).unwrap();
        assert_eq!(read.to_string(), "treaty_continuation t-1");
        for kind in ReservationKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }
}
