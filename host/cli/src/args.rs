//! What can be typed. Help, completions and checks all come from here.

mod approvals;
mod capability;
mod operator;
mod plugin;

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Parser, Subcommand, ValueEnum};

pub(crate) use self::approvals::{ApprovalsArgs, ApprovalsCommand, DecideArgs, WhichWaits};
pub(crate) use self::capability::{AttenuateArgs, CapabilityArgs, CapabilityCommand};
pub(crate) use self::operator::{BudgetArgs, BudgetCommand, RevokeArgs};
pub(crate) use self::plugin::{BenchArgs, BuildArgs, NewArgs, PluginArgs, PluginCommand, SignArgs, TestArgs};

/// The host that stands between an AI agent and its tools: every tool call is admitted, judged, recorded, sandboxed,
/// inspected, and written to a signed receipt.
#[derive(Debug, Parser)]
#[command(name = "chio-host", version, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 allowed, 2 denied, 3 pending, 1 error. CHIO_LOG=info|debug|… sets what goes to stderr."
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Common {
    /// Folder of the ledger [default: .chio here]
    #[arg(long, global = true, env = "CHIO_STATE", value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Folder of the private keys [default: in your data folder]
    #[arg(long, global = true, env = "CHIO_KEYS", value_name = "DIR")]
    pub(crate) keys: Option<PathBuf>,
    /// Folder of compiled components [default: in your cache folder]
    #[arg(long, global = true, env = "CHIO_CACHE", value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// How stdout is written
    #[arg(long, global = true, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// How stdout is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Lines for people
    #[default]
    Human,
    /// JSON, one document a line
    Json,
}

/// The name of the local agent that calls where none is named.
pub(crate) const DEFAULT_AGENT: &str = "agent";

/// Longer than any policy lets a call wait.
const FOR_LONG: &str = "31days";

/// Which local agent.
#[derive(Debug, clap::Args)]
pub(crate) struct AgentArg {
    /// The local agent that acts: its key is NAME.key in the folder of keys, made on first use
    #[arg(long = "agent", value_name = "NAME", default_value = DEFAULT_AGENT)]
    pub(crate) name: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Four calls, mediated before your eyes; needs no file
    Demo(DemoArgs),
    /// Start a project: a folder with a starter policy
    Init(InitArgs),
    /// Ask whether a call would be let in, without making it
    Check(CheckArgs),
    /// Make one mediated call
    Call(CallArgs),
    /// Serve MCP on stdin and stdout
    Run(RunArgs),
    /// Issue capabilities, hand them on narrowed, and look into them
    Capability(CapabilityArgs),
    /// Revoke a capability, and everything that was derived from it
    Revoke(RevokeArgs),
    /// See and change what accounts hold
    Budget(BudgetArgs),
    /// See and decide what waits for a human
    Approvals(ApprovalsArgs),
    /// End what a killed host left open, and resolve what nobody else can
    Recover(RecoverArgs),
    /// Read and verify receipts
    Receipt(ReceiptArgs),
    /// Write, test and measure components, look into them, sign and pack them
    Plugin(PluginArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {}

#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// Folder to make
    pub(crate) path: PathBuf,
}

/// Which call.
#[derive(Debug, clap::Args)]
pub(crate) struct Target {
    /// The policy
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: PathBuf,
    /// The tool server
    #[arg(long)]
    pub(crate) server: String,
    /// The tool
    #[arg(long)]
    pub(crate) tool: String,
    /// The arguments: a JSON object, or @FILE
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub(crate) params: String,
    /// The call's id; the same id again is the same call [default: a new one]
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
    /// A capability token to use instead of the policy's default
    #[arg(long, value_name = "FILE")]
    pub(crate) capability: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// How far to check
    #[arg(long, value_enum, default_value_t)]
    pub(crate) mode: CheckMode,
    /// What the tool is assumed to return: a JSON file, for --mode full
    #[arg(long, value_name = "FILE")]
    pub(crate) output_fixture: Option<PathBuf>,
}

/// How far a check goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckMode {
    /// Admission and guards
    #[default]
    Preflight,
    /// Output hooks as well, over --output-fixture
    Full,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// The nonce that an earlier answer to the same --request-id handed out: JSON, or @FILE
    #[arg(long, value_name = "JSON", requires = "request_id")]
    pub(crate) nonce: Option<String>,
    /// If the call waits for a human, wait with it: for so long, or as long as the policy lets it wait
    #[arg(long, value_name = "DURATION", num_args = 0..=1, default_missing_value = FOR_LONG,
          value_parser = humantime::parse_duration)]
    pub(crate) wait_for_approval: Option<Duration>,
    /// A single-use id that the call takes, such as `destructive_lease=ID` (may be repeated)
    #[arg(long, value_name = "KIND=ID")]
    pub(crate) reserve: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RecoverArgs {
    #[command(subcommand)]
    pub(crate) command: Option<RecoverCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RecoverCommand {
    /// What waits for an operator: money and single-use ids of calls whose outcome nobody knows
    List,
    /// Say what became of one, and sign that
    #[command(group(ArgGroup::new("resolution").required(true).args(["release", "capture"])))]
    Resolve {
        /// The operation
        operation: String,
        /// It had no effect: give back what it held
        #[arg(long)]
        release: bool,
        /// It had its effect: what it held is spent
        #[arg(long)]
        capture: bool,
        /// How you know
        #[arg(long, value_name = "TEXT")]
        because: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// The policy
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: PathBuf,
    /// A capability token to use instead of the policy's default
    #[arg(long, value_name = "FILE")]
    pub(crate) capability: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// Keep a tools/call open that waits for a human: for so long, or as long as the policy lets it wait
    #[arg(long, value_name = "DURATION", num_args = 0..=1, default_missing_value = FOR_LONG,
          value_parser = humantime::parse_duration)]
    pub(crate) wait_for_approval: Option<Duration>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReceiptArgs {
    #[command(subcommand)]
    pub(crate) command: ReceiptCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReceiptCommand {
    /// List receipts, oldest first; with --format json, whole ones, a line each
    List {
        /// Only these
        #[arg(long, value_enum)]
        verdict: Option<VerdictFilter>,
        /// Only the last N
        #[arg(long, value_name = "N")]
        last: Option<usize>,
    },
    /// Print one receipt as it is stored
    Show {
        /// The receipt's id, or its beginning
        id: String,
    },
    /// Say in words what a receipt says
    Explain {
        /// The receipt's id, or its beginning
        id: String,
        /// Draw all that was done under the same capability, those derived from it, and calls inside calls
        #[arg(long)]
        tree: bool,
    },
    /// Verify ids, signatures and the log: of the ledger, or of a file of JSON lines
    Verify {
        /// Only this receipt
        #[arg(conflicts_with = "file")]
        id: Option<String>,
        /// A file of receipts, one a line, whoever wrote them
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// Accept only receipts signed by this key (may be repeated) [default: any for a file, ours for the ledger]
        #[arg(long, value_name = "HEX")]
        key: Vec<String>,
    },
}

/// A decision to filter by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerdictFilter {
    /// Allowed
    Allow,
    /// Denied
    Deny,
    /// Given up
    Cancelled,
    /// Failed or unknown
    Incomplete,
    /// Waiting
    Pending,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}
