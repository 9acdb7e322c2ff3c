//! Attenuation: whether one scope allows nothing that another does not.

use super::{ANY, Grant, Operation, Scope};
use crate::canonical::printable;
use crate::money::Money;

impl Scope {
    /// Whether a capability of this scope may be derived from one of scope `parent`.
    ///
    /// A call is decided by the most specific grant that covers it, and by no other ([`Scope::select`]). So a grant is held
    /// against every grant of the parent that could have decided one of its calls, not against the widest.
    ///
    /// # Errors
    /// Says which grant is wider, and in what.
    pub fn attenuates(&self, parent: &Self) -> Result<(), String> {
        for (index, grant) in self.grants.iter().enumerate() {
            grant.within(parent).map_err(|why| format!("grant {index}: {why}"))?;
        }
        Ok(())
    }
}

impl Grant {
    fn within(&self, parent: &Scope) -> Result<(), String> {
        if self.operations.is_empty() {
            return Err("it allows nothing".to_owned());
        }
        for &operation in &self.operations {
            let deciding = self.deciding(parent, operation);
            if !deciding.iter().any(|grant| grant.names_at_least(self)) {
                let (server, tool) = (printable(&self.server_id, 64), printable(&self.tool_name, 64));
                return Err(format!("{operation:?} of {tool} on {server} is not in the parent's scope"));
            }
            deciding.into_iter().try_for_each(|grant| self.is_subset_of(grant))?;
        }
        Ok(())
    }

    /// The grants of the parent that decide what this one covers.
    fn deciding<'p>(&self, parent: &'p Scope, operation: Operation) -> Vec<&'p Grant> {
        if self.server_id != ANY && self.tool_name != ANY {
            let selected = parent.select(&self.server_id, &self.tool_name, operation);
            return selected.map(|(_, grant)| grant).into_iter().collect();
        }
        let meets = |own: &str, other: &str| own == ANY || other == ANY || own == other;
        let overlaps = |grant: &&Grant| {
            meets(&self.server_id, &grant.server_id)
                && meets(&self.tool_name, &grant.tool_name)
                && grant.operations.contains(&operation)
        };
        parent.grants.iter().filter(overlaps).collect()
    }

    fn names_at_least(&self, other: &Self) -> bool {
        let names = |own: &str, other: &str| own == ANY || own == other;
        names(&self.server_id, &other.server_id) && names(&self.tool_name, &other.tool_name)
    }

    /// Whether this grant allows no more than `parent` of what both cover, field by field.
    ///
    /// # Errors
    /// Says in what it allows more.
    pub fn is_subset_of(&self, parent: &Self) -> Result<(), String> {
        if !parent.operations.contains(&Operation::Delegate) {
            return Err("the parent's grant may not be handed on: it has no operation delegate".to_owned());
        }
        if let Some(more) = self.operations.iter().find(|o| !parent.operations.contains(o)) {
            return Err(format!("the parent's grant does not allow {more:?}"));
        }
        for constraint in &parent.constraints {
            if !self.constraints.iter().any(|own| own.implies(constraint)) {
                let kind = printable(&constraint.kind, 64);
                return Err(format!("the parent's constraint {kind} is missing, or wider here"));
            }
        }
        count_within("max_invocations", self.max_invocations, parent.max_invocations)?;
        let (own, wide) = (&self.max_cost_per_invocation, &parent.max_cost_per_invocation);
        cost_within("max_cost_per_invocation", own.as_ref(), wide.as_ref())?;
        cost_within("max_total_cost", self.max_total_cost.as_ref(), parent.max_total_cost.as_ref())?;
        if parent.dpop_required == Some(true) && self.dpop_required != Some(true) {
            return Err("the parent's grant asks for a proof of possession, and this one does not".to_owned());
        }
        Ok(())
    }
}

fn count_within(what: &str, own: Option<u64>, parent: Option<u64>) -> Result<(), String> {
    match (own, parent) {
        (None, Some(limit)) => Err(format!("{what} is missing, and the parent's is {limit}")),
        (Some(own), Some(limit)) if own > limit => Err(format!("{what} is {own}, and the parent's is {limit}")),
        _ => Ok(()),
    }
}

fn cost_within(what: &str, own: Option<&Money>, parent: Option<&Money>) -> Result<(), String> {
    match (own, parent) {
        (None, Some(limit)) => Err(format!("{what} is missing, and the parent's is {limit}")),
        (Some(own), Some(limit)) if own.currency != limit.currency || own.units > limit.units => {
            Err(format!("{what} is {own}, and the parent's is {limit}"))
        }
        _ => Ok(()),
    }
}
