//! A local agent: its key, and what it presents with its calls.

use std::sync::Arc;

use chio_host_kernel::call::Call;
use chio_host_kernel::capability::CapabilityToken;
use chio_host_kernel::keys::Keypair;
use chio_host_kernel::ports::Clock;
use chio_host_kernel::proof::ProofOfPossession;

use crate::error::CliError;
use crate::mcp::Tokens;
use crate::wallet::Wallet;

/// Who calls.
pub(crate) struct Agent {
    key: Keypair,
    wallet: Wallet,
    clock: Arc<dyn Clock>,
}

impl Agent {
    pub(crate) fn new(key: Keypair, wallet: Wallet, clock: Arc<dyn Clock>) -> Self {
        Self { key, wallet, clock }
    }

    /// Its public key, lower-case hex.
    pub(crate) fn id(&self) -> &str {
        self.key.public().hex()
    }

    /// The token to call this tool with.
    pub(crate) fn token_for(&self, server: &str, tool: &str) -> Result<Arc<CapabilityToken>, CliError> {
        self.wallet.token_for(server, tool)
    }

    /// What shows that the agent holds the key of its token's subject, where the grant that decides the call asks for it.
    pub(crate) fn proof(&self, call: &Call) -> Option<ProofOfPossession> {
        let (_, grant) = call.capability.body().scope.select(&call.server, &call.tool, call.operation)?;
        let asks = grant.dpop_required == Some(true);
        let nonce = || uuid::Uuid::now_v7().to_string();
        asks.then(|| ProofOfPossession::sign(call, nonce(), self.clock.now_ms() / 1000, &self.key))
    }
}

impl Tokens for Agent {
    fn agent(&self) -> &str {
        self.id()
    }

    fn covers(&self, server: &str, tool: &str) -> bool {
        self.wallet.covers(server, tool)
    }

    fn token_for(&self, server: &str, tool: &str) -> Result<Arc<CapabilityToken>, String> {
        self.wallet.token_for(server, tool).map_err(|e| e.to_string())
    }

    fn proof(&self, call: &Call) -> Option<ProofOfPossession> {
        Self::proof(self, call)
    }
}
