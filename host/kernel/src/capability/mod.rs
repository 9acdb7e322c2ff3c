//! Capabilities: signed tokens that say what a caller may do.

mod constraint;
mod scope;
mod token;

pub use constraint::{Constraint, Unmet};
pub use scope::{ANY, Grant, Operation, Scope};
pub use token::{CapabilityBody, CapabilityError, CapabilityToken, SCHEMA};
