//! The kernel: what it is made of.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::call::Call;
use crate::in_flight::InFlight;
use crate::keys::Keypair;
use crate::ledger::Ledger;
use crate::ports::{Clock, Guard, OutputHook, ToolServer};
use crate::response::{DirectDispatchUnavailable, KernelError};
use crate::verify::VerifiedTokens;

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
}

/// Where things are kept.
#[derive(Clone)]
pub struct Ledgers {
    /// What outlives the process.
    pub durable: Arc<dyn Ledger>,
    /// Operations of calls that have nothing to lose (design, section 4, "The fast path").
    pub volatile: Arc<dyn Ledger>,
}

/// The one way to a tool.
pub struct Kernel {
    pub(crate) settings: Settings,
    pub(crate) signer: Keypair,
    pub(crate) plugins: Plugins,
    pub(crate) ledgers: Ledgers,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) in_flight: InFlight,
    pub(crate) verified: VerifiedTokens,
}

impl Kernel {
    /// A kernel that signs with `signer`.
    #[must_use]
    pub fn new(settings: Settings, signer: Keypair, plugins: Plugins, ledgers: Ledgers, clock: Arc<dyn Clock>) -> Self {
        Self {
            settings,
            signer,
            plugins,
            ledgers,
            clock,
            in_flight: InFlight::new(MAX_IN_FLIGHT),
            verified: VerifiedTokens::default(),
        }
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

    /// A fresh id: `prefix` and a UUIDv7.
    pub(crate) fn new_id(&self, prefix: &str) -> Result<String, KernelError> {
        let mut random = [0; 10];
        getrandom::fill(&mut random).map_err(|e| KernelError::Entropy(e.to_string()))?;
        let id = uuid::Builder::from_unix_timestamp_millis(self.clock.now_ms(), &random).into_uuid();
        Ok(format!("{prefix}{id}"))
    }
}
