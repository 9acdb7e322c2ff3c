//! What an operator changes: `revoke` and `budget`.

use clap::Subcommand;

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
