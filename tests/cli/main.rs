//! The binary as its user meets it: what it prints, how it exits, what it leaves behind.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "it says which tests did not run")]

mod bad_input;
mod demo;
mod full_check;
mod policy_hash;
mod python;
mod readme;
mod support;
mod walkthrough;
