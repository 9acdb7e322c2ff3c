//! The ledgers from outside: one suite for all of them, and what only the one on disk has to survive.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod conformance;
mod damage;
mod folder;
mod kill;
mod reopen;
mod support;
mod volatile;
