//! Operations that wait for their callers, by when that ends.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::ledger::RequestKey;
use crate::operation::OperationId;

/// Bounded by the operations that are parked on the ledger, each of which has a hold that somebody's budget bounds.
#[derive(Default)]
pub(crate) struct ParkedOperations(Mutex<BTreeSet<(u64, OperationId, RequestKey)>>);

impl ParkedOperations {
    pub(crate) fn add(&self, until: u64, operation: OperationId, key: RequestKey) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((until, operation, key));
    }

    /// Takes one whose time is over.
    pub(crate) fn take_expired(&self, now: u64) -> Option<(OperationId, RequestKey)> {
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (until, ..) = parked.first()?;
        if *until > now {
            return None;
        }
        parked.pop_first().map(|(_, operation, key)| (operation, key))
    }
}
