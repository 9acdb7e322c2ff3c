//! The ledger's folder: what is where, and that it is private.
//!
//! | name | what |
//! |---|---|
//! | `journal/` | everything, in order: see [`journal`](super::journal) |
//! | `store/` | the index over it, sled's own files: `db`, `conf`, snapshots |
//! | `mark` | how much of it was on the disk when last synced, see [`Mark`](super::mark::Mark) |
//! | `lock`, `holder` | the lock, and the process id of whoever has it |
//! | `creating` | there while the ledger is being created: what is beside it was never used |

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::error::OpenError;

/// A folder that exists, is private and is named by its canonical path.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Finds the folder, through whatever links lead to it, or makes it.
    ///
    /// # Errors
    /// It is no folder, it belongs to somebody else, or others may look into it.
    pub(super) fn prepare(path: &Path) -> Result<Self, OpenError> {
        if !path.exists() {
            create_private(path).map_err(|e| OpenError::io(path, e))?;
        }
        let path = path.canonicalize().map_err(|e| OpenError::io(path, e))?;
        if !path.is_dir() {
            return Err(OpenError::io(&path, io::ErrorKind::NotADirectory.into()));
        }
        check_private(&path)?;
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    pub(super) fn store(&self) -> PathBuf {
        self.path.join("store")
    }

    /// sled's data file.
    pub(super) fn db(&self) -> PathBuf {
        self.store().join("db")
    }

    /// sled's settings.
    pub(super) fn conf(&self) -> PathBuf {
        self.store().join("conf")
    }

    pub(super) fn mark(&self) -> PathBuf {
        self.path.join("mark")
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    pub(super) fn holder(&self) -> PathBuf {
        self.path.join("holder")
    }

    pub(super) fn creating(&self) -> PathBuf {
        self.path.join("creating")
    }

    /// Whether a ledger has yet to be created here: nothing but the lock is there, or what an interrupted creation left.
    ///
    /// # Errors
    /// Something else is there, or parts of a ledger are missing.
    pub(super) fn is_blank(&self) -> Result<bool, OpenError> {
        if self.creating().exists() {
            return Ok(true);
        }
        if self.mark().exists() || self.store().exists() || self.journal().exists() {
            for part in [self.mark(), self.journal(), self.store(), self.db(), self.conf()] {
                if !part.exists() {
                    return Err(OpenError::damaged(&part, "it is missing"));
                }
            }
            return Ok(false);
        }
        for entry in fs::read_dir(&self.path).map_err(|e| OpenError::io(&self.path, e))? {
            let name = entry.map_err(|e| OpenError::io(&self.path, e))?.file_name();
            if name != OsStr::new("lock") && name != OsStr::new("holder") {
                let found = name.to_string_lossy().into_owned();
                return Err(OpenError::Occupied { path: self.path.clone(), found });
            }
        }
        Ok(true)
    }
}

/// Opens a file that only its owner may read, and makes it if it is not there.
pub(super) fn open_private(path: &Path) -> Result<File, OpenError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|e| OpenError::io(path, e))
}

/// Makes what was created or removed in a folder survive a power cut.
pub(super) fn sync_folder(path: &Path) -> Result<(), OpenError> {
    // Elsewhere a folder cannot be opened as a file, and its entries are journalled.
    if cfg!(unix) {
        File::open(path).and_then(|folder| folder.sync_all()).map_err(|e| OpenError::io(path, e))?;
    }
    Ok(())
}

pub(super) fn create_private(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(unix)]
fn check_private(path: &Path) -> Result<(), OpenError> {
    use std::os::unix::fs::MetadataExt;

    let folder = fs::metadata(path).map_err(|e| OpenError::io(path, e))?;
    let refuse = |why| Err(OpenError::NotPrivate { path: path.to_owned(), why });
    let user = rustix::process::geteuid().as_raw();
    if folder.uid() != user {
        return refuse(format!("it belongs to user {}, and this process runs as user {user}", folder.uid()));
    }
    let mode = folder.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return refuse(format!("its mode is {mode:04o}; run: chmod 700 {}", path.display()));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_: &Path) -> Result<(), OpenError> {
    Ok(())
}
