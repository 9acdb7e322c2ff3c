//! What a ledger must be able to keep for [`apply`](crate::apply::apply) to run on it.

use chio_host_kernel::ledger::{Counter, CounterKey, Hold, LogEntry, Refused, RequestKey, RequestRecord};
use chio_host_kernel::operation::{Operation, OperationId};
use chio_host_kernel::receipt::SignedReceipt;

/// Rows inside one apply: what is read sees what was put before, and all of it is undone if the apply fails.
pub(crate) trait Rows {
    /// Why the apply fails.
    type Error: From<Refused>;

    fn lease_epoch(&self) -> u64;

    fn operation(&self, id: &OperationId) -> Result<Option<Operation>, Self::Error>;
    fn insert_operation(&mut self, record: &Operation) -> Result<(), Self::Error>;
    fn update_operation(&mut self, record: &Operation) -> Result<(), Self::Error>;

    fn request(&self, key: &RequestKey) -> Result<Option<RequestRecord>, Self::Error>;
    fn put_request(&mut self, key: &RequestKey, record: &RequestRecord) -> Result<(), Self::Error>;

    fn hold(&self, id: &str) -> Result<Option<Hold>, Self::Error>;
    fn put_hold(&mut self, hold: &Hold) -> Result<(), Self::Error>;
    fn remove_hold(&mut self, id: &str) -> Result<(), Self::Error>;

    fn counter(&self, key: &CounterKey) -> Result<Option<Counter>, Self::Error>;
    fn put_counter(&mut self, key: &CounterKey, counter: Counter) -> Result<(), Self::Error>;

    fn revoked_at(&self, capability_id: &str) -> Result<Option<u64>, Self::Error>;
    fn put_revocation(&mut self, capability_id: &str, at: u64) -> Result<(), Self::Error>;

    fn put_output(&mut self, operation: &OperationId, bytes: &[u8]) -> Result<(), Self::Error>;

    fn has_receipt(&self, id: &str) -> Result<bool, Self::Error>;
    fn last_entry(&self) -> Result<Option<LogEntry>, Self::Error>;
    fn append(&mut self, entry: &LogEntry, receipt: &SignedReceipt, replay: Option<&[u8]>) -> Result<(), Self::Error>;
}
