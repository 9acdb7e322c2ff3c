//! A ledger on disk that is opened again after its storage failed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use chio_host_kernel::ledger::{
    Account, Applied, ApprovalRecord, Counter, CounterKey, Durability, Hold, Ledger, LedgerError, LogEntry, NonceKey,
    NonceMark, NonceMarks, RequestKey, RequestRecord, Transition, Unreadable,
};
use chio_host_kernel::operation::{Operation, OperationId};
use chio_host_kernel::ports::BoxFuture;
use chio_host_kernel::reservation::RuntimeReservation;
use serde_json::Value;
use tokio::sync::Notify;

use crate::disk::written_last;
use crate::{OpenError, Options, SledLedger};

/// How long to wait before a folder that cannot be opened is tried again: the first time, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// A [`SledLedger`] that comes back.
///
/// After the first storage error nothing is served, as with the ledger itself. [`supervise`](Self::supervise) then lets go
/// of the folder, opens it again under a new lease epoch as soon as that succeeds, and has recovery look at what was in
/// flight. Writers from before are fenced by their epoch.
pub struct SupervisedLedger {
    path: PathBuf,
    options: Options,
    id: String,
    state: RwLock<State>,
    failed: Notify,
}

struct State {
    /// The epoch of the last opening, which outlives it.
    epoch: u64,
    serving: Result<Arc<SledLedger>, LedgerError>,
}

impl SupervisedLedger {
    /// Opens the ledger in a folder, or creates one there.
    ///
    /// # Errors
    /// As [`SledLedger::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, Options::default())
    }

    /// The same, with these options, now and whenever it is opened again.
    ///
    /// # Errors
    /// As [`SledLedger::open`].
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        let ledger = SledLedger::open_with(&path, &options)?;
        let (id, epoch) = (ledger.id().to_owned(), ledger.lease_epoch());
        let state = RwLock::new(State { epoch, serving: Ok(Arc::new(ledger)) });
        Ok(Self { path: path.as_ref().to_owned(), options, id, state, failed: Notify::new() })
    }

    /// Opens the ledger again whenever it failed, and runs `recover` on it before it counts as served again. It never ends
    /// by itself.
    pub async fn supervise(self: Arc<Self>, recover: impl Fn() -> BoxFuture<'static, Result<(), String>> + Send) {
        loop {
            self.failed.notified().await;
            let Some(why) = self.failure() else { continue };
            tracing::error!(%why, "the ledger failed; it is opened again as soon as that is possible");
            let (mut pause, most) = PAUSES;
            loop {
                match self.reopen().await.map_err(|e| e.to_string()) {
                    Ok(()) => match recover().await {
                        Ok(()) => break,
                        Err(why) => {
                            tracing::error!(why, "the ledger was opened again, and recovery failed");
                            self.let_go(why);
                        }
                    },
                    Err(why) => tracing::warn!(why, "the ledger cannot be opened yet"),
                }
                wait(pause).await;
                pause = (pause * 2).min(most);
            }
            tracing::warn!(epoch = self.lease_epoch(), "the ledger is served again");
        }
    }

    fn failure(&self) -> Option<LedgerError> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).serving.as_ref().err().cloned()
    }

    /// Takes the folder again. The old ledger ends with the last of the calls that are failing with it.
    async fn reopen(&self) -> Result<(), OpenError> {
        let (path, options) = (self.path.clone(), self.options.clone());
        let opened = tokio::task::spawn_blocking(move || {
            for file in written_last(&path) {
                forget_cached(&file);
            }
            SledLedger::open_with(path, &options)
        })
        .await;
        let ledger = opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        *state = State { epoch: ledger.lease_epoch(), serving: Ok(Arc::new(ledger)) };
        Ok(())
    }

    /// Serves nothing more from the ledger that is open, so that it can be opened again.
    fn let_go(&self, why: String) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.serving = Err(LedgerError::Unavailable(why));
    }

    fn current(&self) -> Result<Arc<SledLedger>, LedgerError> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).serving.clone()
    }

    /// Takes a ledger that answered so out of service, once.
    fn noted<T>(&self, ledger: &Arc<SledLedger>, answer: Result<T, LedgerError>) -> Result<T, LedgerError> {
        if let Err(why @ LedgerError::Unavailable(_)) = &answer {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            if state.serving.as_ref().is_ok_and(|serving| Arc::ptr_eq(serving, ledger)) {
                state.serving = Err(why.clone());
                self.failed.notify_one();
            }
        }
        answer
    }

    fn read<T>(&self, read: impl FnOnce(&SledLedger) -> Result<T, LedgerError>) -> Result<T, LedgerError> {
        let ledger = self.current()?;
        let answer = read(&ledger);
        self.noted(&ledger, answer)
    }
}

/// After a sync that failed, Linux counts pages as clean that never reached the disk. What is read next must come from
/// there, or recovery would build on what the next power cut takes away.
#[cfg(target_os = "linux")]
fn forget_cached(file: &Path) {
    use rustix::fs::{Advice, fadvise};
    let advised = std::fs::File::open(file).map(|file| fadvise(&file, 0, None, Advice::DontNeed));
    if let Err(error) = advised.map_err(|e| e.to_string()).and_then(|done| done.map_err(|e| e.to_string())) {
        tracing::warn!(file = %file.display(), error, "the system's cache of the ledger is not dropped");
    }
}

#[cfg(not(target_os = "linux"))]
fn forget_cached(_: &Path) {}

#[expect(clippy::disallowed_methods, reason = "a disk tells nobody when it has room again")]
async fn wait(pause: Duration) {
    tokio::time::sleep(pause).await;
}

impl Ledger for SupervisedLedger {
    fn id(&self) -> &str {
        &self.id
    }

    fn lease_epoch(&self) -> u64 {
        self.state.read().unwrap_or_else(PoisonError::into_inner).epoch
    }

    fn outlives_the_process(&self) -> bool {
        true
    }

    fn apply(&self, transition: Transition, durability: Durability) -> BoxFuture<'_, Result<Applied, LedgerError>> {
        Box::pin(async move {
            let ledger = self.current()?;
            let answer = ledger.apply(transition, durability).await;
            self.noted(&ledger, answer)
        })
    }

    fn operation(&self, id: &OperationId) -> Result<Option<Operation>, LedgerError> {
        self.read(|ledger| ledger.operation(id))
    }

    fn request(&self, key: &RequestKey) -> Result<Option<RequestRecord>, LedgerError> {
        self.read(|ledger| ledger.request(key))
    }

    fn hold(&self, id: &str) -> Result<Option<Hold>, LedgerError> {
        self.read(|ledger| ledger.hold(id))
    }

    fn holds(&self, limit: usize) -> Result<Vec<Hold>, LedgerError> {
        self.read(|ledger| ledger.holds(limit))
    }

    fn account(&self, name: &str) -> Result<Option<Account>, LedgerError> {
        self.read(|ledger| ledger.account(name))
    }

    fn accounts(&self, limit: usize) -> Result<Vec<(String, Account)>, LedgerError> {
        self.read(|ledger| ledger.accounts(limit))
    }

    fn nonce(&self, key: &NonceKey) -> Result<Option<NonceMark>, LedgerError> {
        self.read(|ledger| ledger.nonce(key))
    }

    fn nonce_marks(&self) -> Result<NonceMarks, LedgerError> {
        self.read(SledLedger::nonce_marks)
    }

    fn reservation(&self, reservation: &RuntimeReservation) -> Result<Option<OperationId>, LedgerError> {
        self.read(|ledger| ledger.reservation(reservation))
    }

    fn draft(&self, operation: &OperationId) -> Result<Option<Vec<u8>>, LedgerError> {
        self.read(|ledger| ledger.draft(operation))
    }

    fn counter(&self, key: &CounterKey) -> Result<Option<Counter>, LedgerError> {
        self.read(|ledger| ledger.counter(key))
    }

    fn counters(&self, prefix: &CounterKey, limit: usize) -> Result<Vec<(CounterKey, Counter)>, LedgerError> {
        self.read(|ledger| ledger.counters(prefix, limit))
    }

    fn lease_holders(&self, parent: &CounterKey, child: &CounterKey) -> Result<u64, LedgerError> {
        self.read(|ledger| ledger.lease_holders(parent, child))
    }

    fn approval(&self, operation: &OperationId) -> Result<Option<ApprovalRecord>, LedgerError> {
        self.read(|ledger| ledger.approval(operation))
    }

    fn revoked_at(&self, capability_id: &str) -> Result<Option<u64>, LedgerError> {
        self.read(|ledger| ledger.revoked_at(capability_id))
    }

    fn output(&self, operation: &OperationId) -> Result<Option<Vec<u8>>, LedgerError> {
        self.read(|ledger| ledger.output(operation))
    }

    fn receipt(&self, id: &str) -> Result<Option<Value>, LedgerError> {
        self.read(|ledger| ledger.receipt(id))
    }

    fn replay_record(&self, receipt_id: &str) -> Result<Option<Vec<u8>>, LedgerError> {
        self.read(|ledger| ledger.replay_record(receipt_id))
    }

    fn log(&self, from: u64, limit: usize) -> Result<Vec<LogEntry>, LedgerError> {
        self.read(|ledger| ledger.log(from, limit))
    }

    fn open_operations(&self, limit: usize) -> Result<Vec<Result<Operation, Unreadable>>, LedgerError> {
        self.read(|ledger| ledger.open_operations(limit))
    }
}
