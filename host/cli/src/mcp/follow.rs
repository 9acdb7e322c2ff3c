//! Waiting for a mediated call, whatever becomes of the one who waits.

use std::convert::Infallible;
use std::sync::Arc;

use chio_host_kernel::Kernel;
use chio_host_kernel::call::Call;
use chio_host_kernel::response::{KernelError, Response};
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinError;

use super::progress::{Relay, Words};

/// The most calls at one time; one more is told that the host is busy.
pub(super) const MAX_CALLS: u32 = 256;

/// The places for calls of one session.
#[derive(Clone)]
pub(super) struct Calls(Arc<Semaphore>);

/// A call's place. It goes back when the call has ended, not when its client has gone.
pub(super) type Place = OwnedSemaphorePermit;

impl Calls {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MAX_CALLS as usize)))
    }

    /// A place, if one is free.
    pub(super) fn enter(&self) -> Option<Place> {
        self.0.clone().try_acquire_owned().ok()
    }

    /// Waits until every call has ended.
    pub(super) async fn all_ended(&self) {
        // Never closed, so it fails never; all places at once are free only when nobody has one.
        let _ = self.0.acquire_many(MAX_CALLS).await;
    }
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub(super) enum Lost {
    /// The client gave up, or the host is stopping. The call is dropped: what never reached its tool is undone, and what may
    /// have has its receipt.
    #[error("the call was cancelled")]
    Cancelled,
    /// The kernel signed nothing.
    #[error("the host could not record an answer, so nothing is released: {0}")]
    Kernel(#[from] KernelError),
    /// The kernel panicked.
    #[error("the call failed inside the host, so nothing is released")]
    Panicked(#[from] JoinError),
}

/// Evaluates a call in a task of its own and waits for it, handing on progress. A client that leaves drops nothing; one
/// that cancels does.
pub(super) async fn follow(
    kernel: &Arc<Kernel>,
    mut call: Call,
    place: Place,
    context: &RequestContext<RoleServer>,
    words: Words,
) -> Result<Response, Lost> {
    let mut relay = None;
    if let Some(token) = context.meta.get_progress_token() {
        let (new, signals) = Relay::new(token, context.peer.clone(), words);
        (relay, call.signals) = (Some(new), signals);
    }
    let signals = call.signals.clone();
    let kernel = kernel.clone();
    let mut evaluation = tokio::spawn(async move {
        let _place = place;
        kernel.evaluate(&call).await
    });
    let ended = tokio::select! {
        biased;
        () = context.ct.cancelled() => {
            signals.cancel();
            evaluation.abort();
            return Err(Lost::Cancelled);
        }
        ended = &mut evaluation => ended,
        never = hand_on(relay.as_mut()) => match never {},
    };
    if let Some(relay) = relay {
        relay.finish().await;
    }
    Ok(ended??)
}

/// Hands on progress, and then, or where nobody asked for it, waits for ever.
async fn hand_on(relay: Option<&mut Relay>) -> Infallible {
    if let Some(relay) = relay {
        relay.run().await;
    }
    std::future::pending().await
}
