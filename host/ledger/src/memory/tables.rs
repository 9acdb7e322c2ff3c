//! All rows of a ledger in memory.

use chio_host_kernel::call::Namespace;
use chio_host_kernel::ledger::{
    Account, ApprovalRecord, Counter, CounterKey, Hold, LogEntry, Mutation, NonceKey, NonceMark, NonceMarks, Refused,
    RequestKey, RequestOutcome, RequestRecord, Transition,
};
use chio_host_kernel::operation::{Operation, OperationId};
use chio_host_kernel::receipt::SignedReceipt;
use chio_host_kernel::reservation::RuntimeReservation;
use serde_json::Value;

use super::table::Table;
use crate::NONCE_LIMIT;
use crate::rows::Rows;

/// Whether what has ended is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// All of it.
    Everything,
    /// Only what is still open.
    Open,
}

#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub(super) keep: Keep,
    pub(super) epoch: u64,
    pub(super) nonce_limit: u64,
    pub(super) operations: Table<OperationId, Operation>,
    /// Operations that have not ended.
    pub(super) open: Table<OperationId, ()>,
    pub(super) requests: Table<RequestKey, RequestRecord>,
    pub(super) holds: Table<String, Hold>,
    pub(super) counters: Table<CounterKey, Counter>,
    /// How many calls hold a child's share of its parent's budget, by their counters.
    pub(super) leases: Table<(CounterKey, CounterKey), u64>,
    pub(super) accounts: Table<String, Account>,
    pub(super) nonces: Table<NonceKey, NonceMark>,
    /// One row, or none before the first mark.
    pub(super) nonce_marks: Table<(), NonceMarks>,
    pub(super) reservations: Table<RuntimeReservation, OperationId>,
    pub(super) approvals: Table<OperationId, ApprovalRecord>,
    pub(super) drafts: Table<OperationId, Vec<u8>>,
    pub(super) revocations: Table<String, u64>,
    pub(super) outputs: Table<OperationId, Vec<u8>>,
    pub(super) receipts: Table<String, Value>,
    pub(super) replays: Table<String, Vec<u8>>,
    pub(super) log: Table<u64, LogEntry>,
}

impl Tables {
    pub(super) fn new(keep: Keep) -> Self {
        Self {
            keep,
            epoch: 1,
            nonce_limit: NONCE_LIMIT,
            operations: Table::default(),
            open: Table::default(),
            requests: Table::default(),
            holds: Table::default(),
            counters: Table::default(),
            leases: Table::default(),
            accounts: Table::default(),
            nonces: Table::default(),
            nonce_marks: Table::default(),
            reservations: Table::default(),
            approvals: Table::default(),
            drafts: Table::default(),
            revocations: Table::default(),
            outputs: Table::default(),
            receipts: Table::default(),
            replays: Table::default(),
            log: Table::default(),
        }
    }

    pub(super) fn commit(&mut self) {
        self.operations.commit();
        self.open.commit();
        self.requests.commit();
        self.holds.commit();
        self.counters.commit();
        self.leases.commit();
        self.accounts.commit();
        self.nonces.commit();
        self.nonce_marks.commit();
        self.reservations.commit();
        self.approvals.commit();
        self.drafts.commit();
        self.revocations.commit();
        self.outputs.commit();
        self.receipts.commit();
        self.replays.commit();
        self.log.commit();
    }

    pub(super) fn roll_back(&mut self) {
        self.operations.roll_back();
        self.open.roll_back();
        self.requests.roll_back();
        self.holds.roll_back();
        self.counters.roll_back();
        self.leases.roll_back();
        self.accounts.roll_back();
        self.nonces.roll_back();
        self.nonce_marks.roll_back();
        self.reservations.roll_back();
        self.approvals.roll_back();
        self.drafts.roll_back();
        self.revocations.roll_back();
        self.outputs.roll_back();
        self.receipts.roll_back();
        self.replays.roll_back();
        self.log.roll_back();
    }

    /// Drops what this transition ended, if what has ended is not kept.
    pub(super) fn forget(&mut self, transition: &Transition) {
        if self.keep == Keep::Everything {
            return;
        }
        for mutation in &transition.mutations {
            if let Mutation::BindRequest { key, record, .. } = mutation
                && !matches!(record.outcome, RequestOutcome::Open { .. })
            {
                self.requests.remove(key);
            }
        }
        if let Some(write) = &transition.operation
            && write.record.state.is_terminal()
        {
            self.forget_operation(&write.record);
        }
    }

    fn forget_operation(&mut self, record: &Operation) {
        self.operations.remove(&record.id);
        self.outputs.remove(&record.id);
        self.drafts.remove(&record.id);
        if let Some(hold) = &record.participants.hold {
            self.holds.remove(hold);
        }
        for namespace in [Namespace::Call, Namespace::Check] {
            let key = RequestKey {
                subject: record.binding.subject.clone(),
                namespace,
                request_id: record.binding.request_id.clone(),
            };
            let open = RequestOutcome::Open { operation: record.id.clone() };
            if self.requests.get(&key).is_some_and(|r| r.outcome == open) {
                self.requests.remove(&key);
            }
        }
    }
}

impl Rows for Tables {
    type Error = Refused;

    fn lease_epoch(&self) -> u64 {
        self.epoch
    }

    fn operation(&self, id: &OperationId) -> Result<Option<Operation>, Refused> {
        Ok(self.operations.get(id).cloned())
    }

    fn insert_operation(&mut self, record: &Operation) -> Result<(), Refused> {
        self.open.put(record.id.clone(), ());
        self.operations.put(record.id.clone(), record.clone());
        Ok(())
    }

    fn update_operation(&mut self, record: &Operation) -> Result<(), Refused> {
        if record.state.is_terminal() {
            self.open.remove(&record.id);
        }
        self.operations.put(record.id.clone(), record.clone());
        Ok(())
    }

    fn request(&self, key: &RequestKey) -> Result<Option<RequestRecord>, Refused> {
        Ok(self.requests.get(key).cloned())
    }

    fn put_request(&mut self, key: &RequestKey, record: &RequestRecord) -> Result<(), Refused> {
        self.requests.put(key.clone(), record.clone());
        Ok(())
    }

    fn hold(&self, id: &str) -> Result<Option<Hold>, Refused> {
        Ok(self.holds.get(id).cloned())
    }

    fn insert_hold(&mut self, hold: &Hold) -> Result<(), Refused> {
        self.put_hold(hold)
    }

    fn put_hold(&mut self, hold: &Hold) -> Result<(), Refused> {
        self.holds.put(hold.id.clone(), hold.clone());
        Ok(())
    }

    fn remove_hold(&mut self, id: &str) -> Result<(), Refused> {
        self.holds.remove(&id.to_owned());
        Ok(())
    }

    fn counter(&self, key: &CounterKey) -> Result<Option<Counter>, Refused> {
        Ok(self.counters.get(key).copied())
    }

    fn put_counter(&mut self, key: &CounterKey, counter: Counter) -> Result<(), Refused> {
        self.counters.put(key.clone(), counter);
        Ok(())
    }

    fn lease_holders(&self, parent: &CounterKey, child: &CounterKey) -> Result<u64, Refused> {
        Ok(self.leases.get(&(parent.clone(), child.clone())).copied().unwrap_or(0))
    }

    fn put_lease_holders(&mut self, parent: &CounterKey, child: &CounterKey, holders: u64) -> Result<(), Refused> {
        let key = (parent.clone(), child.clone());
        if holders == 0 {
            self.leases.remove(&key);
        } else {
            self.leases.put(key, holders);
        }
        Ok(())
    }

    fn account(&self, name: &str) -> Result<Option<Account>, Refused> {
        Ok(self.accounts.get(name).cloned())
    }

    fn put_account(&mut self, name: &str, account: &Account) -> Result<(), Refused> {
        self.accounts.put(name.to_owned(), account.clone());
        Ok(())
    }

    fn nonce_limit(&self) -> u64 {
        self.nonce_limit
    }

    fn nonce(&self, key: &NonceKey) -> Result<Option<NonceMark>, Refused> {
        Ok(self.nonces.get(key).cloned())
    }

    fn insert_nonce(&mut self, key: &NonceKey, mark: &NonceMark) -> Result<(), Refused> {
        self.put_nonce(key, mark)
    }

    fn put_nonce(&mut self, key: &NonceKey, mark: &NonceMark) -> Result<(), Refused> {
        self.nonces.put(key.clone(), mark.clone());
        Ok(())
    }

    fn remove_nonce(&mut self, key: &NonceKey) -> Result<(), Refused> {
        self.nonces.remove(key);
        Ok(())
    }

    fn nonce_marks(&self) -> Result<NonceMarks, Refused> {
        Ok(self.nonce_marks.get(&()).copied().unwrap_or_default())
    }

    fn put_nonce_marks(&mut self, marks: NonceMarks) -> Result<(), Refused> {
        self.nonce_marks.put((), marks);
        Ok(())
    }

    fn first_nonces(&self, limit: usize) -> Result<Vec<NonceKey>, Refused> {
        Ok(self.nonces.keys().take(limit).cloned().collect())
    }

    fn reservation(&self, reservation: &RuntimeReservation) -> Result<Option<OperationId>, Refused> {
        Ok(self.reservations.get(reservation).cloned())
    }

    fn put_reservation(&mut self, reservation: &RuntimeReservation, owner: &OperationId) -> Result<(), Refused> {
        self.reservations.put(reservation.clone(), owner.clone());
        Ok(())
    }

    fn remove_reservation(&mut self, reservation: &RuntimeReservation) -> Result<(), Refused> {
        self.reservations.remove(reservation);
        Ok(())
    }

    fn approval(&self, operation: &OperationId) -> Result<Option<ApprovalRecord>, Refused> {
        Ok(self.approvals.get(operation).cloned())
    }

    fn put_approval(&mut self, operation: &OperationId, approval: &ApprovalRecord) -> Result<(), Refused> {
        self.approvals.put(operation.clone(), approval.clone());
        Ok(())
    }

    fn put_draft(&mut self, operation: &OperationId, bytes: &[u8]) -> Result<(), Refused> {
        self.drafts.put(operation.clone(), bytes.to_vec());
        Ok(())
    }

    fn remove_draft(&mut self, operation: &OperationId) -> Result<(), Refused> {
        self.drafts.remove(operation);
        Ok(())
    }

    fn revoked_at(&self, capability_id: &str) -> Result<Option<u64>, Refused> {
        Ok(self.revocations.get(capability_id).copied())
    }

    fn put_revocation(&mut self, capability_id: &str, at: u64) -> Result<(), Refused> {
        self.revocations.put(capability_id.to_owned(), at);
        Ok(())
    }

    fn put_output(&mut self, operation: &OperationId, bytes: &[u8]) -> Result<(), Refused> {
        self.outputs.put(operation.clone(), bytes.to_vec());
        Ok(())
    }

    fn has_receipt(&self, id: &str) -> Result<bool, Refused> {
        Ok(self.receipts.contains_key(id))
    }

    fn last_entry(&self) -> Result<Option<LogEntry>, Refused> {
        Ok(self.log.last_key_value().map(|(_, entry)| entry.clone()))
    }

    fn append(&mut self, entry: &LogEntry, receipt: &SignedReceipt, replay: Option<&[u8]>) -> Result<(), Refused> {
        if self.keep == Keep::Open
            && let Some(last) = entry.seq.checked_sub(1)
        {
            // Only the last entry is needed, for the next to seal it.
            self.log.remove(&last);
        }
        self.log.put(entry.seq, entry.clone());
        if self.keep == Keep::Everything {
            self.receipts.put(receipt.id().to_owned(), receipt.record().clone());
            if let Some(replay) = replay {
                self.replays.put(receipt.id().to_owned(), replay.to_vec());
            }
        }
        Ok(())
    }
}
