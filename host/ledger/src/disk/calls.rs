//! How many calls are under way, as the operations that go by tell.

use std::sync::atomic::{AtomicUsize, Ordering};

use chio_host_kernel::ledger::Transition;

/// Counts operations from their first apply to the end of their last. Those of a process before this one are not in it,
/// so it is an estimate, and only ever used as one.
#[derive(Debug, Default)]
pub(super) struct Calls(AtomicUsize);

impl Calls {
    pub(super) fn under_way(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts what a transition begins. What it ends is under way until the answer is dropped.
    pub(super) fn follow(&self, applied: &Transition) -> Option<Ending<'_>> {
        let write = applied.operation.as_ref()?;
        if write.expected_version == 0 {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        write.record.state.is_terminal().then(|| Ending(self))
    }
}

/// A call that is about to have ended.
#[derive(Debug)]
pub(super) struct Ending<'a>(&'a Calls);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let one_less = |calls: usize| Some(calls.saturating_sub(1));
        // Always succeeds: there is a number for every number.
        let _ = self.0.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
    }
}
