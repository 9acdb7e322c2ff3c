//! What a capability covers, and which of its grants a request falls under.

use serde::{Deserialize, Serialize};

use super::Constraint;
use crate::money::Money;

/// Stands for every server, or every tool.
pub const ANY: &str = "*";

/// What can be done with a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Run it.
    Invoke,
    /// Read what a run returned.
    ReadResult,
    /// Be told of changes.
    Subscribe,
    /// Hand the grant on, narrowed.
    Delegate,
}

/// The grants of a capability.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// Tool grants. Their order matters only between equals.
    #[serde(default)]
    pub grants: Vec<Grant>,
}

/// Permission to use one tool, or all tools of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// A server's name, or [`ANY`].
    pub server_id: String,
    /// A tool's name, or [`ANY`].
    pub tool_name: String,
    /// What may be done.
    pub operations: Vec<Operation>,
    /// What the arguments and the output must satisfy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<Constraint>,
    /// How many calls may be dispatched under this grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_invocations: Option<u64>,
    /// The most that one call may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_per_invocation: Option<Money>,
    /// The most that all calls under this grant may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_total_cost: Option<Money>,
    /// Whether each call must prove that its sender holds the subject's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dpop_required: Option<bool>,
}

impl Grant {
    /// Whether the request falls under this grant, constraints left aside.
    #[must_use]
    pub fn covers(&self, server: &str, tool: &str, operation: Operation) -> bool {
        let matches = |pattern: &str, name: &str| pattern == ANY || pattern == name;
        matches(&self.server_id, server) && matches(&self.tool_name, tool) && self.operations.contains(&operation)
    }

    /// How closely the grant names what it covers: exact server, then exact tool, then the number of constraints.
    fn specificity(&self) -> (bool, bool, usize) {
        (self.server_id != ANY, self.tool_name != ANY, self.constraints.len())
    }
}

impl Scope {
    /// The grant that decides a request: of those that cover it the most specific, and of equals the first. There is no
    /// falling through to another when this one refuses.
    #[must_use]
    pub fn select(&self, server: &str, tool: &str, operation: Operation) -> Option<(u32, &Grant)> {
        let mut best: Option<(u32, &Grant)> = None;
        for (index, grant) in (0_u32..).zip(&self.grants) {
            let better = best.is_none_or(|(_, b)| grant.specificity() > b.specificity());
            if better && grant.covers(server, tool, operation) {
                best = Some((index, grant));
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(server: &str, tool: &str, constraints: usize) -> Grant {
        Grant {
            server_id: server.into(),
            tool_name: tool.into(),
            operations: vec![Operation::Invoke],
            constraints: vec![Constraint::path_prefix("/"); constraints],
            max_invocations: None,
            max_cost_per_invocation: None,
            max_total_cost: None,
            dpop_required: None,
        }
    }

    fn selected(grants: Vec<Grant>) -> Option<u32> {
        Scope { grants }.select("s", "t", Operation::Invoke).map(|(i, _)| i)
    }

    #[test]
    fn the_most_specific_grant_decides_and_the_first_of_equals() {
        assert_eq!(selected(vec![grant("*", "*", 3), grant("s", "*", 0)]), Some(1));
        assert_eq!(selected(vec![grant("s", "*", 9), grant("s", "t", 0)]), Some(1));
        assert_eq!(selected(vec![grant("*", "t", 9), grant("s", "*", 0)]), Some(1));
        assert_eq!(selected(vec![grant("s", "t", 0), grant("s", "t", 1)]), Some(1));
        assert_eq!(selected(vec![grant("s", "t", 1), grant("s", "t", 1)]), Some(0));
        assert_eq!(selected(vec![grant("s", "other", 0), grant("x", "t", 0)]), None);
        let read = Grant { operations: vec![Operation::ReadResult], ..grant("s", "t", 0) };
        assert_eq!(selected(vec![read, grant("*", "*", 0)]), Some(1));
    }
}
