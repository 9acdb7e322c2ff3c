//! `run`: MCP on stdin and stdout.

use std::sync::Arc;

use chio_host_kernel::capability::CapabilityToken;

use crate::Outcome;
use crate::args::{Common, RunArgs};
use crate::error::CliError;
use crate::folders::Folders;
use crate::host::{self, Host, Source};
use crate::mcp::{self, Tokens};
use crate::wallet::Wallet;

pub(crate) fn run(common: &Common, args: &RunArgs) -> Result<Outcome, CliError> {
    let folders = Folders::of(common)?;
    let source = Source { policy: args.policy.clone(), capability: args.capability.clone() };
    host::block_on(async {
        let host = Host::open(&folders, &source).await?;
        let tools: usize = host.kernel.plugins().servers.values().map(|s| s.tools().len()).sum();
        tracing::info!(policy_hash = host.policy_hash, tools, "serving MCP on stdin and stdout");
        let tokens = Arc::new(AgentTokens { wallet: host.wallet.clone(), agent: host.agent.clone() });
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let served = mcp::serve(host.kernel.clone(), tokens, input, output, stop_asked()).await;
        host.close().await;
        served.map_err(|e| CliError::Mcp(e.to_string()))
    })?;
    Ok(Outcome::Done)
}

/// Ends when the process is asked to stop: Ctrl-C, or a service manager's SIGTERM.
async fn stop_asked() {
    let interrupted = async {
        // Without a handler there is nothing to wait for, and the default action ends the process.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                () = interrupted => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    interrupted.await;
}

struct AgentTokens {
    wallet: Arc<Wallet>,
    agent: String,
}

impl Tokens for AgentTokens {
    fn agent(&self) -> &str {
        &self.agent
    }

    fn covers(&self, server: &str, tool: &str) -> bool {
        self.wallet.covers(server, tool)
    }

    fn token_for(&self, server: &str, tool: &str) -> Result<Arc<CapabilityToken>, String> {
        self.wallet.token_for(server, tool).map_err(|e| e.to_string())
    }
}
