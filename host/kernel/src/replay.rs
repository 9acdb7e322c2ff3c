//! A request id that was used before.

use serde_json::Value;

use crate::call::Call;
use crate::canonical::{self, Bounds};
use crate::denial::Denial;
use crate::kernel::Kernel;
use crate::ledger::{LedgerError, RequestKey, RequestOutcome, RequestRecord};
use crate::operation::{Operation, OperationId};
use crate::receipt::{Decision, SignedReceipt};
use crate::response::{Origin, Output, Response};

/// A request id that means nothing yet, or nothing any more.
#[derive(Clone)]
pub(crate) struct Fresh {
    pub(crate) key: RequestKey,
    /// What is stored for it now.
    pub(crate) expected: Option<RequestRecord>,
    pub(crate) attempt: u32,
}

/// What the ledger knows of a request id.
pub(crate) enum Known {
    Fresh(Fresh),
    /// Its operation waits for it.
    Parked(Box<Operation>),
    Finished(Box<Response>),
    Conflict(Denial),
}

impl Kernel {
    pub(crate) fn look_up(&self, call: &Call, key: RequestKey) -> Result<Known, LedgerError> {
        let ledger = &self.books.ledgers.durable;
        let Some(record) = ledger.request(&key)? else {
            return Ok(Known::Fresh(Fresh { key, expected: None, attempt: 1 }));
        };
        let id = call.request_id.as_str();
        let conflict = |what: String| Ok(Known::Conflict(Denial::Admission(format!("request id {id} {what}"))));
        let is_same =
            record.server == call.server && record.tool == call.tool && record.parameter_hash == call.arguments.hash();
        match &record.outcome {
            RequestOutcome::Unwound => {
                let attempt = record.attempt.saturating_add(1);
                Ok(Known::Fresh(Fresh { key, expected: Some(record), attempt }))
            }
            outcome if !is_same => conflict(format!("belongs to another call, {}", describe(outcome))),
            RequestOutcome::Closed { operation, receipt_id } => {
                self.recorded(operation.as_ref(), receipt_id).map(|r| Known::Finished(Box::new(r)))
            }
            RequestOutcome::Open { operation } => match ledger.operation(operation)? {
                Some(waits) if waits.parked.is_some() && !waits.state.is_terminal() => {
                    Ok(Known::Parked(Box::new(waits)))
                }
                _ => conflict(format!(
                    "was left open by an earlier run, operation {operation}; its outcome is not known"
                )),
            },
        }
    }

    /// The answer that was given before.
    pub(crate) fn recorded(&self, operation: Option<&OperationId>, receipt_id: &str) -> Result<Response, LedgerError> {
        let ledger = &self.books.ledgers.durable;
        let damaged = |what: &str| LedgerError::Damaged(format!("receipt {receipt_id}: {what}"));
        let record = ledger.receipt(receipt_id)?.ok_or_else(|| damaged("it is missing"))?;
        let code = record["metadata"]["chio_host"]["code"].as_str().map(str::to_owned);
        let receipt = SignedReceipt::from_record(record).map_err(|e| damaged(&e.to_string()))?;
        let output = match operation {
            Some(operation) if receipt.body().decision == Decision::Allow => {
                let kept = ledger.output(operation)?;
                kept.map(|bytes| Output::from_kept(&bytes).ok_or_else(|| damaged("its output is unreadable")))
                    .transpose()?
            }
            _ => None,
        };
        Ok(Response { output, code, origin: Origin::Replayed, ..Response::of(receipt) })
    }
}

fn describe(outcome: &RequestOutcome) -> String {
    match outcome {
        RequestOutcome::Open { operation } | RequestOutcome::Closed { operation: Some(operation), .. } => {
            format!("operation {operation}")
        }
        RequestOutcome::Closed { receipt_id, .. } => format!("receipt {receipt_id}"),
        RequestOutcome::Unwound => "which was unwound".to_owned(),
    }
}

impl Output {
    /// As it is kept on the ledger.
    pub(crate) fn to_kept(&self) -> Vec<u8> {
        canonical::to_vec(&serde_json::json!({ "format": self.format, "value": self.value }))
    }

    fn from_kept(bytes: &[u8]) -> Option<Self> {
        // The wrapping adds a level and a few bytes to what was accepted as output.
        let bounds = Bounds {
            bytes: Bounds::OUTPUT.bytes * 2,
            depth: Bounds::OUTPUT.depth + 1,
            values: Bounds::OUTPUT.values + 4,
        };
        let mut kept: Value = canonical::parse(bytes, bounds).ok()?;
        let format = serde_json::from_value(kept["format"].take()).ok()?;
        Some(Self { value: kept["value"].take(), format })
    }
}
