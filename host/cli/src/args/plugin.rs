//! `plugin`.

use std::path::PathBuf;

use clap::{ArgGroup, Subcommand};

#[derive(Debug, clap::Args)]
pub(crate) struct PluginArgs {
    #[command(subcommand)]
    pub(crate) command: PluginCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
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
