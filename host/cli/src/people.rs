//! The keys of people: of those who approve calls, and of those who sign plugins. They lie in neither of the host's folders:
//! whoever runs the host, and the agent with it, must be able to do neither.

use std::path::{Path, PathBuf};

use chio_host_kernel::keys::Keypair;
use chio_host_policy::Policy;

use crate::args::Format;
use crate::error::CliError;
use crate::folders::{Folders, absolute, approvers, make_private, signers};
use crate::keys::{self, Keys};
use crate::print;

/// What somebody's key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Person {
    /// Approves calls.
    Approver,
    /// Signs plugins.
    Signer,
}

impl Person {
    fn noun(self) -> &'static str {
        match self {
            Self::Approver => "approver's key",
            Self::Signer => "signer's key",
        }
    }

    /// What an agent must not be able to do.
    fn does(self) -> &'static str {
        match self {
            Self::Approver => "approve its own calls",
            Self::Signer => "sign plugins of its own",
        }
    }

    fn command(self) -> &'static str {
        match self {
            Self::Approver => "approvals key",
            Self::Signer => "plugin key",
        }
    }

    fn folder(self) -> Result<PathBuf, CliError> {
        match self {
            Self::Approver => approvers(),
            Self::Signer => signers(),
        }
    }

    /// Makes a key, if it is not there yet, and prints its public half.
    pub(crate) fn make(
        self,
        format: Format,
        folders: &Folders,
        name: Option<&str>,
        key: Option<&Path>,
    ) -> Result<(), CliError> {
        let path = self.path(folders, name, key)?;
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
    pub(crate) fn key(self, folders: &Folders, name: Option<&str>, key: Option<&Path>) -> Result<Keypair, CliError> {
        let path = self.path(folders, name, key)?;
        if !path.exists() {
            let why = format!("there is no {} here; `{}` makes one", self.noun(), self.command());
            return Err(CliError::path(path, why));
        }
        keys::existing_pair_of(&path)
    }

    fn path(self, folders: &Folders, name: Option<&str>, key: Option<&Path>) -> Result<PathBuf, CliError> {
        let path = match (name, key) {
            (_, Some(path)) => path.to_owned(),
            (Some(name), None) => {
                keys::check_name(name)?;
                keys::file(&self.folder()?, name)
            }
            (None, None) => return Err(CliError::Usage("say whose key: a name, or --key FILE".into())),
        };
        let lies = absolute(&path)?;
        for (dir, what) in [(&folders.state, "state"), (&folders.keys, "key")] {
            if lies.starts_with(absolute(dir)?) {
                let why = format!("the {} must not lie in the host's {what} folder, {}", self.noun(), dir.display());
                return Err(CliError::path(path, why));
            }
        }
        Ok(path)
    }
}

/// Refuses a policy that lists somebody whose key this host has: it, or an agent of it, could act as them.
pub(crate) fn check(folders: &Folders, policy: &Policy) -> Result<(), CliError> {
    let approvers = policy.kernel.approvals.approvers.iter();
    let approvers = approvers.map(|key| (Person::Approver, "kernel.approvals.approvers".to_owned(), key));
    let signers = policy.trust.signers.iter().map(|key| (Person::Signer, "plugins.signers".to_owned(), key));
    let plugins = policy.guards.iter().chain(&policy.hooks);
    let plugins = plugins.chain(policy.servers.iter().map(|server| &server.plugin));
    let plugins = plugins.chain(policy.rails.iter().map(|rail| &rail.plugin));
    let named = plugins
        .filter_map(|plugin| Some((Person::Signer, format!("the signer of {}", plugin.name), plugin.signer.as_ref()?)));
    for (person, place, key) in approvers.chain(signers).chain(named) {
        if let Some(name) = Keys::name_of(&folders.keys, key)? {
            let (does, command) = (person.does(), person.command());
            return Err(CliError::Policy(format!(
                "{place}: {key} is the key \"{name}\" in this host's own folder of keys, so an agent could {does}; list one that \
                 `chio-host {command}` makes"
            )));
        }
    }
    Ok(())
}
