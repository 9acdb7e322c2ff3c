//! Failing closed: after the first failure nothing is served until the ledger is opened again.

use std::sync::OnceLock;

use chio_host_kernel::ledger::LedgerError;

/// Whether the storage still works, and what broke it.
#[derive(Debug, Default)]
pub(super) struct Health {
    broken: OnceLock<String>,
}

impl Health {
    /// # Errors
    /// The storage failed before.
    pub(super) fn check(&self) -> Result<(), LedgerError> {
        match self.broken.get() {
            Some(why) => Err(LedgerError::Unavailable(why.clone())),
            None => Ok(()),
        }
    }

    /// From here on every check fails, with the first reason that was given.
    pub(super) fn fail(&self, why: &str) -> LedgerError {
        let first = self.broken.get_or_init(|| {
            tracing::error!(why, "the ledger failed and serves nothing more until it is opened again");
            format!("{why}; it serves nothing more until it is opened again")
        });
        LedgerError::Unavailable(first.clone())
    }
}
