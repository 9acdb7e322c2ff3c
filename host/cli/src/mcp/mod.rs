//! The MCP edge: an agent's client on one side, [`Kernel::evaluate`] on the other, and no other way between them.
//!
//! - `door` is the transport: it lets in only lines that mean the same to every reader, and answers the others;
//! - `catalog` names the tools that the capability covers, for `tools/list` and back; an [`Offer`] is one set of rules;
//! - `edge` answers the protocol's requests; `asking` makes a mediated call of a `tools/call`, `follow` waits for it, and
//!   `answer` says how it ended;
//! - `progress` carries a tool's progress to the client.
//!
//! The protocol itself (lifecycle, versions, cancellation) is the official SDK's.

mod answer;
mod asking;
mod catalog;
mod door;
mod edge;
mod follow;
mod progress;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use chio_host_kernel::Kernel;
use chio_host_kernel::call::Call;
use chio_host_kernel::capability::CapabilityToken;
use chio_host_kernel::proof::ProofOfPossession;
use rmcp::service::{Peer, QuitReason, RunningService, ServerInitializeError, serve_server};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::pin;
use tokio::sync::watch;
use tokio::task::JoinError;

pub(crate) use self::answer::awaited;
pub(crate) use self::catalog::{Catalog, CatalogError};
use self::door::{Door, Written};
use self::edge::Edge;

/// How long calls and answers have, once the host was told to stop.
const GRACE: Duration = Duration::from_secs(2);

/// The capabilities that this session's agent holds.
pub(crate) trait Tokens: Send + Sync {
    /// Who asks: the agent's public key, lower-case hex. A token that was issued to another is refused.
    fn agent(&self) -> &str;

    /// Whether the agent may invoke the tool, and so is shown it. Asked once for each set of rules.
    fn covers(&self, server: &str, tool: &str) -> bool;

    /// A token to present for one call, valid now.
    ///
    /// It answers for a tool that nothing covers as well, with any token of the agent: the kernel refuses the call, and
    /// the refusal has a receipt.
    ///
    /// # Errors
    /// No token can be had; says why.
    fn token_for(&self, server: &str, tool: &str) -> Result<Arc<CapabilityToken>, String>;

    /// A proof that the agent holds the key of the call's capability, where the grant asks for one and the key is here.
    fn proof(&self, call: &Call) -> Option<ProofOfPossession>;

    /// Gives a call that is sent again after a while a token that is good now, and a proof of now.
    fn renew(&self, call: &mut Call) {
        if let Ok(token) = self.token_for(&call.server, &call.tool) {
            call.capability = token;
        }
        call.admission.proof = self.proof(call);
    }
}

/// What a client is offered under one set of rules.
pub(crate) struct Offer {
    kernel: Arc<Kernel>,
    tokens: Arc<dyn Tokens>,
    catalog: Catalog,
}

impl Offer {
    /// The tools that the tokens cover.
    ///
    /// # Errors
    /// Tools that cannot be offered under a name that every client takes.
    pub(crate) fn new(kernel: Arc<Kernel>, tokens: Arc<dyn Tokens>) -> Result<Self, ServeError> {
        let catalog = Catalog::new(kernel.plugins(), &*tokens).map_err(ServeError::Catalog)?;
        Ok(Self::of(catalog, kernel, tokens))
    }

    /// The same where the catalog was made before the kernel, of the same plugins and tokens.
    pub(crate) fn of(catalog: Catalog, kernel: Arc<Kernel>, tokens: Arc<dyn Tokens>) -> Self {
        Self { kernel, tokens, catalog }
    }
}

/// How a session is served.
pub(crate) struct Session {
    /// What is offered, now and whenever the rules have changed. A call ends under the offer that it was made under.
    pub(crate) offers: watch::Receiver<Arc<Offer>>,
    /// How long a call that waits for a human is kept open; not at all where none is said.
    pub(crate) wait_for_approval: Option<Duration>,
}

/// Why a session did not open, or broke.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// Tools that cannot be offered under a name that every client takes.
    #[error("{}", list(.0))]
    Catalog(Vec<CatalogError>),
    /// The client did not open the session as the protocol asks.
    #[error("the MCP session did not open: {0}")]
    Handshake(#[source] Box<ServerInitializeError>),
    /// The session's task panicked.
    #[error("the MCP session broke: {0}")]
    Session(#[from] JoinError),
}

fn list(errors: &[CatalogError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Serves one client until its input ends and every call of it has, or until `shutdown` and a short grace after it.
///
/// Nothing but JSON-RPC is written to `output`, one message a line.
///
/// # Errors
/// The session broke. A client that leaves is no error.
pub(crate) async fn serve(
    session: Session,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let offers = session.offers.clone();
    let edge = Edge::new(session);
    let calls = edge.calls().clone();
    // A client that is gone did not cancel: its calls go on to their receipts, and only wait for no human any more.
    let of_client = calls.clone();
    let (door, written) = Door::new(input, output, move || of_client.client_left());
    pin!(shutdown);

    let opened = tokio::select! {
        opened = serve_server(edge, door) => opened,
        () = &mut shutdown => return Ok(()),
    };
    let stop = opened.as_ref().ok().map(RunningService::cancellation_token);
    let served = async {
        let ended = match opened {
            Ok(session) => until_closed(session, offers).await,
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(ServeError::Handshake(Box::new(error))),
        };
        calls.client_left();
        calls.all_ended().await;
        all_written(written).await;
        ended
    };
    pin!(served);
    tokio::select! {
        ended = &mut served => return ended,
        () = shutdown => {}
    }
    if let Some(stop) = stop {
        stop.cancel();
    }
    tokio::time::timeout(GRACE, served).await.unwrap_or_else(|_| {
        tracing::warn!("calls were still under way when the host stopped");
        Ok(())
    })
}

async fn until_closed(
    session: RunningService<rmcp::RoleServer, Edge>,
    offers: watch::Receiver<Arc<Offer>>,
) -> Result<(), ServeError> {
    let client = session.peer().clone();
    let ended = tokio::select! {
        ended = session.waiting() => ended,
        never = tell_of_changes(&client, offers) => match never {},
    };
    match ended? {
        QuitReason::JoinError(error) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Tells the client whenever the tools are others.
async fn tell_of_changes(client: &Peer<rmcp::RoleServer>, mut offers: watch::Receiver<Arc<Offer>>) -> Infallible {
    let mut known = offers.borrow_and_update().clone();
    loop {
        if offers.changed().await.is_err() {
            // Whoever could change the rules is gone.
            std::future::pending::<()>().await;
        }
        let now = offers.borrow_and_update().clone();
        if now.catalog.tools() != known.catalog.tools()
            && let Err(error) = client.notify_tool_list_changed().await
        {
            tracing::debug!(%error, "the client was not told that the tools have changed");
        }
        known = now;
    }
}

async fn all_written(written: Written) {
    match written.await {
        Ok(Ok(())) => {}
        // A client that is gone reads nothing; its calls have ended all the same.
        Ok(Err(error)) => tracing::debug!(%error, "the client stopped reading"),
        Err(error) => tracing::warn!(%error, "the task that writes to the client broke"),
    }
}
