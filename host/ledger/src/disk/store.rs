//! The database while it is open: applies, reads, and what the sync thread takes from it.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use chio_host_kernel::ledger::{Applied, LedgerError, Transition};
use sled::Db;

use super::contain::contain;
use super::halt::Halt;
use super::head::Head;
use super::health::Health;
use super::holder::Lock;
use super::journal::{Position, Reader, Writer};
use super::keys;
use super::pending::{Amount, Changes, Current, Journaled, Pending};
use super::rows::SledRows;
use super::stored::{self, Stored};
use crate::apply::apply;

/// How much may wait for the next round before a buffered apply waits for it too. With the transitions of the callers in
/// flight, and what may wait for sled, it bounds what is in memory.
pub(super) const MAX_PENDING: Amount = Amount { rows: 4096, bytes: 16 << 20 };

pub(super) struct Store {
    db: Db,
    journal: Reader,
    state: RwLock<State>,
    nonce_limit: u64,
    pub(super) health: Arc<Health>,
    pub(super) id: String,
    /// Where sled keeps its files.
    pub(super) path: PathBuf,
    /// Dropped after the database, so that nobody opens it while it is being closed.
    _lock: Lock,
}

/// A database and its journal, read.
pub(super) struct Opened {
    pub(super) db: Db,
    pub(super) journal: Reader,
    pub(super) pending: Pending,
    pub(super) head: Head,
}

impl Opened {
    pub(super) fn current(&self) -> Current<'_> {
        Current { pending: &self.pending, tree: &self.db, journal: &self.journal }
    }
}

/// What one apply changes at once.
struct State {
    head: Head,
    pending: Pending,
}

impl Store {
    pub(super) fn new(opened: Opened, lock: Lock, path: PathBuf, id: String, nonce_limit: u64) -> Self {
        let Opened { db, journal, pending, head } = opened;
        let state = RwLock::new(State { head, pending });
        Self { db, journal, state, nonce_limit, health: Arc::default(), id, path, _lock: lock }
    }

    /// Begins a lease epoch. It is not on the disk yet.
    pub(super) fn take_epoch(&self, epoch: u64) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.head = Head { epoch, applied: state.head.applied + 1, ..state.head };
        let row = state.head.to_row();
        state.pending.add(Changes::from([(keys::HEAD.to_vec(), Some(row.into()))]));
    }

    pub(super) fn epoch(&self) -> u64 {
        self.state.read().unwrap_or_else(PoisonError::into_inner).head.epoch
    }

    /// Applies a transition. It is not on the disk yet. Answers as well how much waits to get there.
    pub(super) fn apply(&self, transition: &Transition) -> Result<(Applied, Amount), LedgerError> {
        self.contained(|| {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            let mut rows = SledRows::begin(self.current(&state), state.head, self.nonce_limit);
            let applied = apply(&mut rows, transition).map_err(|halt| self.explain(halt))?;
            let (changes, head) = rows.finish();
            state.head = head;
            let waiting = state.pending.add(changes);
            Ok((applied, waiting))
        })
    }

    /// Reads any number of rows in one state.
    pub(super) fn read<T>(&self, read: impl FnOnce(Current<'_>) -> Result<T, Halt>) -> Result<T, LedgerError> {
        self.contained(|| {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            read(self.current(&state)).map_err(|halt| self.explain(halt))
        })
    }

    /// Appends everything that was applied to the journal, and answers how much that is. It is on the disk when the journal
    /// is synced.
    pub(super) fn append(&self, journal: &mut Writer) -> Result<u64, String> {
        let frame = journal.next_frame()?;
        let (changes, applied) = {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            (state.pending.leave_for_journal(frame), state.head.applied)
        };
        if !changes.is_empty() {
            journal.append(&changes)?;
        }
        Ok(applied)
    }

    /// How much is in the journal alone.
    pub(super) fn journaled(&self) -> Amount {
        self.state.read().unwrap_or_else(PoisonError::into_inner).pending.journaled()
    }

    /// Hands out what is in the journal alone, unless what was handed out before is still on its way to sled. All of it has
    /// to be on the disk.
    pub(super) fn leave_for_sled(&self) -> Option<Arc<Journaled>> {
        self.state.write().unwrap_or_else(PoisonError::into_inner).pending.leave_for_sled()
    }

    /// Writes what was handed out to sled, and with it that sled has everything up to `end`. sled does not promise that the
    /// disk has it: the caller syncs the file.
    pub(super) fn checkpoint(&self, rows: &Journaled, end: Position) -> Result<(), String> {
        let describe = |error| self.describe(&error);
        let mut batch = stored::batch(rows, &self.db).map_err(|halt| format!("{}: {halt}", self.path.display()))?;
        batch.insert(keys::POSITION, Stored::Here(&end.to_row()).to_row());
        self.db.apply_batch(batch).map_err(describe)?;
        self.state.write().unwrap_or_else(PoisonError::into_inner).pending.has_left();
        self.db.flush().map(drop).map_err(describe)
    }

    fn current<'a>(&'a self, state: &'a State) -> Current<'a> {
        Current { pending: &state.pending, tree: &self.db, journal: &self.journal }
    }

    fn contained<T>(&self, work: impl FnOnce() -> Result<T, LedgerError>) -> Result<T, LedgerError> {
        self.health.check()?;
        contain(work)
            .unwrap_or_else(|panic| Err(self.health.fail(&format!("{}: sled panicked: {panic}", self.path.display()))))
    }

    fn explain(&self, halt: Halt) -> LedgerError {
        match halt {
            Halt::Refused(refused) => refused.into(),
            Halt::Damaged(why) => LedgerError::Damaged(format!("{}: {why}", self.path.display())),
            // One page: the others can still be read, and nothing was changed.
            Halt::Storage(error @ sled::Error::Corruption { .. }) => LedgerError::Damaged(self.describe(&error)),
            Halt::Storage(error) => self.health.fail(&self.describe(&error)),
        }
    }

    fn describe(&self, error: &sled::Error) -> String {
        format!("{}: {error}", self.path.display())
    }
}
