//! What a caller gets back.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ledger::LedgerError;
use crate::nonce::ExecutionNonce;
use crate::ports::{Elicitation, OutputFormat};
use crate::receipt::{Decision, SignedReceipt};

/// The end of a call, as its receipt says it.
#[derive(Clone, Debug)]
pub struct Response {
    /// The signed receipt; for a replayed id, the original one.
    pub receipt: Arc<SignedReceipt>,
    /// The released output, for an allow. A replay has it only where it was kept.
    pub output: Option<Output>,
    /// `stage.kind`, for everything but an allow.
    pub code: Option<String>,
    /// Addresses that the user has to visit before a new call can succeed.
    pub elicitations: Vec<Elicitation>,
    /// What the caller has to present with the same request id, where the call waits for that.
    pub nonce: Option<ExecutionNonce>,
    /// Whether this call did something, or an earlier one with the same id.
    pub origin: Origin,
}

/// Where a response comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From this call.
    Fresh,
    /// From the record of an earlier one.
    Replayed,
}

/// What is released to the caller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// The value, hooks applied.
    pub value: serde_json::Value,
    /// How it is to be read.
    pub format: OutputFormat,
}

impl Response {
    /// A fresh one that says no more than its receipt.
    pub(crate) fn of(receipt: SignedReceipt) -> Self {
        Self {
            receipt: receipt.into(),
            output: None,
            code: None,
            elicitations: Vec::new(),
            nonce: None,
            origin: Origin::Fresh,
        }
    }

    /// What was decided.
    #[must_use]
    pub fn decision(&self) -> &Decision {
        &self.receipt.body().decision
    }
}

/// The kernel could not answer, and signed nothing. For a caller this is a denial.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The ledger could not record the answer.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Too many calls are under way.
    #[error("{limit} calls are under way already, which is the most at one time; try again later")]
    Busy {
        /// The bound.
        limit: usize,
    },
    /// The ledger was opened again, and what was in flight is being looked at.
    #[error("the ledger was opened again and is being recovered; try again later")]
    Recovering,
    /// An operation cannot be ended, or an operator's change not be made; says why.
    #[error("{0}")]
    Unresolvable(String),
    /// The policy requires nonces, and the ledger would forget which were used.
    #[error("the policy requires execution nonces, and this ledger forgets which were used when its process ends")]
    VolatileNonces,
    /// The system gives no randomness.
    #[error("no randomness for a new id: {0}")]
    Entropy(String),
}

/// Direct dispatch does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("direct tool dispatch is unavailable; use the full evaluation pipeline")]
pub struct DirectDispatchUnavailable;
