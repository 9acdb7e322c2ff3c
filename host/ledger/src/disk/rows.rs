//! Rows inside one apply.

use std::cell::RefCell;

use chio_host_kernel::ledger::{
    Account, ApprovalRecord, Counter, CounterKey, Hold, LogEntry, NonceKey, NonceMark, NonceMarks, RequestKey,
    RequestRecord,
};
use chio_host_kernel::operation::{Operation, OperationId};
use chio_host_kernel::receipt::SignedReceipt;
use chio_host_kernel::reservation::RuntimeReservation;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sled::IVec;

use super::halt::Halt;
use super::head::Head;
use super::keys;
use super::pending::{Changes, Current};
use super::values::{self, Pairs, PairsMut};
use crate::rows::Rows;

/// Reads a row as the JSON it was written as.
pub(super) fn read<T: DeserializeOwned>(pairs: &impl Pairs, key: &[u8]) -> Result<Option<T>, Halt> {
    let Some(bytes) = pairs.row(key)? else { return Ok(None) };
    let damaged = |e| Halt::Damaged(format!("the row {}: {e}", key.escape_ascii()));
    serde_json::from_slice(&bytes).map(Some).map_err(damaged)
}

/// Reads the value that is kept under the number that stands at `index`.
pub(super) fn read_numbered<T: DeserializeOwned>(
    pairs: &impl Pairs,
    index: &[u8],
    key: impl FnOnce(u64) -> Vec<u8>,
) -> Result<Option<T>, Halt> {
    match values::read_number(pairs, index)? {
        Some(number) => read(pairs, &key(number)),
        None => Ok(None),
    }
}

/// The same, where a number that stands without its value is damage.
pub(super) fn read_counted<T: DeserializeOwned>(
    pairs: &impl Pairs,
    index: &[u8],
    key: impl FnOnce(u64) -> Vec<u8>,
) -> Result<Option<T>, Halt> {
    let Some(number) = values::read_number(pairs, index)? else { return Ok(None) };
    let missing = || Halt::Damaged(format!("the row {} names number {number}, which is missing", index.escape_ascii()));
    read(pairs, &key(number))?.ok_or_else(missing).map(Some)
}

fn to_bytes(key: &[u8], value: &impl Serialize) -> Result<Vec<u8>, Halt> {
    let unwritable = |e| Halt::Damaged(format!("the row {} cannot be written: {e}", key.escape_ascii()));
    serde_json::to_vec(value).map_err(unwritable)
}

/// The changes of one apply over everything before it. They are dropped if it is refused.
pub(super) struct SledRows<'a> {
    before: Current<'a>,
    changes: Changes,
    head: Head,
    nonce_limit: u64,
    /// The operation whose number was found last: a transition is about one, and speaks of it often.
    known: RefCell<Option<(OperationId, u64)>>,
}

impl Pairs for SledRows<'_> {
    fn row(&self, key: &[u8]) -> Result<Option<IVec>, Halt> {
        match self.changes.get(key) {
            Some(changed) => Ok(changed.clone()),
            None => self.before.row(key),
        }
    }
}

impl PairsMut for SledRows<'_> {
    fn put(&mut self, key: Vec<u8>, row: IVec) {
        self.changes.insert(key, Some(row));
    }

    fn delete(&mut self, key: Vec<u8>) {
        self.changes.insert(key, None);
    }
}

impl<'a> SledRows<'a> {
    pub(super) fn begin(before: Current<'a>, head: Head, nonce_limit: u64) -> Self {
        Self { before, changes: Changes::new(), head, nonce_limit, known: RefCell::default() }
    }

    /// What was changed, and the head with it.
    pub(super) fn finish(mut self) -> (Changes, Head) {
        self.head.applied += 1;
        self.put(keys::HEAD.to_vec(), self.head.to_row().into());
        (self.changes, self.head)
    }

    fn write(&mut self, key: Vec<u8>, value: &impl Serialize) -> Result<(), Halt> {
        let bytes = to_bytes(&key, value)?;
        self.put(key, bytes.into());
        Ok(())
    }

    fn number_of(&self, operation: &OperationId) -> Result<Option<u64>, Halt> {
        if let Some((known, number)) = &*self.known.borrow()
            && known == operation
        {
            return Ok(Some(*number));
        }
        let number = values::read_number(self, &keys::operation_number(operation))?;
        self.known.replace(number.map(|number| (operation.clone(), number)));
        Ok(number)
    }

    /// The number of an operation, which it is given when it is first spoken of.
    fn number_for(&mut self, operation: &OperationId) -> Result<u64, Halt> {
        if let Some(number) = self.number_of(operation)? {
            return Ok(number);
        }
        let number = self.head.operations;
        self.head.operations += 1;
        values::write_number(self, keys::operation_number(operation), number);
        self.known.replace(Some((operation.clone(), number)));
        Ok(number)
    }
}

impl Rows for SledRows<'_> {
    type Error = Halt;

    fn lease_epoch(&self) -> u64 {
        self.head.epoch
    }

    fn operation(&self, id: &OperationId) -> Result<Option<Operation>, Halt> {
        match self.number_of(id)? {
            Some(number) => read(self, &keys::operation(number)),
            None => Ok(None),
        }
    }

    fn insert_operation(&mut self, record: &Operation) -> Result<(), Halt> {
        let number = self.number_for(&record.id)?;
        self.put(keys::open(number), record.id.as_str().into());
        self.write(keys::operation(number), record)
    }

    fn update_operation(&mut self, record: &Operation) -> Result<(), Halt> {
        let number = self.number_for(&record.id)?;
        if record.state.is_terminal() {
            self.delete(keys::open(number));
        }
        self.write(keys::operation(number), record)
    }

    fn request(&self, key: &RequestKey) -> Result<Option<RequestRecord>, Halt> {
        read_counted(self, &keys::request_number(key), keys::request)
    }

    fn put_request(&mut self, key: &RequestKey, record: &RequestRecord) -> Result<(), Halt> {
        let index = keys::request_number(key);
        if let Some(number) = values::read_number(self, &index)? {
            return self.write(keys::request(number), record);
        }
        let number = self.head.requests;
        self.head.requests += 1;
        values::write_number(self, index, number);
        self.write(keys::request(number), record)
    }

    fn hold(&self, id: &str) -> Result<Option<Hold>, Halt> {
        read(self, &keys::hold(id))
    }

    fn insert_hold(&mut self, hold: &Hold) -> Result<(), Halt> {
        self.write(keys::hold(&hold.id), hold)
    }

    fn put_hold(&mut self, hold: &Hold) -> Result<(), Halt> {
        self.write(keys::hold(&hold.id), hold)
    }

    fn remove_hold(&mut self, id: &str) -> Result<(), Halt> {
        self.delete(keys::hold(id));
        Ok(())
    }

    fn counter(&self, key: &CounterKey) -> Result<Option<Counter>, Halt> {
        read(self, &keys::counter(key))
    }

    fn put_counter(&mut self, key: &CounterKey, counter: Counter) -> Result<(), Halt> {
        self.write(keys::counter(key), &counter)
    }

    fn lease_holders(&self, parent: &CounterKey, child: &CounterKey) -> Result<u64, Halt> {
        Ok(values::read_number(self, &keys::lease(parent, child))?.unwrap_or(0))
    }

    fn put_lease_holders(&mut self, parent: &CounterKey, child: &CounterKey, holders: u64) -> Result<(), Halt> {
        let key = keys::lease(parent, child);
        if holders == 0 {
            self.delete(key);
        } else {
            values::write_number(self, key, holders);
        }
        Ok(())
    }

    fn account(&self, name: &str) -> Result<Option<Account>, Halt> {
        read(self, &keys::account(name))
    }

    fn put_account(&mut self, name: &str, account: &Account) -> Result<(), Halt> {
        self.write(keys::account(name), account)
    }

    fn nonce_limit(&self) -> u64 {
        self.nonce_limit
    }

    fn nonce(&self, key: &NonceKey) -> Result<Option<NonceMark>, Halt> {
        read(self, &keys::nonce(key))
    }

    fn insert_nonce(&mut self, key: &NonceKey, mark: &NonceMark) -> Result<(), Halt> {
        self.write(keys::nonce(key), mark)
    }

    fn put_nonce(&mut self, key: &NonceKey, mark: &NonceMark) -> Result<(), Halt> {
        self.write(keys::nonce(key), mark)
    }

    fn remove_nonce(&mut self, key: &NonceKey) -> Result<(), Halt> {
        self.delete(keys::nonce(key));
        Ok(())
    }

    fn nonce_marks(&self) -> Result<NonceMarks, Halt> {
        Ok(read(self, keys::NONCE_MARKS)?.unwrap_or_default())
    }

    fn put_nonce_marks(&mut self, marks: NonceMarks) -> Result<(), Halt> {
        self.write(keys::NONCE_MARKS.to_vec(), &marks)
    }

    fn first_nonces(&self, limit: usize) -> Result<Vec<NonceKey>, Halt> {
        let mut first = Vec::new();
        for key in self.before.keys(&keys::ALL_NONCES).take(limit) {
            first.extend(keys::nonce_key(&key?));
        }
        Ok(first)
    }

    fn reservation(&self, reservation: &RuntimeReservation) -> Result<Option<OperationId>, Halt> {
        read(self, &keys::reservation(reservation))
    }

    fn put_reservation(&mut self, reservation: &RuntimeReservation, owner: &OperationId) -> Result<(), Halt> {
        self.write(keys::reservation(reservation), owner)
    }

    fn remove_reservation(&mut self, reservation: &RuntimeReservation) -> Result<(), Halt> {
        self.delete(keys::reservation(reservation));
        Ok(())
    }

    fn approval(&self, operation: &OperationId) -> Result<Option<ApprovalRecord>, Halt> {
        match self.number_of(operation)? {
            Some(number) => read(self, &keys::approval(number)),
            None => Ok(None),
        }
    }

    fn put_approval(&mut self, operation: &OperationId, approval: &ApprovalRecord) -> Result<(), Halt> {
        let number = self.number_for(operation)?;
        self.write(keys::approval(number), approval)
    }

    fn put_draft(&mut self, operation: &OperationId, bytes: &[u8]) -> Result<(), Halt> {
        let number = self.number_for(operation)?;
        self.put(keys::draft(number), bytes.into());
        Ok(())
    }

    fn remove_draft(&mut self, operation: &OperationId) -> Result<(), Halt> {
        if let Some(number) = self.number_of(operation)? {
            self.delete(keys::draft(number));
        }
        Ok(())
    }

    fn revoked_at(&self, capability_id: &str) -> Result<Option<u64>, Halt> {
        read(self, &keys::revocation(capability_id))
    }

    fn put_revocation(&mut self, capability_id: &str, at: u64) -> Result<(), Halt> {
        self.write(keys::revocation(capability_id), &at)
    }

    fn put_output(&mut self, operation: &OperationId, bytes: &[u8]) -> Result<(), Halt> {
        let number = self.number_for(operation)?;
        self.put(keys::output(number), bytes.into());
        Ok(())
    }

    fn has_receipt(&self, id: &str) -> Result<bool, Halt> {
        Ok(self.row(&keys::receipt_seq(id))?.is_some())
    }

    fn last_entry(&self) -> Result<Option<LogEntry>, Halt> {
        let Some(last) = self.head.log_length.checked_sub(1) else { return Ok(None) };
        match read(self, &keys::log(last))? {
            Some(entry) => Ok(Some(entry)),
            None => Err(Halt::Damaged(format!("log entry {last} is missing"))),
        }
    }

    fn append(&mut self, entry: &LogEntry, receipt: &SignedReceipt, replay: Option<&[u8]>) -> Result<(), Halt> {
        self.write(keys::log(entry.seq), entry)?;
        values::write_number(self, keys::receipt_seq(receipt.id()), entry.seq);
        self.write(keys::receipt(entry.seq), receipt.record())?;
        if let Some(replay) = replay {
            self.put(keys::replay(entry.seq), replay.into());
        }
        self.head.log_length = entry.seq + 1;
        Ok(())
    }
}
