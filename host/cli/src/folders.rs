//! Where state, keys and compiled code live.

use std::fs;
use std::path::{Path, PathBuf};

use directories::ProjectDirs;

use crate::args::Common;
use crate::error::CliError;

/// The folders that a command uses. Nothing is made before it is needed.
#[derive(Clone, Debug)]
pub(crate) struct Folders {
    /// The ledger's.
    pub(crate) state: PathBuf,
    /// The private keys'. Never inside the state folder, or whoever may back up one has the other.
    pub(crate) keys: PathBuf,
    /// The compiled components'.
    pub(crate) cache: PathBuf,
}

impl Folders {
    /// As options, environment and defaults say.
    pub(crate) fn of(common: &Common) -> Result<Self, CliError> {
        let keys = match &common.keys {
            Some(dir) => dir.clone(),
            None => data_folder("keys", "--keys DIR")?.join("keys"),
        };
        let cache = match &common.cache {
            Some(dir) => dir.clone(),
            None => home("compiled components", "--cache DIR")?.cache_dir().join("compiled"),
        };
        let state = common.state.clone().unwrap_or_else(|| PathBuf::from(".chio"));
        let folders = Self { state, keys, cache };
        folders.check_apart()?;
        Ok(folders)
    }

    /// The ledger's own folder in the state folder.
    pub(crate) fn ledger(&self) -> PathBuf {
        self.state.join("ledger")
    }

    fn check_apart(&self) -> Result<(), CliError> {
        let (state, keys) = (absolute(&self.state)?, absolute(&self.keys)?);
        if keys.starts_with(&state) || state.starts_with(&keys) {
            return Err(CliError::path(
                &self.keys,
                format!("the key folder and the state folder {} must lie apart", self.state.display()),
            ));
        }
        Ok(())
    }
}

fn home(what: &str, option: &str) -> Result<ProjectDirs, CliError> {
    ProjectDirs::from("", "", "chio-host")
        .ok_or_else(|| CliError::System(format!("no home folder is known to put {what} in; say where with {option}")))
}

/// The user's data folder for this program.
fn data_folder(what: &str, option: &str) -> Result<PathBuf, CliError> {
    Ok(home(what, option)?.data_dir().to_owned())
}

/// The folder of approvers' keys, which belongs to none of the host's.
pub(crate) fn approvers() -> Result<PathBuf, CliError> {
    Ok(data_folder("an approver's key", "--key FILE")?.join("approver"))
}

/// The folder of the keys of those who sign plugins, which belongs to none of the host's either.
pub(crate) fn signers() -> Result<PathBuf, CliError> {
    Ok(data_folder("a signer's key", "--key FILE")?.join("signer"))
}

/// The path that this one means, links followed as far as it exists.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, CliError> {
    let absolute = std::path::absolute(path).map_err(|e| CliError::path(path, e))?;
    let mut missing = Vec::new();
    let mut there = absolute.as_path();
    loop {
        match there.canonicalize() {
            Ok(canonical) => return Ok(missing.iter().rev().fold(canonical, |p, step| p.join(step))),
            Err(error) => match (there.parent(), there.file_name()) {
                (Some(parent), Some(name)) => {
                    missing.push(name.to_owned());
                    there = parent;
                }
                _ => return Err(CliError::path(path, error)),
            },
        }
    }
}

/// Makes a folder that only its owner can enter, or checks that an existing one is such a folder.
pub(crate) fn make_private(dir: &Path) -> Result<(), CliError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|e| CliError::path(dir, e))?;
    check_private(dir)
}

/// Refuses a file or folder that others can read or change.
pub(crate) fn check_private(path: &Path) -> Result<(), CliError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let meta = fs::metadata(path).map_err(|e| CliError::path(path, e))?;
        if meta.mode() & 0o077 != 0 {
            let right = if meta.is_dir() { "700" } else { "600" };
            return Err(CliError::path(path, format!("others can read it; run: chmod {right} {}", path.display())));
        }
    }
    Ok(())
}
