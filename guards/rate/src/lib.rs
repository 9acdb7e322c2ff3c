//! A guard that limits how often tools are called and what they may cost, by window of time.
//!
//! The guard counts nothing itself. It answers with reservations on counters that the host keeps, and admission takes
//! all of a call's or none, so however many calls race, no more get through than the limit has left. Where a counter that the
//! guard is shown is full already, it denies at once and says when the window ends. The host shows a guard at most 64
//! of its counters; of the others admission says that they are used up.
//!
//! Windows stand fast: one of an hour begins at the full hour, counted from 1970. At the border of two windows a caller can
//! so have twice the limit in little time. Spending is the most that a call can cost, its exposure, as it was when the call
//! was admitted; what it really costs may be less and is not given back to the window. A call that cannot cost
//! anything spends nothing.
//!
//! A call whose cost is in a currency that none of the spending limits for it is in is denied: nobody here can convert it.
//!
//! What it does not stop: a caller with several keys, each of which has a limit of its own under `per: agent` (use
//! `all` beside it); one who may delegate, under `per: capability`, because every delegated capability has an id of its own; and a
//! single call that does much. Without limits in its configuration it lets everything pass.

mod counter;
mod limit;

use chio_sdk::{Call, Reservation, Verdict, quote};
use serde::Deserialize;

use limit::{Entry, Limit, Unit};

/// The most limits; as many as a verdict may hold reservations.
const MAX_LIMITS: usize = 16;

/// The guard's `config`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// All limits that are for a call have to hold.
    limits: Vec<Entry>,
}

fn check(call: &Call) -> Result<Verdict, String> {
    let Config { limits } = chio_sdk::config()?;
    let limits = read(limits)?;
    let limits: Vec<&Limit> = limits.iter().filter(|limit| limit.is_for(call)).collect();
    if let Some(reason) = foreign(&limits, call) {
        return Ok(Verdict::deny(reason));
    }
    let mut reservations = Vec::new();
    for limit in limits {
        let amount = limit.amount(call);
        if amount == 0 {
            continue;
        }
        let counter = limit.counter(call);
        let used = call.counter(&counter, limit.window_seconds).map_or(0, |counter| counter.used);
        if used.checked_add(amount).is_none_or(|sum| sum > limit.most) {
            return Ok(Verdict::deny(limit.refusal(call, amount, used)));
        }
        let (window_seconds, limit) = (limit.window_seconds, limit.most);
        reservations.push(Reservation { counter, amount, window_seconds, limit });
    }
    Ok(Verdict::allow_with(reservations))
}

fn read(entries: Vec<Entry>) -> Result<Vec<Limit>, String> {
    if entries.len() > MAX_LIMITS {
        return Err(format!("there are {} limits; at most {MAX_LIMITS} are taken", entries.len()));
    }
    let mut limits: Vec<Limit> = Vec::with_capacity(entries.len());
    for (index, entry) in entries.into_iter().enumerate() {
        let number = index + 1;
        let limit = Limit::new(entry, number).map_err(|why| format!("limit {number}: {why}"))?;
        if let Some(other) = limits.iter().find(|other| other.is_confused_with(&limit)) {
            return Err(format!(
                "limits {} and {number} have the same name or count the same; give each a name of its own",
                other.number
            ));
        }
        limits.push(limit);
    }
    Ok(limits)
}

/// Why a call is refused whose cost no limit can be compared with.
fn foreign(limits: &[&Limit], call: &Call) -> Option<String> {
    let exposure = call.exposure.as_ref().filter(|exposure| exposure.units > 0)?;
    let mut currencies = limits.iter().filter_map(|limit| match &limit.unit {
        Unit::Spend { currency } => Some(currency.as_str()),
        Unit::Calls => None,
    });
    let first = currencies.next()?;
    if first == exposure.currency || currencies.any(|currency| currency == exposure.currency) {
        return None;
    }
    Some(format!(
        "the call may cost {} {}, and what may be spent is limited in {first}: no limit speaks of {}",
        exposure.units,
        quote(&exposure.currency),
        quote(&exposure.currency)
    ))
}

chio_sdk::guard!(check);

#[cfg(test)]
mod tests;
