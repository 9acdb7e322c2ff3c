//! What survives: dropped, panicked and killed calls, races, money, nonces, recovery. Every test ends with the same
//! invariants (`chio_host_tests::invariants`). The numbers in names are those of the cases in the project's list.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod crash;
mod crash_people;
#[cfg(target_os = "linux")]
mod disk_full;
mod drops;
mod model;
mod money;
mod nonces;
mod races;
mod recovery;
mod reservations;
mod succession;
mod world;
