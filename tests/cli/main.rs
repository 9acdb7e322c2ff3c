//! The binary as its user meets it: what it prints, how it exits, what it leaves behind.

mod bad_input;
mod demo;
mod full_check;
mod policy_hash;
mod python;
mod readme;
mod support;
mod walkthrough;
