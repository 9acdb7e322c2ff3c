//! Recording a call, and setting aside what it needs.

use super::OpenOperation;
use crate::call::Namespace;
use crate::ledger::{
    BudgetLease, Charge, Claim, CounterKey, Durability, Hold, HoldState, LedgerError, Mutation, NonceKey, NonceRefusal,
    Refused, RequestKey, RequestOutcome, RequestRecord,
};
use crate::operation::{NonceRef, Operation, PaymentRef, State};
use crate::reservation::RuntimeReservation;

/// Records the operation in `prepared`, with what its receipt will say. On the durable ledger its request id means it from
/// here on.
pub(crate) async fn record(
    operation: &OpenOperation,
    bind: Option<(RequestKey, Option<RequestRecord>)>,
    draft: Option<Vec<u8>>,
) -> Result<(), LedgerError> {
    let record = &operation.record;
    let bind = bind.map(|(key, expected)| Mutation::BindRequest {
        key,
        expected,
        record: request_record(record, RequestOutcome::Open { operation: record.id.clone() }),
    });
    let draft = draft.map(|bytes| Mutation::KeepDraft { operation: record.id.clone(), bytes });
    operation.create(bind.into_iter().chain(draft).collect()).await
}

/// Whose request id an operation carries.
pub(crate) fn request_key(operation: &Operation) -> RequestKey {
    RequestKey {
        subject: operation.binding.subject.clone(),
        namespace: Namespace::Call,
        request_id: operation.binding.request_id.clone(),
    }
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

/// Everything that a call may use.
pub(crate) struct Wanted {
    pub(crate) hold_id: String,
    /// Shares of the budgets above.
    pub(crate) leases: Vec<BudgetLease>,
    /// The invocation slot, and the guards' reservations.
    pub(crate) claims: Vec<Claim>,
    /// The worst case of what it costs.
    pub(crate) charge: Option<Charge>,
    /// Single-use ids.
    pub(crate) reservations: Vec<RuntimeReservation>,
    /// The nonce that binds the hold to the call; none where nothing outlives the process.
    pub(crate) nonce: Option<NonceRef>,
    /// The time, where the nonce is reserved at once and not when the caller comes back with it.
    pub(crate) reserve_nonce_at: Option<u64>,
    /// The mark of the proof of possession, and the time: used up here, whatever becomes of the call.
    pub(crate) proof: Option<(NonceKey, u64)>,
    /// The approval that the dispatch commit will consume.
    pub(crate) approval: Option<String>,
    /// The rail that pays, and the account there.
    pub(crate) payer: Option<(String, String)>,
}

/// Why a hold was not taken. The operation stands as before.
pub(crate) enum NotHeld {
    /// This counter has not enough left.
    Exhausted(CounterKey),
    /// The account has not, or is none.
    Account(String),
    /// Somebody has the single-use id.
    Reserved(String),
    /// No nonce can be remembered.
    Nonce(NonceRefusal),
    /// The proof of possession was used before, or cannot be remembered.
    Proof(NonceRefusal),
    /// The ledger did not do it.
    Ledger(LedgerError),
}

/// Sets aside everything that the call may use. All or nothing.
pub(crate) async fn hold(operation: &mut OpenOperation, wanted: Wanted) -> Result<(), NotHeld> {
    let Wanted { hold_id, leases, claims, charge, reservations, nonce, reserve_nonce_at, proof, approval, payer } =
        wanted;
    let id = operation.record.id.clone();
    let hold = Hold { id: hold_id.clone(), operation: id.clone(), leases, claims, charge, state: HoldState::Held };
    let mut mutations = vec![Mutation::TakeHold(hold)];
    mutations.extend(
        reservations.iter().map(|r| Mutation::TakeReservation { reservation: r.clone(), operation: id.clone() }),
    );
    if let (Some(nonce), Some(now)) = (&nonce, reserve_nonce_at) {
        mutations.push(Mutation::ReserveNonce { nonce: NonceKey::from(nonce), operation: id.clone(), now });
    }
    let proof_id = proof.as_ref().map(|(mark, _)| mark.id.clone());
    if let Some((mark, now)) = proof {
        mutations.push(Mutation::ReserveNonce { nonce: mark.clone(), operation: id.clone(), now });
        mutations.push(Mutation::ConsumeNonce { nonce: mark, operation: id });
    }
    let path: &[State] = match approval {
        Some(_) => &[State::BudgetAuthorized, State::ApprovalReserved],
        None => &[State::BudgetAuthorized],
    };
    // A rail is asked for money that nobody could find again if this were lost.
    let durability = if payer.is_some() { Durability::Synced } else { Durability::Buffered };
    let payment = payer.map(|(rail, account)| {
        let reference = hold_id.clone();
        PaymentRef { rail, account, reference, authorization: None }
    });
    let change = |record: &mut Operation| {
        record.participants.payment = payment;
        record.participants.hold = Some(hold_id);
        record.participants.reservations = reservations;
        record.participants.nonce = nonce;
        record.participants.approval = approval;
        record.parked = None;
    };
    let applied = operation.advance(path, change, mutations, durability).await;
    match applied {
        Ok(_) => Ok(()),
        Err(LedgerError::Refused(Refused::Exhausted { counter, .. })) => Err(NotHeld::Exhausted(counter)),
        Err(LedgerError::Refused(why @ (Refused::Funds { .. } | Refused::Account { .. }))) => {
            Err(NotHeld::Account(why.to_string()))
        }
        Err(LedgerError::Refused(why @ Refused::Reserved { .. })) => Err(NotHeld::Reserved(why.to_string())),
        Err(LedgerError::Refused(Refused::Nonce { id, why })) if Some(&id) == proof_id.as_ref() => {
            Err(NotHeld::Proof(why))
        }
        Err(LedgerError::Refused(Refused::Nonce { why, .. })) => Err(NotHeld::Nonce(why)),
        Err(error) => Err(NotHeld::Ledger(error)),
    }
}
