//! Operations that wait for their callers, by when that ends.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ledger::RequestKey;
use crate::operation::OperationId;

/// The most operations that wait. One more is refused.
const MOST: usize = 1 << 16;

/// Bounded by [`MOST`], and by what recovery finds.
#[derive(Default)]
pub(crate) struct ParkedOperations(Mutex<BTreeSet<Waiting>>);

/// When its time is over, the operation, and whose request id.
pub(crate) type Waiting = (u64, OperationId, RequestKey);

impl ParkedOperations {
    pub(crate) fn is_full(&self) -> bool {
        self.all().len() >= MOST
    }

    pub(crate) fn add(&self, waiting: Waiting) {
        self.all().insert(waiting);
    }

    pub(crate) fn remove(&self, waiting: &Waiting) {
        self.all().remove(waiting);
    }

    /// Takes one whose time is over.
    pub(crate) fn take_expired(&self, now: u64) -> Option<Waiting> {
        let mut parked = self.all();
        let (until, ..) = parked.first()?;
        if *until > now {
            return None;
        }
        parked.pop_first()
    }

    fn all(&self) -> MutexGuard<'_, BTreeSet<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
