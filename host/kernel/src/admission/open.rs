//! An operation that has not ended, and the ledger that holds it.

use std::sync::Arc;

use crate::ledger::{Applied, Durability, Ledger, LedgerError, Mutation, OperationWrite, Transition};
use crate::operation::{Operation, State};

/// The kernel's handle on an operation. The record here is the one that is stored: it changes only with a transition that
/// was applied.
pub(crate) struct OpenOperation {
    pub(crate) record: Operation,
    pub(crate) ledger: Arc<dyn Ledger>,
}

impl OpenOperation {
    /// Records a new operation.
    pub(crate) async fn create(
        ledger: Arc<dyn Ledger>,
        record: Operation,
        mutations: Vec<Mutation>,
    ) -> Result<Self, LedgerError> {
        let write = OperationWrite { expected_version: 0, path: Vec::new(), record: record.clone() };
        let transition = Transition { lease_epoch: record.lease_epoch, operation: Some(write), mutations };
        ledger.apply(transition, Durability::Buffered).await?;
        Ok(Self { record, ledger })
    }

    /// Moves the operation along `path`, with what `change` sets on the record and the mutations that go with it.
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
        record.lease_epoch = self.ledger.lease_epoch();
        change(&mut record);
        let transition = Transition {
            lease_epoch: record.lease_epoch,
            operation: Some(OperationWrite {
                expected_version: self.record.version,
                path: path.to_vec(),
                record: record.clone(),
            }),
            mutations,
        };
        let applied = self.ledger.apply(transition, durability).await?;
        self.record = record;
        Ok(applied)
    }
}
