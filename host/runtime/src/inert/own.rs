//! What the inert WASI answers by itself: time, randomness, and streams that lead nowhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};
use wasmtime::component::Resource;
use wasmtime::{Result, bail};
use wasmtime_wasi::p2::bindings::{cli, clocks, random};
use wasmtime_wasi::p2::{DynOutputStream, DynPollable, Pollable, subscribe};

use super::Inert;
use crate::lines::Lines;

/// The most random bytes of one request.
const MAX_RANDOM: u64 = 64 << 10;
/// What the random numbers are made of: the same for every guest and every call.
const SEED: &[u8] = b"chio-host: the random numbers of guards and hooks";
const NANOSECONDS: u64 = 1_000_000_000;

impl Inert {
    /// The next 32 random bytes.
    fn draw(&mut self) -> [u8; 32] {
        self.drawn += 1;
        Sha256::new().chain_update(SEED).chain_update(self.drawn.to_be_bytes()).finalize().into()
    }

    fn random_u64(&mut self) -> u64 {
        self.draw().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn random_bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        if length > MAX_RANDOM {
            bail!("{length} random bytes at once; at most {MAX_RANDOM} are given");
        }
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < length {
            bytes.extend_from_slice(&self.draw());
        }
        bytes.truncate(usize::try_from(length)?);
        Ok(bytes)
    }

    fn wait_until(&mut self, when: u64) -> Result<Resource<DynPollable>> {
        let timer = self.table.push(Timer { when, waited: self.waited.clone() })?;
        subscribe(&mut self.table, timer)
    }

    fn stream(&mut self) -> Result<Resource<DynOutputStream>> {
        // What is written is counted and forgotten, save where somebody debugs a guest.
        let say = |line: &str| tracing::debug!(target: "chio::plugin", "{line}");
        let stream: DynOutputStream = Box::new(Lines { budget: self.stdio.clone(), say });
        Ok(self.table.push(stream)?)
    }
}

/// Nanoseconds that the guest has waited, which is all that moves its clocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Waited(Arc<AtomicU64>);

impl Waited {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn until(&self, when: u64) {
        self.0.fetch_max(when, Ordering::Relaxed);
    }
}

/// A moment of the monotonic clock. To wait for it takes no time: the clock moves there, so that a guest that waits for a
/// moment finds it come.
struct Timer {
    when: u64,
    waited: Waited,
}

#[wasmtime_wasi::async_trait]
impl Pollable for Timer {
    async fn ready(&mut self) {
        self.waited.until(self.when);
    }
}

impl clocks::monotonic_clock::Host for Inert {
    fn now(&mut self) -> Result<u64> {
        Ok(self.waited.get())
    }

    fn resolution(&mut self) -> Result<u64> {
        Ok(1)
    }

    fn subscribe_instant(&mut self, when: u64) -> Result<Resource<DynPollable>> {
        self.wait_until(when)
    }

    fn subscribe_duration(&mut self, when: u64) -> Result<Resource<DynPollable>> {
        self.wait_until(self.waited.get().saturating_add(when))
    }
}

impl clocks::wall_clock::Host for Inert {
    fn now(&mut self) -> Result<clocks::wall_clock::Datetime> {
        let waited = self.waited.get();
        Ok(clocks::wall_clock::Datetime {
            seconds: self.time.saturating_add(waited / NANOSECONDS),
            // Less than a second, which fits.
            nanoseconds: u32::try_from(waited % NANOSECONDS)?,
        })
    }

    fn resolution(&mut self) -> Result<clocks::wall_clock::Datetime> {
        Ok(clocks::wall_clock::Datetime { seconds: 0, nanoseconds: 1 })
    }
}

impl random::random::Host for Inert {
    fn get_random_bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        self.random_bytes(length)
    }

    fn get_random_u64(&mut self) -> Result<u64> {
        Ok(self.random_u64())
    }
}

impl random::insecure::Host for Inert {
    fn get_insecure_random_bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        self.random_bytes(length)
    }

    fn get_insecure_random_u64(&mut self) -> Result<u64> {
        Ok(self.random_u64())
    }
}

impl random::insecure_seed::Host for Inert {
    fn insecure_seed(&mut self) -> Result<(u64, u64)> {
        Ok((self.random_u64(), self.random_u64()))
    }
}

impl cli::stdout::Host for Inert {
    fn get_stdout(&mut self) -> Result<Resource<DynOutputStream>> {
        self.stream()
    }
}

impl cli::stderr::Host for Inert {
    fn get_stderr(&mut self) -> Result<Resource<DynOutputStream>> {
        self.stream()
    }
}
