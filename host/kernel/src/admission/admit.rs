//! Recording a call, and setting aside what it needs.

use std::sync::Arc;

use super::OpenOperation;
use crate::canonical::printable;
use crate::ledger::{
    Claim, CounterKey, Durability, Hold, HoldState, Ledger, LedgerError, Mutation, Refused, RequestKey, RequestOutcome,
    RequestRecord,
};
use crate::operation::{Operation, State};

/// Records the operation in `prepared`. On the durable ledger its request id means it from here on.
pub(crate) async fn record(
    ledger: Arc<dyn Ledger>,
    operation: Operation,
    request: Option<(RequestKey, Option<RequestRecord>)>,
) -> Result<OpenOperation, LedgerError> {
    let bind = request.map(|(key, expected)| Mutation::BindRequest {
        key,
        expected,
        record: request_record(&operation, RequestOutcome::Open { operation: operation.id.clone() }),
    });
    OpenOperation::create(ledger, operation, bind.into_iter().collect()).await
}

/// What the operation's request id means.
pub(crate) fn request_record(operation: &Operation, outcome: RequestOutcome) -> RequestRecord {
    let binding = &operation.binding;
    RequestRecord {
        server: binding.server.clone(),
        tool: binding.tool.clone(),
        parameter_hash: binding.parameter_hash.clone(),
        attempt: binding.attempt,
        outcome,
    }
}

/// A recorded operation with its hold.
pub(crate) struct Held {
    pub(crate) operation: OpenOperation,
    pub(crate) hold_id: String,
}

/// Why a hold was not taken. The operation stands as before.
pub(crate) enum NotHeld {
    /// This counter has not enough left.
    Exhausted(CounterKey),
    /// The ledger did not do it.
    Ledger(LedgerError),
}

/// Sets aside everything that the call may use: its invocation slot and the guards' reservations. All or nothing.
pub(crate) async fn hold(
    mut operation: OpenOperation,
    hold_id: String,
    claims: Vec<Claim>,
) -> Result<Held, (OpenOperation, NotHeld)> {
    let hold = Hold { id: hold_id.clone(), operation: operation.record.id.clone(), claims, state: HoldState::Held };
    let applied = operation
        .advance(
            &[State::BudgetAuthorized],
            |record| record.participants.hold = Some(hold_id.clone()),
            vec![Mutation::TakeHold(hold)],
            Durability::Buffered,
        )
        .await;
    match applied {
        Ok(_) => Ok(Held { operation, hold_id }),
        Err(LedgerError::Refused(Refused::Exhausted { counter, .. })) => Err((operation, NotHeld::Exhausted(counter))),
        Err(error) => Err((operation, NotHeld::Ledger(error))),
    }
}

/// The claim of a call on its grant's invocations.
pub(crate) fn invocation_claim(capability_id: &str, grant_index: u32, limit: u64) -> Claim {
    Claim { counter: invocation_counter(capability_id, grant_index), window: None, amount: 1, limit }
}

/// The counter of a grant's invocations.
pub(crate) fn invocation_counter(capability_id: &str, grant_index: u32) -> CounterKey {
    CounterKey::new(&["invocations", &printable(capability_id, 256), &grant_index.to_string()])
}
