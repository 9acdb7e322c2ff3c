//! `plugin`: what a component is and who vouches for it, without running any of it.

mod inspect;
mod pack;
mod sign;
mod verify;

use std::io::Write;
use std::path::Path;

use chio_host_policy::{Beside, Manifest, Parts, is_package};
use chio_host_runtime::Inspection;

use crate::Outcome;
use crate::args::{Common, PluginArgs, PluginCommand};
use crate::error::CliError;
use crate::folders::Folders;
use crate::people::Person;

/// How a policy and these commands name the host's own components.
const BUILTIN: &str = "builtin:";

pub(crate) fn run(common: &Common, args: PluginArgs) -> Result<Outcome, CliError> {
    match args.command {
        PluginCommand::Inspect { component, policy } => inspect::run(common, &component, policy.as_deref()),
        PluginCommand::Key { name, key } => {
            let folders = Folders::of(common)?;
            Person::Signer.make(common.format, &folders, name.as_deref(), key.as_deref())?;
            Ok(Outcome::Done)
        }
        PluginCommand::Sign(args) => sign::run(common, &args),
        PluginCommand::Verify { component, signer } => verify::run(common.format, &component, signer.as_deref()),
        PluginCommand::Pack { component, output } => pack::run(common.format, &component, &output),
    }
}

/// A component's files, read once.
fn read(component: &str) -> Result<Parts, CliError> {
    Parts::read(Path::new("."), component, usize::MAX).map_err(|e| CliError::Plugin(e.to_string()))
}

/// The same for a component of which something is made: neither the host's own nor packed already.
fn read_loose(component: &str, verb: &str) -> Result<Parts, CliError> {
    let refused = |why: &str| Err(CliError::Usage(format!("{component}: {why}")));
    if component.starts_with(BUILTIN) {
        return refused("a built-in is the host's own binary; it needs no signature and no package");
    }
    if is_package(component) {
        return refused(&format!("it is packed already; {verb} the component's own file, and pack that"));
    }
    read(component)
}

fn inspected(parts: &Parts) -> Result<Inspection, CliError> {
    let error = |e| CliError::Plugin(format!("{}: it is no component that this host can load: {e}", parts.name));
    chio_host_runtime::inspect(&parts.component).map_err(error)
}

/// The manifest, if there is one.
fn manifest(parts: &Parts) -> Result<Option<Manifest>, CliError> {
    let Some(bytes) = &parts.manifest else { return Ok(None) };
    let file = parts.file(Beside::Manifest);
    let text = std::str::from_utf8(bytes).map_err(|_| CliError::path(&file, "it is not UTF-8"))?;
    Manifest::parse(text, &file).map(Some).map_err(|problems| CliError::Policy(problems.to_string()))
}

/// Writes a whole file or nothing: whoever reads it meanwhile reads the one before.
fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let failed = |e: std::io::Error| CliError::path(path, e);
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut unfinished = tempfile::Builder::new();
    #[cfg(unix)]
    unfinished.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    let mut file = unfinished.tempfile_in(dir).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}
