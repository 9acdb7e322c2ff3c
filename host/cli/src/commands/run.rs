//! `run`: MCP on stdin and stdout.

use std::sync::Arc;

use tokio::sync::watch;

use crate::Outcome;
use crate::args::{Common, RunArgs};
use crate::control::socket::Listening;
use crate::error::CliError;
use crate::folders::Folders;
use crate::host::{self, Host};
use crate::rules::Source;
use crate::{mcp, reload};

pub(crate) fn run(common: &Common, args: &RunArgs) -> Result<Outcome, CliError> {
    let folders = Folders::of(common)?;
    let (policy, capability) = (args.policy.clone(), args.capability.clone());
    let source = Source { policy, capability, agent: args.agent.name.clone() };
    host::block_on(async {
        let host = Host::open(&folders, &source).await?;
        let tools: usize = host.rules().kernel.plugins().servers.values().map(|s| s.tools().len()).sum();
        tracing::info!(policy_hash = host.rules().policy_hash, tools, "serving MCP on stdin and stdout");
        let control = listen(&folders, &host);
        let served = Box::pin(serve(&host, args)).await;
        if let Some(control) = control {
            control.end().await;
        }
        host.close().await;
        served
    })?;
    Ok(Outcome::Done)
}

/// Serves one client, under whatever rules are in force by then.
async fn serve(host: &Host, args: &RunArgs) -> Result<(), CliError> {
    // Before a client can know that the host is there.
    let asked = reload::Asked::new();
    let offer = reload::offer(&host.rules())?;
    let (offering, offers) = watch::channel(Arc::new(offer));
    let session = mcp::Session { offers, wait_for_approval: args.wait_for_approval };
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    tokio::select! {
        served = mcp::serve(session, input, output, stop_asked()) => served.map_err(|e| CliError::Mcp(e.to_string())),
        never = reload::keep_up(host, &args.policy, &offering, asked) => match never {},
    }
}

/// Takes requests of other commands while this one has the ledger. Without that a host serves all the same.
pub(super) fn listen(folders: &Folders, host: &Host) -> Option<Listening> {
    let listening = Listening::start(folders, host.kernels());
    listening.inspect_err(|error| tracing::warn!(%error, "other commands cannot reach this host")).ok()
}

/// Ends when the process is asked to stop: Ctrl-C, or a service manager's SIGTERM.
pub(super) async fn stop_asked() {
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
