//! Whoever changes or reads what a kernel keeps: by opening the ledger, or through the host that has it open.

use std::path::Path;

use serde_json::Value;

use super::{Request, answer, socket};
use crate::error::CliError;
use crate::folders::Folders;
use crate::host::Bare;

/// A way to a kernel.
pub(crate) enum Operator {
    /// This process has the ledger.
    Here(Bare),
    /// Another has.
    There(socket::Client),
}

impl Operator {
    /// Opens the ledger, which ends what an earlier run left open; where another process holds it, asks that. The rules are the
    /// policy's where one is named; those of a host that runs are its own.
    pub(crate) async fn open(folders: &Folders, policy: Option<&Path>) -> Result<Self, CliError> {
        if !folders.ledger().is_dir() {
            return Err(CliError::path(
                folders.ledger(),
                "there is no ledger here; name the state folder with --state",
            ));
        }
        match Bare::open(folders, policy).await {
            Ok(host) => Ok(Self::Here(host)),
            Err(CliError::Held(why)) => Ok(Self::There(socket::Client::of(folders, why))),
            Err(error) => Err(error),
        }
    }

    /// Whether a host that runs is asked.
    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(self, Self::There(_))
    }

    pub(crate) async fn ask(&self, request: Request) -> Result<Value, CliError> {
        match self {
            Self::Here(host) => answer(&host.kernel, request).await.map_err(|e| CliError::Control(e.to_string())),
            Self::There(client) => client.ask(&request),
        }
    }

    pub(crate) async fn close(self) {
        if let Self::Here(host) = self {
            host.close().await;
        }
    }
}
