//! Why a ledger does not open.

use std::io;
use std::path::{Path, PathBuf};

/// Why a ledger does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process serves it, or this one does already.
    #[error("the ledger in {} is held by {}; stop it, or wait for it to end", path.display(), describe(*process))]
    Held {
        /// The ledger's folder.
        path: PathBuf,
        /// Who holds it, where that can be told.
        process: Option<u32>,
    },
    /// It was written by a newer build.
    #[error(
        "the ledger in {} has format {found}; this build reads formats up to {supported}, so a newer build is needed",
        path.display()
    )]
    Newer {
        /// The ledger's folder.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest that this build reads.
        supported: u32,
    },
    /// It was written by an older build.
    #[error(
        "the ledger in {} has format {found}, and this build reads format {supported}; export its receipts with the build that \
         wrote it, and begin a new one",
        path.display()
    )]
    Older {
        /// The ledger's folder.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The one that this build reads.
        supported: u32,
    },
    /// It is not what was written. Nothing was repaired and nothing was reset.
    #[error("the ledger is damaged: {}: {why}; restore the whole folder from a backup", path.display())]
    Damaged {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Others could read or change it.
    #[error("the ledger's folder {} is not private: {why}", path.display())]
    NotPrivate {
        /// The folder.
        path: PathBuf,
        /// What is wrong, and what makes it right.
        why: String,
    },
    /// The folder holds something else.
    #[error("{} holds \"{found}\", so it is no place for a new ledger; name an empty folder", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
        /// One thing that is in it.
        found: String,
    },
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl OpenError {
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    pub(super) fn damaged(path: &Path, why: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), why: why.into() }
    }
}

fn describe(process: Option<u32>) -> String {
    match process {
        Some(id) if id == std::process::id() => format!("this process ({id})"),
        Some(id) => format!("process {id}"),
        None => "another process".to_owned(),
    }
}
