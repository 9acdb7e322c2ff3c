//! One run of a plugin: its limits set before the first instruction, and the name of the one that stopped it.

use std::time::Duration;

use chio_host_kernel::ports::{Fault, Ran, Stop};
use tokio::time::error::Elapsed;
use wasmtime::{Engine, PoolConcurrencyLimitError, Store, Trap};
use wasmtime_wasi::I32Exit;

use crate::error::one_line;
use crate::limits::{Limits, size};
use crate::meter::Metered;
use crate::ticker::ticks;

/// How many units of fuel a guest burns before others get a turn. Below this, yielding costs more than it is worth.
const FUEL_BETWEEN_YIELDS: u64 = 100_000;
/// What a guest may hand over beside its output in one call, in bytes.
const SLACK: u64 = 64 << 10;

/// Under which limits a run goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    pub(crate) limits: &'a Limits,
    /// The time it has: the plugin's own, or what is left of the call's.
    pub(crate) deadline: Duration,
}

/// Where a run failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// While it was instantiated.
    Start(wasmtime::Error),
    /// While it was called.
    Call(wasmtime::Error),
}

impl Run<'_> {
    /// A store with every limit in force, so that start functions run under them as well.
    pub(crate) fn store<T: Metered>(&self, engine: &Engine, state: T) -> Result<Store<T>, Fault> {
        let mut store = Store::new(engine, state);
        let fuel =
            store.set_fuel(self.limits.fuel).and_then(|()| store.fuel_async_yield_interval(Some(FUEL_BETWEEN_YIELDS)));
        fuel.map_err(|e| Fault::new(Stop::Host, &one_line(&e)))?;
        store.limiter(|state| state.meter());
        store.set_epoch_deadline(ticks(self.deadline));
        store.set_hostcall_fuel(size(self.limits.output_bytes.saturating_add(SLACK)));
        Ok(store)
    }

    /// What came of the run, and the fuel it took.
    pub(crate) fn ended<T: Metered, R>(
        &self,
        store: &mut Store<T>,
        ended: Result<Result<R, Failure>, Elapsed>,
    ) -> Ran<R> {
        let fuel = self.limits.fuel.saturating_sub(store.get_fuel().unwrap_or(0));
        let outcome = match (store.data_mut().meter().reached().which(), ended) {
            (Some(limit), _) => Err(self.fault(limit, "a limit was reached")),
            (None, Err(Elapsed { .. })) => Err(self.fault(Stop::Deadline, "the deadline was exceeded")),
            (None, Ok(Ok(answer))) => Ok(answer),
            (None, Ok(Err(failure))) => Err(self.failure(&failure)),
        };
        Ran { outcome, fuel }
    }

    pub(crate) fn fault(&self, stop: Stop, otherwise: &str) -> Fault {
        self.limits.fault(stop, self.deadline).unwrap_or_else(|| Fault::new(stop, otherwise))
    }

    fn failure(&self, failure: &Failure) -> Fault {
        let (Failure::Start(error) | Failure::Call(error)) = failure;
        let text = one_line(error);
        let stop = match error.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => Stop::Fuel,
            Some(Trap::Interrupt) => Stop::Deadline,
            Some(_) => Stop::Trap,
            None if error.is::<I32Exit>() => Stop::Trap,
            None if error.is::<PoolConcurrencyLimitError>() => Stop::Host,
            // wasmtime has no types for these two; tests hold its words to them.
            None if text.contains("resource limit exceeded") => Stop::Instances,
            None if text.contains("fuel allocated for hostcalls has been exhausted") => Stop::OutputBytes,
            // An import that leads nowhere, called while nothing may be.
            None if text.contains("has not been defined") => Stop::Trap,
            None => match failure {
                Failure::Start(_) => Stop::Host,
                Failure::Call(_) => Stop::Answer,
            },
        };
        self.fault(stop, &text)
    }
}
