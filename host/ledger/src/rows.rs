//! What a ledger must be able to keep for [`apply`](crate::apply::apply) to run on it.

use chio_host_kernel::ledger::{
    Account, ApprovalRecord, Counter, CounterKey, Hold, LogEntry, NonceKey, NonceMark, NonceMarks, Refused, RequestKey,
    RequestRecord,
};
use chio_host_kernel::operation::{Operation, OperationId};
use chio_host_kernel::receipt::SignedReceipt;
use chio_host_kernel::reservation::RuntimeReservation;

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
    /// A hold that is not there yet.
    fn insert_hold(&mut self, hold: &Hold) -> Result<(), Self::Error>;
    fn put_hold(&mut self, hold: &Hold) -> Result<(), Self::Error>;
    fn remove_hold(&mut self, id: &str) -> Result<(), Self::Error>;

    fn counter(&self, key: &CounterKey) -> Result<Option<Counter>, Self::Error>;
    fn put_counter(&mut self, key: &CounterKey, counter: Counter) -> Result<(), Self::Error>;

    /// How many calls hold the lease of the child's share of the parent's budget.
    fn lease_holders(&self, parent: &CounterKey, child: &CounterKey) -> Result<u64, Self::Error>;
    /// With 0, there is none any more.
    fn put_lease_holders(&mut self, parent: &CounterKey, child: &CounterKey, holders: u64) -> Result<(), Self::Error>;

    fn account(&self, name: &str) -> Result<Option<Account>, Self::Error>;
    fn put_account(&mut self, name: &str, account: &Account) -> Result<(), Self::Error>;

    /// The most nonce marks that are kept at one time.
    fn nonce_limit(&self) -> u64;
    fn nonce(&self, key: &NonceKey) -> Result<Option<NonceMark>, Self::Error>;
    /// A mark that is not there yet.
    fn insert_nonce(&mut self, key: &NonceKey, mark: &NonceMark) -> Result<(), Self::Error>;
    fn put_nonce(&mut self, key: &NonceKey, mark: &NonceMark) -> Result<(), Self::Error>;
    fn remove_nonce(&mut self, key: &NonceKey) -> Result<(), Self::Error>;
    fn nonce_marks(&self) -> Result<NonceMarks, Self::Error>;
    fn put_nonce_marks(&mut self, marks: NonceMarks) -> Result<(), Self::Error>;
    /// At most `limit` nonces with a mark, those that expire first before the others. They are asked for before any of them
    /// changes.
    fn first_nonces(&self, limit: usize) -> Result<Vec<NonceKey>, Self::Error>;

    fn reservation(&self, reservation: &RuntimeReservation) -> Result<Option<OperationId>, Self::Error>;
    fn put_reservation(&mut self, reservation: &RuntimeReservation, owner: &OperationId) -> Result<(), Self::Error>;
    fn remove_reservation(&mut self, reservation: &RuntimeReservation) -> Result<(), Self::Error>;

    fn approval(&self, operation: &OperationId) -> Result<Option<ApprovalRecord>, Self::Error>;
    fn put_approval(&mut self, operation: &OperationId, approval: &ApprovalRecord) -> Result<(), Self::Error>;

    fn put_draft(&mut self, operation: &OperationId, bytes: &[u8]) -> Result<(), Self::Error>;
    fn remove_draft(&mut self, operation: &OperationId) -> Result<(), Self::Error>;

    fn revoked_at(&self, capability_id: &str) -> Result<Option<u64>, Self::Error>;
    fn put_revocation(&mut self, capability_id: &str, at: u64) -> Result<(), Self::Error>;

    fn put_output(&mut self, operation: &OperationId, bytes: &[u8]) -> Result<(), Self::Error>;

    fn has_receipt(&self, id: &str) -> Result<bool, Self::Error>;
    fn last_entry(&self) -> Result<Option<LogEntry>, Self::Error>;
    fn append(&mut self, entry: &LogEntry, receipt: &SignedReceipt, replay: Option<&[u8]>) -> Result<(), Self::Error>;
}
