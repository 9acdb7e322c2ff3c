//! Shares of a parent's budget, counted by who holds them (the second seed, "Before dispatch, everything reverses").

use chio_host_kernel::ledger::{BudgetLease, Claim};

use crate::claims;
use crate::rows::Rows;

/// Takes a lease, or takes it once more. The first holder sets aside at the parent all that the child may still use.
pub(crate) fn take<R: Rows>(rows: &mut R, lease: &BudgetLease) -> Result<(), R::Error> {
    let holders = rows.lease_holders(&lease.parent, &lease.child)?;
    if holders == 0 {
        let counter = claims::take(rows.counter(&lease.parent)?, &unused(rows, lease)?)?;
        rows.put_counter(&lease.parent, counter)?;
    }
    rows.put_lease_holders(&lease.parent, &lease.child, holders + 1)
}

/// Leaves a lease. The last holder gives back what the child did not use.
pub(crate) fn leave<R: Rows>(rows: &mut R, lease: &BudgetLease) -> Result<(), R::Error> {
    let holders = rows.lease_holders(&lease.parent, &lease.child)?.saturating_sub(1);
    rows.put_lease_holders(&lease.parent, &lease.child, holders)?;
    if holders > 0 {
        return Ok(());
    }
    match rows.counter(&lease.parent)? {
        Some(stored) => {
            let given = claims::give_back(stored, &unused(rows, lease)?);
            rows.put_counter(&lease.parent, given)
        }
        None => Ok(()),
    }
}

/// What the child may still use of its share, as a claim on the parent.
fn unused<R: Rows>(rows: &R, lease: &BudgetLease) -> Result<Claim, R::Error> {
    let used = rows.counter(&lease.child)?.map_or(0, |counter| counter.used);
    let amount = lease.share.saturating_sub(used);
    Ok(Claim { counter: lease.parent.clone(), window: None, amount, limit: lease.parent_limit })
}
