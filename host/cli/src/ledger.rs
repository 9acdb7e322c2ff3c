//! Looking at a ledger that is there already: looking must not make one, nor change what is in it.

use chio_host_kernel::ledger::{Ledger as _, LogEntry};
use chio_host_ledger::{OpenError, SledLedger};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::control::Request;
use crate::control::socket::Client;
use crate::error::CliError;
use crate::folders::Folders;

/// How many log entries are read at a time.
const PAGE: usize = 1024;

/// A ledger, or the host that has it open.
pub(crate) enum Reader {
    Ledger(Box<SledLedger>),
    Host(Client),
}

/// A log entry with its receipt; none where that is missing.
#[derive(Deserialize)]
pub(crate) struct Entry {
    pub(crate) entry: LogEntry,
    pub(crate) receipt: Option<Value>,
}

/// Whether a walk goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Go {
    On,
    Stop,
}

impl Reader {
    pub(crate) fn open(folders: &Folders) -> Result<Self, CliError> {
        let dir = folders.ledger();
        if !dir.is_dir() {
            return Err(CliError::path(
                &dir,
                "there is no ledger here yet; a check or call makes one, or name another --state",
            ));
        }
        match SledLedger::open(&dir) {
            Ok(ledger) => Ok(Self::Ledger(Box::new(ledger))),
            Err(held @ OpenError::Held { .. }) => Ok(Self::Host(Client::of(folders, held.to_string()))),
            Err(error) => Err(CliError::OpenLedger(error.to_string())),
        }
    }

    /// A receipt by its whole id.
    pub(crate) fn receipt(&self, id: &str) -> Result<Option<Value>, CliError> {
        match self {
            Self::Ledger(ledger) => Ok(ledger.receipt(id)?),
            Self::Host(host) => ask(host, &Request::Receipt { id: id.to_owned() }),
        }
    }

    /// When a capability was revoked, in seconds since 1970.
    pub(crate) fn revoked_at(&self, capability_id: &str) -> Result<Option<u64>, CliError> {
        match self {
            Self::Ledger(ledger) => Ok(ledger.revoked_at(capability_id)?),
            Self::Host(host) => ask(host, &Request::RevokedAt { capability_id: capability_id.to_owned() }),
        }
    }

    /// Every log entry, until `visit` has had enough.
    pub(crate) fn entries(&self, visit: impl FnMut(LogEntry) -> Result<Go, CliError>) -> Result<(), CliError> {
        let page = |from| match self {
            Self::Ledger(ledger) => Ok(ledger.log(from, PAGE)?),
            Self::Host(host) => ask(host, &Request::Log { from }),
        };
        walk(page, |entry| entry.seq, visit)
    }

    /// Every log entry with its receipt, until `visit` has had enough.
    pub(crate) fn receipts(&self, mut visit: impl FnMut(Entry) -> Result<Go, CliError>) -> Result<(), CliError> {
        match self {
            Self::Ledger(ledger) => self.entries(|entry| {
                let receipt = ledger.receipt(&entry.receipt_id)?;
                visit(Entry { entry, receipt })
            }),
            Self::Host(host) => walk(|from| ask(host, &Request::Receipts { from }), |entry| entry.entry.seq, visit),
        }
    }
}

fn walk<T>(
    page: impl Fn(u64) -> Result<Vec<T>, CliError>,
    seq: fn(&T) -> u64,
    mut visit: impl FnMut(T) -> Result<Go, CliError>,
) -> Result<(), CliError> {
    let mut from = 0;
    loop {
        let page = page(from)?;
        let Some(last) = page.last() else { return Ok(()) };
        from = seq(last) + 1;
        for entry in page {
            if visit(entry)? == Go::Stop {
                return Ok(());
            }
        }
    }
}

fn ask<T: DeserializeOwned>(host: &Client, request: &Request) -> Result<T, CliError> {
    let answer = host.ask(request)?;
    serde_json::from_value(answer).map_err(|e| CliError::Control(format!("the host that runs answered nonsense: {e}")))
}
