//! `plugin`: for those who write components.

mod bench;
mod inspect;
mod test;

use crate::Outcome;
use crate::args::{Common, PluginArgs, PluginCommand};
use crate::error::CliError;

pub(crate) fn run(common: &Common, args: PluginArgs) -> Result<Outcome, CliError> {
    match args.command {
        PluginCommand::Inspect { component } => inspect::run(common, &component),
        PluginCommand::Test(args) => test::run(common, &args),
        PluginCommand::Bench(args) => bench::run(common, &args),
    }
}
