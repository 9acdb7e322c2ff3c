//! `plugin pack`: a signed component and what stands beside it, in one file.

use std::path::Path;

use chio_host_kernel::canonical::sha256_hex;
use chio_host_policy::is_package;
use serde_json::json;

use super::read_loose;
use crate::Outcome;
use crate::args::Format;
use crate::component::write;
use crate::error::CliError;
use crate::print;

pub(super) fn run(format: Format, component: &str, output: &Path) -> Result<Outcome, CliError> {
    if !output.to_str().is_some_and(is_package) {
        return Err(CliError::path(output, "a package's name ends with .chio, by which a policy knows it"));
    }
    let parts = read_loose(component, "change")?;
    let signer = chio_host_policy::verify(&parts).map_err(|problems| {
        let shown: Vec<_> = problems.iter().map(ToString::to_string).collect();
        CliError::Plugin(format!("{component}: {}; only what `plugin sign` signed is packed", shown.join("; ")))
    })?;
    let package = chio_host_policy::pack(&parts)
        .map_err(|e| CliError::Plugin(format!("{component}: it cannot be packed: {e}")))?;
    write(output, &package)?;
    print::fields(
        format,
        &[
            ("package", json!(output)),
            ("bytes", json!(package.len())),
            ("sha256", json!(sha256_hex(&package))),
            ("component", json!(parts.digest)),
            ("signer", json!(signer)),
        ],
    )?;
    Ok(Outcome::Done)
}
