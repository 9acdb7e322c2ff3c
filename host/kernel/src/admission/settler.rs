//! Ends calls whose future is gone.

use std::panic::AssertUnwindSafe;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{OwnedPermit, Receiver, Sender, channel};

use super::drop_guard::{
    POST_ADMISSION_DROP_REASON, POST_DISPATCH_CREDENTIAL_COMMIT_FAILURE_REASON, PRE_DISPATCH_CLEANUP_FAULT_REASON,
    Unwind,
};
use super::{ChildReceipts, reversal};
use crate::books::Books;
use crate::denial::Denial;
use crate::ledger::{Durability, LedgerError, Mutation, Refused, RequestOutcome, Transition};
use crate::operation::{State, Terminal};
use crate::receipt::Decision;
use crate::response::KernelError;
use crate::settle::{Effect, Ending};

/// Where calls leave what they owe. One permit is reserved for each recorded call, so that handing over cannot fail.
#[derive(Clone)]
pub(crate) struct Unwinds(Sender<Unwind>);

impl Unwinds {
    /// A place in the queue, for a call that is about to be recorded.
    pub(crate) fn reserve(&self) -> Result<OwnedPermit<Unwind>, Denial> {
        self.0.clone().try_reserve_owned().map_err(|error| match error {
            TrySendError::Full(_) => {
                Denial::Busy("the settler takes no more calls: its queue is full; try again later")
            }
            TrySendError::Closed(_) => {
                Denial::Busy("the settler takes no more calls: it has ended; start the host again")
            }
        })
    }
}

/// The supervised task that ends what dropped calls left: it reverses what never reached a tool, and signs what may have.
///
/// What it could not do, recovery does: the operation's row says everything. It ends when the kernel is gone and the queue
/// is empty.
pub struct Settler {
    queue: Receiver<Unwind>,
}

impl Settler {
    /// A settler with room for so many calls at one time.
    pub(crate) fn new(capacity: usize) -> (Unwinds, Self) {
        let (unwinds, queue) = channel(capacity.max(1));
        (Unwinds(unwinds), Self { queue })
    }

    /// Works until the kernel is gone.
    pub async fn run(mut self) {
        while let Some(unwind) = self.queue.recv().await {
            end(unwind).await;
        }
    }

    /// Ends what is in the queue now, and answers how many that were. For tests, and for whoever drives it himself.
    pub async fn run_until_idle(&mut self) -> usize {
        let mut ended = 0;
        while let Ok(unwind) = self.queue.try_recv() {
            end(unwind).await;
            ended += 1;
        }
        ended
    }
}

/// One that panics is logged, and left to recovery; the next one is no worse off for it.
async fn end(mut unwind: Unwind) {
    let id = unwind.operation.record.id.clone();
    let books = unwind.books.clone();
    let ended = catch_unwind(books.unwind(&mut unwind)).await;
    if !matches!(ended, Ok(Ok(()))) && unwind.fresh.is_some() {
        // Recovery does not look at what is not durable. The next call with this id must not find it.
        if let Err(error) = unwind.forget().await {
            tracing::error!(audit_fault = true, operation = id.as_str(), %error, "and it stays in memory");
        }
    }
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::error!(audit_fault = true, operation = id.as_str(), %error, "a dropped call is left to recovery");
        }
        Err(()) => {
            tracing::error!(audit_fault = true, operation = id.as_str(), "a dropped call panicked as it was unwound");
        }
    }
}

/// Polls a future, and answers with an error where it panics.
async fn catch_unwind<F: Future>(future: F) -> Result<F::Output, ()> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        match polled {
            Ok(poll) => poll.map(Ok),
            Err(_) => std::task::Poll::Ready(Err(())),
        }
    })
    .await
}

impl Books {
    /// Ends a call that was dropped, by what the ledger says of it: a transition may have been applied although its future
    /// never returned.
    pub(crate) async fn unwind(&self, unwind: &mut Unwind) -> Result<(), KernelError> {
        let Some(stored) = unwind.operation.ledger.operation(&unwind.operation.record.id)? else { return Ok(()) };
        let waits_for_a_human = stored.parked.as_ref().is_some_and(|parked| parked.awaits.asked().is_some());
        if stored.state.is_terminal() || waits_for_a_human {
            // One that waits for a human goes on waiting, with the approval that it may have.
            return Ok(());
        }
        unwind.operation.record = stored;
        if self.is_closed_already(unwind)? {
            return unwind.forget().await;
        }
        self.flush(&unwind.children).await;
        let Unwind { operation, draft, fresh, ending, .. } = unwind;
        let lost = |reason: &str, code: &str, effect, terminal| {
            let decision = Decision::Cancelled { reason: reason.to_owned() };
            Ending { terminal, ..Ending::new(decision, code, effect) }
        };
        match operation.record.state {
            state if state.is_before_dispatch() => return self.reverse(unwind).await,
            // Committed, and the await on the tool was never entered.
            State::DispatchCommitted if !unwind.dispatch_started => {
                let ending = lost(
                    POST_ADMISSION_DROP_REASON,
                    "call.dropped",
                    Effect::None,
                    State::NotAcceptedAfterDispatchCommit,
                );
                self.end(operation, draft, &ending, fresh.as_ref(), Vec::new()).await?;
            }
            State::Finalizing if !unwind.close_failed && ending.is_some() => {
                // A stored outcome wins. Nobody was given it, so it stays for whoever asks again.
                let ending = ending.take().expect("it is there");
                self.end(operation, draft, &ending.unreleased(), fresh.as_ref(), Vec::new()).await?;
            }
            _ => {
                let (reason, code) = if unwind.close_failed {
                    (POST_DISPATCH_CREDENTIAL_COMMIT_FAILURE_REASON, "call.commit_failed")
                } else {
                    (POST_ADMISSION_DROP_REASON, "call.dropped")
                };
                let ending = lost(reason, code, Effect::Unknown, State::OutcomeUnknownAfterDispatch);
                self.end(operation, draft, &ending, fresh.as_ref(), Vec::new()).await?;
            }
        }
        Ok(())
    }

    /// Appends the receipts of nested calls, each on its own: one that fails does not keep the others off the log. The
    /// parent's follows them, and brings them to the disk with it.
    async fn flush(&self, children: &ChildReceipts) {
        let ledger = &self.ledgers.durable;
        for child in children.drain() {
            let id = child.id().to_owned();
            let append = Mutation::AppendReceipt { receipt: Box::new(child), replay: None };
            let transition = Transition::of(ledger.lease_epoch(), vec![append]);
            if let Err(error) = ledger.apply(transition, Durability::Buffered).await {
                tracing::error!(audit_fault = true, receipt_id = id, %error, "a nested call's receipt is not on the log");
            }
        }
    }

    /// A call without a durable operation may have closed its request id, and been dropped before its operation ended.
    fn is_closed_already(&self, unwind: &Unwind) -> Result<bool, LedgerError> {
        let Some(fresh) = &unwind.fresh else { return Ok(false) };
        let record = self.ledgers.durable.request(&fresh.key)?;
        Ok(record != fresh.expected && record.is_some_and(|r| matches!(r.outcome, RequestOutcome::Closed { .. })))
    }

    /// Reverses everything that a call did before dispatch. Cleanly, that leaves no receipt, and its id may be used again;
    /// a step that fails does not keep the others from being tried, and is on the receipt that is then signed.
    async fn reverse(&self, unwind: &mut Unwind) -> Result<(), KernelError> {
        let Unwind { operation, draft, fresh, .. } = unwind;
        if let Some(fault) = self.payment_stuck(&operation.record).await {
            let faults = [vec![fault], reversal::step_by_step(operation).await?].concat();
            let decision = Decision::Cancelled { reason: PRE_DISPATCH_CLEANUP_FAULT_REASON.to_owned() };
            let ending = Ending { cleanup: faults, ..Ending::new(decision, "call.cleanup_failed", Effect::None) };
            self.close_operation(operation, draft, &ending, fresh.as_ref(), Vec::new()).await?;
            return Ok(());
        }
        let clean = |r: &mut crate::operation::Operation| r.terminal = Some(Terminal { receipt_id: None });
        let path = [State::CompensatedBeforeDispatch];
        let mut mutations = reversal::all(operation)?;
        mutations.extend(self.unbind(operation));
        match operation.advance(&path, clean, mutations, Durability::Synced).await {
            Ok(_) => return Ok(()),
            // Somebody else has the operation by now: a recovery, or another opening of the ledger.
            Err(
                error @ LedgerError::Refused(
                    Refused::StaleEpoch { .. } | Refused::RecoveryLease { .. } | Refused::Version { .. },
                ),
            ) => return Err(error.into()),
            Err(LedgerError::Refused(why)) => {
                tracing::warn!(operation = operation.record.id.as_str(), %why, "reversing step by step");
            }
            Err(error) => return Err(error.into()),
        }
        let faults = reversal::step_by_step(operation).await?;
        if faults.is_empty() {
            let free_again = self.unbind(operation).into_iter().collect();
            operation.advance(&path, clean, free_again, Durability::Synced).await?;
            return Ok(());
        }
        let decision = Decision::Cancelled { reason: PRE_DISPATCH_CLEANUP_FAULT_REASON.to_owned() };
        let ending = Ending { cleanup: faults, ..Ending::new(decision, "call.cleanup_failed", Effect::None) };
        self.end(operation, draft, &ending, fresh.as_ref(), Vec::new()).await?;
        Ok(())
    }
}

impl Unwind {
    /// Ends an operation whose receipt is signed already.
    async fn forget(&mut self) -> Result<(), KernelError> {
        let operation = &mut self.operation;
        let terminal = match operation.record.state {
            state if state.is_before_dispatch() => State::CompensatedBeforeDispatch,
            State::Finalizing => State::Completed,
            _ => State::OutcomeUnknownAfterDispatch,
        };
        let mutations = match terminal {
            State::CompensatedBeforeDispatch => reversal::all(operation)?,
            _ => Vec::new(),
        };
        let ended = |r: &mut crate::operation::Operation| r.terminal = Some(Terminal { receipt_id: None });
        operation.advance(&[terminal], ended, mutations, Durability::Buffered).await?;
        Ok(())
    }
}
