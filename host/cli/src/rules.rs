//! Rules: a policy, the plugins that it names, and what an agent presents under it.
//!
//! They never change. A host that serves may get others, made by the same [`Loader`] from what the files say by then.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chio_host_kernel::failpoint::{Action, Failpoints};
use chio_host_kernel::keys::Keypair;
use chio_host_kernel::ports::Clock;
use chio_host_kernel::{
    AccountSettings, ApprovalSettings, DurableAdmission, Kernel, NestedTarget, NonceSettings, Outputs, Plugins,
    Settings,
};
use chio_host_policy::{self as policy, Policy};

use crate::agent::Agent;
use crate::builtins::Embedded;
use crate::error::CliError;
use crate::fixtures;
use crate::folders::{Folders, approvers, make_private, signers};
use crate::keys::Keys;
use crate::people;
use crate::plugins::{self, Sandbox};
use crate::wallet::{Issuing, Wallet};
use crate::watched::Files;

/// Where a host's rules come from.
pub(crate) struct Source {
    /// The policy.
    pub(crate) policy: PathBuf,
    /// A token to use instead of the policy's own.
    pub(crate) capability: Option<PathBuf>,
    /// Which local agent calls.
    pub(crate) agent: String,
}

/// What calls are mediated under.
pub(crate) struct Rules {
    pub(crate) kernel: Arc<Kernel>,
    /// Who calls.
    pub(crate) agent: Arc<Agent>,
    pub(crate) policy_hash: String,
    pub(crate) source_hash: String,
}

/// Rules that are read and checked, and that nothing is mediated under yet.
pub(crate) struct Loaded {
    pub(crate) settings: Settings,
    pub(crate) plugins: Plugins,
    pub(crate) agent: Arc<Agent>,
    policy_hash: String,
    source_hash: String,
}

impl Rules {
    /// Whether outputs are inspected.
    pub(crate) fn has_hooks(&self) -> bool {
        !self.kernel.plugins().hooks.is_empty()
    }
}

impl Loaded {
    /// Rules, once there is a kernel for their settings and plugins.
    pub(crate) fn under(self, kernel: Arc<Kernel>) -> Rules {
        let Self { agent, policy_hash, source_hash, .. } = self;
        Rules { kernel, agent, policy_hash, source_hash }
    }
}

/// Makes rules: what stays the same when they are made anew.
pub(crate) struct Loader {
    folders: Folders,
    keys: Arc<Keys>,
    sandbox: Sandbox,
    clock: Arc<dyn Clock>,
    key: Keypair,
    capability: Option<PathBuf>,
}

impl Loader {
    pub(crate) fn new(
        folders: &Folders,
        keys: Arc<Keys>,
        agent: &str,
        capability: Option<&Path>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, CliError> {
        Ok(Self {
            sandbox: Sandbox::new(folders, &keys)?,
            key: Keys::agent(&folders.keys, agent)?,
            folders: folders.clone(),
            keys,
            clock,
            capability: capability.map(Path::to_owned),
        })
    }

    /// The same for a policy that is to replace another: what it names has to pass the fixtures that it brings along.
    ///
    /// # Errors
    /// As with [`load`](Self::load), and a component that does not answer as its fixtures expect.
    pub(crate) async fn load_replacement(&self, policy: &Policy) -> Result<Loaded, CliError> {
        let loaded = self.load(policy).await?;
        fixtures::pass(self.sandbox.runtime(), policy).await?;
        Ok(loaded)
    }

    /// Loads what a policy names, without touching the ledger.
    ///
    /// # Errors
    /// Whatever is wrong with an approver, a plugin or the capability.
    pub(crate) async fn load(&self, policy: &Policy) -> Result<Loaded, CliError> {
        people::check(&self.folders, policy)?;
        let plugins = self.sandbox.load(policy).await?;
        make_private(&self.folders.state)?;
        let wallet = match &self.capability {
            Some(path) => Wallet::from_file(path)?,
            None => Wallet::issue(Issuing {
                templates: policy.capabilities.clone(),
                issuer: self.keys.kernel.clone(),
                subject: self.key.public().hex().to_owned(),
                policy_hash: policy.policy_hash.clone(),
                dir: self.folders.state.join("capabilities"),
                clock: self.clock.clone(),
            })?,
        };
        Ok(Loaded {
            settings: settings(policy, &self.keys),
            plugins,
            agent: Arc::new(Agent::new(self.key.clone(), wallet, self.clock.clone())),
            policy_hash: policy.policy_hash.clone(),
            source_hash: policy.source_hash.clone(),
        })
    }
}

/// The policy of a file, checked.
pub(crate) fn policy_of(folders: &Folders, path: &Path) -> Result<Policy, CliError> {
    policy_and_files_of(folders, path).0
}

/// The same, with every file that was looked at for it, whether it is one or not.
pub(crate) fn policy_and_files_of(folders: &Folders, path: &Path) -> (Result<Policy, CliError>, Files) {
    let files = RefCell::new(Files::default());
    let policy = load_noting(folders, &|file| files.borrow_mut().note(file), |rules| policy::load(path, rules));
    (policy, files.into_inner())
}

/// What the policy of a file does with a component, whether it loads or not.
pub(crate) fn uses_of(folders: &Folders, path: &Path, digest: &str) -> Result<Vec<policy::Use>, CliError> {
    load_noting(folders, &|_| (), |rules| policy::uses(path, rules, digest))
}

/// A policy that is no file, checked.
pub(crate) fn policy_of_text(folders: &Folders, text: &str, name: &str, dir: &Path) -> Result<Policy, CliError> {
    load_noting(folders, &|_| (), |rules| policy::load_str(text, name, dir, rules))
}

fn load_noting<T>(
    folders: &Folders,
    note: &dyn Fn(&Path),
    read: impl FnOnce(&policy::Host<'_>) -> Result<T, policy::Problems>,
) -> Result<T, CliError> {
    let (defaults, protected) = (plugins::defaults(), protected(folders));
    let rules = policy::Host {
        builtins: &Embedded,
        defaults: &defaults,
        protected: &protected,
        imports: plugins::imports,
        note,
    };
    read(&rules).map_err(|e| CliError::Policy(e.to_string()))
}

/// Where a test stops this process: `CHIO_FAILPOINT=NAME`. It says so on stderr and waits to be killed. A release build does
/// not look.
fn failpoints() -> Failpoints {
    let Some(wanted) = std::env::var("CHIO_FAILPOINT").ok().filter(|_| cfg!(debug_assertions)) else {
        return Failpoints::default();
    };
    Failpoints::new(move |name| {
        if name != wanted {
            return Action::Continue;
        }
        let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("failpoint {name}\n").as_bytes());
        Action::Hang
    })
}

pub(crate) fn settings(policy: &Policy, keys: &Keys) -> Settings {
    let kernel = &policy.kernel;
    let prices = policy.servers.iter().filter_map(|s| Some((s.plugin.name.clone(), s.price.clone()?)));
    let account = |account: &policy::Account| AccountSettings {
        name: account.name.clone(),
        subject: account.subject.clone().unwrap_or_else(|| keys.agent.public().hex().to_owned()),
        total: account.total.clone(),
        rail: account.rail.clone(),
    };
    Settings {
        delegation_depth_limit: kernel.delegation_depth_limit,
        nested_depth_limit: kernel.nested_depth_limit,
        approvals: ApprovalSettings {
            approvers: kernel.approvals.approvers.clone(),
            ttl_secs: kernel.approvals.ttl_secs,
        },
        nonce: NonceSettings { require: kernel.nonce.require, ttl_secs: kernel.nonce.ttl_secs },
        prices: prices.collect(),
        nested: policy.servers.iter().map(|s| (s.plugin.name.clone(), nested(s))).collect(),
        accounts: policy.accounts.iter().map(account).collect(),
        failpoints: failpoints(),
        max_capability_ttl: kernel.max_capability_ttl_secs,
        durable_admission: match kernel.durable_admission {
            policy::DurableAdmission::SideEffecting => DurableAdmission::SideEffecting,
            policy::DurableAdmission::All => DurableAdmission::All,
        },
        guards_deadline: kernel.deadlines.guards_ms.map(Duration::from_millis),
        tool_deadline: kernel.deadlines.tool_ms.map(Duration::from_millis),
        outputs: if kernel.retention.keep_outputs { Outputs::Kept } else { Outputs::ReleasedOnce },
        ..Settings::new(policy.policy_hash.clone(), vec![keys.kernel.public().hex().to_owned()])
    }
}

fn nested(server: &policy::Server) -> Vec<NestedTarget> {
    let target = |invoke: &policy::Invoke| NestedTarget { server: invoke.server.clone(), tool: invoke.tool.clone() };
    server.invoke.iter().map(target).collect()
}

/// What no tool may reach: whoever can change one of these needs no permission any more.
fn protected(folders: &Folders) -> policy::Protected {
    let mut protected = policy::Protected::new(&folders.state, &folders.keys);
    protected.add("the folder of compiled components", &folders.cache);
    if let Ok(dir) = approvers() {
        protected.add("the folder of approvers' keys", &dir);
    }
    if let Ok(dir) = signers() {
        protected.add("the folder of signers' keys", &dir);
    }
    protected
}
