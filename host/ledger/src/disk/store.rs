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
use super::keys;
use super::pending::{Changes, Current, Pending, to_batch};
use super::rows::SledRows;
use crate::apply::apply;

/// How many rows may wait for the next round before a buffered apply waits for it too. A row takes sled about 10 µs, so a
/// round stays well under a tenth of a second; and a row has at most 4 KiB, so what is in memory and not in sled is
/// bounded by twice 16 MiB and the transitions of the callers in flight.
pub(super) const MAX_PENDING: usize = 4096;

pub(super) struct Store {
    db: Db,
    state: RwLock<State>,
    nonce_limit: u64,
    pub(super) health: Arc<Health>,
    pub(super) id: String,
    /// Where sled keeps its files.
    pub(super) path: PathBuf,
    /// Dropped after the database, so that nobody opens it while it is being closed.
    _lock: Lock,
}

/// What one apply changes at once.
struct State {
    head: Head,
    pending: Pending,
}

impl Store {
    pub(super) fn new(db: Db, lock: Lock, path: PathBuf, id: String, head: Head, nonce_limit: u64) -> Self {
        let state = RwLock::new(State { head, pending: Pending::default() });
        Self { db, state, nonce_limit, health: Arc::default(), id, path, _lock: lock }
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

    /// Applies a transition. It is not on the disk yet. Answers as well how many rows wait to get there.
    pub(super) fn apply(&self, transition: &Transition) -> Result<(Applied, usize), LedgerError> {
        self.contained(|| {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            let mut rows =
                SledRows::begin(Current { pending: &state.pending, tree: &self.db }, state.head, self.nonce_limit);
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
            read(Current { pending: &state.pending, tree: &self.db }).map_err(|halt| self.explain(halt))
        })
    }

    /// Writes everything that was applied, and answers how much that is. sled does not promise that the disk has it: the
    /// caller syncs the file.
    pub(super) fn flush(&self) -> Result<u64, String> {
        let (changes, applied) = {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            (state.pending.leave(), state.head.applied)
        };
        let describe = |error| self.describe(&error);
        if !changes.is_empty() {
            self.db.apply_batch(to_batch(&changes)).map_err(describe)?;
        }
        self.state.write().unwrap_or_else(PoisonError::into_inner).pending.has_left();
        self.db.flush().map_err(describe)?;
        Ok(applied)
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
