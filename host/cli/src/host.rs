//! A host, put together: policy, plugins, ledger, kernel.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use chio_host_kernel::canonical;
use chio_host_kernel::failpoint::{Action, Failpoints};
use chio_host_kernel::ports::{BoxFuture, Clock};
use chio_host_kernel::{
    AccountSettings, ApprovalSettings, DurableAdmission, Kernel, Ledgers, NestedTarget, NonceSettings, Outputs,
    Plugins, Settings,
};
use chio_host_ledger::{MemoryLedger, OpenError, SupervisedLedger};
use chio_host_policy::{self as policy, Policy};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::agent::Agent;
use crate::args::DEFAULT_AGENT;
use crate::builtins::Embedded;
use crate::clock::SystemClock;
use crate::error::CliError;
use crate::folders::{Folders, approvers, make_private};
use crate::keys::Keys;
use crate::plugins;
use crate::wallet::{Issuing, Wallet};

/// Where a host's rules come from.
pub(crate) struct Source {
    /// The policy.
    pub(crate) policy: PathBuf,
    /// A token to use instead of the policy's own.
    pub(crate) capability: Option<PathBuf>,
    /// Which local agent calls.
    pub(crate) agent: String,
}

/// Everything that a command needs to mediate calls.
pub(crate) struct Host {
    pub(crate) kernel: Arc<Kernel>,
    /// Who calls.
    pub(crate) agent: Arc<Agent>,
    pub(crate) policy_hash: String,
    pub(crate) source_hash: String,
    background: Background,
}

/// What goes on beside the calls.
struct Background {
    settler: JoinHandle<()>,
    keeper: JoinHandle<()>,
}

/// How often calls that wait for their callers are looked at, and how many are ended at once.
const EXPIRY: Duration = Duration::from_secs(1);
const EXPIRED_AT_ONCE: usize = 4096;
/// How long a host has to end what dropped calls left, before it leaves that to the next start.
const SETTLING: Duration = Duration::from_secs(5);

impl Host {
    /// Loads a policy from its file and everything it names, and opens the ledger last, so that whatever is wrong with the
    /// rules is said without touching the state.
    pub(crate) async fn open(folders: &Folders, source: &Source) -> Result<Self, CliError> {
        let policy = policy_of(folders, &source.policy)?;
        Self::of(folders, &policy, source.capability.as_deref(), &source.agent).await
    }

    /// The same for a policy that is no file; its paths are relative to `dir`.
    pub(crate) async fn open_text(folders: &Folders, text: &str, name: &str, dir: &Path) -> Result<Self, CliError> {
        let policy = load(folders, |rules| policy::load_str(text, name, dir, rules))?;
        Self::of(folders, &policy, None, DEFAULT_AGENT).await
    }

    async fn of(folders: &Folders, policy: &Policy, capability: Option<&Path>, agent: &str) -> Result<Self, CliError> {
        let keys = Keys::open(&folders.keys)?;
        let key = Keys::agent(&folders.keys, agent)?;
        check_approvers(folders, policy)?;
        let plugins = plugins::load(folders, &keys, policy).await?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        make_private(&folders.state)?;
        let wallet = match capability {
            Some(path) => Wallet::from_file(path)?,
            None => Wallet::issue(Issuing {
                templates: policy.capabilities.clone(),
                issuer: keys.kernel.clone(),
                subject: key.public().hex().to_owned(),
                policy_hash: policy.policy_hash.clone(),
                dir: folders.state.join("capabilities"),
                clock: clock.clone(),
            })?,
        };
        let agent = Arc::new(Agent::new(key, wallet, clock.clone()));
        let (kernel, background) = start(folders, settings(policy, &keys), keys, plugins, clock).await?;
        Ok(Self {
            kernel,
            agent,
            policy_hash: policy.policy_hash.clone(),
            source_hash: policy.source_hash.clone(),
            background,
        })
    }

    /// Lets the settler end what dropped calls left, and closes.
    pub(crate) async fn close(self) {
        let Self { kernel, background, .. } = self;
        background.end(kernel).await;
    }

    /// Whether outputs are inspected.
    pub(crate) fn has_hooks(&self) -> bool {
        !self.kernel.plugins().hooks.is_empty()
    }
}

/// Refuses approvers whose keys this host has: it, or an agent of it, could approve its own calls.
fn check_approvers(folders: &Folders, policy: &Policy) -> Result<(), CliError> {
    for approver in &policy.kernel.approvals.approvers {
        if let Some(name) = Keys::name_of(&folders.keys, approver)? {
            return Err(CliError::Policy(format!(
                "kernel.approvals.approvers: {approver} is the key \"{name}\" in this host's own folder of keys, so an agent \
                 could approve its own calls; list one that `chio-host approvals key` makes"
            )));
        }
    }
    Ok(())
}

/// The policy of a file, checked.
pub(crate) fn policy_of(folders: &Folders, path: &Path) -> Result<Policy, CliError> {
    load(folders, |rules| policy::load(path, rules))
}

fn load(
    folders: &Folders,
    read: impl FnOnce(&policy::Host<'_>) -> Result<Policy, policy::Problems>,
) -> Result<Policy, CliError> {
    let (defaults, protected) = (plugins::defaults(), protected(folders));
    let rules =
        policy::Host { builtins: &Embedded, defaults: &defaults, protected: &protected, imports: plugins::imports };
    read(&rules).map_err(|e| CliError::Policy(e.to_string()))
}

/// A host without plugins, whose kernel mediates nothing: for what an operator or an approver does.
pub(crate) struct Bare {
    pub(crate) kernel: Arc<Kernel>,
    background: Background,
}

impl Bare {
    /// Without a policy there are no approvers, and no account is opened.
    pub(crate) async fn open(folders: &Folders, policy: Option<&Path>) -> Result<Self, CliError> {
        let keys = Keys::open(&folders.keys)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let settings = match policy {
            Some(path) => {
                let policy = policy_of(folders, path)?;
                check_approvers(folders, &policy)?;
                settings(&policy, &keys)
            }
            None => Settings::new(canonical::hash(&json!({})), Vec::new()),
        };
        let (kernel, background) = start(folders, settings, keys, Plugins::default(), clock).await?;
        Ok(Self { kernel, background })
    }

    pub(crate) async fn close(self) {
        self.background.end(self.kernel).await;
    }
}

/// Opens the ledger, recovers what an earlier run left open, and says what it could not.
async fn start(
    folders: &Folders,
    settings: Settings,
    keys: Keys,
    plugins: Plugins,
    clock: Arc<dyn Clock>,
) -> Result<(Arc<Kernel>, Background), CliError> {
    let ledger = SupervisedLedger::open(folders.ledger()).map_err(|error| match error {
        OpenError::Held { .. } => CliError::Held(error.to_string()),
        _ => CliError::OpenLedger(error.to_string()),
    })?;
    let ledger = Arc::new(ledger);
    let ledgers = Ledgers { durable: ledger.clone(), volatile: Arc::new(MemoryLedger::volatile()) };
    let (kernel, settler) = Kernel::new(settings, keys.kernel, plugins, ledgers, clock)?;
    let settler = tokio::spawn(settler.run());
    let recovered = kernel.recover().await?;
    if recovered.ended > 0 {
        tracing::warn!(ended = recovered.ended, "calls that an earlier run left open were ended; see `receipt list`");
    }
    for stuck in &recovered.quarantined {
        let (operation, why) = (&stuck.operation, &stuck.why);
        tracing::error!(operation, why, "an operation cannot be recovered; see `recover list`");
    }
    let kernel = Arc::new(kernel);
    let keeper = tokio::spawn(keep(ledger, Arc::downgrade(&kernel)));
    Ok((kernel, Background { settler, keeper }))
}

/// For as long as there is a kernel: a ledger that failed is opened again, and calls whose
/// callers did not come back are ended.
async fn keep(ledger: Arc<SupervisedLedger>, kernel: Weak<Kernel>) {
    let of_recovery = kernel.clone();
    let recover = move || -> BoxFuture<'static, Result<(), String>> {
        let kernel = of_recovery.upgrade();
        Box::pin(async {
            let kernel = kernel.ok_or_else(|| "the host has ended".to_owned())?;
            kernel.recover().await.map(drop).map_err(|e| e.to_string())
        })
    };
    let expire = async {
        let mut now_and_then = tokio::time::interval(EXPIRY);
        while let Some(kernel) = kernel.upgrade() {
            kernel.expire_parked(EXPIRED_AT_ONCE).await;
            drop(kernel);
            now_and_then.tick().await;
        }
    };
    tokio::select! {
        () = ledger.supervise(recover) => {}
        () = expire => {}
    }
}

impl Background {
    /// Ends with the kernel: the settler once it has ended what dropped calls left.
    async fn end(self, kernel: Arc<Kernel>) {
        self.keeper.abort();
        drop(kernel);
        if tokio::time::timeout(SETTLING, self.settler).await.is_err() {
            tracing::warn!("dropped calls were still being ended; the next start does the rest");
        }
    }
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

fn settings(policy: &Policy, keys: &Keys) -> Settings {
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
    if let Ok(dir) = approvers() {
        protected.add("the folder of approvers' keys", &dir);
    }
    protected
}
