//! A host, put together: policy, plugins, ledger, kernel.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chio_host_kernel::ports::Clock;
use chio_host_kernel::{DurableAdmission, Kernel, Ledgers, Outputs, Settings};
use chio_host_ledger::{MemoryLedger, SledLedger};
use chio_host_policy::{self as policy, Policy};

use crate::builtins::Embedded;
use crate::clock::SystemClock;
use crate::error::CliError;
use crate::folders::{Folders, make_private};
use crate::keys::Keys;
use crate::plugins;
use crate::wallet::{Issuing, Wallet};

/// Where a host's rules come from.
pub(crate) struct Source {
    /// The policy.
    pub(crate) policy: PathBuf,
    /// A token to use instead of the policy's own.
    pub(crate) capability: Option<PathBuf>,
}

/// Everything that a command needs to mediate calls.
pub(crate) struct Host {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) wallet: Arc<Wallet>,
    /// The local agent's public key, lower-case hex: who calls.
    pub(crate) agent: String,
    pub(crate) policy_hash: String,
    pub(crate) source_hash: String,
}

impl Host {
    /// Loads a policy from its file and everything it names, and opens the ledger last, so that whatever is wrong with the
    /// rules is said without touching the state.
    pub(crate) async fn open(folders: &Folders, source: &Source) -> Result<Self, CliError> {
        let policy = load(folders, |rules| policy::load(&source.policy, rules))?;
        Self::of(folders, &policy, source.capability.as_deref()).await
    }

    /// The same for a policy that is no file; its paths are relative to `dir`.
    pub(crate) async fn open_text(folders: &Folders, text: &str, name: &str, dir: &Path) -> Result<Self, CliError> {
        let policy = load(folders, |rules| policy::load_str(text, name, dir, rules))?;
        Self::of(folders, &policy, None).await
    }

    async fn of(folders: &Folders, policy: &Policy, capability: Option<&Path>) -> Result<Self, CliError> {
        let keys = Keys::open(&folders.keys)?;
        let plugins = plugins::load(folders, &keys, policy).await?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        make_private(&folders.state)?;
        let agent = keys.agent.public().hex().to_owned();
        let wallet = match capability {
            Some(path) => Wallet::from_file(path)?,
            None => Wallet::issue(Issuing {
                templates: policy.capabilities.clone(),
                issuer: keys.kernel.clone(),
                subject: agent.clone(),
                policy_hash: policy.policy_hash.clone(),
                dir: folders.state.join("capabilities"),
                clock: clock.clone(),
            })?,
        };
        let ledger = SledLedger::open(folders.ledger()).map_err(|e| CliError::OpenLedger(e.to_string()))?;
        let ledgers = Ledgers { durable: Arc::new(ledger), volatile: Arc::new(MemoryLedger::volatile()) };
        let settings = settings(policy, keys.kernel.public().hex());
        Ok(Self {
            kernel: Arc::new(Kernel::new(settings, keys.kernel, plugins, ledgers, clock)),
            wallet: Arc::new(wallet),
            agent,
            policy_hash: policy.policy_hash.clone(),
            source_hash: policy.source_hash.clone(),
        })
    }

    /// Whether outputs are inspected.
    pub(crate) fn has_hooks(&self) -> bool {
        !self.kernel.plugins().hooks.is_empty()
    }
}

fn load(
    folders: &Folders,
    read: impl FnOnce(&policy::Host<'_>) -> Result<Policy, policy::Problems>,
) -> Result<Policy, CliError> {
    let (defaults, protected) = (plugins::defaults(), protected(folders));
    let rules = policy::Host { builtins: &Embedded, defaults: &defaults, protected: &protected };
    read(&rules).map_err(|e| CliError::Policy(e.to_string()))
}

fn settings(policy: &Policy, issuer: &str) -> Settings {
    let kernel = &policy.kernel;
    Settings {
        policy_hash: policy.policy_hash.clone(),
        trusted_issuers: vec![issuer.to_owned()],
        max_capability_ttl: kernel.max_capability_ttl_secs,
        durable_admission: match kernel.durable_admission {
            policy::DurableAdmission::SideEffecting => DurableAdmission::SideEffecting,
            policy::DurableAdmission::All => DurableAdmission::All,
        },
        guards_deadline: kernel.deadlines.guards_ms.map(Duration::from_millis),
        tool_deadline: kernel.deadlines.tool_ms.map(Duration::from_millis),
        outputs: if kernel.retention.keep_outputs { Outputs::Kept } else { Outputs::ReleasedOnce },
    }
}

/// Runs the async part of a command.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| CliError::System(format!("no async runtime: {e}")))?;
    let done = runtime.block_on(work);
    // A read of stdin cannot be cancelled, and must not keep a host from ending that was told to.
    runtime.shutdown_background();
    done
}

/// What no tool may reach: whoever can change one of these needs no permission any more.
fn protected(folders: &Folders) -> policy::Protected {
    let mut protected = policy::Protected::new(&folders.state, &folders.keys);
    protected.add("the folder of compiled components", &folders.cache);
    protected
}
