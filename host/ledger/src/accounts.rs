//! Prepaid accounts: captured + held + free = total, whatever happens.

use chio_host_kernel::ledger::{Account, Charge, Refused};
use chio_host_kernel::money::Money;

use crate::rows::Rows;

/// Opens an account, or changes what it holds.
pub(crate) fn set<R: Rows>(rows: &mut R, name: &str, base: u64, total: &Money) -> Result<(), R::Error> {
    let stored = rows.account(name)?;
    let (captured, held) = stored.as_ref().map_or((0, 0), |account| (account.captured, account.held));
    if stored.is_some_and(|account| account.total.currency != total.currency) {
        return Err(refused(name, "it is in another currency").into());
    }
    if captured.checked_add(held).is_none_or(|owed| owed > total.units) {
        return Err(refused(name, "more is spent and held than it would hold in all").into());
    }
    rows.put_account(name, &Account { base, total: total.clone(), captured, held })
}

/// Sets a charge aside.
pub(crate) fn hold<R: Rows>(rows: &mut R, charge: &Charge) -> Result<(), R::Error> {
    let Some(name) = &charge.account else { return Ok(()) };
    let mut account = find(rows, name, charge)?;
    let (free, amount) = (account.free(), charge.amount.units);
    if amount > free {
        let currency = charge.amount.currency.as_str().to_owned();
        return Err(Refused::Funds { account: name.clone(), free, amount, currency }.into());
    }
    account.held += amount;
    rows.put_account(name, &account)
}

/// Captures `realized` of a charge that was set aside, and frees the rest of it.
pub(crate) fn settle<R: Rows>(rows: &mut R, charge: &Charge, realized: u64) -> Result<(), R::Error> {
    let Some(name) = &charge.account else { return Ok(()) };
    let mut account = find(rows, name, charge)?;
    let held = account.held.checked_sub(charge.amount.units);
    let captured = account.captured.checked_add(realized);
    let (Some(held), Some(captured)) = (held, captured) else {
        return Err(refused(name, "it does not hold what is settled").into());
    };
    (account.held, account.captured) = (held, captured);
    rows.put_account(name, &account)
}

fn find<R: Rows>(rows: &R, name: &str, charge: &Charge) -> Result<Account, R::Error> {
    match rows.account(name)? {
        Some(account) if account.total.currency == charge.amount.currency => Ok(account),
        Some(_) => Err(refused(name, "it is in another currency").into()),
        None => Err(refused(name, "there is none of that name").into()),
    }
}

fn refused(account: &str, why: &'static str) -> Refused {
    Refused::Account { account: account.to_owned(), why }
}
