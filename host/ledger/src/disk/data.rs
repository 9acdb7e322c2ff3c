//! What a round of the sync thread does: a frame of the journal, its sync, and the mark; now and then a checkpoint.

use std::fs::File;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use chio_host_kernel::failpoint::{Action, Failpoints};

use super::contain::contain;
use super::flusher::Disk;
use super::journal::{Position, Writer};
use super::mark::{Mark, MarkFile};
use super::pending::{Amount, Journaled};
use super::store::Store;

/// How much of values gathers in the journal before sled is told, in bytes.
const CHECKPOINT_BYTES: usize = 16 << 20;
/// How many times as much may gather while a checkpoint runs, before the round waits for it.
const TOO_MUCH: usize = 4;

/// The disk under an open store.
pub(super) struct Data {
    pub(super) store: Arc<Store>,
    pub(super) journal: Writer,
    /// sled's data file, opened once more: a sync is of the file, whoever wrote to it.
    pub(super) index: Arc<File>,
    pub(super) mark_file: MarkFile,
    /// What will be on the disk once the round is over.
    pub(super) mark: Mark,
    pub(super) failpoints: Failpoints,
    /// How many rows gather in the journal before sled is told. A row takes sled about 10 µs.
    pub(super) checkpoint_rows: usize,
    /// The checkpoint that runs beside the rounds, if one does.
    pub(super) checkpoint: Option<JoinHandle<()>>,
}

impl Disk for Data {
    fn flush(&mut self) -> Result<(), String> {
        self.mark.synced = self.store.append(&mut self.journal)?;
        if self.failpoints.ask("ledger.flushed") != Action::Continue {
            // A test kills the process here, or never goes on.
            loop {
                std::thread::park();
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), String> {
        self.journal.sync()
    }

    fn mark(&mut self) -> Result<(), String> {
        self.mark_file.write(&self.mark).map_err(|e| format!("{}: {e}", self.mark_file.path().display()))
    }

    fn rest(&mut self) {
        let journaled = self.store.journaled();
        let due = Amount { rows: self.checkpoint_rows, bytes: CHECKPOINT_BYTES };
        if journaled.is_over(Amount { rows: TOO_MUCH * due.rows, bytes: TOO_MUCH * due.bytes }) {
            self.wait_for_checkpoint();
        }
        if journaled.is_over(due)
            && let Some(rows) = self.store.leave_for_sled()
        {
            self.wait_for_checkpoint();
            let (store, index, end) = (Arc::clone(&self.store), Arc::clone(&self.index), self.journal.end());
            let beside = thread::Builder::new().name("chio-ledger-checkpoint".to_owned());
            match beside.spawn(move || take(&store, &index, &rows, end)) {
                Ok(running) => self.checkpoint = Some(running),
                Err(error) => drop(self.store.health.fail(&format!("no thread for a checkpoint: {error}"))),
            }
        }
    }

    fn close(&mut self) {
        self.wait_for_checkpoint();
        if self.store.health.check().is_ok()
            && let Some(rows) = self.store.leave_for_sled()
        {
            take(&self.store, &self.index, &rows, self.journal.end());
        }
    }
}

impl Data {
    fn wait_for_checkpoint(&mut self) {
        if let Some(running) = self.checkpoint.take() {
            // It contains what panics in it, and says itself what failed.
            drop(running.join());
        }
    }
}

/// Brings sled up to date with the journal's `end`. What fails here fails the ledger, though the journal has it all.
fn take(store: &Store, index: &File, rows: &Journaled, end: Position) {
    let taken = contain(|| {
        store.checkpoint(rows, end)?;
        // sled's flush waits for its pages to be written back, but neither for the drive's cache nor for the file's size
        // (`sync_file_range(2)`, "does not flush disk write caches"), and so loses what it flushed in a power cut. The
        // journal would make up for it; the sync keeps what it has to make up for small.
        index.sync_data().map_err(|e| format!("{}: {e}", store.path.join("db").display()))
    });
    match taken {
        Ok(Ok(())) => {}
        Ok(Err(why)) => drop(store.health.fail(&why)),
        Err(panic) => drop(store.health.fail(&format!("sled panicked: {panic}"))),
    }
}
