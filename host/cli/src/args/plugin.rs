//! What can be typed after `plugin`.

use std::path::PathBuf;

use clap::Subcommand;

use crate::project::{Kind, Language};

#[derive(Debug, clap::Args)]
pub(crate) struct PluginArgs {
    #[command(subcommand)]
    pub(crate) command: PluginCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Start a project: a component that builds, with fixtures that it passes
    New(NewArgs),
    /// Build a project's component with its language's tools
    Build(BuildArgs),
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
pub(crate) struct NewArgs {
    /// The component's name, and its project's
    pub(crate) name: String,
    /// What it does
    #[arg(long, value_enum)]
    pub(crate) kind: Kind,
    /// What it is written in
    #[arg(long, value_enum)]
    pub(crate) lang: Language,
    /// Folder to make [default: NAME here]
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BuildArgs {
    /// The project's folder
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TestArgs {
    /// A component's file, or builtin:NAME [default: what the project here builds]
    pub(crate) component: Option<String>,
    /// Its fixtures [default: NAME.fixtures.yaml beside NAME.wasm]
    #[arg(long, value_name = "FILE")]
    pub(crate) fixtures: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// A component's file, or builtin:NAME [default: what the project here builds]
    pub(crate) component: Option<String>,
    /// Fixtures whose calls are measured [default: those beside it, else a plain call]
    #[arg(long, value_name = "FILE")]
    pub(crate) fixtures: Option<PathBuf>,
    /// How often each call is made
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) calls: u32,
}
