//! Where there are no Unix sockets, a host that runs cannot be asked.

use serde_json::Value;

use super::Request;
use crate::error::CliError;
use crate::folders::Folders;
use crate::host::Kernels;

/// Nothing.
pub(crate) struct Listening;

impl Listening {
    pub(crate) fn start(_: &Folders, _: Kernels) -> Result<Self, CliError> {
        Ok(Self)
    }

    pub(crate) async fn end(self) {}
}

/// Says who holds the ledger.
pub(crate) struct Client(String);

impl Client {
    pub(crate) fn of(_: &Folders, held: String) -> Self {
        Self(held)
    }

    pub(crate) fn ask(&self, _: &Request) -> Result<Value, CliError> {
        Err(CliError::Held(self.0.clone()))
    }
}
