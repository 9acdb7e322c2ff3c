//! Calls that a tool makes while it runs: mediated like any other, under the caller's capability, narrowed.
//!
//! - **What it may call** is what its policy lets its server call, within what the caller's capability covers, by a grant that
//!   may be handed on (operation `delegate`). Its counters are the caller's own.
//! - **Its depth** is bounded, and it ends before the call that it is made in.
//! - **Its receipt** is a child of that call's, and stands before it on the log: a durable one logs its own, the others are
//!   buffered with the caller's drop guard.
//! - **Nobody waits in it**: a human or a nonce cannot be waited for inside a tool.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;

use crate::admission::ChildReceipts;
use crate::call::{Arguments, Call, RequestId, Snapshot};
use crate::capability::{ANY, CapabilityToken, Grant, Operation};
use crate::denial::Denial;
use crate::kernel::Kernel;
use crate::ports::{BoxFuture, NestedCalls, NestedError, NestedOutput, Stop};
use crate::receipt::Decision;
use crate::response::Response;

/// A tool that the tools of a server may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NestedTarget {
    /// A server's name.
    pub server: String,
    /// A tool's name, or [`ANY`].
    pub tool: String,
}

/// The call that a nested one is made in. Nobody but the kernel makes one.
#[derive(Clone, Debug)]
pub struct ParentCall {
    operation_id: String,
    request_id: String,
    /// Whose tool makes the call.
    server: String,
    /// The nested call's own depth.
    depth: u32,
    /// On the monotonic clock, in microseconds.
    ends_us: u64,
    pub(crate) children: ChildReceipts,
    /// The parent waits for this to be dropped before it ends, so that no child is unwound after it.
    _under_way: Arc<OwnedSemaphorePermit>,
}

impl ParentCall {
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// Whose tool makes the call.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// What the receipt says of it.
    pub(crate) fn shown(&self) -> Value {
        json!({ "operation_id": self.operation_id, "request_id": self.request_id, "server": self.server })
    }

    /// How much of the parent's time is left.
    pub(crate) fn time_left(&self, now_us: u64) -> Duration {
        Duration::from_micros(self.ends_us.saturating_sub(now_us))
    }
}

/// A tool's way to other tools, for as long as it runs.
pub(crate) struct Nest {
    kernel: Arc<Kernel>,
    capability: Arc<CapabilityToken>,
    snapshot: Arc<Snapshot>,
    operation_id: String,
    signals: crate::call::Signals,
    ends_us: u64,
    children: ChildReceipts,
    made: AtomicU64,
}

impl Nest {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        call: &Call,
        snapshot: &Arc<Snapshot>,
        operation_id: &str,
        deadline: Duration,
        children: &ChildReceipts,
    ) -> Self {
        let now = kernel.books.clock.monotonic_us();
        Self {
            kernel: kernel.clone(),
            capability: call.capability.clone(),
            snapshot: snapshot.clone(),
            operation_id: operation_id.to_owned(),
            signals: call.signals.quiet(),
            ends_us: now.saturating_add(u64::try_from(deadline.as_micros()).unwrap_or(u64::MAX)),
            children: children.clone(),
            made: AtomicU64::new(0),
        }
    }

    async fn call(&self, server: String, tool: String, arguments: Value) -> Result<NestedOutput, NestedError> {
        let denied = |why: String| NestedError::Denied(why);
        let under_way = self.children.begin().await.map_err(|e| denied(e.to_string()))?;
        // Its own id, which no caller can send: that of the operation that it is made in, and its number there.
        let number = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        let id = RequestId::new(format!("{}/{number}", self.operation_id)).map_err(|e| denied(e.to_string()))?;
        let arguments = Arguments::new(arguments).map_err(|e| denied(e.to_string()))?;
        let agent = self.snapshot.agent.clone();
        let call = Call::new(id, agent, self.capability.clone(), server, tool, arguments);
        let mut call = call.map_err(|e| denied(e.to_string()))?;
        call.signals = self.signals.clone();
        call.parent = Some(ParentCall {
            operation_id: self.operation_id.clone(),
            request_id: self.snapshot.request_id.as_str().to_owned(),
            server: self.snapshot.server.clone(),
            depth: self.snapshot.depth + 1,
            ends_us: self.ends_us,
            children: self.children.clone(),
            _under_way: Arc::new(under_way),
        });
        match self.kernel.evaluate(&call).await {
            Ok(response) => answered(response),
            Err(error) => Err(denied(error.to_string())),
        }
    }
}

impl NestedCalls for Nest {
    fn invoke(
        &self,
        server: String,
        tool: String,
        arguments: Value,
    ) -> BoxFuture<'_, Result<NestedOutput, NestedError>> {
        Box::pin(self.call(server, tool, arguments))
    }
}

fn answered(response: Response) -> Result<NestedOutput, NestedError> {
    let body = response.receipt.body();
    let effect = body.metadata.as_ref().and_then(|m| m.pointer("/chio_host/effect")).and_then(Value::as_str);
    let reason = body.decision.reason().unwrap_or_default().to_owned();
    match &body.decision {
        Decision::Allow => {
            let receipt_id = response.receipt.id().to_owned();
            let value = response.output.map_or(Value::Null, |output| output.value);
            Ok(NestedOutput { value, receipt_id })
        }
        Decision::Pending { .. } => Err(NestedError::Pending(reason)),
        Decision::Deny { .. } if effect == Some("none") => Err(NestedError::Denied(reason)),
        _ => Err(NestedError::Failed(reason)),
    }
}

impl Kernel {
    /// Whether a nested call is one that the tool which makes it may make, as deep as it is.
    pub(crate) fn admit_nested(&self, call: &Call) -> Result<(), Denial> {
        let Some(parent) = &call.parent else { return Ok(()) };
        let settings = &self.books.settings;
        if parent.depth > settings.nested_depth_limit {
            let why = format!("nested calls go at most {} deep", settings.nested_depth_limit);
            return Err(Denial::Tool { why, stop: Some(Stop::Depth) });
        }
        let targets = settings.nested.get(&parent.server).map_or(&[][..], Vec::as_slice);
        let may = |t: &NestedTarget| t.server == call.server && (t.tool == ANY || t.tool == call.tool);
        if !targets.iter().any(may) {
            // The capability that a tool has is the caller's, without all that its policy does not let it call.
            let (tool, server) = (call.tool.clone(), call.server.clone());
            return Err(Denial::NotInvocable { tool, server, by: parent.server.clone() });
        }
        Ok(())
    }
}

/// Whether the grant lets a tool use it for its caller.
pub(crate) fn may_hand_on(call: &Call, grant: &Grant) -> Result<(), Denial> {
    if call.parent.is_none() || grant.operations.contains(&Operation::Delegate) {
        return Ok(());
    }
    Err(Denial::Delegation("a tool may not use the grant for its caller: it has no operation delegate".to_owned()))
}
