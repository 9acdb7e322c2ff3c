//! What an output hook answers.

use crate::{HookVerdict, Redaction, Removal};

impl HookVerdict {
    /// The output goes on as it is.
    #[must_use]
    pub fn allow() -> Self {
        Self::Allow
    }

    /// The output is withheld, for this reason.
    #[must_use]
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block(reason.into())
    }

    /// The output is withheld until a human releases it.
    #[must_use]
    pub fn escalate(reason: impl Into<String>) -> Self {
        Self::Escalate(reason.into())
    }

    /// The output is replaced. `what` pairs the kind of what was taken out with how often; never the value itself.
    #[must_use]
    pub fn redact(value: &serde_json::Value, what: impl IntoIterator<Item = (String, u32)>) -> Self {
        Self::Redact(Redaction {
            value: value.to_string(),
            what: what.into_iter().map(|(kind, count)| Removal { kind, count }).collect(),
        })
    }
}
