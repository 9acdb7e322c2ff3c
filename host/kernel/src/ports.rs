//! What the kernel needs from outside, as it sees it: plugins, clock, payment rails.
//!
//! Every port that runs a plugin answers with a [`Ran`]: what came of it, and the fuel it took. A plugin that breaks, or
//! breaks a limit, is a [`Fault`], never a pass.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::admission::{ChildReceipts, Committed};
use crate::call::{EffectClass, Signals, Snapshot};
use crate::facts::ArgumentFact;
use crate::money::Money;
use crate::operation::Component;

/// A future that a trait object returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One run of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran<T> {
    /// What it answered, or what stopped it.
    pub outcome: Result<T, Fault>,
    /// Units of fuel it took.
    pub fuel: u64,
}

/// What stopped a plugin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// Which limit, or which kind of failure.
    pub stop: Stop,
    /// One printable sentence for reasons and receipts.
    pub message: String,
}

impl Fault {
    /// A fault with a message that is made printable and clipped.
    #[must_use]
    pub fn new(stop: Stop, message: &str) -> Self {
        Self { stop, message: crate::canonical::printable(message, 512) }
    }
}

/// The limits of a plugin, and the ways in which it can fail without breaking one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It used up its fuel.
    Fuel,
    /// It used up its wall-clock time.
    Deadline,
    /// It asked for more linear memory than it may have.
    Memory,
    /// It asked for more table space than it may have.
    Tables,
    /// It asked for more instances than it may have.
    Instances,
    /// It answered more bytes than it may.
    OutputBytes,
    /// It logged more bytes than it may.
    LogBytes,
    /// It wrote more to its standard streams than it may.
    StdioBytes,
    /// It nested calls deeper than it may.
    Depth,
    /// No place was free among its concurrent runs.
    Concurrency,
    /// It trapped.
    Trap,
    /// Its answer makes no sense.
    Answer,
    /// It answered with an error of its own.
    Error,
    /// The host could not run it.
    Host,
}

impl Stop {
    /// As it stands in stable codes: `guard.fuel`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fuel => "fuel",
            Self::Deadline => "deadline",
            Self::Memory => "memory",
            Self::Tables => "tables",
            Self::Instances => "instances",
            Self::OutputBytes => "output_bytes",
            Self::LogBytes => "log_bytes",
            Self::StdioBytes => "stdio_bytes",
            Self::Depth => "depth",
            Self::Concurrency => "concurrency",
            Self::Trap => "trap",
            Self::Answer => "answer",
            Self::Error => "error",
            Self::Host => "host",
        }
    }
}

/// A guard's judgement of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What it decided.
    pub decision: GuardDecision,
    /// What the evidence says.
    pub details: Option<String>,
    /// JSON pointers to arguments that no receipt may hold.
    pub secret_arguments: Vec<String>,
}

/// What a guard decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardDecision {
    /// Go on, if these reservations can be taken.
    Allow(Vec<Reservation>),
    /// Stop.
    Deny(String),
    /// Wait for a human.
    PendingApproval(String),
}

/// A guard's claim on one of its own counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The guard's name for it.
    pub counter: String,
    /// How much this call takes.
    pub amount: u64,
    /// How long a window is.
    pub window_seconds: u64,
    /// The most in one window.
    pub limit: u64,
}

/// A counter as its guard sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterView {
    /// The guard's name for it.
    pub name: String,
    /// How long a window is.
    pub window_seconds: u64,
    /// How much of the current window is used.
    pub used: u64,
}

/// Judges calls before they run.
pub trait Guard: Send + Sync {
    /// Its name in the policy, and its component.
    fn component(&self) -> &Component;

    /// Judges one call.
    fn check<'a>(&'a self, call: &'a Snapshot, counters: &'a [CounterView]) -> BoxFuture<'a, Ran<Verdict>>;
}

/// A hook's judgement of one output.
#[derive(Clone, Debug, PartialEq)]
pub enum HookVerdict {
    /// Release it.
    Allow,
    /// Withhold it.
    Block(String),
    /// Release this instead.
    Redact {
        /// The output without what must not be seen.
        value: Value,
        /// What was taken out, and how often.
        what: Vec<Removal>,
    },
    /// Withhold it until a human releases it.
    Escalate(String),
}

/// What a redaction took out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    /// A kind of secret; never the secret.
    pub kind: String,
    /// How many.
    pub count: u32,
}

/// Inspects what tools return.
pub trait OutputHook: Send + Sync {
    /// Its name in the policy, and its component.
    fn component(&self) -> &Component;

    /// Inspects one output. `output` is canonical JSON.
    fn inspect<'a>(&'a self, call: &'a Snapshot, output: &'a str) -> BoxFuture<'a, Ran<HookVerdict>>;
}

/// A tool, as its server describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDescription {
    /// Its name.
    pub name: String,
    /// A title for humans.
    pub title: Option<String>,
    /// What it does.
    pub description: String,
    /// A JSON Schema of type `object`.
    pub input_schema: Value,
    /// A JSON Schema of its output.
    pub output_schema: Option<Value>,
    /// What it says of itself; the host believes none of it.
    pub hints: Hints,
}

/// A tool's hints for a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something.
    pub destructive: Option<bool>,
    /// Twice is as once.
    pub idempotent: Option<bool>,
    /// It reaches beyond the host.
    pub open_world: Option<bool>,
}

/// What a tool is run with.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The call.
    pub snapshot: Arc<Snapshot>,
    /// The operation's id, lower-case hex.
    pub operation_id: String,
    /// How much time is left.
    pub deadline: Duration,
    /// Progress out, cancellation in.
    pub signals: Signals,
    /// Where the receipts of nested calls go that had nothing durable of their own.
    pub children: ChildReceipts,
}

/// How a tool returned its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    /// Any JSON.
    Json,
    /// A list of MCP content blocks.
    McpContent,
}

/// What a tool returned.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// The value, strictly parsed.
    pub value: Value,
    /// How it is to be read.
    pub format: OutputFormat,
    /// What the tool says that the call cost beside price and fuel.
    pub cost: Option<Money>,
}

/// An error that a tool returned by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolError {
    /// The arguments are wrong.
    InvalidArguments(String),
    /// It gave up before any effect.
    FailedBeforeEffect(String),
    /// It failed, and may have had an effect.
    Failed(String),
    /// The user has to visit addresses first.
    UrlElicitation(Vec<Elicitation>),
}

/// An address that a user has to visit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elicitation {
    /// The tool's id for it.
    pub id: String,
    /// Where to.
    pub url: String,
    /// Why.
    pub message: String,
}

/// Whether a tool was entered. Instantiation counts as entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Provably not.
    Never,
    /// It may have done anything.
    Entered,
}

/// One run of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolRan {
    /// Whether it was entered.
    pub entry: Entry,
    /// What it answered, or what stopped it.
    pub ran: Ran<Result<ToolOutput, ToolError>>,
}

/// Offers tools.
pub trait ToolServer: Send + Sync {
    /// Its name in the policy, and its component.
    fn component(&self) -> &Component;

    /// Its tools, asked once when it was loaded.
    fn tools(&self) -> &[ToolDescription];

    /// What its tools can do, read off its live imports.
    fn effect_class(&self) -> EffectClass;

    /// What the strings in a tool's arguments are.
    fn argument_facts(&self, tool: &str) -> &[ArgumentFact];

    /// The most time a call may take.
    fn deadline(&self) -> Duration;

    /// The most fuel a call may take.
    fn fuel_limit(&self) -> u64;

    /// Runs a tool. Only a dispatch commit makes the [`Committed`] that this consumes.
    fn call(&self, committed: Committed, invocation: Invocation) -> BoxFuture<'_, ToolRan>;
}

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970. It may step.
    fn now_ms(&self) -> u64;

    /// Microseconds since some moment. It never steps back.
    fn monotonic_us(&self) -> u64;
}

/// What a payment rail is asked to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// The host's reference. The same one twice is the same payment.
    pub reference: String,
    /// The account's name in the policy.
    pub account: String,
    /// How much.
    pub amount: Money,
}

/// Why a payment rail did not do what it was asked. Each holds one printable sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RailError {
    /// Nothing happened.
    #[error("the payment was refused: {0}")]
    Definite(String),
    /// Nobody knows whether it happened.
    #[error("nobody knows whether the payment happened: {0}")]
    Ambiguous(String),
}

/// Moves money outside the ledger (design, section 8).
///
/// None of the four is asked twice on the strength of a [`RailError::Ambiguous`] but with the same reference.
pub trait PaymentRail: Send + Sync {
    /// Its name in the policy, and its component.
    fn component(&self) -> &Component;

    /// Sets an amount aside; answers with the provider's id for it.
    fn authorize<'a>(&'a self, payment: &'a Payment) -> BoxFuture<'a, Result<String, RailError>>;

    /// Takes at most what was authorized; answers with the provider's id for the capture.
    fn capture<'a>(&'a self, authorization: &'a str, payment: &'a Payment) -> BoxFuture<'a, Result<String, RailError>>;

    /// Gives an authorization back. `reference` is the payment's.
    fn release<'a>(&'a self, authorization: &'a str, reference: &'a str) -> BoxFuture<'a, Result<(), RailError>>;

    /// Gives captured money back; answers with the provider's id for the refund.
    fn refund<'a>(&'a self, capture: &'a str, payment: &'a Payment) -> BoxFuture<'a, Result<String, RailError>>;
}
