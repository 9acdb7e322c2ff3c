//! Why reading or writing rows stops.

use std::fmt;

use chio_host_kernel::ledger::Refused;

/// Why reading or writing rows stopped.
#[derive(Debug)]
pub(super) enum Halt {
    /// A condition did not hold.
    Refused(Refused),
    /// A row is not what was written.
    Damaged(String),
    /// sled failed.
    Storage(sled::Error),
}

impl From<Refused> for Halt {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<sled::Error> for Halt {
    fn from(error: sled::Error) -> Self {
        Self::Storage(error)
    }
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refused) => refused.fmt(f),
            Self::Damaged(why) => f.write_str(why),
            Self::Storage(error) => error.fmt(f),
        }
    }
}
