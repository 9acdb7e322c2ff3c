//! Capabilities that are handed on, humans who approve, tools that call tools. Test names begin with the number of their case
//! in the list of what has to survive, where they have one.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod approvals;
mod delegation;
mod nested;
mod proofs;
mod rails;
