//! The proof that a dispatch was committed.

use crate::operation::OperationId;

/// Proof that an operation's dispatch commit is on the ledger.
///
/// Only the dispatch commit makes one, and [`ToolServer::call`](crate::ports::ToolServer::call) consumes it, so no code
/// reaches a tool in another way, nor twice.
#[derive(Debug)]
#[must_use = "a committed dispatch is handed to the tool, or recorded as never accepted"]
pub struct Committed {
    operation: OperationId,
}

impl Committed {
    pub(super) fn new(operation: OperationId) -> Self {
        Self { operation }
    }

    /// The operation that was committed.
    #[must_use]
    pub fn operation(&self) -> &OperationId {
        &self.operation
    }
}
