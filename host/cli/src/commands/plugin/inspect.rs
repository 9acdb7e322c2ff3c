//! `plugin inspect`: what a component is, without running any of it.

use std::path::Path;

use serde_json::json;

use crate::Outcome;
use crate::args::Common;
use crate::error::CliError;
use crate::fixtures::builtin;
use crate::plugins;
use crate::print;

pub(super) fn run(common: &Common, component: &str) -> Result<Outcome, CliError> {
    let bytes = match component.strip_prefix("builtin:") {
        Some(name) => builtin(name)?.bytes.to_vec(),
        None => plugins::read_component(Path::new(component))?,
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
