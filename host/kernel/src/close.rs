//! Step 7: sign and close. The receipt, its log entry, the operation's end and what the request id means from now on are
//! one synced transaction; only then is output released.

use serde_json::{Value, json};

use crate::admission::{self, OpenOperation};
use crate::call::Call;
use crate::canonical;
use crate::evaluate::Ended;
use crate::kernel::Kernel;
use crate::ledger::{Durability, LedgerError, Mutation, RequestOutcome, RequestRecord, Transition};
use crate::operation::{State, Terminal};
use crate::receipt::{
    Action, BOUNDARY_PREVENT, KIND_MEDIATED, ORIGIN_CALLER, ReceiptBody, RedactionMode, SignedReceipt, TRUST_MEDIATED,
};
use crate::replay::Fresh;
use crate::response::{KernelError, Origin, Response};
use crate::settle::Ending;
use crate::trail::Trail;

/// What stands in a receipt for an argument that a guard marked secret.
const SECRET: &str = "[secret argument]";

impl Kernel {
    /// Signs the end of a call and records it. Without `fresh` the request id keeps the meaning that it has.
    pub(crate) async fn close(
        &self,
        call: &Call,
        trail: Trail,
        ended: Ended,
        fresh: Option<Fresh>,
    ) -> Result<Response, KernelError> {
        let Ended { ending, operation } = ended;
        let receipt = self.sign(call, &trail, &ending, operation.as_ref())?;
        let replay = replay_record(call, &trail);
        match operation {
            Some(open) if open.ledger.id() == self.ledgers.durable.id() => {
                self.close_durable(open, &ending, &receipt, replay, fresh).await?;
            }
            Some(open) => {
                self.close_request(call, &receipt, replay, fresh).await?;
                self.close_volatile(open, &ending, receipt.id()).await?;
            }
            None => self.close_request(call, &receipt, replay, fresh).await?,
        }
        if let Some(reason) = ending.decision.reason() {
            tracing::warn!(
                request_id = call.request_id.as_str(),
                receipt_id = receipt.id(),
                verdict = ending.decision.verdict(),
                reason,
                "call not allowed"
            );
        }
        Ok(Response {
            receipt: receipt.into(),
            output: ending.output,
            code: ending.code,
            elicitations: ending.elicitations,
            origin: Origin::Fresh,
        })
    }

    async fn close_durable(
        &self,
        mut open: OpenOperation,
        ending: &Ending,
        receipt: &SignedReceipt,
        replay: Vec<u8>,
        fresh: Option<Fresh>,
    ) -> Result<(), LedgerError> {
        let operation = Some(open.record.id.clone());
        let mut mutations: Vec<Mutation> = end_of_hold(&open, ending).into_iter().collect();
        mutations.extend(fresh.map(|fresh| {
            let outcome = |o| admission::request_record(&open.record, o);
            Mutation::BindRequest {
                key: fresh.key,
                expected: Some(outcome(RequestOutcome::Open { operation: open.record.id.clone() })),
                record: outcome(RequestOutcome::Closed { operation, receipt_id: receipt.id().to_owned() }),
            }
        }));
        mutations.push(append(receipt, replay));
        end(&mut open, ending, receipt.id(), mutations, Durability::Synced).await
    }

    async fn close_volatile(
        &self,
        mut open: OpenOperation,
        ending: &Ending,
        receipt_id: &str,
    ) -> Result<(), LedgerError> {
        let mutations = end_of_hold(&open, ending).into_iter().collect();
        end(&mut open, ending, receipt_id, mutations, Durability::Buffered).await
    }

    async fn close_request(
        &self,
        call: &Call,
        receipt: &SignedReceipt,
        replay: Vec<u8>,
        fresh: Option<Fresh>,
    ) -> Result<(), LedgerError> {
        let bind = fresh.map(|fresh| Mutation::BindRequest {
            key: fresh.key,
            expected: fresh.expected,
            record: RequestRecord {
                server: call.server.clone(),
                tool: call.tool.clone(),
                parameter_hash: call.arguments.hash().to_owned(),
                attempt: fresh.attempt,
                outcome: RequestOutcome::Closed { operation: None, receipt_id: receipt.id().to_owned() },
            },
        });
        let mutations = bind.into_iter().chain([append(receipt, replay)]).collect();
        let ledger = &self.ledgers.durable;
        let transition = Transition { lease_epoch: ledger.lease_epoch(), operation: None, mutations };
        ledger.apply(transition, Durability::Synced).await.map(|_| ())
    }

    fn sign(
        &self,
        call: &Call,
        trail: &Trail,
        ending: &Ending,
        operation: Option<&OpenOperation>,
    ) -> Result<SignedReceipt, KernelError> {
        let (parameters, redaction_mode) = without_secrets(call.arguments.value(), &trail.secret_arguments);
        let released = ending.output.as_ref().map_or(&Value::Null, |o| &o.value);
        let body = ReceiptBody {
            timestamp: trail.now(),
            capability_id: call.capability.body().id.clone(),
            tool_server: call.server.clone(),
            tool_name: call.tool.clone(),
            action: Action { parameters, parameter_hash: call.arguments.hash().to_owned() },
            decision: ending.decision.clone(),
            receipt_kind: KIND_MEDIATED.to_owned(),
            boundary_class: BOUNDARY_PREVENT.to_owned(),
            tool_origin: ORIGIN_CALLER.to_owned(),
            redaction_mode,
            content_hash: canonical::hash(released),
            policy_hash: self.settings.policy_hash.clone(),
            evidence: trail.evidence.clone(),
            metadata: Some(self.metadata(call, trail, ending, operation)?),
            trust_level: TRUST_MEDIATED.to_owned(),
            kernel_key: self.signer.public().hex().to_owned(),
        };
        Ok(SignedReceipt::sign(body, &self.signer))
    }

    fn metadata(
        &self,
        call: &Call,
        trail: &Trail,
        ending: &Ending,
        operation: Option<&OpenOperation>,
    ) -> Result<Value, KernelError> {
        let token = call.capability.body();
        let mut metadata = json!({
            "attribution": {
                "delegation_depth": token.delegation_chain.len(),
                "issuer_key": token.issuer,
                "subject_key": token.subject,
            },
            "chio_receipt_signing_nonce": self.new_id("rcpt-")?,
            "receipt_context": { "request_id": call.request_id.as_str() },
            "chio_host": {
                "mode": call.mode.namespace().as_str(),
                "effect": ending.effect.as_str(),
                "timings_us": trail.timings(),
            },
        });
        if let Some(index) = trail.grant_index {
            metadata["attribution"]["grant_index"] = index.into();
        }
        let own = &mut metadata["chio_host"];
        if let Some(code) = &ending.code {
            own["code"] = code.as_str().into();
        }
        if let Some(open) = operation {
            own["operation_id"] = open.record.id.as_str().into();
            own["attempt"] = open.record.binding.attempt.into();
            own["effect_class"] = json!(open.record.admission.effect_class);
        }
        if !trail.runs.is_empty() {
            own["components"] = trail.components().into();
        }
        if !trail.hooks.is_empty() {
            own["hooks"] = trail.hook_notes().into();
        }
        if let Some((name, stop)) = &trail.stopped {
            own["stopped"] = json!({ "component": name, "by": stop.as_str() });
        }
        Ok(metadata)
    }
}

async fn end(
    open: &mut OpenOperation,
    ending: &Ending,
    receipt_id: &str,
    mutations: Vec<Mutation>,
    durability: Durability,
) -> Result<(), LedgerError> {
    let terminal = Some(Terminal { receipt_id: Some(receipt_id.to_owned()) });
    open.advance(&[ending.terminal], |record| record.terminal = terminal, mutations, durability).await.map(|_| ())
}

/// What becomes of the hold: given back where the tool cannot have been entered, used up where it may have been.
fn end_of_hold(open: &OpenOperation, ending: &Ending) -> Option<Mutation> {
    let id = open.record.participants.hold.clone()?;
    Some(match ending.terminal {
        State::CompensatedBeforeDispatch => Mutation::ReleaseHold { id },
        _ => Mutation::SettleHold { id },
    })
}

fn append(receipt: &SignedReceipt, replay: Vec<u8>) -> Mutation {
    Mutation::AppendReceipt { receipt: Box::new(receipt.clone()), replay: Some(replay) }
}

/// What a replay of the log needs and the receipt does not hold.
fn replay_record(call: &Call, trail: &Trail) -> Vec<u8> {
    let counters: Vec<_> = trail
        .counters
        .iter()
        .map(|(guard, seen)| {
            let seen: Vec<_> = seen
                .iter()
                .map(|c| json!({ "name": c.name, "window_seconds": c.window_seconds, "used": c.used }))
                .collect();
            json!({ "guard": guard, "seen": seen })
        })
        .collect();
    canonical::to_vec(&json!({
        "capability": call.capability.to_json(),
        "counters": counters,
        "time_ms": trail.now_ms,
    }))
}

/// The arguments as a receipt may hold them.
fn without_secrets(arguments: &Value, secret: &[String]) -> (Value, RedactionMode) {
    let mut shown = arguments.clone();
    let mut mode = RedactionMode::None;
    for pointer in secret {
        if pointer.is_empty() {
            shown = json!({ "redacted": SECRET });
            return (shown, RedactionMode::Redacted);
        }
        if let Some(value) = shown.pointer_mut(pointer) {
            *value = SECRET.into();
            mode = RedactionMode::Redacted;
        }
    }
    (shown, mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_argument_is_replaced_where_it_stands() {
        let arguments = json!({ "a": { "token": "s3cret" }, "b": 1 });
        let (shown, mode) = without_secrets(&arguments, &["/a/token".into(), "/nowhere".into()]);
        assert_eq!((shown, mode), (json!({ "a": { "token": SECRET }, "b": 1 }), RedactionMode::Redacted));
        assert_eq!(without_secrets(&arguments, &[]).1, RedactionMode::None);
        assert!(!without_secrets(&arguments, &[String::new()]).0.to_string().contains("s3cret"));
    }
}
