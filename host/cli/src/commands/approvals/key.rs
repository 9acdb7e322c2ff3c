//! An approver's key. It lies in neither of the host's folders: whoever runs the host, and the agent with it, must not be able
//! to approve.

use std::path::{Path, PathBuf};

use chio_host_kernel::keys::Keypair;

use crate::args::Format;
use crate::error::CliError;
use crate::folders::{Folders, absolute, approvers, make_private};
use crate::keys;
use crate::print;

pub(super) fn make(format: Format, folders: &Folders, name: Option<&str>, key: Option<&Path>) -> Result<(), CliError> {
    let path = path(folders, name, key)?;
    if key.is_none()
        && let Some(dir) = path.parent()
    {
        make_private(dir)?;
    }
    let pair = keys::pair_of(&path)?;
    let name = name.map_or_else(|| path.display().to_string(), str::to_owned);
    print::key(format, &name, pair.public())
}

/// The key that signs.
pub(super) fn of(folders: &Folders, name: Option<&str>, key: Option<&Path>) -> Result<Keypair, CliError> {
    let path = path(folders, name, key)?;
    if !path.exists() {
        return Err(CliError::path(path, "there is no approver's key here; `approvals key` makes one"));
    }
    keys::existing_pair_of(&path)
}

fn path(folders: &Folders, name: Option<&str>, key: Option<&Path>) -> Result<PathBuf, CliError> {
    let path = match (name, key) {
        (_, Some(path)) => path.to_owned(),
        (Some(name), None) => {
            keys::check_name(name)?;
            keys::file(&approvers()?, name)
        }
        (None, None) => return Err(CliError::Usage("say whose key: a name, or --key FILE".into())),
    };
    let lies = absolute(&path)?;
    for (dir, what) in [(&folders.state, "state"), (&folders.keys, "key")] {
        if lies.starts_with(absolute(dir)?) {
            let why = format!("an approver's key must not lie in the host's {what} folder, {}", dir.display());
            return Err(CliError::path(path, why));
        }
    }
    Ok(path)
}
