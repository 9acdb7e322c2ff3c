//! What is synced: sled's buffers, then its data file, then the mark.

use std::fs::File;
use std::sync::Arc;

use chio_host_kernel::failpoint::{Action, Failpoints};

use super::flusher::Disk;
use super::mark::{Mark, MarkFile};
use super::store::Store;

/// The disk under an open store.
pub(super) struct Data {
    pub(super) store: Arc<Store>,
    /// sled's data file, opened once more: a sync is of the file, whoever wrote to it.
    pub(super) file: File,
    pub(super) mark_file: MarkFile,
    /// What will be on the disk once the round is over.
    pub(super) mark: Mark,
    pub(super) failpoints: Failpoints,
}

impl Disk for Data {
    fn flush(&mut self) -> Result<(), String> {
        self.mark.synced = self.store.flush()?;
        if self.failpoints.ask("ledger.flushed") != Action::Continue {
            // A test kills the process here, or never goes on.
            loop {
                std::thread::park();
            }
        }
        Ok(())
    }

    /// sled's flush waits for its pages to be written back, but neither for the drive's cache nor for the file's size
    /// (`sync_file_range(2)`, "does not flush disk write caches"), and so loses acknowledged writes in a power cut.
    fn sync(&mut self) -> Result<(), String> {
        self.file.sync_data().map_err(|e| format!("{}: {e}", self.store.path.join("db").display()))
    }

    fn mark(&mut self) -> Result<(), String> {
        self.mark_file.write(&self.mark).map_err(|e| format!("{}: {e}", self.mark_file.path().display()))
    }
}
