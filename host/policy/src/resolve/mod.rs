//! From what is written to what holds: components are found and read, grants are measured against manifests, caps
//! against prices.

mod capabilities;
mod components;
mod environment;
mod permissions;
mod rails;
mod secrets;
mod servers;
#[cfg(test)]
mod tests;
mod trust;
mod uses;

use std::path::Path;

use chio_host_kernel::operation::Role;

use crate::builtins::{Builtins, Imports};
use crate::document::{Document, PluginEntry};
use crate::hash::policy_hash;
use crate::limits::Defaults;
use crate::policy::{Plugin, Policy};
use crate::problem::Report;
use crate::protected::Protected;
use crate::trust::Trust;

pub use uses::{Gap, Use, uses};

/// What the host gives to a policy that is loaded.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// Its own components.
    pub builtins: &'a dyn Builtins,
    /// The limits of plugins about which the policy says nothing.
    pub defaults: &'a Defaults,
    /// Its state folder and its key folder.
    pub protected: &'a Protected,
    /// Told of every file that decides what the policy says, before it is looked at: itself, components, manifests.
    pub note: &'a dyn Fn(&Path),
    /// What a component that nobody wrote for this host can use, read off its bytes; nothing for any other.
    pub imports: fn(&[u8]) -> Option<Imports>,
}

impl std::fmt::Debug for Host<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("defaults", self.defaults).finish_non_exhaustive()
    }
}

/// What resolving works with.
struct Context<'a> {
    host: Host<'a>,
    /// What paths are relative to, canonical.
    dir: &'a Path,
    report: &'a Report,
    /// The host's, and every file that is read on the way.
    protected: Protected,
    /// Whose components may take part.
    trust: Trust,
    /// Whether the policy has a section `plugins`, so that a message says where a line goes.
    has_plugins: bool,
}

/// The policy in force; `None`, or a report with problems, where there is none.
pub(crate) fn resolve(
    document: &Document,
    host: Host<'_>,
    dir: &Path,
    protected: Protected,
    report: &Report,
) -> Option<Policy> {
    let mut context = Context::new(document, host, dir, protected, report);
    let guards = context.plugins(&document.guards, Role::Guard);
    let hooks = context.plugins(&document.hooks, Role::OutputHook);
    let secrets = context.secrets(&document.secrets);
    let mut servers = context.servers(document);
    let rails = context.rails(document);
    let capabilities = context.capabilities(document, &mut servers);
    // Last, when every file that a folder could expose is known.
    context.check_folders(&document.servers);
    let accounts = context.accounts(document);
    let mut policy = Policy {
        kernel: document.kernel.clone(),
        trust: context.trust,
        guards,
        hooks,
        servers,
        secrets,
        rails,
        accounts,
        capabilities: capabilities?,
        policy_hash: String::new(),
        source_hash: document.source_hash.clone(),
        dir: dir.to_owned(),
        protected: context.protected,
    };
    policy.policy_hash = policy_hash(&policy);
    Some(policy)
}

impl<'a> Context<'a> {
    /// Reads the blocklist, so that it is there before the first component is.
    fn new(document: &Document, host: Host<'a>, dir: &'a Path, protected: Protected, report: &'a Report) -> Self {
        let has_plugins = document.trust.is_written;
        let mut context = Self { host, dir, report, protected, trust: Trust::default(), has_plugins };
        context.trust = context.read_trust(&document.trust);
        context
    }
}

impl Context<'_> {
    /// The plugins that take part. One that is switched off is not looked for, and is no part of the policy.
    fn plugins(&mut self, entries: &[PluginEntry], role: Role) -> Vec<Plugin> {
        let resolve = |entry: &PluginEntry| {
            if !entry.enabled {
                return None;
            }
            let limits = entry.limits.over(self.host.defaults.of(role));
            let (component, _) = self.component(&entry.wanted(role), &limits)?;
            Some(Plugin {
                name: entry.name.value.clone(),
                component,
                config: entry.config.clone(),
                limits,
                signer: entry.signer.as_ref().map(|signer| signer.value.clone()),
            })
        };
        entries.iter().filter_map(resolve).collect()
    }
}
