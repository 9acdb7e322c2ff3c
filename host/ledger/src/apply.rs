//! What a transition does, whatever keeps the rows.

use chio_host_kernel::ledger::{
    Applied, ApprovalRecord, Claim, Hold, HoldPart, HoldState, LogEntry, Mutation, OperationWrite, Refused, RequestKey,
    Transition, check,
};
use chio_host_kernel::receipt::SignedReceipt;

use crate::rows::Rows;
use crate::{accounts, claims, leases, nonces, reservations};

/// The longest counter key, in bytes. Keys are kept as they are, because they are listed in order, and the pages that
/// hold them are bounded.
pub(crate) const MAX_COUNTER_KEY: usize = 400;

/// Checks a transition and makes its changes, in order. If it fails, the caller undoes what was put.
pub(crate) fn apply<R: Rows>(rows: &mut R, transition: &Transition) -> Result<Applied, R::Error> {
    let write = transition.operation.as_ref();
    let stored = match write {
        Some(write) => rows.operation(&write.record.id)?,
        None => None,
    };
    check(transition, rows.lease_epoch(), stored.as_ref())?;
    let mut applied = Applied::default();
    for mutation in &transition.mutations {
        mutate(rows, write, mutation, &mut applied)?;
    }
    match (write, stored) {
        (Some(write), None) => rows.insert_operation(&write.record)?,
        (Some(write), Some(_)) => {
            rows.update_operation(&write.record)?;
            if write.record.state.is_terminal() {
                rows.remove_draft(&write.record.id)?;
            }
        }
        (None, _) => {}
    }
    Ok(applied)
}

fn mutate<R: Rows>(
    rows: &mut R,
    write: Option<&OperationWrite>,
    mutation: &Mutation,
    applied: &mut Applied,
) -> Result<(), R::Error> {
    match mutation {
        Mutation::BindRequest { key, expected, record } => {
            if rows.request(key)? != *expected {
                return Err(moved_on(key).into());
            }
            rows.put_request(key, record)
        }
        Mutation::TakeHold(hold) => take_hold(rows, write, hold),
        Mutation::CommitHold { id } => {
            let mut hold = find_hold(rows, id, HoldState::Held)?;
            belongs_to(&hold, write)?;
            hold.state = HoldState::Committed;
            rows.put_hold(&hold)
        }
        Mutation::SettleHold { id, realized } => close(rows, id, HoldState::Committed, *realized),
        Mutation::ReleaseHold { id, part } => release(rows, id, *part),
        Mutation::FreezeHold { id } => {
            let mut hold = find_hold(rows, id, HoldState::Committed)?;
            hold.state = HoldState::Frozen;
            rows.put_hold(&hold)
        }
        Mutation::ResolveHold { id, realized } => close(rows, id, HoldState::Frozen, *realized),
        Mutation::SetAccount { name, base, total } => accounts::set(rows, name, *base, total),
        Mutation::ReserveNonce { nonce, operation, now } => nonces::reserve(rows, nonce, operation, *now),
        Mutation::ConsumeNonce { nonce, operation } => nonces::consume(rows, nonce, operation),
        Mutation::RollBackNonce { nonce, operation } => nonces::roll_back(rows, nonce, operation),
        Mutation::TakeReservation { reservation, operation } => reservations::take(rows, reservation, operation),
        Mutation::ReleaseReservation { reservation, operation } => reservations::release(rows, reservation, operation),
        Mutation::GrantApproval { operation, id, token } => {
            if rows.approval(operation)?.is_some() {
                return Err(Refused::Approval { id: id.clone(), why: "the operation has one" }.into());
            }
            rows.put_approval(operation, &ApprovalRecord { id: id.clone(), consumed: false, token: token.clone() })
        }
        Mutation::ConsumeApproval { operation, id } => match rows.approval(operation)? {
            Some(approval) if approval.id == *id && !approval.consumed => {
                rows.put_approval(operation, &ApprovalRecord { consumed: true, ..approval })
            }
            Some(approval) if approval.id == *id => {
                Err(Refused::Approval { id: id.clone(), why: "it was used before" }.into())
            }
            _ => Err(Refused::Approval { id: id.clone(), why: "it is not this operation's" }.into()),
        },
        Mutation::KeepDraft { operation, bytes } => rows.put_draft(operation, bytes),
        Mutation::KeepOutput { operation, bytes } => rows.put_output(operation, bytes),
        Mutation::AppendReceipt { receipt, replay } => {
            applied.entries.push(append(rows, receipt, replay.as_deref())?);
            Ok(())
        }
        Mutation::Revoke { capability_id, at } => match rows.revoked_at(capability_id)? {
            Some(_) => Ok(()),
            None => rows.put_revocation(capability_id, *at),
        },
    }
}

fn moved_on(key: &RequestKey) -> Refused {
    Refused::Request(key.request_id.as_str().to_owned())
}

fn take_hold<R: Rows>(rows: &mut R, write: Option<&OperationWrite>, hold: &Hold) -> Result<(), R::Error> {
    let inconsistent = |why| Refused::Inconsistent { id: hold.operation.clone(), why };
    belongs_to(hold, write)?;
    if hold.state != HoldState::Held {
        return Err(inconsistent("a hold begins as held").into());
    }
    if let Some(there) = rows.hold(&hold.id)? {
        return Err(wrong_state(&hold.id, "new", name(there.state)).into());
    }
    let mut taken = hold.clone();
    let leased = taken.leases.iter().flat_map(|lease| [&lease.parent, &lease.child]);
    if leased.into_iter().any(|key| key.as_str().len() > MAX_COUNTER_KEY) {
        return Err(inconsistent("a counter's key is longer than 400 bytes").into());
    }
    taken.leases.iter().try_for_each(|lease| leases::take(rows, lease))?;
    let cap = taken.charge.as_mut().and_then(|charge| charge.cap.as_mut());
    for claim in taken.claims.iter_mut().chain(cap) {
        if claim.counter.as_str().len() > MAX_COUNTER_KEY {
            return Err(inconsistent("a counter's key is longer than 400 bytes").into());
        }
        let counter = claims::take(rows.counter(&claim.counter)?, claim)?;
        rows.put_counter(&claim.counter, counter)?;
        // The window that it was really taken in, so that it is given back there and nowhere else.
        claim.window = counter.window;
    }
    if let Some(charge) = &taken.charge {
        accounts::hold(rows, charge)?;
    }
    rows.insert_hold(&taken)
}

/// Closes a hold whose call was dispatched. Its claims stay used; of its charge, what was not realized is free again.
fn close<R: Rows>(rows: &mut R, id: &str, expected: HoldState, realized: u64) -> Result<(), R::Error> {
    let hold = find_hold(rows, id, expected)?;
    if let Some(charge) = &hold.charge {
        let Some(unused) = charge.amount.units.checked_sub(realized) else {
            let why = "more is settled than its hold sets aside";
            return Err(Refused::Inconsistent { id: hold.operation, why }.into());
        };
        accounts::settle(rows, charge, realized)?;
        if let Some(cap) = &charge.cap {
            give_back(rows, &Claim { amount: unused, ..cap.clone() })?;
        }
    } else if realized > 0 {
        return Err(Refused::Inconsistent { id: hold.operation, why: "its hold sets no money aside" }.into());
    }
    hold.leases.iter().rev().try_for_each(|lease| leases::leave(rows, lease))?;
    rows.remove_hold(id)
}

fn release<R: Rows>(rows: &mut R, id: &str, part: HoldPart) -> Result<(), R::Error> {
    let mut hold = find_hold(rows, id, HoldState::Held)?;
    if matches!(part, HoldPart::All | HoldPart::Charge)
        && let Some(charge) = hold.charge.take()
    {
        accounts::settle(rows, &charge, 0)?;
        charge.cap.iter().try_for_each(|cap| give_back(rows, cap))?;
    }
    if matches!(part, HoldPart::All | HoldPart::Claims) {
        std::mem::take(&mut hold.claims).iter().try_for_each(|claim| give_back(rows, claim))?;
    }
    if matches!(part, HoldPart::All | HoldPart::Leases) {
        std::mem::take(&mut hold.leases).iter().rev().try_for_each(|lease| leases::leave(rows, lease))?;
    }
    if hold.charge.is_none() && hold.claims.is_empty() && hold.leases.is_empty() {
        rows.remove_hold(id)
    } else {
        rows.put_hold(&hold)
    }
}

fn give_back<R: Rows>(rows: &mut R, claim: &Claim) -> Result<(), R::Error> {
    match rows.counter(&claim.counter)? {
        Some(stored) => rows.put_counter(&claim.counter, claims::give_back(stored, claim)),
        None => Ok(()),
    }
}

fn append<R: Rows>(rows: &mut R, receipt: &SignedReceipt, replay: Option<&[u8]>) -> Result<LogEntry, R::Error> {
    if rows.has_receipt(receipt.id())? {
        return Err(Refused::DuplicateReceipt(receipt.id().to_owned()).into());
    }
    let entry = LogEntry::after(rows.last_entry()?.as_ref(), receipt.id());
    rows.append(&entry, receipt, replay)?;
    Ok(entry)
}

fn find_hold<R: Rows>(rows: &R, id: &str, expected: HoldState) -> Result<Hold, R::Error> {
    match rows.hold(id)? {
        Some(hold) if hold.state == expected => Ok(hold),
        other => Err(wrong_state(id, name(expected), other.map_or("gone", |h| name(h.state))).into()),
    }
}

/// An operation takes and consumes its own hold. Closing another's is allowed: an operator's release is an operation too.
fn belongs_to(hold: &Hold, write: Option<&OperationWrite>) -> Result<(), Refused> {
    match write {
        Some(write) if write.record.id != hold.operation => {
            Err(Refused::Inconsistent { id: write.record.id.clone(), why: "the hold is another operation's" })
        }
        _ => Ok(()),
    }
}

fn wrong_state(id: &str, expected: &'static str, found: &'static str) -> Refused {
    Refused::Hold { id: id.to_owned(), expected, found }
}

fn name(state: HoldState) -> &'static str {
    match state {
        HoldState::Held => "held",
        HoldState::Committed => "committed",
        HoldState::Frozen => "frozen",
    }
}
