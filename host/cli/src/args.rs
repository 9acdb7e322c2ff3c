//! What can be typed. Help, completions and checks all come from here.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Parser, Subcommand, ValueEnum};

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
    /// Look into components
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
pub(crate) struct CapabilityArgs {
    #[command(subcommand)]
    pub(crate) command: CapabilityCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CapabilityCommand {
    /// Print a local agent's public key, made on first use
    Key {
        /// The agent
        #[arg(default_value = DEFAULT_AGENT)]
        name: String,
    },
    /// Sign what a policy gives, and print the token
    Issue {
        /// The policy
        #[arg(long, value_name = "FILE")]
        policy: PathBuf,
        /// Which of its capabilities
        #[arg(long, default_value = "default")]
        name: String,
        /// To whom: a local agent's name, or a public key
        #[arg(long, value_name = "NAME|KEY", default_value = DEFAULT_AGENT)]
        to: String,
    },
    /// Derive a narrower token for somebody else, and print it
    Attenuate(Box<AttenuateArgs>),
    /// Say what a token allows, where it comes from, and whether it holds
    Inspect {
        /// The token
        #[arg(value_name = "FILE")]
        token: PathBuf,
    },
}

/// How a token is narrowed. What is not said stays as it is.
#[derive(Debug, clap::Args)]
pub(crate) struct AttenuateArgs {
    /// The token to derive from
    #[arg(value_name = "FILE")]
    pub(crate) token: PathBuf,
    /// For whom: a local agent's name, or a public key
    #[arg(long, value_name = "NAME|KEY")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) holder: AgentArg,
    /// Only this tool (may be repeated)
    #[arg(long, value_name = "SERVER/TOOL")]
    pub(crate) tool: Vec<String>,
    /// Only paths at or below this one
    #[arg(long, value_name = "PATH")]
    pub(crate) path_prefix: Option<String>,
    /// Only under this constraint, such as `{"type":"max_length","value":100}` (may be repeated)
    #[arg(long, value_name = "JSON")]
    pub(crate) constraint: Vec<String>,
    /// At most so many calls under each grant
    #[arg(long, value_name = "N")]
    pub(crate) max_invocations: Option<u64>,
    /// At most so much for all calls under each grant: minor units, such as 500, or "500 USD"
    #[arg(long, value_name = "UNITS")]
    pub(crate) max_total_cost: Option<String>,
    /// At most so much for one call: minor units, such as 10, or "10 USD"
    #[arg(long, value_name = "UNITS")]
    pub(crate) max_cost_per_invocation: Option<String>,
    /// Only for so long from now, such as 5m [default: as long as the other]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(crate) ttl: Option<Duration>,
    /// It cannot be handed on
    #[arg(long)]
    pub(crate) no_delegate: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RevokeArgs {
    /// The capability's id; `capability inspect` shows those of a token's chain
    pub(crate) id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) because: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BudgetArgs {
    #[command(subcommand)]
    pub(crate) command: BudgetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BudgetCommand {
    /// What accounts hold, spent, and set aside
    Show {
        /// Only this one
        account: Option<String>,
    },
    /// Add to what an account holds
    TopUp {
        /// The account
        account: String,
        /// Minor units, such as cents
        units: u64,
        /// Why
        #[arg(long, value_name = "TEXT")]
        because: String,
    },
    /// Say what an account holds in all
    Limit {
        /// The account
        account: String,
        /// Minor units, such as cents
        units: u64,
        /// Why
        #[arg(long, value_name = "TEXT")]
        because: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) command: ApprovalsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// Make an approver's key, and print the public half for the policy's kernel.approvals.approvers
    #[command(group(ArgGroup::new("whose").required(true).args(["name", "key"])))]
    Key {
        /// The approver; the key is approver/NAME.key in your data folder
        name: Option<String>,
        /// The key's file, where it lies elsewhere
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
    /// What waits for a human
    List {
        /// The policy, where no host runs
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
    },
    /// One that waits, whole
    Show(WhichWaits),
    /// Let a call run
    Approve(DecideArgs),
    /// Let no call run, or no output out
    Deny(DecideArgs),
    /// Let out what a hook withheld
    Release(DecideArgs),
}

/// One that waits.
#[derive(Debug, clap::Args)]
pub(crate) struct WhichWaits {
    /// Its operation's id, or the beginning of it
    pub(crate) operation: String,
    /// The policy, where no host runs: it lists the approvers
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("approver").required(true).args(["key", "approver_name"])))]
pub(crate) struct DecideArgs {
    #[command(flatten)]
    pub(crate) which: WhichWaits,
    /// The approver's key
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// The approver whose key is approver/NAME.key in your data folder
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) approver_name: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) because: Option<String>,
    /// How long the decision is good [default: as long as the call waits]
    #[arg(long = "for", value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(crate) good_for: Option<Duration>,
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
pub(crate) struct PluginArgs {
    #[command(subcommand)]
    pub(crate) command: PluginCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Say what a component is: world, imports, digest; nothing of it runs
    Inspect {
        /// A component's file, or builtin:NAME
        component: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}
