//! Files that decide the rules, and whether they are still as they were when they were read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files, and how each was when it was looked at. One that is not there counts too: it may come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files(BTreeMap<PathBuf, Option<Stamp>>);

/// What changes with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    #[cfg(unix)]
    inode: u64,
}

impl Files {
    /// To be called before the file is read, so that no change after that is missed.
    pub(crate) fn note(&mut self, path: &Path) {
        self.0.insert(path.to_owned(), stamp(path));
    }

    /// The same files as they are now.
    pub(crate) fn now(&self) -> Self {
        Self(self.0.keys().map(|path| (path.clone(), stamp(path))).collect())
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some(Stamp {
        modified: metadata.modified().ok(),
        length: metadata.len(),
        #[cfg(unix)]
        inode: std::os::unix::fs::MetadataExt::ino(&metadata),
    })
}
