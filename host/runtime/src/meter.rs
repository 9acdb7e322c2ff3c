//! What a run has used of what the engine does not count by itself, and which limit it reached first.
//!
//! In a guest, a refused page of memory looks like a trap like any other (wasmtime#3772), so the meter's own record
//! decides which limit is named.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use chio_host_kernel::ports::Stop;
use wasmtime::{ResourceLimiter, Result, format_err};

use crate::limits::{Limits, size};

/// A store's state that has a meter.
pub(crate) trait Metered: Send + 'static {
    fn meter(&mut self) -> &mut Meter;
}

/// The first limit that a run reached. Shared with the streams that the run writes to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reached(Arc<OnceLock<Stop>>);

impl Reached {
    /// Records the limit, and returns the error that stops the guest.
    fn stop(&self, limit: Stop) -> wasmtime::Error {
        self.0.get_or_init(|| limit);
        format_err!("the limit on {} is reached", limit.as_str())
    }

    /// Which it was.
    pub(crate) fn which(&self) -> Option<Stop> {
        self.0.get().copied()
    }
}

/// Bytes that may still be written, counted down from several places.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    left: Arc<AtomicU64>,
    limit: Stop,
    reached: Reached,
}

impl Budget {
    /// Takes `bytes` from what is left, or stops the guest.
    pub(crate) fn take(&self, bytes: usize) -> Result<()> {
        let bytes = bytes as u64;
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes))
            .map(|_| ())
            .map_err(|_| self.reached.stop(self.limit))
    }
}

/// Counts memory and tables of one store.
#[derive(Debug)]
pub(crate) struct Meter {
    memory_left: usize,
    tables_left: usize,
    instances: usize,
    reached: Reached,
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            memory_left: size(limits.memory_bytes),
            tables_left: size(limits.table_elements),
            instances: size(limits.instances),
            reached: Reached::default(),
        }
    }

    /// Adds to what memory may still grow by, for what the host itself does in the store.
    pub(crate) fn spare(&mut self, bytes: u64) {
        self.memory_left = self.memory_left.saturating_add(size(bytes));
    }

    pub(crate) fn reached(&self) -> &Reached {
        &self.reached
    }

    /// A budget whose breach is on this meter's record.
    pub(crate) fn budget(&self, bytes: u64, limit: Stop) -> Budget {
        Budget { left: Arc::new(AtomicU64::new(bytes)), limit, reached: self.reached.clone() }
    }
}

/// Whether something may grow from `current` to `desired`. Beyond its own maximum it fails by the rules of WebAssembly,
/// and that is not for a limit to say.
fn grow(left: &mut usize, current: usize, desired: usize, maximum: Option<usize>) -> Option<bool> {
    if maximum.is_some_and(|maximum| desired > maximum) {
        return Some(false);
    }
    *left = left.checked_sub(desired.saturating_sub(current))?;
    Some(true)
}

impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool> {
        grow(&mut self.memory_left, current, desired, maximum).ok_or_else(|| self.reached.stop(Stop::Memory))
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool> {
        grow(&mut self.tables_left, current, desired, maximum).ok_or_else(|| self.reached.stop(Stop::Tables))
    }

    fn instances(&self) -> usize {
        self.instances
    }
}
