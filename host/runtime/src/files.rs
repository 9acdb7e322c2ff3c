//! The folders that a tool server may open.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use chio_host_kernel::canonical::printable;

/// What may be done with what is in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read it.
    Read,
    /// Read, change, make and remove it.
    ReadWrite,
}

/// Why a folder is not granted, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// It is not there, or not for us.
    #[error("the folder {path} cannot be granted: {error}")]
    Io {
        /// As the policy names it.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Something else than a folder.
    #[error("{0} cannot be granted: it is not a folder")]
    NotAFolder(PathBuf),
    /// Another folder than the one that was granted.
    #[error("the folder {0} is not the one that was granted: it was moved, or a link was put in its place")]
    Changed(PathBuf),
    /// A name that the guest cannot see it under.
    #[error("a folder cannot be granted under the name \"{shown}\": {why}")]
    GuestPath {
        /// The name, made printable.
        shown: String,
        /// What would be right.
        why: &'static str,
    },
}

/// A folder that a tool server may open. It is the folder itself that is granted, and not whatever may stand at its path
/// later.
#[derive(Debug)]
pub struct FileGrant {
    host_path: PathBuf,
    guest_path: String,
    access: Access,
    folder: File,
    identity: (u64, u64),
}

impl FileGrant {
    /// Grants the folder at `path`, links followed, which the guest sees as `guest_path`.
    ///
    /// # Errors
    /// A path that leads to no folder, or a guest path that is none.
    pub fn new(path: &Path, guest_path: &str, access: Access) -> Result<Self, GrantError> {
        check_guest_path(guest_path)?;
        let io = |error| GrantError::Io { path: path.to_owned(), error };
        let host_path = fs::canonicalize(path).map_err(io)?;
        let folder = File::open(&host_path).map_err(io)?;
        let found = folder.metadata().map_err(io)?;
        if !found.is_dir() {
            return Err(GrantError::NotAFolder(host_path));
        }
        let identity = (found.dev(), found.ino());
        Ok(Self { host_path, guest_path: guest_path.to_owned(), access, folder, identity })
    }

    /// Where it is, canonically.
    #[must_use]
    pub fn host_path(&self) -> &Path {
        &self.host_path
    }

    /// Where the guest sees it.
    #[must_use]
    pub fn guest_path(&self) -> &str {
        &self.guest_path
    }

    /// What may be done in it.
    #[must_use]
    pub fn access(&self) -> Access {
        self.access
    }

    /// The path to open for one call, after another look at what stands there. It leads through the handle that the grant
    /// holds, so what is opened is what was looked at.
    pub(crate) fn reopen(&self) -> Result<PathBuf, GrantError> {
        let changed = || GrantError::Changed(self.host_path.clone());
        let canonical = fs::canonicalize(&self.host_path).map_err(|_| changed())?;
        let found = fs::symlink_metadata(&canonical).map_err(|_| changed())?;
        if canonical != self.host_path || (found.dev(), found.ino()) != self.identity {
            return Err(changed());
        }
        Ok(self.handle_path())
    }

    #[cfg(target_os = "linux")]
    fn handle_path(&self) -> PathBuf {
        use std::os::fd::AsRawFd;
        format!("/proc/self/fd/{}", self.folder.as_raw_fd()).into()
    }

    /// Elsewhere no path leads through a handle to a folder, and a moment stays between the look and the opening.
    #[cfg(not(target_os = "linux"))]
    fn handle_path(&self) -> PathBuf {
        let _ = &self.folder;
        self.host_path.clone()
    }
}

fn check_guest_path(path: &str) -> Result<(), GrantError> {
    let why = if path.is_empty() || path.len() > 256 {
        "1 to 256 bytes are needed"
    } else if printable(path, 256) != path {
        "it holds characters that are not printable"
    } else if path.split('/').any(|step| step == "..") {
        "it holds \"..\""
    } else {
        return Ok(());
    };
    Err(GrantError::GuestPath { shown: printable(path, 64), why })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_that_was_replaced_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let (granted, other) = (home.path().join("granted"), home.path().join("other"));
        fs::create_dir(&granted).unwrap();
        fs::create_dir(&other).unwrap();
        let grant = FileGrant::new(&granted, "/work", Access::Read).unwrap();
        grant.reopen().unwrap();
        fs::rename(&granted, home.path().join("away")).unwrap();
        assert!(matches!(grant.reopen(), Err(GrantError::Changed(_))), "gone");
        symlink(&other, &granted).unwrap();
        assert!(matches!(grant.reopen(), Err(GrantError::Changed(_))), "a link");
        fs::remove_file(&granted).unwrap();
        fs::create_dir(&granted).unwrap();
        assert!(matches!(grant.reopen(), Err(GrantError::Changed(_))), "another folder");
    }

    #[test]
    fn a_link_in_the_policy_grants_what_it_leads_to() {
        let home = tempfile::tempdir().unwrap();
        let (folder, link) = (home.path().join("folder"), home.path().join("link"));
        fs::create_dir(&folder).unwrap();
        symlink(&folder, &link).unwrap();
        let grant = FileGrant::new(&link, "/work", Access::Read).unwrap();
        assert_eq!(grant.host_path(), fs::canonicalize(&folder).unwrap());
        assert!(matches!(FileGrant::new(&home.path().join("none"), "/w", Access::Read), Err(GrantError::Io { .. })));
        assert!(matches!(FileGrant::new(&folder, "/a/../b", Access::Read), Err(GrantError::GuestPath { .. })));
    }
}
