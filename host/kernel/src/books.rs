//! The ledgers, and the key that signs what goes into them: what the call itself, the settler and recovery share.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::admission::{self, OpenOperation};
use crate::draft::Draft;
use crate::failpoint::Action;
use crate::kernel::{Ledgers, Outputs, Settings};
use crate::keys::Keypair;
use crate::ledger::{
    Durability, Hold, HoldPart, HoldState, LedgerError, Mutation, RequestOutcome, RequestRecord, Transition,
};
use crate::operation::{Kind, Operation, State, Terminal};
use crate::ports::{Clock, PaymentRail};
use crate::receipt::{
    BOUNDARY_PREVENT, KIND_ECONOMIC, KIND_MEDIATED, ORIGIN_CALLER, ReceiptBody, SignedReceipt, TRUST_MEDIATED,
};
use crate::replay::Fresh;
use crate::response::KernelError;
use crate::settle::Ending;

pub(crate) struct Books {
    pub(crate) settings: Settings,
    pub(crate) signer: Keypair,
    pub(crate) ledgers: Ledgers,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rails: BTreeMap<String, Arc<dyn PaymentRail>>,
}

impl Books {
    /// Seconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now_ms() / 1000
    }

    /// A fresh id: `prefix` and a UUIDv7.
    pub(crate) fn new_id(&self, prefix: &str) -> Result<String, KernelError> {
        let mut random = [0; 10];
        getrandom::fill(&mut random).map_err(|e| KernelError::Entropy(e.to_string()))?;
        let id = uuid::Builder::from_unix_timestamp_millis(self.clock.now_ms(), &random).into_uuid();
        Ok(format!("{prefix}{id}"))
    }

    pub(crate) fn is_durable(&self, operation: &OpenOperation) -> bool {
        operation.ledger.id() == self.ledgers.durable.id()
    }

    /// A named point at which a test may stop; nothing in a release build.
    pub(crate) async fn failpoint(&self, name: &'static str) {
        loop {
            match self.settings.failpoints.ask(name) {
                Action::Continue => return,
                Action::Panic => panic!("failpoint {name}"),
                Action::Hang => std::future::pending::<()>().await,
                Action::Sync => {
                    let ledger = &self.ledgers.durable;
                    let nothing = Transition::of(ledger.lease_epoch(), Vec::new());
                    drop(ledger.apply(nothing, Durability::Synced).await);
                }
            }
        }
    }

    /// Signs what a call came to.
    pub(crate) fn sign(
        &self,
        draft: &Draft,
        ending: &Ending,
        operation: Option<&Operation>,
    ) -> Result<SignedReceipt, KernelError> {
        let is_mutation = operation.is_some_and(|o| o.kind == Kind::GovernedEconomicMutation);
        let body = ReceiptBody {
            timestamp: draft.timestamp,
            capability_id: draft.capability_id.clone(),
            tool_server: draft.server.clone(),
            tool_name: draft.tool.clone(),
            action: draft.action.clone(),
            decision: ending.decision.clone(),
            receipt_kind: if is_mutation { KIND_ECONOMIC } else { KIND_MEDIATED }.to_owned(),
            boundary_class: BOUNDARY_PREVENT.to_owned(),
            tool_origin: ORIGIN_CALLER.to_owned(),
            redaction_mode: draft.redaction_mode,
            content_hash: ending.content_hash(),
            policy_hash: draft.policy_hash.clone(),
            evidence: draft.evidence.clone(),
            metadata: Some(self.metadata(draft, ending, operation)?),
            trust_level: TRUST_MEDIATED.to_owned(),
            kernel_key: self.signer.public().hex().to_owned(),
        };
        Ok(SignedReceipt::sign(body, &self.signer))
    }

    fn metadata(&self, draft: &Draft, ending: &Ending, operation: Option<&Operation>) -> Result<Value, KernelError> {
        let mut metadata = json!({
            "chio_receipt_signing_nonce": self.new_id("rcpt-")?,
            "receipt_context": { "request_id": draft.request_id },
            "chio_host": draft.host,
        });
        if !draft.attribution.is_null() {
            metadata["attribution"] = draft.attribution.clone();
        }
        let own = &mut metadata["chio_host"];
        own["mode"] = draft.mode.as_str().into();
        own["effect"] = ending.effect.as_str().into();
        if let Some(code) = &ending.code {
            own["code"] = code.as_str().into();
        }
        if ending.recovered {
            own["recovered"] = true.into();
        }
        if let Some(operation) = operation {
            own["operation_id"] = operation.id.as_str().into();
            own["attempt"] = operation.binding.attempt.into();
            if operation.kind == Kind::ToolDispatch {
                own["effect_class"] = json!(operation.admission.effect_class);
            }
            if let Some(nonce) = &operation.participants.nonce {
                own["nonce_id"] = nonce.id.as_str().into();
            }
            if let Some(attempt) = &operation.participants.broker_attempt {
                own["broker_attempt"] = attempt.as_str().into();
            }
            if let Some(payment) = &operation.participants.payment {
                own["payment"] = json!(payment);
            }
        }
        if let Some(capture) = &ending.capture {
            own["payment"]["capture"] = capture.as_str().into();
        }
        if let Some(cost) = cost(ending, operation) {
            own["cost"] = cost;
        }
        if let Some(runtime) = runtime(ending, operation) {
            metadata["chio_runtime"] = runtime;
        }
        Ok(metadata)
    }

    /// Records the end of a request without an operation. Without `fresh` its id keeps the meaning that it has.
    pub(crate) async fn close_request(
        &self,
        draft: &Draft,
        receipt: &SignedReceipt,
        fresh: Option<&Fresh>,
        first: impl Iterator<Item = Mutation>,
    ) -> Result<(), LedgerError> {
        if let Some(parent) = &draft.parent {
            // It goes to the log with the call that it was made in, whose end brings it to the disk.
            for mutation in first {
                if let Mutation::AppendReceipt { receipt, .. } = mutation {
                    parent.children.buffer(*receipt).map_err(too_many)?;
                }
            }
            return parent.children.buffer(receipt.clone()).map_err(too_many);
        }
        let bind = fresh.map(|fresh| Mutation::BindRequest {
            key: fresh.key.clone(),
            expected: fresh.expected.clone(),
            record: RequestRecord {
                server: draft.server.clone(),
                tool: draft.tool.clone(),
                parameter_hash: draft.action.parameter_hash.clone(),
                attempt: fresh.attempt,
                outcome: RequestOutcome::Closed { operation: None, receipt_id: receipt.id().to_owned() },
            },
        });
        let mutations = bind.into_iter().chain(first).chain([append(receipt, draft)]).collect();
        let ledger = &self.ledgers.durable;
        ledger.apply(Transition::of(ledger.lease_epoch(), mutations), Durability::Synced).await.map(|_| ())
    }

    /// Ends an operation whose end is decided: its payment first, then the books.
    pub(crate) async fn end(
        &self,
        operation: &mut OpenOperation,
        draft: &Draft,
        ending: &Ending,
        fresh: Option<&Fresh>,
        first: Vec<Mutation>,
    ) -> Result<SignedReceipt, KernelError> {
        if operation.record.participants.payment.is_none() {
            return self.close_operation(operation, draft, ending, fresh, first).await;
        }
        let ending = self.conclude_payment(&operation.record, ending.clone()).await;
        self.close_operation(operation, draft, &ending, fresh, first).await
    }

    /// Ends an operation with a signed receipt: its state, its hold, what else it took, the receipt, its log entry and what
    /// its request id means from now on are one synced transaction. What has to come before that is `first`.
    pub(crate) async fn close_operation(
        &self,
        operation: &mut OpenOperation,
        draft: &Draft,
        ending: &Ending,
        fresh: Option<&Fresh>,
        first: Vec<Mutation>,
    ) -> Result<SignedReceipt, KernelError> {
        let receipt = self.sign(draft, ending, Some(&operation.record))?;
        let mut mutations = end_of_participants(operation, ending)?;
        let id = receipt.id().to_owned();
        let ended = |record: &mut Operation| {
            record.terminal = Some(Terminal { receipt_id: Some(id.clone()) });
            record.delivery = ending.delivery.or(record.delivery);
            record.parked = None;
        };
        if !self.is_durable(operation) {
            self.close_request(draft, &receipt, fresh, first.into_iter()).await?;
            operation.advance(&[ending.terminal], ended, mutations, Durability::Buffered).await?;
            return Ok(receipt);
        }
        if let Some(output) = &ending.output
            && (self.settings.outputs == Outputs::Kept || ending.kept)
        {
            mutations.push(Mutation::KeepOutput { operation: operation.record.id.clone(), bytes: output.to_kept() });
        }
        let closed = RequestOutcome::Closed { operation: Some(operation.record.id.clone()), receipt_id: id.clone() };
        mutations.extend(self.rebind(operation, closed));
        mutations.extend(first);
        mutations.push(append(&receipt, draft));
        operation.advance(&[ending.terminal], ended, mutations, Durability::Synced).await?;
        Ok(receipt)
    }

    /// The request id of an operation that was unwound may be used again.
    pub(crate) fn unbind(&self, operation: &OpenOperation) -> Option<Mutation> {
        self.rebind(operation, RequestOutcome::Unwound)
    }

    /// What the request id of a recorded call means from now on. A mutation has an id of its own that nobody asks for again.
    fn rebind(&self, operation: &OpenOperation, outcome: RequestOutcome) -> Option<Mutation> {
        let record = &operation.record;
        if !self.is_durable(operation) || record.kind != Kind::ToolDispatch {
            return None;
        }
        let open = RequestOutcome::Open { operation: record.id.clone() };
        Some(Mutation::BindRequest {
            key: admission::request_key(record),
            expected: Some(admission::request_record(record, open)),
            record: admission::request_record(record, outcome),
        })
    }
}

fn too_many(why: admission::TooManyChildren) -> LedgerError {
    LedgerError::Unavailable(why.to_string())
}

/// Appends a receipt, with what a replay needs beside it.
pub(crate) fn append(receipt: &SignedReceipt, draft: &Draft) -> Mutation {
    Mutation::AppendReceipt { receipt: Box::new(receipt.clone()), replay: draft.replay_record() }
}

/// What becomes of what the operation took: given back where its tool was never entered, used up where it was, frozen where
/// nobody knows.
fn end_of_participants(operation: &OpenOperation, ending: &Ending) -> Result<Vec<Mutation>, LedgerError> {
    let record = &operation.record;
    let Some(id) = record.participants.hold.clone() else {
        return if ending.terminal == State::CompensatedBeforeDispatch && ending.cleanup.is_empty() {
            admission::give_back_all(operation)
        } else {
            Ok(Vec::new())
        };
    };
    let realized = ending.cost.as_ref().map_or(0, |cost| cost.realized);
    Ok(match ending.terminal {
        // What could be given back was, and what could not is on the receipt.
        State::CompensatedBeforeDispatch if !ending.cleanup.is_empty() => Vec::new(),
        State::CompensatedBeforeDispatch => admission::give_back_all(operation)?,
        State::NotAcceptedAfterDispatchCommit => {
            let mut mutations = admission::give_back_reservations(operation)?;
            mutations.push(Mutation::SettleHold { id, realized: 0 });
            mutations
        }
        State::OutcomeUnknownAfterDispatch if leaves_something_to_resolve(record) => {
            vec![Mutation::FreezeHold { id }]
        }
        _ if ending.unsettled.is_some() => vec![Mutation::FreezeHold { id }],
        _ => vec![Mutation::SettleHold { id, realized }],
    })
}

/// Whether an operator has something to say about an operation whose outcome nobody knows.
fn leaves_something_to_resolve(record: &Operation) -> bool {
    record.admission.exposure.is_some() || !record.participants.reservations.is_empty()
}

fn cost(ending: &Ending, operation: Option<&Operation>) -> Option<Value> {
    let held =
        operation?.admission.exposure.as_ref().filter(|_| operation.is_some_and(|o| o.participants.hold.is_some()))?;
    let mut shown = json!({ "held": held });
    match (&ending.cost, ending.terminal) {
        (_, State::OutcomeUnknownAfterDispatch) => shown["frozen"] = true.into(),
        (_, _) if ending.unsettled.is_some() => {
            shown["frozen"] = true.into();
            shown["unsettled"] = json!(ending.unsettled);
        }
        (Some(cost), _) => {
            shown["realized"] = json!({ "units": cost.realized, "currency": held.currency });
            if let Some(reported) = &cost.reported {
                shown["reported"] = json!(reported);
            }
            if let Some(overrun) = &cost.overrun {
                shown["overrun"] = overrun.as_str().into();
            }
        }
        (None, _) => shown["realized"] = json!({ "units": 0, "currency": held.currency }),
    }
    Some(shown)
}

/// `metadata.chio_runtime`, as the second seed names it.
fn runtime(ending: &Ending, operation: Option<&Operation>) -> Option<Value> {
    let mut runtime = json!({});
    if !ending.cleanup.is_empty() {
        runtime["pre_dispatch_cleanup_failed"] = true.into();
        runtime["cleanup_faults"] = json!(ending.cleanup);
    }
    let was_dispatched =
        !matches!(ending.terminal, State::CompensatedBeforeDispatch | State::NotAcceptedAfterDispatchCommit);
    let kept = operation.map_or(&[][..], |o| &o.participants.reservations);
    if was_dispatched && !kept.is_empty() {
        runtime["retained_reservations"] = json!(kept);
    }
    runtime.as_object().is_some_and(|r| !r.is_empty()).then_some(runtime)
}

/// What closes a hold that an operator resolves, in whatever state it is stuck.
pub(crate) fn resolve_hold(hold: &Hold, realized: u64) -> Mutation {
    let id = hold.id.clone();
    match hold.state {
        HoldState::Held => Mutation::ReleaseHold { id, part: HoldPart::All },
        HoldState::Committed => Mutation::SettleHold { id, realized },
        HoldState::Frozen => Mutation::ResolveHold { id, realized },
    }
}
