//! The mark: how much of the ledger was on the disk when it was last synced.
//!
//! A file that was cut short looks like one that was not written further, to sled and in the journal. So what was synced is
//! also noted beside them. The note is written after each sync and not synced itself: it is never ahead of the
//! data, and only a power cut can leave it behind.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use chio_host_kernel::canonical::sha256_hex;

use super::error::OpenError;
use super::folder;
use super::identity::{FORMAT, Identity};

/// What the mark says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) identity: Identity,
    /// The lease epoch.
    pub(super) epoch: u64,
    /// How many of the applied transitions were on the disk.
    pub(super) synced: u64,
}

impl Mark {
    /// Text of the same length each time, so that it is overwritten in place.
    fn to_text(&self) -> String {
        let Identity { format, id } = &self.identity;
        let text =
            format!("chio-host-ledger {format}\nid {id}\nepoch {:020}\nsynced {:020}\n", self.epoch, self.synced);
        let sum = sha256_hex(text.as_bytes());
        format!("{text}sum {sum}\n")
    }

    fn from_text(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let identity = Identity { format: field("chio-host-ledger")?.parse().ok()?, id: field("id")?.to_owned() };
        let mark = Self { identity, epoch: field("epoch")?.parse().ok()?, synced: field("synced")?.parse().ok()? };
        (mark.to_text() == text).then_some(mark)
    }
}

/// The file with the mark.
#[derive(Debug)]
pub(super) struct MarkFile {
    file: File,
    path: PathBuf,
}

impl MarkFile {
    /// # Errors
    /// The system refuses.
    pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
        Ok(Self { file: folder::open_private(path)?, path: path.to_owned() })
    }

    /// # Errors
    /// It is of another format, or not what was written.
    pub(super) fn read(&mut self, ledger: &Path) -> Result<Mark, OpenError> {
        let mut text = String::new();
        self.file.rewind().and_then(|()| self.file.read_to_string(&mut text)).map_err(|e| match e.kind() {
            io::ErrorKind::InvalidData => OpenError::damaged(&self.path, "it is no text"),
            _ => OpenError::io(&self.path, e),
        })?;
        let format = text.lines().next().and_then(|line| line.strip_prefix("chio-host-ledger ")?.parse().ok());
        let path = || ledger.to_owned();
        match format {
            Some(found) if found > FORMAT => {
                return Err(OpenError::Newer { path: path(), found, supported: FORMAT });
            }
            Some(found) if found < FORMAT => {
                return Err(OpenError::Older { path: path(), found, supported: FORMAT });
            }
            _ => {}
        }
        Mark::from_text(&text).ok_or_else(|| OpenError::damaged(&self.path, "it is not what was written"))
    }

    pub(super) fn write(&mut self, mark: &Mark) -> io::Result<()> {
        self.file.rewind()?;
        self.file.write_all(mark.to_text().as_bytes())
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
