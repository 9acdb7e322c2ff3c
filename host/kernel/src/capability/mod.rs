//! Capabilities: signed tokens that say what a caller may do.

mod attenuation;
mod constraint;
mod scope;
mod token;

pub use constraint::{Constraint, Unmet};
pub use scope::{ANY, Grant, Operation, Scope};
pub use token::{CapabilityBody, CapabilityError, CapabilityToken, DelegationLink, MAX_CHAIN, Narrower, SCHEMA};
