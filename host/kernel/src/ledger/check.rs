//! What a transition must satisfy by itself, whatever stores it.

use super::{Mutation, NonceKey, OperationWrite, Refused, Transition};
use crate::operation::{Kind, Operation, State, is_legal_move};

/// Checks a transition against the ledger's epoch and the operation as it is stored.
///
/// # Errors
/// A stale epoch; a version that is not the stored one; a move that is not legal; an operation whose identity would
/// change; a dispatch commit that does not consume what the operation requires; somebody else's recovery.
pub fn check(transition: &Transition, current_epoch: u64, stored: Option<&Operation>) -> Result<(), Refused> {
    if transition.lease_epoch != current_epoch {
        return Err(Refused::StaleEpoch { presented: transition.lease_epoch, current: current_epoch });
    }
    let Some(write) = &transition.operation else { return Ok(()) };
    check_version(write, stored)?;
    let inconsistent = |why| Err(Refused::Inconsistent { id: write.record.id.clone(), why });
    if write.record.lease_epoch != current_epoch {
        return inconsistent("the record carries another lease epoch");
    }
    match stored {
        None if write.record.state != State::Prepared || !write.path.is_empty() => {
            return inconsistent("a new operation is prepared, and nothing else");
        }
        None if write.record.id != write.record.binding.operation_id() => {
            return inconsistent("its id is not that of its binding");
        }
        None => {}
        Some(stored) => {
            check_recovery(transition, write, stored, current_epoch)?;
            check_moves(write, stored)?;
        }
    }
    if write.path.contains(&State::DispatchCommitted) {
        check_dispatch_commit(write, &transition.mutations)?;
    }
    Ok(())
}

fn check_version(write: &OperationWrite, stored: Option<&Operation>) -> Result<(), Refused> {
    let at = stored.map_or(0, |s| s.version);
    if at != write.expected_version {
        let id = write.record.id.clone();
        return Err(Refused::Version { id, expected: write.expected_version, stored: at });
    }
    let moves = if stored.is_none() { 1 } else { write.path.len() as u64 };
    if write.record.version != at + moves {
        let id = write.record.id.clone();
        return Err(Refused::Inconsistent { id, why: "its version does not count its moves" });
    }
    Ok(())
}

/// An operation that somebody recovers moves for nobody else. A lease of an earlier epoch binds no more: its owner is fenced
/// already.
fn check_recovery(
    transition: &Transition,
    write: &OperationWrite,
    stored: &Operation,
    epoch: u64,
) -> Result<(), Refused> {
    let refused =
        |claimant: &str, why| Err(Refused::RecoveryLease { id: stored.id.clone(), claimant: claimant.to_owned(), why });
    let now = transition.claimant.as_ref();
    let held = stored.recovery.as_ref().filter(|lease| lease.epoch == epoch);
    if write.record.recovery == stored.recovery {
        return match (held, now) {
            (Some(_), None) => refused("nobody", "somebody recovers it"),
            (Some(lease), Some(now)) if lease.claimant != now.id => refused(&now.id, "somebody else recovers it"),
            (Some(lease), Some(now)) if lease.expires_at_ms <= now.now_ms => refused(&now.id, "the lease has expired"),
            (None, _) | (Some(_), Some(_)) => Ok(()),
        };
    }
    let (Some(lease), Some(now)) = (&write.record.recovery, now) else {
        return refused("nobody", "a lease is taken by its claimant, and is not given up");
    };
    let is_its_own = lease.claimant == now.id
        && lease.operation == stored.id
        && lease.epoch == epoch
        && lease.version == stored.version
        && lease.expires_at_ms > now.now_ms;
    if !is_its_own || !write.path.is_empty() {
        return refused(&now.id, "the lease that it writes is not one");
    }
    match held {
        Some(held) if held.claimant != now.id && held.expires_at_ms > now.now_ms => {
            refused(&now.id, "somebody else recovers it")
        }
        _ => Ok(()),
    }
}

fn check_moves(write: &OperationWrite, stored: &Operation) -> Result<(), Refused> {
    let record = &write.record;
    let same = record.id == stored.id
        && record.kind == stored.kind
        && record.requirements == stored.requirements
        && record.binding == stored.binding
        && record.admission == stored.admission;
    let id = || record.id.clone();
    if !same {
        return Err(Refused::Inconsistent { id: id(), why: "its identity would change" });
    }
    if stored.state.is_terminal() {
        return Err(Refused::Inconsistent { id: id(), why: "it has ended" });
    }
    if write.path.is_empty() && !is_note(record, stored) {
        return Err(Refused::Inconsistent { id: id(), why: "it would change without a move" });
    }
    let mut from = stored.state;
    for &to in &write.path {
        if !is_legal_move(record.kind, record.requirements, from, to) {
            return Err(Refused::IllegalMove { id: id(), from, to });
        }
        from = to;
    }
    if record.state != from {
        return Err(Refused::Inconsistent { id: id(), why: "its state is not where its path ends" });
    }
    if from.is_terminal() && record.terminal.is_none() {
        return Err(Refused::Inconsistent { id: id(), why: "it ends without saying how" });
    }
    Ok(())
}

/// Whether a record differs from the stored one by what may be noted without a move: who recovers it, why that failed, and
/// that it waits from now on. A note from before it waited would undo that, and is none.
fn is_note(record: &Operation, stored: &Operation) -> bool {
    let mut noted = stored.clone();
    noted.lease_epoch = record.lease_epoch;
    noted.recovery.clone_from(&record.recovery);
    noted.last_error.clone_from(&record.last_error);
    if noted.parked.is_none() {
        noted.parked.clone_from(&record.parked);
    }
    noted == *record
}

/// Legality of the move alone would let an operation skip its hold or its approval; what it requires is enforced here,
/// where it is consumed.
fn check_dispatch_commit(write: &OperationWrite, mutations: &[Mutation]) -> Result<(), Refused> {
    let record = &write.record;
    let inconsistent = |why| Err(Refused::Inconsistent { id: record.id.clone(), why });
    if record.dispatch_commit.is_none() {
        return inconsistent("a dispatch commit says when");
    }
    if record.kind != Kind::ToolDispatch {
        return inconsistent("an economic mutation has no dispatch");
    }
    if record.requirements.budget_capture {
        let Some(hold) = &record.participants.hold else {
            return inconsistent("it requires a hold and has none");
        };
        if !mutations.iter().any(|m| matches!(m, Mutation::CommitHold { id } if id == hold)) {
            return inconsistent("its dispatch commit does not consume its hold");
        }
    }
    if let Some(nonce) = &record.participants.nonce {
        let consumes = |m: &Mutation| {
            matches!(m, Mutation::ConsumeNonce { nonce: key, operation }
                if *key == NonceKey::from(nonce) && *operation == record.id)
        };
        if !mutations.iter().any(consumes) {
            return inconsistent("its dispatch commit does not consume its nonce");
        }
    }
    if record.requirements.approval {
        let Some(approval) = &record.participants.approval else {
            return inconsistent("it requires an approval and has none");
        };
        let consumes = |m: &Mutation| matches!(m, Mutation::ConsumeApproval { operation, id } if *operation == record.id && id == approval);
        if !mutations.iter().any(consumes) {
            return inconsistent("its dispatch commit does not consume its approval");
        }
    }
    if record.requirements.broker_attempt && record.participants.broker_attempt.is_none() {
        return inconsistent("it requires a broker attempt and has none");
    }
    Ok(())
}
