//! Output hooks: one component, one judgement per output.

use chio_host_kernel::call::Snapshot;
use chio_host_kernel::operation::{Component, Role};
use chio_host_kernel::ports::{BoxFuture, Fault, HookVerdict, OutputHook, Ran, Removal};
use tokio::time::{Instant, timeout};

use crate::answer;
use crate::bindings::hook::OutputHookPre;
use crate::bindings::hook::exports::chio::plugin::inspecting as wit;
use crate::engines::Allocation;
use crate::error::{LoadError, one_line};
use crate::inert::HasInert;
use crate::inspect::Kind;
use crate::places::no_place;
use crate::plugin::{Plugin, Pure, PureState};
use crate::run::{Failure, Run};
use crate::runtime::Runtime;
use crate::snapshot;

/// The most kinds of removals of one redaction.
const MAX_REMOVALS: usize = 64;

/// An output hook in the sandbox. Like a guard, it has an instance of its own for every call.
pub struct WasmHook {
    pure: Pure,
    pre: OutputHookPre<PureState>,
}

impl WasmHook {
    /// Compiles, checks and links a hook.
    ///
    /// # Errors
    /// A component that is no hook, imports more than its configuration, or cannot start within its limits.
    pub async fn load(runtime: &Runtime, plugin: &Plugin<'_>) -> Result<Self, LoadError> {
        let (pure, linked) = Pure::load(runtime, plugin, Role::OutputHook, &[Kind::OutputHook]).await?;
        let ready = OutputHookPre::new(linked).map_err(|e| LoadError::Types(pure.kind, one_line(&e)))?;
        let hook = Self { pure, pre: ready };
        hook.try_out().await?;
        Ok(hook)
    }

    /// Where its runs get their memory from.
    #[must_use]
    pub fn allocation(&self) -> Allocation {
        self.pure.allocation
    }

    /// A hook that cannot even start is refused now and not at the first output.
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

    async fn judge(&self, call: &Snapshot, output: &str) -> Ran<HookVerdict> {
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
        let call = snapshot::snapshot(call, &facts, &[]);
        let ended = timeout(run.deadline, async {
            let hook = self.pre.instantiate_async(&mut store).await.map_err(Failure::Start)?;
            store.data_mut().inert().set_time(time);
            let inspecting = hook.chio_plugin_inspecting();
            inspecting.call_inspect(&mut store, call, output).await.map_err(Failure::Call)
        });
        let ended = ended.await;
        let Ran { outcome, fuel } = run.ended(&mut store, ended);
        let outcome = outcome
            .and_then(|answered| answered.map_err(|why| answer::error(&why)))
            .and_then(|verdict| judgement(verdict, &run));
        Ran { outcome, fuel }
    }
}

impl OutputHook for WasmHook {
    fn component(&self) -> &Component {
        &self.pure.component
    }

    fn inspect<'a>(&'a self, call: &'a Snapshot, output: &'a str) -> BoxFuture<'a, Ran<HookVerdict>> {
        Box::pin(self.judge(call, output))
    }
}

fn judgement(answered: wit::HookVerdict, run: &Run<'_>) -> Result<HookVerdict, Fault> {
    Ok(match answered {
        wit::HookVerdict::Allow => HookVerdict::Allow,
        wit::HookVerdict::Block(why) => HookVerdict::Block(answer::reason(&why)),
        wit::HookVerdict::Escalate(why) => HookVerdict::Escalate(answer::reason(&why)),
        wit::HookVerdict::Redact(redaction) => {
            answer::at_most(&redaction.what, MAX_REMOVALS, "kinds of removals")?;
            let removal = |removal: wit::Removal| {
                answer::label(&removal.kind)?;
                Ok(Removal { kind: removal.kind, count: removal.count })
            };
            HookVerdict::Redact {
                value: answer::json(&redaction.value, run)?,
                what: redaction.what.into_iter().map(removal).collect::<Result<_, Fault>>()?,
            }
        }
    })
}
