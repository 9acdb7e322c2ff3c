//! `approvals`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Subcommand};

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
