//! The reversals before dispatch: what a call took is given back, each thing on its own if it must be.

use serde::{Deserialize, Serialize};

use super::OpenOperation;
use crate::canonical::printable;
use crate::ledger::{Durability, HoldPart, LedgerError, Mutation, NonceKey};
use crate::ports::RailError;

/// A reversal, in the second seed's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// The money, and its authorization.
    MonetaryHold,
    /// The invocation slot, and the guards' reservations.
    InvocationBudget,
    /// The single-use ids, and the nonce.
    RuntimeReservations,
    /// The shares of the budgets above.
    ChildBudgetLease,
}

/// A reversal that failed, as the receipt says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CleanupFault {
    step: Step,
    /// Without what the storage said: it names folders.
    reason: String,
    /// What is stuck.
    ids: Vec<String>,
}

impl CleanupFault {
    /// A payment that may still be set aside at its rail.
    pub(crate) fn of_payment(reference: &str, why: &RailError) -> Self {
        let reason = printable(&why.to_string(), 300);
        Self { step: Step::MonetaryHold, reason, ids: vec![reference.to_owned()] }
    }
}

/// Everything that has to be given back, as it stands on the ledger.
pub(crate) fn all(operation: &OpenOperation) -> Result<Vec<Mutation>, LedgerError> {
    let mut mutations = Vec::new();
    if let Some(id) = &operation.record.participants.hold
        && operation.ledger.hold(id)?.is_some()
    {
        mutations.push(Mutation::ReleaseHold { id: id.clone(), part: HoldPart::All });
    }
    mutations.extend(reservations(operation)?);
    Ok(mutations)
}

/// The single-use ids, and the nonce where it is reserved.
pub(crate) fn reservations(operation: &OpenOperation) -> Result<Vec<Mutation>, LedgerError> {
    let record = &operation.record;
    let mut mutations = Vec::new();
    for reservation in &record.participants.reservations {
        if operation.ledger.reservation(reservation)?.as_ref() == Some(&record.id) {
            let (reservation, operation) = (reservation.clone(), record.id.clone());
            mutations.push(Mutation::ReleaseReservation { reservation, operation });
        }
    }
    mutations.extend(nonce(operation)?);
    Ok(mutations)
}

/// The nonce, where it is reserved and was not consumed.
pub(crate) fn nonce(operation: &OpenOperation) -> Result<Vec<Mutation>, LedgerError> {
    let record = &operation.record;
    match record.participants.nonce.as_ref().map(NonceKey::from) {
        Some(nonce)
            if operation.ledger.nonce(&nonce)?.is_some_and(|mark| mark.operation == record.id && !mark.consumed) =>
        {
            Ok(vec![Mutation::RollBackNonce { nonce, operation: record.id.clone() }])
        }
        _ => Ok(Vec::new()),
    }
}

/// Tries each step, whatever became of the others, and answers with those that failed.
pub(crate) async fn step_by_step(operation: &OpenOperation) -> Result<Vec<CleanupFault>, LedgerError> {
    let participants = &operation.record.participants;
    let hold = match &participants.hold {
        Some(id) => operation.ledger.hold(id)?,
        None => None,
    };
    let release = |part| hold.as_ref().map(|h| Mutation::ReleaseHold { id: h.id.clone(), part }).into_iter().collect();
    let hold_id = || participants.hold.iter().cloned().collect();
    let mut steps: Vec<(Step, Vec<Mutation>, Vec<String>)> = Vec::new();
    if hold.as_ref().is_some_and(|h| h.charge.is_some()) {
        steps.push((Step::MonetaryHold, release(HoldPart::Charge), hold_id()));
    }
    if hold.as_ref().is_some_and(|h| !h.claims.is_empty() || (h.charge.is_none() && h.leases.is_empty())) {
        steps.push((Step::InvocationBudget, release(HoldPart::Claims), hold_id()));
    }
    let ids = participants.reservations.iter().map(ToString::to_string);
    let ids = ids.chain(participants.nonce.iter().map(|n| n.id.clone())).collect();
    steps.push((Step::RuntimeReservations, reservations(operation)?, ids));
    if hold.as_ref().is_some_and(|h| !h.leases.is_empty()) {
        steps.push((Step::ChildBudgetLease, release(HoldPart::Leases), hold_id()));
    }
    let mut faults = Vec::new();
    for (step, mutations, ids) in steps {
        if mutations.is_empty() {
            continue;
        }
        if let Err(error) = operation.apply(None, mutations, Durability::Buffered).await {
            tracing::error!(audit_fault = true, operation = operation.record.id.as_str(), ?step, %error, "stuck");
            faults.push(CleanupFault { step, reason: redacted(&error), ids });
        }
    }
    Ok(faults)
}

fn redacted(error: &LedgerError) -> String {
    match error {
        LedgerError::Refused(refused) => printable(&refused.to_string(), 300),
        LedgerError::Unavailable(_) => "the ledger is unavailable".to_owned(),
        LedgerError::Damaged(_) => "the ledger is damaged".to_owned(),
    }
}
