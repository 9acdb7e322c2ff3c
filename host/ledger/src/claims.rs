//! Counting: what a claim does to its counter, and what giving it back does.

use chio_host_kernel::ledger::{Claim, Counter, Refused, Window};

/// The counter after a claim is taken.
///
/// # Errors
/// The claim would take it above the claim's limit.
pub(crate) fn take(stored: Option<Counter>, claim: &Claim) -> Result<Counter, Refused> {
    let fresh = Counter { used: 0, window: claim.window };
    let counter = stored.filter(|c| start(c.window) >= start(claim.window)).unwrap_or(fresh);
    match counter.used.checked_add(claim.amount).filter(|used| *used <= claim.limit) {
        Some(used) => Ok(Counter { used, ..counter }),
        None => Err(Refused::Exhausted {
            counter: claim.counter.clone(),
            used: counter.used,
            amount: claim.amount,
            limit: claim.limit,
        }),
    }
}

/// The counter after a claim is given back: unchanged once it counts in another window than the claim was taken in.
pub(crate) fn give_back(stored: Counter, claim: &Claim) -> Counter {
    let given = if stored.window == claim.window { claim.amount } else { 0 };
    Counter { used: stored.used.saturating_sub(given), ..stored }
}

/// A counter without a window never starts again, so every window is newer than none.
fn start(window: Option<Window>) -> u64 {
    window.map_or(0, |w| w.start)
}

#[cfg(test)]
mod tests {
    use chio_host_kernel::ledger::CounterKey;
    use proptest::prelude::*;

    use super::*;

    fn claim(start: u64, amount: u64, limit: u64) -> Claim {
        let window = Some(Window { start, seconds: 60 });
        Claim { counter: CounterKey::new(&["c"]), window, amount, limit }
    }

    proptest! {
        #[test]
        fn a_counter_never_passes_the_limit_nor_wraps(used in any::<u64>(), amount in any::<u64>(), limit in any::<u64>()) {
            let stored = Counter { used, window: Some(Window { start: 60, seconds: 60 }) };
            match take(Some(stored), &claim(60, amount, limit)) {
                Ok(counter) => {
                    prop_assert!(counter.used <= limit);
                    prop_assert_eq!(give_back(counter, &claim(60, amount, limit)), stored);
                }
                Err(_) => prop_assert!(u128::from(used) + u128::from(amount) > u128::from(limit)),
            }
        }

        #[test]
        fn a_window_only_moves_forward(starts in prop::collection::vec(0_u64..8, 1..20)) {
            let mut stored = None;
            let mut newest = 0;
            for start in starts {
                newest = newest.max(start);
                let counter = take(stored, &claim(start, 1, 100)).unwrap_or_else(|e| panic!("{e}"));
                prop_assert_eq!(counter.window.map(|w| w.start), Some(newest));
                stored = Some(counter);
            }
        }
    }
}
