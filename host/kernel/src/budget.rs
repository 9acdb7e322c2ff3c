//! Budgets: what a call takes of its own grant and of every grant that this one was derived from, and who pays for it.

use crate::approval::Asker;
use crate::call::Call;
use crate::canonical::{self, printable};
use crate::capability::{Constraint, Grant};
use crate::denial::Denial;
use crate::evaluate::{Admitted, Stopped};
use crate::guards;
use crate::kernel::{AccountSettings, Kernel};
use crate::ledger::{BudgetLease, Charge, Claim, CounterKey, Ledger, LedgerError, Refused};
use crate::money::Money;
use crate::trail::Trail;

/// Who asks where a constraint of the capability does.
const CAPABILITY: &str = "capability";

/// The grant that decides the call at one hop of its capability's chain.
struct Level<'c> {
    capability_id: &'c str,
    /// [`CapabilityToken::budget_id`](crate::capability::CapabilityToken::budget_id).
    budget_id: String,
    grant_index: u32,
    grant: &'c Grant,
}

/// The grants that a call counts against, from the root's to its own.
pub(crate) struct Budget<'c> {
    above: Vec<Level<'c>>,
    own: Level<'c>,
}

impl<'c> Budget<'c> {
    /// The grants that decide this call. Its chain was checked before.
    pub(crate) fn of(call: &'c Call) -> Result<Self, Denial> {
        let level = |token: &'c crate::capability::CapabilityToken| {
            let body = token.body();
            let selected = body.scope.select(&call.server, &call.tool, call.operation);
            let out_of_scope = || Denial::OutOfScope { tool: call.tool.clone(), server: call.server.clone() };
            let (grant_index, grant) = selected.ok_or_else(out_of_scope)?;
            Ok(Level { capability_id: &body.id, budget_id: token.budget_id(), grant_index, grant })
        };
        let own = level(&call.capability)?;
        let above = call.capability.ancestors().iter().map(level).collect::<Result<_, Denial>>()?;
        Ok(Self { above, own })
    }

    pub(crate) fn grant(&self) -> &'c Grant {
        self.own.grant
    }

    pub(crate) fn grant_index(&self) -> u32 {
        self.own.grant_index
    }

    /// The invocation slot.
    pub(crate) fn slot(&self) -> Option<Claim> {
        let limit = self.own.grant.max_invocations?;
        Some(Claim { counter: self.own.invocations(), window: None, amount: 1, limit })
    }

    /// So much of the cap on all that the grant may spend.
    pub(crate) fn cap(&self, amount: u64) -> Option<Claim> {
        let limit = self.own.grant.max_total_cost.as_ref()?.units;
        Some(Claim { counter: self.own.cost(), window: None, amount, limit })
    }

    /// The shares of the budgets above, from the root's on; those of money where the call costs something.
    pub(crate) fn leases(&self, costs: bool) -> Vec<BudgetLease> {
        let below = self.above.iter().skip(1).chain([&self.own]);
        self.above.iter().zip(below).flat_map(|(parent, child)| Level::leases(parent, child, costs)).collect()
    }

    /// Whether slot, cap and shares could be taken now: the counter that they could not be taken from.
    pub(crate) fn check(&self, ledger: &dyn Ledger, costs: Option<u64>) -> Result<Option<CounterKey>, LedgerError> {
        let used = |key: &CounterKey| Ok::<_, LedgerError>(ledger.counter(key)?.map_or(0, |c| c.used));
        for lease in self.leases(costs.is_some()) {
            if ledger.lease_holders(&lease.parent, &lease.child)? == 0 {
                let more = lease.share.saturating_sub(used(&lease.child)?);
                if used(&lease.parent)?.saturating_add(more) > lease.parent_limit {
                    return Ok(Some(lease.parent));
                }
            }
        }
        for claim in self.slot().into_iter().chain(costs.and_then(|amount| self.cap(amount))) {
            if used(&claim.counter)?.saturating_add(claim.amount) > claim.limit {
                return Ok(Some(claim.counter));
            }
        }
        Ok(None)
    }

    /// Why a counter ran out, where it is one of these.
    pub(crate) fn exhausted(&self, counter: &CounterKey) -> Option<Denial> {
        let mut levels = self.above.iter().chain([&self.own]);
        levels.find_map(|level| {
            let id = level.capability_id.to_owned();
            if *counter == level.invocations() {
                Some(Denial::InvocationsExhausted { id })
            } else if *counter == level.cost() {
                Some(Denial::CostExhausted { id })
            } else {
                None
            }
        })
    }
}

impl Level<'_> {
    fn invocations(&self) -> CounterKey {
        self.counter("invocations")
    }

    /// What was spent and is set aside, in minor units.
    fn cost(&self) -> CounterKey {
        self.counter("cost")
    }

    fn counter(&self, what: &str) -> CounterKey {
        CounterKey::new(&[what, &printable(&self.budget_id, 256), &self.grant_index.to_string()])
    }

    fn leases(parent: &Self, child: &Self, costs: bool) -> impl Iterator<Item = BudgetLease> {
        let invocations = parent.grant.max_invocations.map(|parent_limit| BudgetLease {
            parent: parent.invocations(),
            parent_limit,
            child: child.invocations(),
            share: child.grant.max_invocations.unwrap_or(parent_limit),
        });
        let cost = parent.grant.max_total_cost.as_ref().filter(|_| costs).map(|total| BudgetLease {
            parent: parent.cost(),
            parent_limit: total.units,
            child: child.cost(),
            share: child.grant.max_total_cost.as_ref().map_or(total.units, |total| total.units),
        });
        invocations.into_iter().chain(cost)
    }
}

impl Kernel {
    /// Whether the hold of a check's call could be paid for now.
    pub(crate) fn could_pay(&self, call: &Call, admitted: &Admitted<'_>, trail: &mut Trail) -> Result<(), Stopped> {
        let charge = self.charge(call, admitted)?;
        let ledger = &self.books.ledgers.durable;
        if let Some(counter) = admitted.budget.check(&**ledger, charge.as_ref().map(|charge| charge.amount.units))? {
            return Err(exhausted(&counter, admitted, trail).into());
        }
        let Some(Charge { amount, account, .. }) = charge else { return Ok(()) };
        if let Some(name) = account
            && let Some(free) = ledger.account(&name)?.map(|account| account.free())
            && free < amount.units
        {
            let (units, currency) = (amount.units, amount.currency.as_str().to_owned());
            let short = Refused::Funds { account: name, free, amount: units, currency };
            return Err(Denial::Account(short.to_string()).into());
        }
        Ok(())
    }

    /// The money that is set aside: from the account of the caller, or of the nearest of those who handed it the capability,
    /// and under the grant's cap on all that it may spend. One of the two has to be there, or nobody pays.
    pub(crate) fn charge(&self, call: &Call, admitted: &Admitted<'_>) -> Result<Option<Charge>, Denial> {
        let Some(amount) = admitted.snapshot.exposure.clone() else { return Ok(None) };
        let payer = self.payer(call, &amount);
        // What a rail pays is not in the ledger.
        let account = payer.filter(|account| account.rail.is_none()).map(|account| account.name.clone());
        let cap = admitted.budget.cap(amount.units);
        if payer.is_none() && cap.is_none() {
            let currency = amount.currency.as_str();
            return Err(Denial::Account(format!(
                "nothing pays for the call: the caller has no account in {currency}, and the grant no total"
            )));
        }
        Ok(Some(Charge { amount, account, cap }))
    }

    /// Whose account pays for the call.
    pub(crate) fn payer(&self, call: &Call, amount: &Money) -> Option<&AccountSettings> {
        let above = call.capability.ancestors().iter().rev().map(|token| token.body().subject.as_str());
        let accounts = &self.books.settings.accounts;
        std::iter::once(call.agent.as_str())
            .chain(above)
            .find_map(|subject| accounts.iter().find(|a| a.subject == subject && a.total.currency == amount.currency))
    }
}

/// Whose counter ran out decides the reason.
pub(crate) fn exhausted(counter: &CounterKey, admitted: &Admitted<'_>, trail: &mut Trail) -> Denial {
    if let Some(guard) = guards::owner(counter) {
        return guards::reservation_refused(guard, counter, trail);
    }
    let id = admitted.snapshot.capability_id.clone();
    admitted.budget.exhausted(counter).unwrap_or(Denial::InvocationsExhausted { id })
}

/// The human whom the grant itself asks for, where the call may cost more than it lets pass.
pub(crate) fn asks_for_amount(admitted: &Admitted<'_>) -> Option<(Asker, String)> {
    let cost = admitted.snapshot.exposure.as_ref()?;
    let lets_pass = |above: &Money| cost.currency == above.currency && cost.units <= above.units;
    let mut amounts = admitted.grant.constraints.iter().filter_map(Constraint::approval_above);
    let above = amounts.find(|above| !lets_pass(above))?;
    let reason = format!("the call may cost {cost}, and more than {above} needs approval");
    Some((Asker { name: CAPABILITY.to_owned(), digest: grant_hash(admitted.grant) }, reason))
}

/// SHA-256 of a grant's canonical JSON, lower-case hex.
pub(crate) fn grant_hash(grant: &Grant) -> String {
    canonical::hash(&serde_json::to_value(grant).expect("a grant is plain data"))
}
