//! Ledgers that behave worse than any real one, so that what a call owes can be looked at in between.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chio_host_kernel::ledger::{
    Account, Applied, ApprovalRecord, Counter, CounterKey, Durability, Hold, Ledger, LedgerError, LogEntry, Mutation,
    NonceKey, NonceMark, NonceMarks, RequestKey, RequestRecord, Transition, Unreadable,
};
use chio_host_kernel::operation::{Operation, OperationId};
use chio_host_kernel::ports::BoxFuture;
use chio_host_kernel::reservation::RuntimeReservation;
use chio_host_ledger::MemoryLedger;
use serde_json::Value;

use crate::native::pause;

/// What becomes of a transition.
pub type Verdict = dyn Fn(&Transition) -> Option<LedgerError> + Send + Sync;

/// A ledger in memory that says of itself that it outlives its process, and whose process can be killed: what was only
/// buffered since the last sync may be gone then.
///
/// Every apply waits once after it has changed what it changes, like one that waits for a disk.
pub struct TestLedger {
    now: Mutex<Arc<MemoryLedger>>,
    /// As it was after each apply since the last sync, that one included. Emptied by every sync.
    since_sync: Mutex<Vec<MemoryLedger>>,
    keeps: bool,
    refuse: Mutex<Option<Arc<Verdict>>>,
    id: String,
}

impl TestLedger {
    /// An empty one.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Self::over(MemoryLedger::new(), false)
    }

    /// An empty one that can be killed.
    #[must_use]
    pub fn killable() -> Arc<Self> {
        Self::over(MemoryLedger::new(), true)
    }

    fn over(ledger: MemoryLedger, keeps: bool) -> Arc<Self> {
        let id = ledger.id().to_owned();
        let since_sync = if keeps { vec![ledger.copy().expect("the ledger can be read")] } else { Vec::new() };
        let (now, since_sync) = (Mutex::new(Arc::new(ledger)), Mutex::new(since_sync));
        Arc::new(Self { now, since_sync, keeps, refuse: Mutex::default(), id })
    }

    /// From now on, what `verdict` names is not applied.
    pub fn refuse(&self, verdict: impl Fn(&Transition) -> Option<LedgerError> + Send + Sync + 'static) {
        *lock(&self.refuse) = Some(Arc::new(verdict));
    }

    /// Refuses nothing any more.
    pub fn relent(&self) {
        *lock(&self.refuse) = None;
    }

    /// What a restart finds after a kill: of what was not synced, `kept` out of 255 of it, in order, is there by luck.
    ///
    /// # Panics
    /// It is not [`killable`](Self::killable), or a thread panicked while it wrote.
    #[must_use]
    pub fn killed(&self, kept: u8) -> Arc<Self> {
        let since = lock(&self.since_sync);
        let found = since[(since.len() - 1) * usize::from(kept) / 255].reopened();
        Self::over(found.expect("the ledger can be read"), true)
    }

    /// What a restart finds after the process ended by itself.
    ///
    /// # Panics
    /// A thread panicked while it wrote.
    #[must_use]
    pub fn closed(&self) -> Arc<Self> {
        Self::over(self.now().reopened().expect("the ledger can be read"), true)
    }

    fn now(&self) -> Arc<MemoryLedger> {
        lock(&self.now).clone()
    }

    fn remember(&self, durability: Durability) -> Result<(), LedgerError> {
        if !self.keeps {
            return Ok(());
        }
        let copy = self.now().copy()?;
        let mut since = lock(&self.since_sync);
        if durability == Durability::Synced {
            since.clear();
        }
        since.push(copy);
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ledger for TestLedger {
    fn id(&self) -> &str {
        &self.id
    }

    fn lease_epoch(&self) -> u64 {
        self.now().lease_epoch()
    }

    fn outlives_the_process(&self) -> bool {
        true
    }

    fn apply(&self, transition: Transition, durability: Durability) -> BoxFuture<'_, Result<Applied, LedgerError>> {
        Box::pin(async move {
            let refused = lock(&self.refuse).clone().and_then(|verdict| verdict(&transition));
            if let Some(error) = refused {
                return Err(error);
            }
            let applied = self.now().apply(transition, durability).await?;
            self.remember(durability)?;
            pause(1).await;
            Ok(applied)
        })
    }

    fn operation(&self, id: &OperationId) -> Result<Option<Operation>, LedgerError> {
        self.now().operation(id)
    }

    fn request(&self, key: &RequestKey) -> Result<Option<RequestRecord>, LedgerError> {
        self.now().request(key)
    }

    fn hold(&self, id: &str) -> Result<Option<Hold>, LedgerError> {
        self.now().hold(id)
    }

    fn holds(&self, limit: usize) -> Result<Vec<Hold>, LedgerError> {
        self.now().holds(limit)
    }

    fn account(&self, name: &str) -> Result<Option<Account>, LedgerError> {
        self.now().account(name)
    }

    fn accounts(&self, limit: usize) -> Result<Vec<(String, Account)>, LedgerError> {
        self.now().accounts(limit)
    }

    fn nonce(&self, key: &NonceKey) -> Result<Option<NonceMark>, LedgerError> {
        self.now().nonce(key)
    }

    fn nonce_marks(&self) -> Result<NonceMarks, LedgerError> {
        self.now().nonce_marks()
    }

    fn reservation(&self, reservation: &RuntimeReservation) -> Result<Option<OperationId>, LedgerError> {
        self.now().reservation(reservation)
    }

    fn draft(&self, operation: &OperationId) -> Result<Option<Vec<u8>>, LedgerError> {
        self.now().draft(operation)
    }

    fn counter(&self, key: &CounterKey) -> Result<Option<Counter>, LedgerError> {
        self.now().counter(key)
    }

    fn counters(&self, prefix: &CounterKey, limit: usize) -> Result<Vec<(CounterKey, Counter)>, LedgerError> {
        self.now().counters(prefix, limit)
    }

    fn lease_holders(&self, parent: &CounterKey, child: &CounterKey) -> Result<u64, LedgerError> {
        self.now().lease_holders(parent, child)
    }

    fn approval(&self, operation: &OperationId) -> Result<Option<ApprovalRecord>, LedgerError> {
        self.now().approval(operation)
    }

    fn revoked_at(&self, capability_id: &str) -> Result<Option<u64>, LedgerError> {
        self.now().revoked_at(capability_id)
    }

    fn output(&self, operation: &OperationId) -> Result<Option<Vec<u8>>, LedgerError> {
        self.now().output(operation)
    }

    fn receipt(&self, id: &str) -> Result<Option<Value>, LedgerError> {
        self.now().receipt(id)
    }

    fn replay_record(&self, receipt_id: &str) -> Result<Option<Vec<u8>>, LedgerError> {
        self.now().replay_record(receipt_id)
    }

    fn log(&self, from: u64, limit: usize) -> Result<Vec<LogEntry>, LedgerError> {
        self.now().log(from, limit)
    }

    fn open_operations(&self, limit: usize) -> Result<Vec<Result<Operation, Unreadable>>, LedgerError> {
        self.now().open_operations(limit)
    }
}

/// Whether a transition does something of this kind.
#[must_use]
pub fn does(transition: &Transition, kind: fn(&Mutation) -> bool) -> bool {
    transition.mutations.iter().any(kind)
}
