//! One process at a time: the lock, and who holds it.

use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::process;

use super::error::OpenError;
use super::folder::{self, Folder};

/// The folder's lock. Released when it is dropped, or when the process ends in whatever way.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// # Errors
    /// Another process has it.
    pub(super) fn take(folder: &Folder) -> Result<Self, OpenError> {
        let path = folder.lock();
        let file = folder::open_private(&path)?;
        match file.try_lock() {
            Ok(()) => {
                let holder = folder.holder();
                fs::write(&holder, format!("{}\n", process::id())).map_err(|e| OpenError::io(&holder, e))?;
                Ok(Self { _file: file })
            }
            Err(TryLockError::WouldBlock) => Err(held(folder, &path)),
            Err(TryLockError::Error(error)) => Err(OpenError::io(&path, error)),
        }
    }
}

/// The error that says who holds `locked`.
pub(super) fn held(folder: &Folder, locked: &Path) -> OpenError {
    let noted = || fs::read_to_string(folder.holder()).ok()?.trim().parse().ok();
    OpenError::Held { path: folder.path().to_owned(), process: owner(locked).or_else(noted) }
}

/// The process that locks a file, as the kernel tells it. It is right even where the file is reached through a hard link
/// from another folder, whose note would name somebody else.
#[cfg(target_os = "linux")]
pub(super) fn owner(locked: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;

    let file = fs::metadata(locked).ok()?;
    let (major, minor) = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
    let name = format!("{major:02x}:{minor:02x}:{}", file.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        // `1: FLOCK  ADVISORY  WRITE 4711 fe:00:123456 0 EOF`
        let mut fields = line.split_whitespace().skip(4);
        let (process, of) = (fields.next()?, fields.next()?);
        (of == name).then(|| process.parse().ok())?
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn owner(_: &Path) -> Option<u32> {
    None
}
