//! One call of a tool, with all that it needs, so that it can run on any thread.

use std::sync::Arc;
use std::time::Duration;

use chio_host_kernel::call::Snapshot;
use chio_host_kernel::ports::{Fault, Invocation, Ran, Stop, ToolError, ToolOutput};
use tokio::time::{Instant, timeout};

use super::state::ToolState;
use super::{WasmToolServer, output};
use crate::bindings::server::ToolServerPre;
use crate::bindings::server::exports::chio::plugin::serving as wit;
use crate::limits::Limits;
use crate::run::{Failure, Run};

/// What a tool came to: its output or error, or what stopped it.
pub(super) type Answered = Ran<Result<ToolOutput, ToolError>>;

/// One call, admitted and not yet begun.
pub(super) struct Task {
    pre: ToolServerPre<ToolState>,
    state: ToolState,
    limits: Limits,
    snapshot: Arc<Snapshot>,
    operation_id: String,
    until: Instant,
    /// What the call had when it was asked, for messages.
    deadline: Duration,
}

impl Task {
    pub(super) fn new(
        server: &WasmToolServer,
        invocation: &Invocation,
        state: ToolState,
        until: Instant,
        deadline: Duration,
    ) -> Self {
        Self {
            pre: server.pre.clone(),
            state,
            limits: server.limits,
            snapshot: invocation.snapshot.clone(),
            operation_id: invocation.operation_id.clone(),
            until,
            deadline,
        }
    }

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
        let mut store = match limits.store(self.pre.engine(), self.state) {
            Ok(store) => store,
            Err(fault) => return Ran { outcome: Err(fault), fuel: 0 },
        };
        let call = &self.snapshot;
        let context = wit::Context {
            request_id: call.request_id.as_str().to_owned(),
            operation_id: self.operation_id,
            agent: call.agent.clone(),
            deadline_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            depth: call.depth,
        };
        let arguments = call.arguments.canonical().to_owned();
        let ended = timeout(left, async {
            let server = self.pre.instantiate_async(&mut store).await.map_err(Failure::Start)?;
            let serving = server.chio_plugin_serving();
            serving.call_call(&mut store, &context, &call.tool, &arguments).await.map_err(Failure::Call)
        });
        let ended = ended.await;
        let run = Run { limits: &self.limits, deadline: self.deadline };
        let Ran { outcome, fuel } = run.ended(&mut store, ended);
        // What the guest left open ends with its store, and nothing of it is sent once the call is answered.
        drop(store);
        requests.wait().await;
        Ran { outcome: outcome.and_then(|answered| output::check(answered, &run)), fuel }
    }
}
