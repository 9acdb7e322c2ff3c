//! The ledger in memory.

mod table;
mod tables;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chio_host_kernel::ledger::{
    Account, Applied, ApprovalRecord, Counter, CounterKey, Durability, Hold, Ledger, LedgerError, LogEntry, NonceKey,
    NonceMark, NonceMarks, RequestKey, RequestRecord, Transition, Unreadable,
};
use chio_host_kernel::operation::{Operation, OperationId};
use chio_host_kernel::ports::BoxFuture;
use chio_host_kernel::reservation::RuntimeReservation;
use serde_json::Value;
use uuid::Uuid;

use self::tables::{Keep, Tables};
use crate::apply::apply;

/// A ledger that lives as long as its process. Both durabilities mean the same to it.
pub struct MemoryLedger {
    id: String,
    tables: Mutex<Tables>,
}

impl MemoryLedger {
    /// A ledger that keeps everything, and so grows with every call: for tests and examples.
    #[must_use]
    pub fn new() -> Self {
        Self::keeping(Keep::Everything)
    }

    /// A ledger for calls that need nothing durable.
    ///
    /// It forgets an operation, its hold, output and request record the moment the operation has ended, keeps no
    /// receipt and, of its log, the last entry. So it is bounded by the calls in flight. Counters and revocations stay:
    /// such calls make neither.
    #[must_use]
    pub fn volatile() -> Self {
        Self::keeping(Keep::Open)
    }

    /// The same ledger with room for this many nonce marks.
    #[must_use]
    pub fn with_nonce_limit(mut self, limit: u64) -> Self {
        self.tables.get_mut().unwrap_or_else(PoisonError::into_inner).nonce_limit = limit;
        self
    }

    /// The same ledger as it is now, apart from this one. For tests of what survives.
    ///
    /// # Errors
    /// A thread panicked while it wrote to it.
    pub fn copy(&self) -> Result<Self, LedgerError> {
        Ok(Self { id: self.id.clone(), tables: Mutex::new(self.tables()?.clone()) })
    }

    /// What a restart of its process would find, if this ledger were kept somewhere: a copy, under the next lease epoch.
    ///
    /// # Errors
    /// A thread panicked while it wrote to it.
    pub fn reopened(&self) -> Result<Self, LedgerError> {
        let mut copy = self.copy()?;
        copy.tables.get_mut().unwrap_or_else(PoisonError::into_inner).epoch += 1;
        Ok(copy)
    }

    fn keeping(keep: Keep) -> Self {
        Self { id: Uuid::now_v7().to_string(), tables: Mutex::new(Tables::new(keep)) }
    }

    fn tables(&self) -> Result<MutexGuard<'_, Tables>, LedgerError> {
        self.tables.lock().map_err(|_| LedgerError::Unavailable("a thread panicked while it wrote to it".to_owned()))
    }
}

impl Default for MemoryLedger {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLedger").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Ledger for MemoryLedger {
    fn id(&self) -> &str {
        &self.id
    }

    fn lease_epoch(&self) -> u64 {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner).epoch
    }

    fn outlives_the_process(&self) -> bool {
        false
    }

    fn apply(&self, transition: Transition, _: Durability) -> BoxFuture<'_, Result<Applied, LedgerError>> {
        Box::pin(async move {
            let mut tables = self.tables()?;
            match apply(&mut *tables, &transition) {
                Ok(applied) => {
                    tables.forget(&transition);
                    tables.commit();
                    Ok(applied)
                }
                Err(refused) => {
                    tables.roll_back();
                    Err(refused.into())
                }
            }
        })
    }

    fn operation(&self, id: &OperationId) -> Result<Option<Operation>, LedgerError> {
        Ok(self.tables()?.operations.get(id).cloned())
    }

    fn request(&self, key: &RequestKey) -> Result<Option<RequestRecord>, LedgerError> {
        Ok(self.tables()?.requests.get(key).cloned())
    }

    fn hold(&self, id: &str) -> Result<Option<Hold>, LedgerError> {
        Ok(self.tables()?.holds.get(id).cloned())
    }

    fn holds(&self, limit: usize) -> Result<Vec<Hold>, LedgerError> {
        Ok(self.tables()?.holds.values().take(limit).cloned().collect())
    }

    fn account(&self, name: &str) -> Result<Option<Account>, LedgerError> {
        Ok(self.tables()?.accounts.get(name).cloned())
    }

    fn accounts(&self, limit: usize) -> Result<Vec<(String, Account)>, LedgerError> {
        let tables = self.tables()?;
        Ok(tables.accounts.iter().take(limit).map(|(name, account)| (name.clone(), account.clone())).collect())
    }

    fn nonce(&self, key: &NonceKey) -> Result<Option<NonceMark>, LedgerError> {
        Ok(self.tables()?.nonces.get(key).cloned())
    }

    fn nonce_marks(&self) -> Result<NonceMarks, LedgerError> {
        Ok(self.tables()?.nonce_marks.get(&()).copied().unwrap_or_default())
    }

    fn reservation(&self, reservation: &RuntimeReservation) -> Result<Option<OperationId>, LedgerError> {
        Ok(self.tables()?.reservations.get(reservation).cloned())
    }

    fn draft(&self, operation: &OperationId) -> Result<Option<Vec<u8>>, LedgerError> {
        Ok(self.tables()?.drafts.get(operation).cloned())
    }

    fn counter(&self, key: &CounterKey) -> Result<Option<Counter>, LedgerError> {
        Ok(self.tables()?.counters.get(key).copied())
    }

    fn counters(&self, prefix: &CounterKey, limit: usize) -> Result<Vec<(CounterKey, Counter)>, LedgerError> {
        let tables = self.tables()?;
        let from = tables.counters.range(prefix.clone()..);
        let within = from.take_while(|(key, _)| key.as_str().starts_with(prefix.as_str()));
        Ok(within.take(limit).map(|(key, counter)| (key.clone(), *counter)).collect())
    }

    fn lease_holders(&self, parent: &CounterKey, child: &CounterKey) -> Result<u64, LedgerError> {
        Ok(self.tables()?.leases.get(&(parent.clone(), child.clone())).copied().unwrap_or(0))
    }

    fn approval(&self, operation: &OperationId) -> Result<Option<ApprovalRecord>, LedgerError> {
        Ok(self.tables()?.approvals.get(operation).cloned())
    }

    fn revoked_at(&self, capability_id: &str) -> Result<Option<u64>, LedgerError> {
        Ok(self.tables()?.revocations.get(capability_id).copied())
    }

    fn output(&self, operation: &OperationId) -> Result<Option<Vec<u8>>, LedgerError> {
        Ok(self.tables()?.outputs.get(operation).cloned())
    }

    fn receipt(&self, id: &str) -> Result<Option<Value>, LedgerError> {
        Ok(self.tables()?.receipts.get(id).cloned())
    }

    fn replay_record(&self, receipt_id: &str) -> Result<Option<Vec<u8>>, LedgerError> {
        Ok(self.tables()?.replays.get(receipt_id).cloned())
    }

    fn log(&self, from: u64, limit: usize) -> Result<Vec<LogEntry>, LedgerError> {
        Ok(self.tables()?.log.range(from..).take(limit).map(|(_, entry)| entry.clone()).collect())
    }

    fn open_operations(&self, limit: usize) -> Result<Vec<Result<Operation, Unreadable>>, LedgerError> {
        let tables = self.tables()?;
        Ok(tables.open.keys().take(limit).filter_map(|id| tables.operations.get(id).cloned().map(Ok)).collect())
    }
}
