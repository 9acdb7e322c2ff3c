//! The guard pipeline: in policy order, on one snapshot; the first no ends it, and an error is a no.

use std::sync::Arc;
use std::time::Duration;

use crate::approval::Asker;
use crate::call::Snapshot;
use crate::canonical::printable;
use crate::denial::Denial;
use crate::ledger::{Claim, CounterKey, Ledger, LedgerError, Window};
use crate::ports::{Clock, CounterView, Fault, Guard, GuardDecision, Reservation, Stop};
use crate::receipt::Evidence;
use crate::trail::Trail;

/// How many of its counters a guard is shown.
const COUNTERS_SHOWN: usize = 64;
/// How long a reason or details may be, in bytes.
const MAX_TEXT: usize = 512;
/// What the evidence of a broken guard says (the seed, "An error is a denial").
const FAIL_CLOSED: &str = "action=error; reason=fail-closed";

/// What the guards decided together, where none said no.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    /// Who asked for a human, and why.
    pub(crate) asks: Vec<(Asker, String)>,
    /// What admission has to take, with the guard that asked for it.
    pub(crate) claims: Vec<Claim>,
}

/// Why the pipeline did not come to a judgement.
pub(crate) enum Unjudged {
    Denied(Denial),
    Ledger(LedgerError),
}

/// The time that all guards may take together. Each is stopped by its own limit; that this one is passed is seen after
/// the guard that passed it.
pub(crate) struct Timer<'a> {
    clock: &'a dyn Clock,
    started_us: u64,
    budget: Option<Duration>,
}

impl<'a> Timer<'a> {
    pub(crate) fn start(clock: &'a dyn Clock, budget: Option<Duration>) -> Self {
        Self { clock, started_us: clock.monotonic_us(), budget }
    }

    fn check(&self) -> Result<(), Denial> {
        let spent = Duration::from_micros(self.clock.monotonic_us().saturating_sub(self.started_us));
        match self.budget {
            Some(budget) if spent > budget => Err(Denial::Deadline { stage: "guards", budget_ms: budget.as_millis() }),
            _ => Ok(()),
        }
    }
}

/// Asks every guard, until one says no.
pub(crate) async fn run(
    guards: &[Arc<dyn Guard>],
    call: &Snapshot,
    ledger: &dyn Ledger,
    timer: &Timer<'_>,
    trail: &mut Trail,
) -> Result<Judgement, Unjudged> {
    let mut judgement = Judgement::default();
    for guard in guards {
        let component = guard.component();
        let name = component.name.as_str();
        let counters = counters_of(name, ledger).map_err(Unjudged::Ledger)?;
        let ran = guard.check(call, &counters).await;
        trail.ran(component, ran.fuel);
        if !counters.is_empty() {
            trail.counters.push((name.to_owned(), counters));
        }
        let verdict = ran.outcome.map_err(|fault| Unjudged::Denied(broken(name, fault, trail)))?;
        trail.secret_arguments.extend(verdict.secret_arguments);
        let details = verdict.details.map(|d| printable(&d, MAX_TEXT));
        match verdict.decision {
            GuardDecision::Deny(reason) => {
                testify(trail, name, false, Some(printable(&reason, MAX_TEXT)));
                return Err(Unjudged::Denied(Denial::Guard { name: name.to_owned() }));
            }
            GuardDecision::PendingApproval(reason) => {
                let reason = printable(&reason, MAX_TEXT);
                testify(trail, name, true, Some(format!("asks for approval: {reason}")));
                let asker = Asker { name: name.to_owned(), digest: component.digest.clone() };
                judgement.asks.push((asker, reason));
            }
            GuardDecision::Allow(reservations) => {
                let claims = claims(name, &reservations, call.time);
                judgement.claims.extend(claims.map_err(|fault| Unjudged::Denied(broken(name, fault, trail)))?);
                testify(trail, name, true, details);
            }
        }
        timer.check().map_err(Unjudged::Denied)?;
    }
    Ok(judgement)
}

/// The evidence and the denial of a guard that broke.
fn broken(name: &str, fault: Fault, trail: &mut Trail) -> Denial {
    testify(trail, name, false, Some(FAIL_CLOSED.to_owned()));
    trail.stopped = Some((name.to_owned(), fault.stop));
    Denial::GuardFault { name: name.to_owned(), fault }
}

fn testify(trail: &mut Trail, name: &str, verdict: bool, details: Option<String>) {
    trail.evidence.push(Evidence { guard_name: name.to_owned(), verdict, details });
}

const SCOPE: &str = "guard";

fn counters_of(guard: &str, ledger: &dyn Ledger) -> Result<Vec<CounterView>, LedgerError> {
    let stored = ledger.counters(&CounterKey::new(&[SCOPE, guard, ""]), COUNTERS_SHOWN)?;
    let view = |(key, counter): (CounterKey, crate::ledger::Counter)| CounterView {
        name: key.as_str().rsplit('\0').next().unwrap_or_default().to_owned(),
        window_seconds: counter.window.map_or(0, |w| w.seconds),
        used: counter.used,
    };
    Ok(stored.into_iter().map(view).collect())
}

fn claims(guard: &str, reservations: &[Reservation], now: u64) -> Result<Vec<Claim>, Fault> {
    let claim = |r: &Reservation| {
        if r.window_seconds == 0 || r.counter.is_empty() || r.counter.contains('\0') {
            return Err(Fault::new(Stop::Answer, "its reservation has no counter or no window"));
        }
        Ok(Claim {
            counter: CounterKey::new(&[SCOPE, guard, &r.counter]),
            window: Some(Window { start: now - now % r.window_seconds, seconds: r.window_seconds }),
            amount: r.amount,
            limit: r.limit,
        })
    };
    reservations.iter().map(claim).collect()
}

/// The guard whose counter this is.
pub(crate) fn owner(counter: &CounterKey) -> Option<&str> {
    let mut steps = counter.as_str().split('\0');
    (steps.next() == Some(SCOPE)).then(|| steps.next()).flatten()
}

/// The denial of a call whose guard allowed it only with a reservation that could not be taken.
pub(crate) fn reservation_refused(guard: &str, counter: &CounterKey, trail: &mut Trail) -> Denial {
    let name = counter.as_str().rsplit('\0').next().unwrap_or_default();
    testify(trail, guard, false, Some(format!("counter {} is used up for this window", printable(name, 128))));
    Denial::Guard { name: guard.to_owned() }
}
