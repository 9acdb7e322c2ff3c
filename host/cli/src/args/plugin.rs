//! What can be typed after `plugin`.

use std::path::PathBuf;

use clap::Subcommand;

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
    /// Ask a component what its fixtures ask, and compare what it answers
    Test(TestArgs),
    /// Measure what a component costs: its load, its calls, its fuel
    Bench(BenchArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct TestArgs {
    /// A component's file, or builtin:NAME
    pub(crate) component: String,
    /// Its fixtures [default: NAME.fixtures.yaml beside NAME.wasm]
    #[arg(long, value_name = "FILE")]
    pub(crate) fixtures: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// A component's file, or builtin:NAME
    pub(crate) component: String,
    /// Fixtures whose calls are measured [default: those beside it, else a plain call]
    #[arg(long, value_name = "FILE")]
    pub(crate) fixtures: Option<PathBuf>,
    /// How often each call is made
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) calls: u32,
}
