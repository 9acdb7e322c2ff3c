//! The ledger on disk: a journal, and sled as the index over it.

mod calls;
mod contain;
mod data;
mod error;
mod flusher;
mod folder;
mod halt;
mod head;
mod health;
mod holder;
mod identity;
mod journal;
mod keys;
mod mark;
mod open;
mod pending;
mod rows;
mod store;
mod stored;
mod values;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chio_host_kernel::failpoint::Failpoints;
use chio_host_kernel::ledger::{
    Account, Applied, ApprovalRecord, Counter, CounterKey, Durability, Hold, Ledger, LedgerError, LogEntry, NonceKey,
    NonceMark, NonceMarks, RequestKey, RequestRecord, Transition, Unreadable,
};
use chio_host_kernel::operation::{Operation, OperationId};
use chio_host_kernel::ports::BoxFuture;
use chio_host_kernel::reservation::RuntimeReservation;
use serde_json::Value;

use self::data::Data;
pub use self::error::OpenError;
use self::flusher::Flusher;
use self::halt::Halt;
use self::pending::Current;
use self::store::{MAX_PENDING, Store};
use self::values::Pairs as _;
use crate::NONCE_LIMIT;

/// The files of a ledger that may hold what was written and never reached the disk.
pub(crate) fn written_last(ledger: &Path) -> Vec<PathBuf> {
    let index = ledger.join("store").join("db");
    journal::newest_files(&ledger.join("journal")).unwrap_or_default().into_iter().chain([index]).collect()
}

/// How a ledger on disk is opened, where the defaults do not do.
#[derive(Clone, Debug)]
pub struct Options {
    /// The most nonce marks that are kept at one time.
    pub nonce_limit: u64,
    /// How many rows gather in the journal before the index is told of them.
    pub checkpoint_rows: usize,
    /// How long a segment of the journal gets before the next begins, in bytes.
    pub segment_bytes: u64,
    /// Where a test stops the sync thread: `ledger.flushed`, between a frame and its sync. In builds with debug assertions
    /// alone.
    pub failpoints: Failpoints,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nonce_limit: NONCE_LIMIT,
            checkpoint_rows: 16_384,
            segment_bytes: 128 << 20,
            failpoints: Failpoints::default(),
        }
    }
}

/// The durable ledger of one host: a private folder with a journal, and a sled database as the index over it.
///
/// Applies gather in memory, in order. A single thread appends all that has gathered to the journal as one frame, syncs
/// it, and wakes everyone who was waiting for it. A buffered apply does not wait, unless more than 4,096 rows or 16 MiB have
/// gathered. Opening takes the next lease epoch and is refused while another process has the folder open.
///
/// **It fails closed.** After the first storage error every apply and every read answers [`LedgerError::Unavailable`]
/// until the ledger is opened again: [`close`](Self::close) it and [`open`](Self::open) it anew, under a new epoch, and
/// let recovery look at what was in flight.
pub struct SledLedger {
    // First, so that the sync thread is left with the last of the store: sled writes when it is dropped, and a
    // destructor here does no I/O.
    store: Arc<Store>,
    flusher: Flusher,
}

impl SledLedger {
    /// Opens the ledger in a folder, or creates one there.
    ///
    /// # Errors
    /// The folder is held by another process, is not private or holds something else; the ledger is damaged or of a newer
    /// format; the system refuses. Nothing is ever reset.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, &Options::default())
    }

    /// The same, with these options.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self, OpenError> {
        Self::start(open::open(path.as_ref(), options)?)
    }

    fn start(data: Data) -> Result<Self, OpenError> {
        let store = Arc::clone(&data.store);
        let flusher = Flusher::start(data, Arc::clone(&store.health)).map_err(|e| OpenError::io(&store.path, e))?;
        tracing::debug!(path = %store.path.display(), id = store.id, epoch = store.epoch(), "the ledger is open");
        Ok(Self { store, flusher })
    }

    /// How often the journal was synced for those who waited.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.flusher.rounds()
    }

    /// Flushes, syncs, closes and unlocks. It blocks for that long; merely dropping the ledger does the same in the
    /// background.
    ///
    /// # Errors
    /// The storage failed, now or before.
    pub fn close(self) -> Result<(), LedgerError> {
        let Self { store, flusher } = self;
        drop(store);
        flusher.stop()
    }

    /// An operation that is listed as open.
    fn open_operation(current: Current<'_>, key: &[u8]) -> Result<Result<Operation, Unreadable>, Halt> {
        let listed = current.row(key)?;
        let id = String::from_utf8_lossy(listed.as_deref().unwrap_or_default()).into_owned();
        let read = match keys::open_number(key) {
            Some(number) => rows::read(&current, &keys::operation(number)),
            None => Err(Halt::Damaged(format!("the row {} has no number", key.escape_ascii()))),
        };
        match read {
            Ok(Some(operation)) => Ok(Ok(operation)),
            Ok(None) => Ok(Err(Unreadable { id, why: "its record is missing".to_owned() })),
            Err(Halt::Damaged(why)) => Ok(Err(Unreadable { id, why })),
            Err(halt) => Err(halt),
        }
    }

    /// The bytes that are kept for an operation, if any are.
    fn of_operation(
        &self,
        operation: &OperationId,
        key: impl Fn(u64) -> Vec<u8>,
    ) -> Result<Option<Vec<u8>>, LedgerError> {
        self.store.read(|rows| match values::read_number(&rows, &keys::operation_number(operation))? {
            Some(number) => Ok(rows.row(&key(number))?.map(|bytes| bytes.to_vec())),
            None => Ok(None),
        })
    }
}

impl fmt::Debug for SledLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SledLedger")
            .field("path", &self.store.path)
            .field("id", &self.store.id)
            .field("epoch", &self.store.epoch())
            .finish_non_exhaustive()
    }
}

impl Ledger for SledLedger {
    fn id(&self) -> &str {
        &self.store.id
    }

    fn lease_epoch(&self) -> u64 {
        self.store.epoch()
    }

    fn outlives_the_process(&self) -> bool {
        true
    }

    fn apply(&self, transition: Transition, durability: Durability) -> BoxFuture<'_, Result<Applied, LedgerError>> {
        Box::pin(async move {
            let (applied, waiting) = self.store.apply(&transition)?;
            // Counted until it has waited, or is dropped: a call that waits for its last sync is under way too.
            let _ends = self.flusher.calls.follow(&transition);
            drop(transition);
            if durability == Durability::Synced || waiting.is_over(MAX_PENDING) {
                self.flusher.synced().await?;
            }
            Ok(applied)
        })
    }

    fn operation(&self, id: &OperationId) -> Result<Option<Operation>, LedgerError> {
        self.store.read(|rows| rows::read_numbered(&rows, &keys::operation_number(id), keys::operation))
    }

    fn request(&self, key: &RequestKey) -> Result<Option<RequestRecord>, LedgerError> {
        self.store.read(|rows| rows::read_counted(&rows, &keys::request_number(key), keys::request))
    }

    fn hold(&self, id: &str) -> Result<Option<Hold>, LedgerError> {
        self.store.read(|rows| rows::read(&rows, &keys::hold(id)))
    }

    fn holds(&self, limit: usize) -> Result<Vec<Hold>, LedgerError> {
        self.store.read(|rows| {
            let mut found = Vec::new();
            for key in rows.keys(&keys::ALL_HOLDS).take(limit) {
                found.extend(rows::read(&rows, &key?)?);
            }
            Ok(found)
        })
    }

    fn account(&self, name: &str) -> Result<Option<Account>, LedgerError> {
        self.store.read(|rows| rows::read(&rows, &keys::account(name)))
    }

    fn accounts(&self, limit: usize) -> Result<Vec<(String, Account)>, LedgerError> {
        self.store.read(|rows| {
            let mut found = Vec::new();
            for key in rows.keys(&keys::ALL_ACCOUNTS).take(limit) {
                let key = key?;
                if let (Some(name), Some(account)) = (keys::account_name(&key), rows::read(&rows, &key)?) {
                    found.push((name, account));
                }
            }
            Ok(found)
        })
    }

    fn nonce(&self, key: &NonceKey) -> Result<Option<NonceMark>, LedgerError> {
        self.store.read(|rows| rows::read(&rows, &keys::nonce(key)))
    }

    fn nonce_marks(&self) -> Result<NonceMarks, LedgerError> {
        self.store.read(|rows| Ok(rows::read(&rows, keys::NONCE_MARKS)?.unwrap_or_default()))
    }

    fn reservation(&self, reservation: &RuntimeReservation) -> Result<Option<OperationId>, LedgerError> {
        self.store.read(|rows| rows::read(&rows, &keys::reservation(reservation)))
    }

    fn draft(&self, operation: &OperationId) -> Result<Option<Vec<u8>>, LedgerError> {
        self.of_operation(operation, keys::draft)
    }

    fn counter(&self, key: &CounterKey) -> Result<Option<Counter>, LedgerError> {
        self.store.read(|rows| rows::read(&rows, &keys::counter(key)))
    }

    fn counters(&self, prefix: &CounterKey, limit: usize) -> Result<Vec<(CounterKey, Counter)>, LedgerError> {
        self.store.read(|rows| {
            let mut found = Vec::new();
            let prefix = keys::counter(prefix);
            for row in rows.keys(&prefix).take(limit) {
                let row = row?;
                if let (Some(key), Some(counter)) = (keys::counter_key(&row), rows::read(&rows, &row)?) {
                    found.push((key, counter));
                }
            }
            Ok(found)
        })
    }

    fn lease_holders(&self, parent: &CounterKey, child: &CounterKey) -> Result<u64, LedgerError> {
        self.store.read(|rows| Ok(values::read_number(&rows, &keys::lease(parent, child))?.unwrap_or(0)))
    }

    fn approval(&self, operation: &OperationId) -> Result<Option<ApprovalRecord>, LedgerError> {
        self.store.read(|rows| rows::read_numbered(&rows, &keys::operation_number(operation), keys::approval))
    }

    fn revoked_at(&self, capability_id: &str) -> Result<Option<u64>, LedgerError> {
        self.store.read(|rows| rows::read(&rows, &keys::revocation(capability_id)))
    }

    fn output(&self, operation: &OperationId) -> Result<Option<Vec<u8>>, LedgerError> {
        self.of_operation(operation, keys::output)
    }

    fn receipt(&self, id: &str) -> Result<Option<Value>, LedgerError> {
        self.store.read(|rows| rows::read_counted(&rows, &keys::receipt_seq(id), keys::receipt))
    }

    fn replay_record(&self, receipt_id: &str) -> Result<Option<Vec<u8>>, LedgerError> {
        self.store.read(|rows| match values::read_number(&rows, &keys::receipt_seq(receipt_id))? {
            Some(seq) => Ok(rows.row(&keys::replay(seq))?.map(|bytes| bytes.to_vec())),
            None => Ok(None),
        })
    }

    fn log(&self, from: u64, limit: usize) -> Result<Vec<LogEntry>, LedgerError> {
        self.store.read(|rows| {
            let end = head::Head::read(&rows)?.log_length;
            let mut entries = Vec::new();
            // By key and not by scan: an entry that is missing is then seen to be.
            for seq in (from..end).take(limit) {
                let missing = || Halt::Damaged(format!("log entry {seq} is missing"));
                entries.push(rows::read(&rows, &keys::log(seq))?.ok_or_else(missing)?);
            }
            Ok(entries)
        })
    }

    fn open_operations(&self, limit: usize) -> Result<Vec<Result<Operation, Unreadable>>, LedgerError> {
        let read = |rows: Current<'_>| {
            rows.keys(&keys::ALL_OPEN).take(limit).map(|row| Self::open_operation(rows, &row?)).collect()
        };
        self.store.read(read)
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::OwnedFd;

    use chio_host_kernel::ledger::Mutation;
    use tempfile::TempDir;
    use tokio::runtime::Builder;

    use super::*;

    fn revoke(ledger: &SledLedger, capability_id: &str) -> Result<Applied, LedgerError> {
        let mutations = vec![Mutation::Revoke { capability_id: capability_id.to_owned(), at: 1 }];
        let transition = Transition::of(ledger.lease_epoch(), mutations);
        let apply = ledger.apply(transition, Durability::Synced);
        Builder::new_current_thread().build().unwrap().block_on(apply)
    }

    /// The journal's handle is replaced by one that cannot be synced (`fdatasync(2)` of a pipe is EINVAL). Only a
    /// ledger that really asks the system for a data sync, and believes the answer, notices.
    #[test]
    fn an_apply_waits_for_a_data_sync_and_fails_closed_without_it() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("ledger");
        let ledger = SledLedger::open(&path).unwrap();
        revoke(&ledger, "before").unwrap();
        ledger.close().unwrap();

        let mut data = open::open(&path, &Options::default()).unwrap();
        let (pipe, _other_end) = std::io::pipe().unwrap();
        data.journal.file = File::from(OwnedFd::from(pipe));
        let ledger = SledLedger::start(data).unwrap();
        let refused = revoke(&ledger, "during").unwrap_err();
        assert!(matches!(&refused, LedgerError::Unavailable(why) if why.contains("opened again")), "{refused}");
        assert_eq!(ledger.syncs(), 0);
        assert_eq!(revoke(&ledger, "later").unwrap_err(), refused);
        assert_eq!(ledger.revoked_at("before").unwrap_err(), refused);
        assert_eq!(ledger.close().unwrap_err(), refused);

        let ledger = SledLedger::open(&path).unwrap();
        assert_eq!((ledger.lease_epoch(), ledger.revoked_at("before")), (3, Ok(Some(1))));
        assert_eq!(ledger.revoked_at("later"), Ok(None));
        revoke(&ledger, "after").unwrap();
    }
}
