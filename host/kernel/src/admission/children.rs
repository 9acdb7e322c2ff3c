//! The receipts of nested calls, on their way to the log.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::ledger::Mutation;
use crate::receipt::SignedReceipt;

/// The most nested calls of one call.
const MOST: usize = 1024;

/// Signed receipts of nested calls that had nothing durable of their own; a durable one logged its own when it ended.
///
/// They belong to the parent's drop guard and not to its future: completed children were signed before the parent ended,
/// so they stand before it on the log, and a future that is dropped must not take them with it (the second seed, "After
/// dispatch, the call is recorded").
#[derive(Clone, Debug)]
pub struct ChildReceipts {
    buffered: Arc<Mutex<Vec<SignedReceipt>>>,
    /// One permit for each nested call under way.
    under_way: Arc<Semaphore>,
    begun: Arc<AtomicUsize>,
}

/// The most nested calls of one call at the same time.
const AT_ONCE: u32 = 16;

impl Default for ChildReceipts {
    fn default() -> Self {
        let under_way = Arc::new(Semaphore::new(AT_ONCE as usize));
        Self { buffered: Arc::default(), under_way, begun: Arc::default() }
    }
}

/// A call has as many nested calls as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a call has at most {MOST} nested calls")]
pub struct TooManyChildren;

impl ChildReceipts {
    /// Begins a nested call, which is under way until what this answers is dropped.
    pub(crate) async fn begin(&self) -> Result<OwnedSemaphorePermit, TooManyChildren> {
        if self.begun.fetch_add(1, Ordering::Relaxed) >= MOST {
            return Err(TooManyChildren);
        }
        self.under_way.clone().acquire_owned().await.map_err(|_| TooManyChildren)
    }

    /// Returns when no nested call is under way, or being unwound.
    pub(crate) async fn settled(&self) {
        // Never closed.
        let _ = self.under_way.acquire_many(AT_ONCE).await;
    }

    /// Keeps a child's receipt until the parent's end is recorded.
    ///
    /// # Errors
    /// There are too many.
    pub fn buffer(&self, receipt: SignedReceipt) -> Result<(), TooManyChildren> {
        let mut children = self.buffered.lock().unwrap_or_else(PoisonError::into_inner);
        if children.len() >= MOST {
            return Err(TooManyChildren);
        }
        children.push(receipt);
        Ok(())
    }

    /// What appends what is buffered, in the order in which it came.
    pub(crate) fn appends(&self) -> Vec<Mutation> {
        let children = self.buffered.lock().unwrap_or_else(PoisonError::into_inner);
        let append = |child: &SignedReceipt| Mutation::AppendReceipt { receipt: Box::new(child.clone()), replay: None };
        children.iter().map(append).collect()
    }

    /// Takes what is buffered, so that nobody records it a second time.
    pub(crate) fn drain(&self) -> Vec<SignedReceipt> {
        std::mem::take(&mut *self.buffered.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
