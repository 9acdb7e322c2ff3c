//! Prepaid accounts: what the policy opens, and what an operator changes.

use serde_json::json;

use super::{MAX_REASON, check_reason};
use crate::books::Books;
use crate::call::{Namespace, RequestId};
use crate::canonical::{self, MAX_INTEGER};
use crate::kernel::{AccountSettings, Kernel};
use crate::ledger::{Account, Mutation, RequestKey};
use crate::money::Money;
use crate::receipt::SignedReceipt;
use crate::response::KernelError;

/// The most accounts that are listed; a policy opens 64 at most.
const MOST: usize = 4096;

impl Kernel {
    /// The prepaid accounts with their names, in the order of these.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn accounts(&self) -> Result<Vec<(String, Account)>, KernelError> {
        Ok(self.books.ledgers.durable.accounts(MOST)?)
    }

    /// Adds to what an account holds, and signs that. What the policy said that it holds at first stays as it is, so the next
    /// start under the same policy changes nothing.
    ///
    /// # Errors
    /// There is no such account, the sum does not fit, or the ledger does not take it.
    pub async fn top_up(&self, account: &str, units: u64, because: &str) -> Result<SignedReceipt, KernelError> {
        if units == 0 {
            return Err(refused(account, "adding nothing changes nothing; give 1 or more minor units"));
        }
        self.change("budget.top_up", account, because, |stored| stored.total.units.checked_add(units)).await
    }

    /// Says what an account holds in all, and signs that. The policy's own total counts again once it changes.
    ///
    /// # Errors
    /// There is no such account, more of it is spent and held, or the ledger does not take it.
    pub async fn limit(&self, account: &str, units: u64, because: &str) -> Result<SignedReceipt, KernelError> {
        self.change("budget.limit", account, because, |_| Some(units)).await
    }

    async fn change(
        &self,
        tool: &str,
        name: &str,
        because: &str,
        total: impl FnOnce(&Account) -> Option<u64>,
    ) -> Result<SignedReceipt, KernelError> {
        self.serving_epoch()?;
        check_reason(because)?;
        let ledger = &self.books.ledgers.durable;
        let nothing = || refused(name, "there is none of that name; the policy's section accounts opens them");
        ledger.account(name)?.ok_or_else(nothing)?;
        // One change of an account at a time: each builds on what the one before it left.
        let id = RequestId::new(format!("account-{name}")).map_err(|e| refused(name, &e.to_string()))?;
        let subject = self.books.signer.public().hex().to_owned();
        let key = RequestKey { subject, namespace: Namespace::Call, request_id: id };
        let _turn = self.live.in_flight.turn(&key).await?;
        let stored = ledger.account(name)?.ok_or_else(nothing)?;
        let units = total(&stored).filter(|units| *units <= MAX_INTEGER);
        let units = units.ok_or_else(|| refused(name, "its total does not fit; it is at most 2^53 - 1"))?;
        let total = Money { units, currency: stored.total.currency.clone() };
        if total == stored.total {
            return Err(refused(name, &format!("it holds {total} in all already")));
        }
        check_owed(name, units, &stored)?;
        let parameters = json!({
            "account": name,
            "because": canonical::printable(because, MAX_REASON),
            "total": total,
            "was": stored.total,
        });
        let set = Mutation::SetAccount { name: name.to_owned(), base: stored.base, total };
        self.books.govern(tool, &parameters, vec![set]).await
    }
}

impl Books {
    /// Opens the accounts of the policy that are not there yet, and changes by the difference those whose total the policy
    /// says otherwise than before.
    pub(crate) async fn open_accounts(&self) -> Result<(), KernelError> {
        // What is behind a rail is not in the ledger.
        for account in self.settings.accounts.iter().filter(|account| account.rail.is_none()) {
            let AccountSettings { name, total, .. } = account;
            let stored = self.ledgers.durable.account(name)?;
            let (tool, holds) = match &stored {
                Some(stored) if stored.base == total.units && stored.total.currency == total.currency => continue,
                Some(stored) => {
                    let grown = (stored.total.units - stored.base.min(stored.total.units)).checked_add(total.units);
                    ("budget.limit", grown.ok_or_else(|| refused(name, "its total does not fit"))?)
                }
                None => ("budget.open", total.units),
            };
            if let Some(stored) = &stored {
                check_owed(name, holds, stored)?;
            }
            let total = Money { units: holds, currency: total.currency.clone() };
            let parameters = json!({ "account": name, "subject": account.subject, "total": total });
            let set = Mutation::SetAccount { name: name.clone(), base: account.total.units, total };
            self.govern(tool, &parameters, vec![set]).await?;
        }
        Ok(())
    }
}

/// An account holds at least what was spent from it and what calls under way have set aside.
fn check_owed(name: &str, units: u64, stored: &Account) -> Result<(), KernelError> {
    let owed = stored.captured.saturating_add(stored.held);
    if units < owed {
        let why = format!("{units} in all are less than the {owed} that are spent and held; give it at least that");
        return Err(refused(name, &why));
    }
    Ok(())
}

fn refused(account: &str, why: &str) -> KernelError {
    KernelError::Unresolvable(format!("account {}: {why}", canonical::printable(account, 64)))
}
