//! What an operator, or whoever serves a caller, may read of the ledger.

use serde_json::Value;

use crate::approval::ApprovalSubject;
use crate::kernel::Kernel;
use crate::ledger::LogEntry;
use crate::operation::OperationId;
use crate::receipt::Decision;
use crate::response::{KernelError, Response};

/// A call that waits for a human.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwaitsHuman {
    /// Its operation.
    pub operation: OperationId,
    /// Whether it waits to run, or its output to be released.
    pub about: ApprovalSubject,
    /// Seconds since 1970; from then on it is denied.
    pub until: u64,
}

impl Kernel {
    /// Whether the call of this answer waits for a human now, who may let it go on. A `pending` answer by itself does not say
    /// so: without approvers a call ends with one, and a nonce is waited for as well.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn awaits_human(&self, response: &Response) -> Result<Option<AwaitsHuman>, KernelError> {
        if !matches!(response.decision(), Decision::Pending { .. }) {
            return Ok(None);
        }
        let metadata = response.receipt.body().metadata.as_ref();
        let id = metadata.and_then(|m| m.pointer("/chio_host/operation_id")).and_then(Value::as_str);
        let Some(id) = id.map(|id| OperationId::from_listed(id.to_owned())) else { return Ok(None) };
        let operation = self.books.ledgers.durable.operation(&id)?.filter(|o| !o.state.is_terminal());
        let Some(parked) = operation.and_then(|operation| operation.parked) else { return Ok(None) };
        let about = parked.awaits.asked().map(|(about, _)| about);
        Ok(about.map(|about| AwaitsHuman { operation: id, about, until: parked.until }))
    }

    /// At most `limit` entries of the receipt log from `from` on.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn log(&self, from: u64, limit: usize) -> Result<Vec<LogEntry>, KernelError> {
        Ok(self.books.ledgers.durable.log(from, limit)?)
    }

    /// A receipt's whole record.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn receipt(&self, id: &str) -> Result<Option<Value>, KernelError> {
        Ok(self.books.ledgers.durable.receipt(id)?)
    }

    /// When a capability was revoked, in seconds since 1970.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn revoked_at(&self, capability_id: &str) -> Result<Option<u64>, KernelError> {
        Ok(self.books.ledgers.durable.revoked_at(capability_id)?)
    }
}
