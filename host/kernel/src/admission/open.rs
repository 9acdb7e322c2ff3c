//! An operation that has not ended, and the ledger that holds it.

use std::sync::Arc;

use crate::ledger::{Applied, Claimant, Durability, Ledger, LedgerError, Mutation, OperationWrite, Transition};
use crate::operation::{Operation, State};
use crate::ports::Clock;

/// The kernel's handle on an operation. The record here is the one that is stored: it changes only with a transition that
/// was applied, and that returned.
///
/// It writes under the lease epoch in which its call began. One from before the ledger was opened again is refused, so it
/// cannot move what recovery has looked at since.
pub(crate) struct OpenOperation {
    pub(crate) record: Operation,
    pub(crate) ledger: Arc<dyn Ledger>,
    epoch: u64,
    /// Who recovers it, and by which clock.
    claimant: Option<(String, Arc<dyn Clock>)>,
}

impl OpenOperation {
    /// An operation that is stored, or about to be.
    pub(crate) fn new(ledger: Arc<dyn Ledger>, record: Operation) -> Self {
        Self { epoch: ledger.lease_epoch(), record, ledger, claimant: None }
    }

    /// The same for a call that began under this epoch.
    pub(crate) fn under(epoch: u64, ledger: Arc<dyn Ledger>, record: Operation) -> Self {
        Self { epoch, record, ledger, claimant: None }
    }

    /// The same in the hands of who recovers it.
    pub(crate) fn claimed(ledger: Arc<dyn Ledger>, record: Operation, claimant: &str, clock: Arc<dyn Clock>) -> Self {
        Self { claimant: Some((claimant.to_owned(), clock)), ..Self::new(ledger, record) }
    }

    /// Records it.
    pub(crate) async fn create(&self, mutations: Vec<Mutation>) -> Result<(), LedgerError> {
        let write = OperationWrite { expected_version: 0, path: Vec::new(), record: self.record.clone() };
        self.apply(Some(write), mutations, Durability::Buffered).await.map(drop)
    }

    /// Moves it along `path`, with what `change` sets on the record and the mutations that go with it. An empty path leaves
    /// it where it is.
    pub(crate) async fn advance(
        &mut self,
        path: &[State],
        change: impl FnOnce(&mut Operation),
        mutations: Vec<Mutation>,
        durability: Durability,
    ) -> Result<Applied, LedgerError> {
        let mut record = self.record.clone();
        record.version += path.len() as u64;
        record.state = path.last().copied().unwrap_or(record.state);
        record.lease_epoch = self.epoch;
        change(&mut record);
        let write =
            OperationWrite { expected_version: self.record.version, path: path.to_vec(), record: record.clone() };
        let applied = self.apply(Some(write), mutations, durability).await?;
        self.record = record;
        Ok(applied)
    }

    /// Changes something of it that is no state: one reversal, one reservation.
    pub(crate) async fn apply(
        &self,
        operation: Option<OperationWrite>,
        mutations: Vec<Mutation>,
        durability: Durability,
    ) -> Result<Applied, LedgerError> {
        let now = |(id, clock): &(String, Arc<dyn Clock>)| Claimant { id: id.clone(), now_ms: clock.now_ms() };
        let claimant = self.claimant.as_ref().map(now);
        let transition = Transition { lease_epoch: self.epoch, operation, mutations, claimant };
        self.ledger.apply(transition, durability).await
    }
}
