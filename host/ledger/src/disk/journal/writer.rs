//! The end of the journal.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::super::error::OpenError;
use super::super::folder;
use super::super::pending::Changes;
use super::{FIRST, Position, frame, header, segment_path};

/// Appends frames. Whoever has it is alone with the last segment.
pub(in crate::disk) struct Writer {
    folder: PathBuf,
    ledger_id: String,
    pub(in crate::disk) file: File,
    end: Position,
    /// When the next segment begins, in bytes.
    full: u64,
}

impl Writer {
    /// Creates the journal of a new ledger.
    ///
    /// # Errors
    /// The system refuses.
    pub(in crate::disk) fn create(folder: &Path, ledger_id: &str) -> Result<(), OpenError> {
        begin(folder, ledger_id, FIRST).map(drop)
    }

    /// Goes on at `end`: what stands after it was never synced, and goes.
    ///
    /// # Errors
    /// The system refuses.
    pub(in crate::disk) fn open(folder: &Path, ledger_id: &str, end: Position, full: u64) -> Result<Self, OpenError> {
        let path = segment_path(folder, end.segment);
        let failed = |e| OpenError::io(&path, e);
        let (file, end) = if end.offset == 0 {
            begin(folder, ledger_id, end.segment)?
        } else {
            let mut file = OpenOptions::new().read(true).write(true).open(&path).map_err(failed)?;
            if file.metadata().map_err(failed)?.len() > end.offset {
                file.set_len(end.offset).map_err(failed)?;
            }
            // Whoever wrote the last of it may have died before its sync, and the next round may begin another segment.
            file.sync_all().map_err(failed)?;
            file.seek(SeekFrom::Start(end.offset)).map_err(failed)?;
            (file, end)
        };
        Ok(Self { folder: folder.to_owned(), ledger_id: ledger_id.to_owned(), file, end, full })
    }

    /// Where the next frame will begin: in the next segment, if this one is full.
    ///
    /// # Errors
    /// The system refuses.
    pub(in crate::disk) fn next_frame(&mut self) -> Result<Position, String> {
        if self.end.offset >= self.full {
            let next = begin(&self.folder, &self.ledger_id, self.end.segment + 1).map_err(|e| e.to_string())?;
            (self.file, self.end) = next;
        }
        Ok(self.end)
    }

    /// Where the last frame ends.
    pub(in crate::disk) fn end(&self) -> Position {
        self.end
    }

    /// Hands a frame with these rows to the operating system.
    ///
    /// # Errors
    /// The system refuses, and a part of it may stand there.
    pub(in crate::disk) fn append(&mut self, changes: &Changes) -> Result<(), String> {
        let frame = frame::encode(changes);
        self.file.write_all(&frame).map_err(|e| self.named(&e))?;
        self.end.offset += frame.len() as u64;
        Ok(())
    }

    /// Returns when every frame is on the disk.
    ///
    /// # Errors
    /// The system refuses, and nobody knows what is.
    pub(in crate::disk) fn sync(&self) -> Result<(), String> {
        self.file.sync_data().map_err(|e| self.named(&e))
    }

    fn named(&self, error: &std::io::Error) -> String {
        format!("{}: {error}", segment_path(&self.folder, self.end.segment).display())
    }
}

/// A new segment, which is on the disk with its name before anything is appended.
fn begin(folder: &Path, ledger_id: &str, segment: u32) -> Result<(File, Position), OpenError> {
    let path = segment_path(folder, segment);
    let failed = |e| OpenError::io(&path, e);
    let mut file = folder::open_private(&path)?;
    let header = header(ledger_id, segment);
    file.set_len(0).and_then(|()| file.write_all(header.as_bytes())).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    folder::sync_folder(folder)?;
    Ok((file, Position { segment, offset: header.len() as u64 }))
}
