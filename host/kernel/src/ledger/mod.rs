//! The ledger: every durable change is one atomic [`Transition`].
//!
//! The kernel decides what should change; a ledger checks that it still may, and applies all of it or none. What a
//! transition must satisfy by itself is decided by [`check`], which every implementation calls, so that no
//! implementation can be laxer than another.

mod check;
mod log;
mod transition;

use serde_json::Value;

pub use check::check;
pub use log::LogEntry;
pub use transition::{
    Claim, Counter, CounterKey, Hold, HoldState, Mutation, OperationWrite, RequestKey, RequestOutcome, RequestRecord,
    Transition, Window,
};

use crate::operation::{Operation, OperationId, State};
use crate::ports::BoxFuture;

/// When an apply may return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// At once; a kill may lose it, but never a part of it, nor anything before it alone.
    Buffered,
    /// When the bytes are on the disk.
    Synced,
}

/// What an applied transition left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// One entry per appended receipt, in order.
    pub entries: Vec<LogEntry>,
}

/// Why nothing was applied.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Refused {
    /// Another writer has opened the ledger since.
    #[error("lease epoch {presented} is stale; the ledger is at {current}")]
    StaleEpoch {
        /// The writer's.
        presented: u64,
        /// The ledger's.
        current: u64,
    },
    /// The operation has moved, or exists already, or does not exist.
    #[error("operation {id} is at version {stored}, not {expected}")]
    Version {
        /// The operation.
        id: OperationId,
        /// What the writer expected; 0 for none.
        expected: u64,
        /// What is stored; 0 for none.
        stored: u64,
    },
    /// The legality function says no.
    #[error("operation {id} may not move from {from:?} to {to:?}")]
    IllegalMove {
        /// The operation.
        id: OperationId,
        /// Where it stands.
        from: State,
        /// Where it was to go.
        to: State,
    },
    /// The transition contradicts itself, or the operation's identity would change.
    #[error("operation {id}: {why}")]
    Inconsistent {
        /// The operation.
        id: OperationId,
        /// What does not fit.
        why: &'static str,
    },
    /// A counter has not enough left.
    #[error("{counter} is exhausted: {used} used of {limit}, {amount} more asked for")]
    Exhausted {
        /// Which.
        counter: CounterKey,
        /// Its value.
        used: u64,
        /// The claim.
        amount: u64,
        /// The claim's limit.
        limit: u64,
    },
    /// The hold is not in the state that the mutation starts from.
    #[error("hold {id} is {found}, not {expected}")]
    Hold {
        /// Which.
        id: String,
        /// What was expected.
        expected: &'static str,
        /// What is stored.
        found: &'static str,
    },
    /// The request id means something else by now.
    #[error("request {0} has moved on")]
    Request(String),
    /// A receipt with that id stands in the log already.
    #[error("receipt {0} is in the log already")]
    DuplicateReceipt(String),
}

/// Why an apply did not happen, or why nobody can say that it did.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum LedgerError {
    /// A condition did not hold; nothing changed.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The storage failed. The ledger serves nothing more until it is opened again.
    #[error("the ledger is unavailable: {0}")]
    Unavailable(String),
    /// Bytes that cannot be what was written.
    #[error("the ledger is damaged: {0}")]
    Damaged(String),
}

/// Where operations, holds, request ids, revocations and receipts are kept.
///
/// Reads see one consistent state each. Every implementation passes the same conformance suite.
pub trait Ledger: Send + Sync {
    /// The ledger's own id, made when it was created.
    fn id(&self) -> &str;

    /// The epoch that this opening took. Every transition carries it.
    fn lease_epoch(&self) -> u64;

    /// Applies a transition, all of it or nothing.
    ///
    /// The change itself happens when the future is first polled; what is awaited is the disk. Dropping the future
    /// later undoes nothing.
    ///
    /// # Errors
    /// [`LedgerError::Refused`] changed nothing. After the others the caller does not know, and reads.
    fn apply(&self, transition: Transition, durability: Durability) -> BoxFuture<'_, Result<Applied, LedgerError>>;

    /// An operation as it stands.
    ///
    /// # Errors
    /// The storage failed or is damaged; so with every read.
    fn operation(&self, id: &OperationId) -> Result<Option<Operation>, LedgerError>;

    /// What became of a request id.
    ///
    /// # Errors
    /// As above.
    fn request(&self, key: &RequestKey) -> Result<Option<RequestRecord>, LedgerError>;

    /// A hold that is still open.
    ///
    /// # Errors
    /// As above.
    fn hold(&self, id: &str) -> Result<Option<Hold>, LedgerError>;

    /// A counter's value. For a windowed counter, of the window that was last written.
    ///
    /// # Errors
    /// As above.
    fn counter(&self, key: &CounterKey) -> Result<Option<Counter>, LedgerError>;

    /// At most `limit` counters whose key begins with `prefix`, in the order of their keys.
    ///
    /// # Errors
    /// As above.
    fn counters(&self, prefix: &CounterKey, limit: usize) -> Result<Vec<(CounterKey, Counter)>, LedgerError>;

    /// When a capability was revoked, in seconds since 1970.
    ///
    /// # Errors
    /// As above.
    fn revoked_at(&self, capability_id: &str) -> Result<Option<u64>, LedgerError>;

    /// The output that was kept for an operation.
    ///
    /// # Errors
    /// As above.
    fn output(&self, operation: &OperationId) -> Result<Option<Vec<u8>>, LedgerError>;

    /// A receipt's whole record.
    ///
    /// # Errors
    /// As above.
    fn receipt(&self, id: &str) -> Result<Option<Value>, LedgerError>;

    /// The replay record beside a receipt.
    ///
    /// # Errors
    /// As above.
    fn replay_record(&self, receipt_id: &str) -> Result<Option<Vec<u8>>, LedgerError>;

    /// At most `limit` log entries from sequence number `from` on.
    ///
    /// # Errors
    /// As above.
    fn log(&self, from: u64, limit: usize) -> Result<Vec<LogEntry>, LedgerError>;

    /// Operations that have not ended, at most `limit`. Terminal ones are not listed, however many there are.
    ///
    /// # Errors
    /// As above.
    fn open_operations(&self, limit: usize) -> Result<Vec<Operation>, LedgerError>;
}
