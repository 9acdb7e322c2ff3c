//! What a call may cost, and what it did cost (design, section 8).

use serde::{Deserialize, Serialize};

use crate::capability::Grant;
use crate::money::{Currency, Money};

/// What a server's calls cost, in minor units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// For each call.
    pub per_call: u64,
    /// For each million units of fuel.
    pub per_million_fuel: u64,
    /// The most that a tool may report on top; none where it reports nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_reported: Option<u64>,
    /// ISO 4217.
    pub currency: Currency,
}

impl Price {
    /// What so much fuel costs, rounded up, and the call with it; `None` where it does not fit.
    fn of_fuel(&self, fuel: u64) -> Option<u64> {
        let for_fuel = (u128::from(fuel) * u128::from(self.per_million_fuel)).div_ceil(1_000_000);
        u64::try_from(for_fuel).ok()?.checked_add(self.per_call)
    }

    /// The most that a call with this fuel limit can cost; `None` where it does not fit.
    #[must_use]
    pub fn at_most(&self, fuel: u64) -> Option<Money> {
        let units = self.of_fuel(fuel)?.checked_add(self.max_reported.unwrap_or(0))?;
        Some(Money { units, currency: self.currency.clone() })
    }
}

/// The most that a call under this grant can cost: the grant's cap on one call, else what the price comes to at the fuel
/// limit, and with what the tool may report. `None` where it costs nothing.
///
/// # Errors
/// Nothing bounds it, or the grant's caps are in another currency than the price; says what.
pub(crate) fn exposure(grant: &Grant, price: Option<&Price>, fuel_limit: u64) -> Result<Option<Money>, String> {
    let currency = price.map(|p| &p.currency);
    let caps = [&grant.max_cost_per_invocation, &grant.max_total_cost].into_iter().flatten();
    let currencies: Vec<_> = currency.into_iter().chain(caps.map(|cap| &cap.currency)).collect();
    if let Some(other) = currencies.iter().find(|c| **c != currencies[0]) {
        return Err(format!("its costs are in {} and in {}", currencies[0].as_str(), other.as_str()));
    }
    if let Some(cap) = &grant.max_cost_per_invocation {
        return Ok(Some(cap.clone()));
    }
    match price {
        Some(price) => match price.at_most(fuel_limit) {
            Some(most) => Ok(Some(most).filter(|most| most.units > 0)),
            None => Err("what a call can cost does not fit".to_owned()),
        },
        None if grant.max_total_cost.is_some() => Err("max_total_cost: nothing bounds what one call costs".to_owned()),
        None => Ok(None),
    }
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cost {
    /// What was set aside for it.
    pub(crate) held: Money,
    /// What is captured.
    pub(crate) realized: u64,
    /// What the tool says it cost beside price and fuel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reported: Option<Money>,
    /// Why the ceiling is captured, where the sum is none that can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) overrun: Option<String>,
}

impl Cost {
    /// Nothing is captured.
    pub(crate) fn nothing(held: &Money) -> Self {
        Self { held: held.clone(), realized: 0, reported: None, overrun: None }
    }

    /// The same for a call whose tool had no occasion to report: it was stopped, or gave up before any effect.
    pub(crate) fn of_work(held: &Money, price: Option<&Price>, fuel: u64) -> Self {
        let price = price.map(|p| Price { max_reported: None, ..p.clone() });
        Self::of(held, price.as_ref(), fuel, None)
    }

    /// Price per call, fuel and report, never above the hold: a sum above it, or a report that cannot be added, settles at
    /// the ceiling and says so.
    pub(crate) fn of(held: &Money, price: Option<&Price>, fuel: u64, reported: Option<Money>) -> Self {
        let (realized, overrun) = match sum(held, price, fuel, reported.as_ref()) {
            Ok(units) if units <= held.units => (units, None),
            Ok(units) => (held.units, Some(format!("{units} were claimed, and {held} were held"))),
            Err(why) => (held.units, Some(why)),
        };
        Self { held: held.clone(), realized, reported, overrun }
    }
}

fn sum(held: &Money, price: Option<&Price>, fuel: u64, reported: Option<&Money>) -> Result<u64, String> {
    let does_not_fit = || "what was claimed does not fit".to_owned();
    let worked = price.map_or(Some(0), |p| p.of_fuel(fuel)).ok_or_else(does_not_fit)?;
    match reported {
        Some(claim) if claim.currency != held.currency => {
            Err(format!("{claim} were claimed, and the hold is in {}", held.currency.as_str()))
        }
        Some(claim) => worked.checked_add(claim.units).ok_or_else(does_not_fit),
        None if price.is_some_and(|p| p.max_reported.is_some()) => {
            Err("the tool is to report what the call cost, and did not".to_owned())
        }
        None => Ok(worked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::Operation;

    fn usd(units: u64) -> Money {
        Money { units, currency: Currency::try_from("USD".to_owned()).unwrap() }
    }

    fn eur(units: u64) -> Money {
        Money { units, currency: Currency::try_from("EUR".to_owned()).unwrap() }
    }

    fn price(per_call: u64, per_million_fuel: u64, max_reported: Option<u64>) -> Price {
        Price { per_call, per_million_fuel, max_reported, currency: usd(0).currency }
    }

    fn grant(per_call: Option<Money>, total: Option<Money>) -> Grant {
        Grant {
            server_id: "s".into(),
            tool_name: "t".into(),
            operations: vec![Operation::Invoke],
            constraints: vec![],
            max_invocations: None,
            max_cost_per_invocation: per_call,
            max_total_cost: total,
            dpop_required: None,
        }
    }

    #[test]
    fn the_exposure_is_the_cap_else_the_worst_case_of_the_price() {
        let priced = price(3, 2, Some(7));
        assert_eq!(exposure(&grant(Some(usd(5)), None), Some(&priced), 10), Ok(Some(usd(5))));
        assert_eq!(exposure(&grant(None, Some(usd(500))), Some(&priced), 1_500_000), Ok(Some(usd(13))));
        assert_eq!(exposure(&grant(None, None), Some(&price(0, 0, None)), u64::MAX), Ok(None));
        assert_eq!(exposure(&grant(None, None), None, u64::MAX), Ok(None));
        assert!(exposure(&grant(None, Some(usd(5))), None, 1).unwrap_err().contains("nothing bounds"));
        assert!(exposure(&grant(Some(eur(5)), None), Some(&priced), 1).unwrap_err().contains("USD and in EUR"));
        assert!(exposure(&grant(Some(eur(5)), Some(usd(5))), None, 1).is_err());
        assert!(exposure(&grant(None, None), Some(&price(1, u64::MAX, None)), u64::MAX).is_err());
    }

    #[test]
    fn what_is_realized_never_passes_the_hold() {
        let of = |price: &Price, fuel, reported| {
            let cost = Cost::of(&usd(10), Some(price), fuel, reported);
            (cost.realized, cost.overrun.is_some())
        };
        assert_eq!(of(&price(1, 2, None), 1_500_001, None), (5, false));
        assert_eq!(of(&price(1, 2, None), 0, Some(usd(9))), (10, false));
        assert_eq!(of(&price(1, 2, None), 0, Some(usd(10))), (10, true));
        assert_eq!(of(&price(1, 0, None), 0, Some(eur(1))), (10, true));
        assert_eq!(of(&price(1, 0, None), 0, Some(usd(u64::MAX))), (10, true));
        assert_eq!(of(&price(1, 0, Some(5)), 0, None), (10, true));
        assert_eq!(of(&price(0, u64::MAX, None), u64::MAX, None), (10, true));
        assert_eq!(Cost::of(&usd(10), None, 7, None).realized, 0);
    }
}
