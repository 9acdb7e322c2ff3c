//! A tool server in the test's own process, for tools that no reference component offers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use chio_host_kernel::admission::Committed;
use chio_host_kernel::call::{EffectClass, Snapshot};
use chio_host_kernel::facts::{ArgumentFact, ArgumentKind};
use chio_host_kernel::money::Money;
use chio_host_kernel::operation::{Component, Role};
use chio_host_kernel::ports::{
    BoxFuture, CounterView, Entry, Fault, Guard, Hints, HookVerdict, Invocation, OutputFormat, OutputHook, Ran,
    ToolDescription, ToolError, ToolOutput, ToolRan, ToolServer, Verdict,
};
use chio_host_kernel::receipt::SignedReceipt;
use serde_json::{Value, json};

/// What a native tool answers.
pub type Answer = dyn Fn(&Value) -> Result<Value, ToolError> + Send + Sync;

/// Counts how often it is entered, and answers as it is told.
pub struct NativeServer {
    component: Component,
    tools: Vec<ToolDescription>,
    facts: Vec<ArgumentFact>,
    effect_class: EffectClass,
    entries: Arc<AtomicUsize>,
    pauses: usize,
    fuel: u64,
    cost: Option<Money>,
    children: Vec<SignedReceipt>,
    calls: Vec<(String, String, Value)>,
    secrets: Vec<String>,
    answer: Box<Answer>,
}

/// Gives the executor a turn, so many times.
pub async fn pause(times: usize) {
    for _ in 0..times {
        let mut paused = false;
        std::future::poll_fn(|context| {
            if std::mem::replace(&mut paused, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

impl NativeServer {
    /// A server `name` with one tool, whose `command` is a command and whose `path` is a path.
    pub fn new(
        name: &str,
        tool: &str,
        effect_class: EffectClass,
        answer: impl Fn(&Value) -> Result<Value, ToolError> + Send + Sync + 'static,
    ) -> Self {
        let tool = ToolDescription {
            name: tool.to_owned(),
            title: None,
            description: String::new(),
            input_schema: json!({ "type": "object" }),
            output_schema: None,
            hints: Hints::default(),
        };
        let fact = |at: &str, is| ArgumentFact { at: at.to_owned(), is };
        Self {
            component: named(Role::ToolServer, name),
            tools: vec![tool],
            facts: vec![fact("/command", ArgumentKind::Command), fact("/path", ArgumentKind::Path)],
            effect_class,
            entries: Arc::default(),
            pauses: 0,
            fuel: 0,
            cost: None,
            children: Vec::new(),
            calls: Vec::new(),
            secrets: Vec::new(),
            answer: Box::new(answer),
        }
    }

    /// It waits so many times before it answers.
    #[must_use]
    pub fn pausing(self, pauses: usize) -> Self {
        Self { pauses, ..self }
    }

    /// It counts its entries here, beside those of others.
    #[must_use]
    pub fn counting(self, entries: Arc<AtomicUsize>) -> Self {
        Self { entries, ..self }
    }

    /// Its calls have these nested calls, of which nothing else is recorded.
    #[must_use]
    pub fn nesting(self, children: Vec<SignedReceipt>) -> Self {
        Self { children, ..self }
    }

    /// It calls another tool before it answers, and answers with what that came to under `called`.
    #[must_use]
    pub fn calling(mut self, server: &str, tool: &str, arguments: Value) -> Self {
        self.calls.push((server.to_owned(), tool.to_owned(), arguments));
        self
    }

    /// The host may put this secret into its requests.
    #[must_use]
    pub fn with_secret(mut self, name: &str) -> Self {
        self.secrets.push(name.to_owned());
        self
    }

    /// It takes so much fuel, and reports this cost.
    #[must_use]
    pub fn costing(self, fuel: u64, cost: Option<Money>) -> Self {
        Self { fuel, cost, ..self }
    }

    /// How often the tool was entered.
    #[must_use]
    pub fn entries(&self) -> Arc<AtomicUsize> {
        self.entries.clone()
    }
}

impl ToolServer for NativeServer {
    fn component(&self) -> &Component {
        &self.component
    }

    fn tools(&self) -> &[ToolDescription] {
        &self.tools
    }

    fn effect_class(&self) -> EffectClass {
        self.effect_class
    }

    fn argument_facts(&self, _tool: &str) -> &[ArgumentFact] {
        &self.facts
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(30)
    }

    fn fuel_limit(&self) -> u64 {
        1_000_000
    }

    fn secrets(&self) -> &[String] {
        &self.secrets
    }

    fn call(&self, _committed: Committed, invocation: Invocation) -> BoxFuture<'_, ToolRan> {
        self.entries.fetch_add(1, Ordering::SeqCst);
        for child in &self.children {
            invocation.children.buffer(child.clone()).expect("there is room for a few");
        }
        let answer = (self.answer)(invocation.snapshot.arguments.value());
        let cost = self.cost.clone();
        let mut output = answer.map(|value| ToolOutput { value, format: OutputFormat::Json, cost });
        Box::pin(async move {
            let mut called = Vec::new();
            for (server, tool, arguments) in self.calls.clone() {
                let nested = invocation.nested.clone().expect("a kernel is behind the call");
                called.push(match nested.invoke(server, tool, arguments).await {
                    Ok(output) => json!({ "ok": output.value, "receipt_id": output.receipt_id }),
                    Err(error) => json!({ "error": format!("{error:?}") }),
                });
            }
            if let (Ok(output), false) = (&mut output, called.is_empty()) {
                output.value["called"] = called.into();
            }
            pause(self.pauses).await;
            ToolRan { entry: Entry::Entered, ran: Ran { outcome: Ok(output), fuel: self.fuel } }
        })
    }
}

/// A guard that answers as it is told.
pub struct NativeGuard {
    component: Component,
    pauses: usize,
    outcome: Box<GuardAnswer>,
}

/// What a native guard answers, shown the counters that it reserved.
pub type GuardAnswer = dyn Fn(&[CounterView]) -> Result<Verdict, Fault> + Send + Sync;

impl NativeGuard {
    /// A guard of this name.
    pub fn new(name: &str, outcome: impl Fn(&[CounterView]) -> Result<Verdict, Fault> + Send + Sync + 'static) -> Self {
        Self { component: named(Role::Guard, name), pauses: 0, outcome: Box::new(outcome) }
    }

    /// It waits so many times before it answers.
    #[must_use]
    pub fn pausing(self, pauses: usize) -> Self {
        Self { pauses, ..self }
    }
}

impl Guard for NativeGuard {
    fn component(&self) -> &Component {
        &self.component
    }

    fn check<'a>(&'a self, _call: &'a Snapshot, counters: &'a [CounterView]) -> BoxFuture<'a, Ran<Verdict>> {
        let outcome = (self.outcome)(counters);
        Box::pin(async move {
            pause(self.pauses).await;
            Ran { outcome, fuel: 1 }
        })
    }
}

/// A hook that answers as it is told.
pub struct NativeHook {
    component: Component,
    pauses: usize,
    outcome: Result<HookVerdict, Fault>,
}

impl NativeHook {
    /// A hook of this name.
    #[must_use]
    pub fn new(name: &str, outcome: Result<HookVerdict, Fault>) -> Self {
        Self { component: named(Role::OutputHook, name), pauses: 0, outcome }
    }

    /// It waits so many times before it answers.
    #[must_use]
    pub fn pausing(self, pauses: usize) -> Self {
        Self { pauses, ..self }
    }
}

impl OutputHook for NativeHook {
    fn component(&self) -> &Component {
        &self.component
    }

    fn inspect<'a>(&'a self, _call: &'a Snapshot, _output: &'a str) -> BoxFuture<'a, Ran<HookVerdict>> {
        Box::pin(async {
            pause(self.pauses).await;
            Ran { outcome: self.outcome.clone(), fuel: 1 }
        })
    }
}

fn named(role: Role, name: &str) -> Component {
    Component { role, name: name.to_owned(), digest: "00".repeat(32) }
}
