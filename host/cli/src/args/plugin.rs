//! `plugin`.

use std::path::PathBuf;

use clap::{ArgGroup, Subcommand};

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
    /// Say what a component is, what it asks for, and who signed it; nothing of it runs
    Inspect {
        /// A component's file, a package, or builtin:NAME
        component: String,
        /// Say as well what this policy grants it, and which lines are missing
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
    },
    /// Make a signer's key, and print the public half for a policy's plugins.signers
    #[command(group(ArgGroup::new("whose").required(true).args(["name", "key"])))]
    Key {
        /// The signer; the key is signer/NAME.key in your data folder
        name: Option<String>,
        /// The key's file, where it lies elsewhere
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
    /// Sign a component with its manifest, and its fixtures if there are any: NAME.signature.json beside NAME.wasm
    Sign(SignArgs),
    /// Say whether a component, and what stands beside it, is what somebody signed
    Verify {
        /// A component's file, or a package
        component: String,
        /// Accept only this signer's signature [default: anybody's]
        #[arg(long, value_name = "KEY")]
        signer: Option<String>,
    },
    /// Pack a signed component, with what stands beside it, into one file
    Pack {
        /// The component's file
        component: String,
        /// The package to write
        #[arg(long, short, value_name = "FILE.chio")]
        output: PathBuf,
    },
    /// Ask a component what its fixtures ask, and compare what it answers
    Test(TestArgs),
    /// Measure what a component costs: its load, its calls, its fuel
    Bench(BenchArgs),
}

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("signer").required(true).args(["key", "signer_name"])))]
pub(crate) struct SignArgs {
    /// The component's file
    pub(crate) component: String,
    /// The signer's key
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// The signer whose key is signer/NAME.key in your data folder
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) signer_name: Option<String>,
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
    /// A component's file, a package, or builtin:NAME [default: what the project here builds]
    pub(crate) component: Option<String>,
    /// Its fixtures [default: NAME.fixtures.yaml beside NAME.wasm]
    #[arg(long, value_name = "FILE")]
    pub(crate) fixtures: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// A component's file, a package, or builtin:NAME [default: what the project here builds]
    pub(crate) component: Option<String>,
    /// Fixtures whose calls are measured [default: those beside it, else a plain call]
    #[arg(long, value_name = "FILE")]
    pub(crate) fixtures: Option<PathBuf>,
    /// How often each call is made
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) calls: u32,
}
