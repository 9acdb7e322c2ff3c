//! A component as commands name it: its file, a package, or `builtin:NAME`.

use std::io::Write;
use std::path::Path;

use chio_host_kernel::canonical;
use chio_host_kernel::operation::Role;
use chio_host_policy::{Beside, Builtin, Manifest, Parts, files};
use chio_host_runtime::{Inspection, Kind};

use crate::error::CliError;

/// How a policy and these commands name the host's own components.
pub(crate) const BUILTIN: &str = "builtin:";

/// A component's files, read once: the host's own, loose or packed.
pub(crate) fn read_any(component: &str) -> Result<Parts, CliError> {
    match component.strip_prefix(BUILTIN) {
        Some(name) => builtin(name),
        None => read(component),
    }
}

/// The longest manifest, in bytes.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// A component's file by itself, as far as a component may be long.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, CliError> {
    files::read(path, files::MAX_COMPONENT_BYTES).map_err(|why| CliError::path(path, why))
}

/// A text beside a component.
pub(crate) fn read_text(path: &Path) -> Result<String, CliError> {
    files::read(path, MAX_TEXT_BYTES).and_then(files::text).map_err(|why| CliError::path(path, why))
}

fn builtin(name: &str) -> Result<Parts, CliError> {
    let all = chio_host_builtin::all();
    let found = all.iter().find(|b| b.name == name).ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|b| b.name).collect();
        let name = canonical::printable(name, 64);
        CliError::Usage(format!("there is no built-in {name}; there are {}", names.join(", ")))
    })?;
    Ok(Parts::of_builtin(name, &Builtin { bytes: found.bytes.into(), manifest: found.manifest.into() }))
}

/// A component's files, read once.
pub(crate) fn read(component: &str) -> Result<Parts, CliError> {
    Parts::read(Path::new("."), component, usize::MAX).map_err(|e| CliError::Plugin(e.to_string()))
}

pub(crate) fn inspected(parts: &Parts) -> Result<Inspection, CliError> {
    let error = |e| CliError::Plugin(format!("{}: it is no component that this host can load: {e}", parts.name));
    chio_host_runtime::inspect(&parts.component).map_err(error)
}

/// The manifest, if there is one.
pub(crate) fn manifest(parts: &Parts) -> Result<Option<Manifest>, CliError> {
    let Some(bytes) = &parts.manifest else { return Ok(None) };
    let file = parts.file(Beside::Manifest);
    let text = std::str::from_utf8(bytes).map_err(|_| CliError::path(&file, "it is not UTF-8"))?;
    Manifest::parse(text, &file).map(Some).map_err(|problems| CliError::Policy(problems.to_string()))
}

/// What a component can be used as.
pub(crate) fn role(seen: &Inspection) -> Option<Role> {
    match seen.kind {
        Kind::Guard | Kind::InitialisedGuard => Some(Role::Guard),
        Kind::OutputHook => Some(Role::OutputHook),
        Kind::ToolServer | Kind::Plain => Some(Role::ToolServer),
        Kind::Rail => Some(Role::Rail),
        Kind::Unknown => None,
    }
}

/// As a manifest spells it.
pub(crate) fn kind(role: Role) -> &'static str {
    match role {
        Role::Guard => "guard",
        Role::OutputHook => "hook",
        Role::ToolServer => "tool-server",
        Role::Rail => "rail",
    }
}

/// Writes a whole file or nothing: whoever reads it meanwhile reads the one before.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
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
