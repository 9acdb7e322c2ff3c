//! The kernel: what it is made of.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use crate::admission::{ParkedOperations, Recovered, Settler, Unwinds};
use crate::books::Books;
use crate::call::Call;
use crate::cost::Price;
use crate::failpoint::Failpoints;
use crate::in_flight::InFlight;
use crate::keys::Keypair;
use crate::ledger::Ledger;
use crate::money::Money;
use crate::nested::NestedTarget;
use crate::ports::{Clock, Guard, OutputHook, PaymentRail, ToolServer};
use crate::response::{DirectDispatchUnavailable, KernelError};
use crate::verify::VerifiedTokens;

/// How deep nested calls go where nothing says less; the sandbox keeps places for so many levels.
pub const MAX_NESTED_DEPTH: u32 = 4;

/// The most calls under way at one time.
const MAX_IN_FLIGHT: usize = 4096;

/// What the policy decides for every call.
#[derive(Clone, Debug)]
pub struct Settings {
    /// SHA-256 of the resolved policy, lower-case hex.
    pub policy_hash: String,
    /// Public keys that may issue capabilities, lower-case hex.
    pub trusted_issuers: Vec<String>,
    /// The longest that a capability may live, in seconds.
    pub max_capability_ttl: u64,
    /// Which calls are recorded before they run.
    pub durable_admission: DurableAdmission,
    /// The most time that all guards of a call may take together.
    pub guards_deadline: Option<Duration>,
    /// The most time that a tool may take, where its own limit is not shorter.
    pub tool_deadline: Option<Duration>,
    /// Whether the output of a recorded call is kept, for a replay of its request id.
    pub outputs: Outputs,
    /// Through how many hands a capability may go.
    pub delegation_depth_limit: u32,
    /// What the tools of a server may call, by its name.
    pub nested: BTreeMap<String, Vec<NestedTarget>>,
    /// How deep calls may be made inside others.
    pub nested_depth_limit: u32,
    /// Who may approve.
    pub approvals: ApprovalSettings,
    /// Execution nonces.
    pub nonce: NonceSettings,
    /// What the calls of a server cost, by its name.
    pub prices: BTreeMap<String, Price>,
    /// Prepaid accounts.
    pub accounts: Vec<AccountSettings>,
    /// The most calls that may be recorded and not have ended, at one time: each has a place with the settler.
    pub settler_places: usize,
    /// Where a test stops; nowhere by default.
    pub failpoints: Failpoints,
}

impl Settings {
    /// What holds where a policy says nothing.
    #[must_use]
    pub fn new(policy_hash: String, trusted_issuers: Vec<String>) -> Self {
        Self {
            policy_hash,
            trusted_issuers,
            max_capability_ttl: 600,
            durable_admission: DurableAdmission::default(),
            guards_deadline: None,
            tool_deadline: None,
            outputs: Outputs::default(),
            delegation_depth_limit: 0,
            nested: BTreeMap::new(),
            nested_depth_limit: MAX_NESTED_DEPTH,
            approvals: ApprovalSettings::default(),
            nonce: NonceSettings::default(),
            prices: BTreeMap::new(),
            accounts: Vec::new(),
            settler_places: 1024,
            failpoints: Failpoints::default(),
        }
    }
}

/// What the policy says of approvals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// Public keys of those who may approve, lower-case hex. With none, a call that needs a human ends instead of waiting.
    pub approvers: Vec<String>,
    /// How long a call waits, in seconds. Then it is denied.
    pub ttl_secs: u64,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self { approvers: Vec::new(), ttl_secs: 3600 }
    }
}

/// What the policy says of execution nonces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonceSettings {
    /// Whether a call stops before dispatch until its caller presents the nonce that it was given.
    pub require: bool,
    /// How long one is good, in seconds.
    pub ttl_secs: u64,
}

impl Default for NonceSettings {
    fn default() -> Self {
        Self { require: false, ttl_secs: 30 }
    }
}

/// A prepaid account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountSettings {
    /// Its name.
    pub name: String,
    /// Whose calls it pays for: a public key, lower-case hex.
    pub subject: String,
    /// What it holds at first. Its currency alone counts for one behind a rail.
    pub total: Money,
    /// The rail that pays, where its money is not in the ledger.
    pub rail: Option<String>,
}

/// What becomes of the output of a recorded call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outputs {
    /// It is released once. A replay has the receipt alone.
    #[default]
    ReleasedOnce,
    /// It is kept on the ledger.
    Kept,
}

/// Which calls are recorded before they run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DurableAdmission {
    /// Those whose tool can have effects, that cost something, or that a limit counts.
    #[default]
    SideEffecting,
    /// All.
    All,
}

/// The plugins of a policy.
#[derive(Clone, Default)]
pub struct Plugins {
    /// Run in this order.
    pub guards: Vec<Arc<dyn Guard>>,
    /// Run in this order.
    pub hooks: Vec<Arc<dyn OutputHook>>,
    /// By name.
    pub servers: BTreeMap<String, Arc<dyn ToolServer>>,
    /// By name.
    pub rails: BTreeMap<String, Arc<dyn PaymentRail>>,
}

/// Where things are kept.
#[derive(Clone)]
pub struct Ledgers {
    /// What outlives the process.
    pub durable: Arc<dyn Ledger>,
    /// Operations of calls that have nothing to lose (design, section 4, "The fast path").
    pub volatile: Arc<dyn Ledger>,
}

/// The one way to a tool, under one set of rules.
///
/// A kernel never changes: other rules are another kernel, that [`succeeds`](Self::succeeded_by) it. So a call ends under
/// the rules and on the plugins that it began with, and none is judged by a half of each.
pub struct Kernel {
    pub(crate) books: Arc<Books>,
    pub(crate) plugins: Plugins,
    pub(crate) live: Arc<Live>,
}

/// What goes on whatever the rules are.
pub(crate) struct Live {
    pub(crate) in_flight: InFlight,
    pub(crate) verified: VerifiedTokens,
    pub(crate) unwinds: Unwinds,
    pub(crate) parked: ParkedOperations,
    /// How many decisions of humans were recorded.
    pub(crate) decided: watch::Sender<u64>,
    /// The lease epoch whose open operations were recovered. A ledger that was opened again since serves no call before.
    pub(crate) recovered: AtomicU64,
}

impl Kernel {
    /// A kernel that signs with `signer`, and the settler that ends what dropped calls leave: it has to be run for as long
    /// as there are calls. [`Kernel::recover`] comes before the first of them.
    ///
    /// # Errors
    /// The policy requires nonces, and the ledger would forget them.
    pub fn new(
        settings: Settings,
        signer: Keypair,
        plugins: Plugins,
        ledgers: Ledgers,
        clock: Arc<dyn Clock>,
    ) -> Result<(Self, Settler), KernelError> {
        let (unwinds, settler) = Settler::new(settings.settler_places);
        let live = Live {
            in_flight: InFlight::new(MAX_IN_FLIGHT),
            verified: VerifiedTokens::default(),
            unwinds,
            parked: ParkedOperations::default(),
            decided: watch::Sender::default(),
            recovered: AtomicU64::new(ledgers.durable.lease_epoch()),
        };
        let books = Books { settings, signer, ledgers, clock, rails: plugins.rails.clone() };
        Ok((Self::under(books, plugins, Arc::new(live))?, settler))
    }

    fn under(books: Books, plugins: Plugins, live: Arc<Live>) -> Result<Self, KernelError> {
        if books.settings.nonce.require && !books.ledgers.durable.outlives_the_process() {
            return Err(KernelError::VolatileNonces);
        }
        Ok(Self { books: Arc::new(books), plugins, live })
    }

    /// A kernel under other rules, over the same ledgers, calls and settler. Calls that this one has begun go on under it;
    /// whoever has both gives new ones to the successor. The accounts of its policy are opened, or have its totals, when this
    /// returns. Where tests stop, and how many calls may be open, stays.
    ///
    /// # Errors
    /// As with [`new`](Self::new), and those of [`recover`](Self::recover). This kernel is as it was.
    pub async fn succeeded_by(&self, settings: Settings, plugins: Plugins) -> Result<Self, KernelError> {
        let Books { settings: Settings { failpoints, settler_places, .. }, signer, ledgers, clock, .. } = &*self.books;
        let settings = Settings { failpoints: failpoints.clone(), settler_places: *settler_places, ..settings };
        let books = Books {
            settings,
            signer: signer.clone(),
            ledgers: ledgers.clone(),
            clock: clock.clone(),
            rails: plugins.rails.clone(),
        };
        let successor = Self::under(books, plugins, self.live.clone())?;
        successor.books.open_accounts().await?;
        Ok(successor)
    }

    /// Ends what an earlier run left open, and opens the policy's accounts. To be awaited before anything is served, and
    /// whenever the ledger was opened again.
    ///
    /// # Errors
    /// The ledger does not take it, or an account of the policy holds less than was spent from it.
    pub async fn recover(&self) -> Result<Recovered, KernelError> {
        let epoch = self.books.ledgers.durable.lease_epoch();
        let recovered = self.books.recover(&self.live.parked).await?;
        self.books.open_accounts().await?;
        self.live.recovered.store(epoch, Ordering::Release);
        Ok(recovered)
    }

    /// There is no direct dispatch: [`Kernel::evaluate`] is the only way to a tool.
    ///
    /// # Errors
    /// Always.
    pub fn dispatch(&self, _call: &Call) -> Result<std::convert::Infallible, DirectDispatchUnavailable> {
        Err(DirectDispatchUnavailable)
    }

    /// The plugins in force.
    #[must_use]
    pub fn plugins(&self) -> &Plugins {
        &self.plugins
    }
}
