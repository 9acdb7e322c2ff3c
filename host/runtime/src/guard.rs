//! Guards: one component, one verdict per call.

use std::collections::HashSet;

use chio_host_kernel::call::Snapshot;
use chio_host_kernel::operation::{Component, Role};
use chio_host_kernel::ports::{BoxFuture, CounterView, Fault, Guard, GuardDecision, Ran, Reservation, Verdict};
use tokio::time::{Instant, timeout};
use wasmtime::component::InstancePre;

use crate::answer;
use crate::bindings::guard::GuardIndices;
use crate::bindings::guard::exports::chio::plugin::guarding as wit;
use crate::engines::Allocation;
use crate::error::{LoadError, one_line};
use crate::inert::HasInert;
use crate::inspect::Kind;
use crate::places::no_place;
use crate::plugin::{Plugin, Pure, PureState};
use crate::run::{Failure, Run};
use crate::runtime::Runtime;
use crate::snapshot;

/// The most reservations of one verdict.
const MAX_RESERVATIONS: usize = 16;
/// The most secret arguments of one verdict.
const MAX_SECRETS: usize = 64;

/// A guard in the sandbox.
///
/// Every call has an instance of its own, so nothing carries over, and a verdict is a function of the component, its
/// configuration and the call. An initialised guard's begins where its `init` ended when it was loaded.
pub struct WasmGuard {
    pure: Pure,
    pre: InstancePre<PureState>,
    indices: GuardIndices,
}

impl WasmGuard {
    /// Compiles, checks and links a guard.
    ///
    /// # Errors
    /// A component that is no guard, imports more than its configuration, breaks its limits at once, or refuses its
    /// configuration.
    pub async fn load(runtime: &Runtime, plugin: &Plugin<'_>) -> Result<Self, LoadError> {
        let wanted = [Kind::Guard, Kind::InitialisedGuard];
        let (pure, linked) = Pure::load(runtime, plugin, Role::Guard, &wanted).await?;
        let indices = GuardIndices::new(&linked).map_err(|e| LoadError::Types(pure.kind, one_line(&e)))?;
        let guard = Self { pure, pre: linked, indices };
        guard.try_out().await?;
        Ok(guard)
    }

    /// Where its runs get their memory from.
    #[must_use]
    pub fn allocation(&self) -> Allocation {
        self.pure.allocation
    }

    /// A guard that cannot even start is refused now and not at the first call.
    async fn try_out(&self) -> Result<(), LoadError> {
        let run = self.run();
        let outcome = match run.store(self.pure.places.engine(), self.pure.state()) {
            Err(fault) => Err(fault),
            Ok(mut store) => {
                let ended = timeout(run.deadline, self.pre.instantiate_async(&mut store)).await;
                run.ended(&mut store, ended.map(|started| started.map_err(Failure::Start))).outcome.map(|_| ())
            }
        };
        outcome.map_err(|fault| LoadError::Ran { function: "instantiation", fault })
    }

    fn run(&self) -> Run<'_> {
        Run { limits: &self.pure.limits, deadline: self.pure.limits.deadline }
    }

    async fn judge(&self, call: &Snapshot, counters: &[CounterView]) -> Ran<Verdict> {
        let run = self.run();
        let Some(_place) = self.pure.turnstile.enter(Instant::now() + run.deadline, call.depth).await else {
            return Ran { outcome: Err(no_place(run.limits, run.deadline)), fuel: 0 };
        };
        let mut store = match run.store(self.pure.places.engine(), self.pure.state()) {
            Ok(store) => store,
            Err(fault) => return Ran { outcome: Err(fault), fuel: 0 },
        };
        let time = call.time;
        let words = snapshot::words(call);
        let facts = snapshot::facts(call, &words);
        let counters = snapshot::counters(counters);
        let call = snapshot::snapshot(call, &facts, &counters);
        let ended = timeout(run.deadline, async {
            let instance = self.pre.instantiate_async(&mut store).await.map_err(Failure::Start)?;
            store.data_mut().inert().set_time(time);
            let guard = self.indices.load(&mut store, &instance).map_err(Failure::Start)?;
            guard.chio_plugin_guarding().call_check(&mut store, call).await.map_err(Failure::Call)
        });
        let ended = ended.await;
        let Ran { outcome, fuel } = run.ended(&mut store, ended);
        let outcome = outcome.and_then(|answered| answered.map_err(|why| answer::error(&why))).and_then(verdict);
        Ran { outcome, fuel }
    }
}

impl Guard for WasmGuard {
    fn component(&self) -> &Component {
        &self.pure.component
    }

    fn check<'a>(&'a self, call: &'a Snapshot, counters: &'a [CounterView]) -> BoxFuture<'a, Ran<Verdict>> {
        Box::pin(self.judge(call, counters))
    }
}

fn verdict(answered: wit::Verdict) -> Result<Verdict, Fault> {
    let decision = match answered.decision {
        wit::Decision::Allow(wanted) => GuardDecision::Allow(reservations(wanted)?),
        wit::Decision::Deny(why) => GuardDecision::Deny(answer::reason(&why)),
        wit::Decision::PendingApproval(why) => GuardDecision::PendingApproval(answer::reason(&why)),
    };
    answer::at_most(&answered.secret_arguments, MAX_SECRETS, "secret arguments")?;
    answered.secret_arguments.iter().try_for_each(|pointer| answer::pointer(pointer))?;
    Ok(Verdict {
        decision,
        details: answered.details.map(|details| answer::reason(&details)),
        secret_arguments: answered.secret_arguments,
    })
}

fn reservations(wanted: Vec<wit::Reservation>) -> Result<Vec<Reservation>, Fault> {
    answer::at_most(&wanted, MAX_RESERVATIONS, "reservations")?;
    let mut seen = HashSet::new();
    wanted
        .into_iter()
        .map(|wanted| {
            answer::label(&wanted.counter)?;
            if wanted.window_seconds == 0 {
                return Err(answer::nonsense("a reservation has a window of no time"));
            }
            if !seen.insert(wanted.counter.clone()) {
                return Err(answer::nonsense("it reserves the same counter twice"));
            }
            Ok(Reservation {
                amount: answer::integer(wanted.amount)?,
                window_seconds: answer::integer(wanted.window_seconds)?,
                limit: answer::integer(wanted.limit)?,
                counter: wanted.counter,
            })
        })
        .collect()
}
