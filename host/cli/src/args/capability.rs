//! `capability`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;

use super::{AgentArg, DEFAULT_AGENT};

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
