//! A host, put together: rules, ledger, kernel.

use std::future::Future;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use chio_host_kernel::canonical;
use chio_host_kernel::ports::{BoxFuture, Clock};
use chio_host_kernel::{Kernel, Ledgers, Plugins, Settings};
use chio_host_ledger::{MemoryLedger, OpenError, SupervisedLedger};
use chio_host_policy::Policy;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::args::DEFAULT_AGENT;
use crate::clock::SystemClock;
use crate::error::CliError;
use crate::folders::Folders;
use crate::keys::Keys;
use crate::people;
use crate::rules::{Loaded, Loader, Rules, Source, policy_and_files_of, policy_of, policy_of_text, settings};
use crate::watched::Files;

/// The kernel in force, now and whenever there is another.
pub(crate) type Kernels = watch::Receiver<Arc<Kernel>>;

/// Everything that a command needs to mediate calls.
pub(crate) struct Host {
    rules: RwLock<Arc<Rules>>,
    loader: Loader,
    files: Files,
    folders: Folders,
    background: Background,
}

/// A kernel, and what goes on beside its calls.
struct Background {
    kernels: watch::Sender<Arc<Kernel>>,
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
        let (policy, files) = policy_and_files_of(folders, &source.policy);
        let host = Self::of(folders, &policy?, source.capability.as_deref(), &source.agent).await?;
        Ok(Self { files, ..host })
    }

    /// The same for a policy that is no file; its paths are relative to `dir`.
    pub(crate) async fn open_text(folders: &Folders, text: &str, name: &str, dir: &Path) -> Result<Self, CliError> {
        let policy = policy_of_text(folders, text, name, dir)?;
        Self::of(folders, &policy, None, DEFAULT_AGENT).await
    }

    async fn of(folders: &Folders, policy: &Policy, capability: Option<&Path>, agent: &str) -> Result<Self, CliError> {
        let keys = Arc::new(Keys::open(&folders.keys)?);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let loader = Loader::new(folders, keys.clone(), agent, capability, clock.clone())?;
        let first = loader.load(policy).await?;
        let (settings, plugins) = (first.settings.clone(), first.plugins.clone());
        let (kernel, background) = Background::start(folders, settings, &keys, plugins, clock).await?;
        let rules = RwLock::new(Arc::new(first.under(kernel)));
        Ok(Self { rules, loader, files: Files::default(), folders: folders.clone(), background })
    }

    /// The rules in force.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The files that decided the first of its rules.
    pub(crate) fn files(&self) -> &Files {
        &self.files
    }

    /// The kernel in force, now and whenever there is another.
    pub(crate) fn kernels(&self) -> Kernels {
        self.background.kernels.subscribe()
    }

    /// Loads what the files say now, without putting it in force. Answers as well every file that was looked at.
    pub(crate) async fn load_anew(&self, policy: &Path) -> (Result<Loaded, CliError>, Files) {
        let (policy, files) = policy_and_files_of(&self.folders, policy);
        let loaded = match policy {
            Ok(policy) => self.loader.load_replacement(&policy).await,
            Err(error) => Err(error),
        };
        (loaded, files)
    }

    /// Puts rules in force: from here on every new call is mediated under them, and those before end as they began.
    ///
    /// # Errors
    /// The ledger, or an account, does not take them. Those from before stay.
    pub(crate) async fn put_in_force(&self, loaded: Loaded) -> Result<Arc<Rules>, CliError> {
        let (settings, plugins) = (loaded.settings.clone(), loaded.plugins.clone());
        let kernel = Arc::new(self.rules().kernel.succeeded_by(settings, plugins).await?);
        let rules = Arc::new(loaded.under(kernel.clone()));
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = rules.clone();
        self.background.kernels.send_replace(kernel);
        Ok(rules)
    }

    /// Lets the settler end what dropped calls left, and closes.
    pub(crate) async fn close(self) {
        let Self { rules, background, .. } = self;
        drop(rules);
        background.end().await;
    }
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
                people::check(folders, &policy)?;
                settings(&policy, &keys)
            }
            None => Settings::new(canonical::hash(&json!({})), Vec::new()),
        };
        let (kernel, background) = Background::start(folders, settings, &keys, Plugins::default(), clock).await?;
        Ok(Self { kernel, background })
    }

    pub(crate) async fn close(self) {
        drop(self.kernel);
        self.background.end().await;
    }
}

impl Background {
    /// Opens the ledger, recovers what an earlier run left open, and says what it could not.
    async fn start(
        folders: &Folders,
        settings: Settings,
        keys: &Keys,
        plugins: Plugins,
        clock: Arc<dyn Clock>,
    ) -> Result<(Arc<Kernel>, Self), CliError> {
        let ledger = SupervisedLedger::open(folders.ledger()).map_err(|error| match error {
            OpenError::Held { .. } => CliError::Held(error.to_string()),
            _ => CliError::OpenLedger(error.to_string()),
        })?;
        let ledger = Arc::new(ledger);
        let ledgers = Ledgers { durable: ledger.clone(), volatile: Arc::new(MemoryLedger::volatile()) };
        let (kernel, settler) = Kernel::new(settings, keys.kernel.clone(), plugins, ledgers, clock)?;
        let settler = tokio::spawn(settler.run());
        let recovered = kernel.recover().await?;
        if recovered.ended > 0 {
            tracing::warn!(
                ended = recovered.ended,
                "calls that an earlier run left open were ended; see `receipt list`"
            );
        }
        for stuck in &recovered.quarantined {
            let (operation, why) = (&stuck.operation, &stuck.why);
            tracing::error!(operation, why, "an operation cannot be recovered; see `recover list`");
        }
        let kernel = Arc::new(kernel);
        let (kernels, in_force) = watch::channel(kernel.clone());
        let keeper = tokio::spawn(keep(ledger, in_force));
        Ok((kernel, Self { kernels, settler, keeper }))
    }

    /// Ends with the kernel: the settler once it has ended what dropped calls left.
    async fn end(self) {
        let Self { kernels, settler, keeper } = self;
        keeper.abort();
        // It is told to stop, and so has no other outcome; its hold on the kernel is gone then.
        let _ = keeper.await;
        drop(kernels);
        if tokio::time::timeout(SETTLING, settler).await.is_err() {
            tracing::warn!("dropped calls were still being ended; the next start does the rest");
        }
    }
}

/// A ledger that failed is opened again, and calls whose callers did not come back are ended.
async fn keep(ledger: Arc<SupervisedLedger>, kernels: Kernels) {
    let of_recovery = kernels.clone();
    let recover = move || -> BoxFuture<'static, Result<(), String>> {
        let kernel = of_recovery.borrow().clone();
        Box::pin(async move { kernel.recover().await.map(drop).map_err(|e| e.to_string()) })
    };
    let expire = async {
        let mut now_and_then = tokio::time::interval(EXPIRY);
        loop {
            now_and_then.tick().await;
            let kernel = kernels.borrow().clone();
            kernel.expire_parked(EXPIRED_AT_ONCE).await;
        }
    };
    tokio::select! {
        () = ledger.supervise(recover) => {}
        () = expire => {}
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
