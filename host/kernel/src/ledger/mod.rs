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
    Account, ApprovalRecord, BudgetLease, Charge, Claim, Claimant, Counter, CounterKey, Hold, HoldPart, HoldState,
    Mutation, NonceKey, NonceMark, NonceMarks, OperationWrite, RequestKey, RequestOutcome, RequestRecord, Transition,
    Window,
};

use crate::operation::{Operation, OperationId, State};
use crate::ports::BoxFuture;
use crate::reservation::RuntimeReservation;

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
    /// An account has not enough left.
    #[error("account {account} has {free} of {currency} left, and {amount} more are asked for")]
    Funds {
        /// Which.
        account: String,
        /// Minor units that are free.
        free: u64,
        /// Minor units that were asked for.
        amount: u64,
        /// Of which currency.
        currency: String,
    },
    /// The account is not there, is in another currency, or would hold less than it owes.
    #[error("account {account}: {why}")]
    Account {
        /// Which.
        account: String,
        /// What does not fit.
        why: &'static str,
    },
    /// The nonce cannot be taken, consumed or given back.
    #[error("nonce {id}: {why}")]
    Nonce {
        /// Which.
        id: String,
        /// Why not.
        why: NonceRefusal,
    },
    /// The single-use id is taken, or is somebody else's.
    #[error("{reservation} is taken by operation {by}")]
    Reserved {
        /// Which.
        reservation: RuntimeReservation,
        /// By whom.
        by: OperationId,
    },
    /// The single-use id is not taken.
    #[error("{0} is not taken")]
    NotReserved(RuntimeReservation),
    /// An approval cannot be kept, or not be consumed.
    #[error("approval {id}: {why}")]
    Approval {
        /// Which.
        id: String,
        /// Why not.
        why: &'static str,
    },
    /// Somebody else recovers the operation, or the time for it is over.
    #[error("operation {id} is not {claimant}'s to recover: {why}")]
    RecoveryLease {
        /// The operation.
        id: OperationId,
        /// Who tried.
        claimant: String,
        /// Why not.
        why: &'static str,
    },
    /// The request id means something else by now.
    #[error("request {0} has moved on")]
    Request(String),
    /// A receipt with that id stands in the log already.
    #[error("receipt {0} is in the log already")]
    DuplicateReceipt(String),
}

/// Why a nonce cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NonceRefusal {
    /// Somebody has reserved or consumed it.
    #[error("it was used before")]
    Used,
    /// Its time is over.
    #[error("it has expired")]
    Expired,
    /// The store is full of marks that are still alive, and none of them may be forgotten.
    #[error("the store of nonces is full")]
    Full,
    /// It was never reserved, or by another operation.
    #[error("it is not this operation's")]
    NotOwner,
}

/// An open operation that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Its id, as it is listed.
    pub id: String,
    /// What is wrong with it.
    pub why: String,
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

    /// Whether what it holds is there after a restart of the process.
    fn outlives_the_process(&self) -> bool;

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

    /// At most `limit` holds that are still open, in no particular order.
    ///
    /// # Errors
    /// As above.
    fn holds(&self, limit: usize) -> Result<Vec<Hold>, LedgerError>;

    /// A prepaid account.
    ///
    /// # Errors
    /// As above.
    fn account(&self, name: &str) -> Result<Option<Account>, LedgerError>;

    /// At most `limit` prepaid accounts with their names, in the order of these.
    ///
    /// # Errors
    /// As above.
    fn accounts(&self, limit: usize) -> Result<Vec<(String, Account)>, LedgerError>;

    /// The mark of a nonce that was reserved or consumed.
    ///
    /// # Errors
    /// As above.
    fn nonce(&self, key: &NonceKey) -> Result<Option<NonceMark>, LedgerError>;

    /// What is known of all marks together.
    ///
    /// # Errors
    /// As above.
    fn nonce_marks(&self) -> Result<NonceMarks, LedgerError>;

    /// Who holds a single-use id.
    ///
    /// # Errors
    /// As above.
    fn reservation(&self, reservation: &RuntimeReservation) -> Result<Option<OperationId>, LedgerError>;

    /// What the receipt of an open operation will say, as it was kept last.
    ///
    /// # Errors
    /// As above.
    fn draft(&self, operation: &OperationId) -> Result<Option<Vec<u8>>, LedgerError>;

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

    /// How many calls hold the lease of the child's share of the parent's budget.
    ///
    /// # Errors
    /// As above.
    fn lease_holders(&self, parent: &CounterKey, child: &CounterKey) -> Result<u64, LedgerError>;

    /// The approval of an operation.
    ///
    /// # Errors
    /// As above.
    fn approval(&self, operation: &OperationId) -> Result<Option<ApprovalRecord>, LedgerError>;

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

    /// Operations that have not ended, at most `limit`. Terminal ones are not listed, however many there are; one that
    /// cannot be read is, and does not keep the others from being listed.
    ///
    /// # Errors
    /// As above.
    fn open_operations(&self, limit: usize) -> Result<Vec<Result<Operation, Unreadable>>, LedgerError>;
}
