//! Everything that ends a command with exit code 1, each in one clear sentence.

use std::fmt::Display;
use std::path::PathBuf;

use chio_host_kernel::call::CallError;
use chio_host_kernel::capability::CapabilityError;
use chio_host_kernel::ledger::LedgerError;
use chio_host_kernel::response::KernelError;

/// Why a command did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// A file or folder that cannot be used.
    #[error("{}: {why}", path.display())]
    Path {
        /// Which.
        path: PathBuf,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// Everything that is wrong with a policy, a line each.
    #[error("{0}")]
    Policy(String),
    /// A component that cannot be loaded.
    #[error("{0}")]
    Plugin(String),
    /// An option that does not fit.
    #[error("{0}")]
    Usage(String),
    /// A call that cannot be asked.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A capability file that holds none.
    #[error("{}: {error}", path.display())]
    Capability {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        error: CapabilityError,
    },
    /// A capability that cannot be derived from another.
    #[error("{}: nothing was derived from it: {error}", path.display())]
    Attenuation {
        /// The other's file.
        path: PathBuf,
        /// Why not.
        error: CapabilityError,
    },
    /// The ledger cannot be opened.
    #[error("{0}")]
    OpenLedger(String),
    /// Another process has the ledger open.
    #[error("{0}")]
    Held(String),
    /// Something that was asked of the ledger, here or of the host that has it open, is refused.
    #[error("{0}")]
    Control(String),
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The kernel could not answer.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// Whoever waited stopped that.
    #[error("interrupted; `approvals list` shows whether the call still waits, and `receipt list` what became of it")]
    Interrupted,
    /// The MCP session broke.
    #[error("the MCP session ended: {0}")]
    Mcp(String),
    /// Standard output cannot be written.
    #[error("standard output: {0}")]
    Stdout(#[source] std::io::Error),
    /// The system refuses something basic.
    #[error("{0}")]
    System(String),
}

impl CliError {
    /// A problem with a path.
    pub(crate) fn path(path: impl Into<PathBuf>, why: impl Display) -> Self {
        Self::Path { path: path.into(), why: format!("{why}") }
    }
}
