//! The binary as its user meets it: what it prints, how it exits, what it leaves behind.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "it says which tests did not run")]

mod approvals;
mod attacks;
mod authoring;
mod bad_input;
mod compiling;
#[cfg(unix)]
mod control;
mod delegation;
mod demo;
mod full_check;
mod initialised;
mod inspecting;
#[cfg(target_os = "linux")]
mod killed;
mod limits;
mod money;
mod outbound;
mod packing;
mod permissions;
mod plain;
mod plugin;
mod policy_hash;
mod python;
mod readme;
mod recover;
mod reload;
mod session;
mod signing;
mod support;
mod table;
mod team;
mod walkthrough;
