//! `plugin inspect`: what a component is, without running any of it.

use std::path::Path;

use serde_json::json;

use crate::Outcome;
use crate::args::{Common, PluginArgs, PluginCommand};
use crate::error::CliError;
use crate::plugins;
use crate::print;

pub(crate) fn run(common: &Common, args: PluginArgs) -> Result<Outcome, CliError> {
    let PluginCommand::Inspect { component } = args.command;
    let bytes = match component.strip_prefix("builtin:") {
        Some(name) => builtin(name)?.to_vec(),
        None => plugins::read_component(Path::new(&component))?,
    };
    let seen = chio_host_runtime::inspect(&bytes)
        .map_err(|e| CliError::Plugin(format!("{component}: it is no component that this host can load: {e}")))?;
    print::fields(
        common.format,
        &[
            ("component", json!(component)),
            ("world", json!(seen.kind.as_str())),
            ("digest", json!(seen.digest)),
            ("bytes", json!(seen.size)),
            ("imports", json!(seen.imports)),
            ("exports", json!(seen.exports)),
        ],
    )?;
    Ok(Outcome::Done)
}

fn builtin(name: &str) -> Result<&'static [u8], CliError> {
    let all = chio_host_builtin::all();
    all.iter().find(|b| b.name == name).map(|b| b.bytes).ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|b| b.name).collect();
        CliError::Usage(format!("there is no built-in {name}; there are {}", names.join(", ")))
    })
}
