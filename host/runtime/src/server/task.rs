//! One call of a tool, with all that it needs, so that it can run on any thread.

use std::sync::Arc;
use std::time::Duration;

use chio_host_kernel::call::Snapshot;
use chio_host_kernel::ports::{Fault, Ran, Stop, ToolError, ToolOutput};
use tokio::time::{Instant, timeout};
use wasmtime::component::{InstancePre, Val};
use wasmtime::{Engine, Store, format_err};

use super::output;
use super::state::ToolState;
use crate::bindings::server::ToolServerPre;
use crate::bindings::server::exports::chio::plugin::serving as wit;
use crate::limits::{Limits, size};
use crate::plain::{self, Function};
use crate::run::{Failure, Run};

/// What a tool came to: its output or error, or what stopped it.
pub(super) type Answered = Ran<Result<ToolOutput, ToolError>>;

/// What a call enters.
pub(super) enum Enter {
    /// A server's own `call`.
    Serving { pre: ToolServerPre<ToolState>, snapshot: Arc<Snapshot>, operation_id: String },
    /// A function that knows nothing of the host.
    Plain { pre: InstancePre<ToolState>, function: Arc<Function>, arguments: Vec<Val> },
}

/// One call, admitted and not yet begun.
pub(super) struct Task {
    pub(super) enter: Enter,
    pub(super) state: ToolState,
    pub(super) limits: Limits,
    pub(super) until: Instant,
    /// What the call had when it was asked, for messages.
    pub(super) deadline: Duration,
}

/// What a guest returned, before it is looked at.
enum Returned {
    Serving(Result<wit::Output, wit::ToolError>),
    Plain(Arc<Function>, Vec<Val>),
}

impl Enter {
    fn engine(&self) -> &Engine {
        match self {
            Self::Serving { pre, .. } => pre.engine(),
            Self::Plain { pre, .. } => pre.engine(),
        }
    }

    /// Makes the instance and calls it.
    async fn call(self, store: &mut Store<ToolState>, run: &Run<'_>) -> Result<Returned, Failure> {
        match self {
            Self::Serving { pre, snapshot: call, operation_id } => {
                let context = wit::Context {
                    request_id: call.request_id.as_str().to_owned(),
                    operation_id,
                    agent: call.agent.clone(),
                    deadline_ms: u64::try_from(run.deadline.as_millis()).unwrap_or(u64::MAX),
                    depth: call.depth,
                };
                let server = pre.instantiate_async(&mut *store).await.map_err(Failure::Start)?;
                let (serving, arguments) = (server.chio_plugin_serving(), call.arguments.canonical().to_owned());
                let answered = serving.call_call(&mut *store, &context, &call.tool, &arguments).await;
                Ok(Returned::Serving(answered.map_err(Failure::Call)?))
            }
            Self::Plain { pre, function, arguments } => {
                store.set_hostcall_fuel(size(plain::memory(run)));
                let instance = pre.instantiate_async(&mut *store).await.map_err(Failure::Start)?;
                let entered = instance.get_func(&mut *store, function.index());
                let entered = entered.ok_or_else(|| Failure::Start(format_err!("the function is not there")))?;
                let mut results = function.results();
                entered.call_async(&mut *store, &arguments, &mut results).await.map_err(Failure::Call)?;
                Ok(Returned::Plain(function, results))
            }
        }
    }
}

impl Returned {
    fn check(self, run: &Run<'_>) -> Result<Result<ToolOutput, ToolError>, Fault> {
        match self {
            Self::Serving(answered) => output::check(answered, run),
            Self::Plain(function, results) => function.returned(results, run),
        }
    }
}

impl Task {
    /// When it has to be over.
    pub(super) fn until(&self) -> Instant {
        self.until
    }

    /// What is told of a call that did not end by itself, whose fuel nobody knows: all of it.
    pub(super) fn lost(&self) -> impl Fn(Stop, &str) -> Answered + Send + use<> {
        let fuel = self.limits.fuel;
        move |stop, why| Ran { outcome: Err(Fault::new(stop, why)), fuel }
    }

    /// What the deadline is, in words.
    pub(super) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Enters the tool, and stops it at its deadline.
    pub(super) async fn run(self) -> Answered {
        let left = self.until.saturating_duration_since(Instant::now());
        let limits = Run { limits: &self.limits, deadline: left };
        let requests = self.state.ended();
        let mut store = match limits.store(self.enter.engine(), self.state) {
            Ok(store) => store,
            Err(fault) => return Ran { outcome: Err(fault), fuel: 0 },
        };
        let ended = timeout(left, self.enter.call(&mut store, &limits)).await;
        let run = Run { limits: &self.limits, deadline: self.deadline };
        let Ran { outcome, fuel } = run.ended(&mut store, ended);
        // What the guest left open ends with its store, and nothing of it is sent once the call is answered.
        drop(store);
        requests.wait().await;
        Ran { outcome: outcome.and_then(|returned| returned.check(&run)), fuel }
    }
}
