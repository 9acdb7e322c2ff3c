//! What the tests that cross crates share: a host in a few lines, with a clock that they set.

pub mod fixture;
pub mod generations;
pub mod hostile;
pub mod invariants;
pub mod ledgers;
pub mod native;
pub mod polling;
pub mod rail;

pub use fixture::{Fixture, FixtureBuilder, TestClock, grant};
pub use ledgers::TestLedger;
pub use native::{NativeGuard, NativeHook, NativeServer};
