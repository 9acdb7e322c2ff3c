//! Waiting for a mediated call, whatever becomes of the one who waits.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use chio_host_kernel::call::Call;
use chio_host_kernel::response::{KernelError, Response};
use chio_host_kernel::{AwaitsHuman, Kernel};
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinError;

use super::Tokens;
use super::answer::awaited;
use super::progress::{Relay, Teller, Words};
use crate::waiting::{self, Patience};

/// The most calls at one time; one more is told that the host is busy.
pub(super) const MAX_CALLS: u32 = 256;

/// The places for calls of one session, and whether its client is there.
#[derive(Clone)]
pub(super) struct Calls {
    places: Arc<Semaphore>,
    left: watch::Sender<bool>,
}

/// A call's place. It goes back when the call has ended, not when its client has gone.
pub(super) type Place = OwnedSemaphorePermit;

impl Calls {
    pub(super) fn new() -> Self {
        Self { places: Arc::new(Semaphore::new(MAX_CALLS as usize)), left: watch::Sender::new(false) }
    }

    /// A place, if one is free.
    pub(super) fn enter(&self) -> Option<Place> {
        self.places.clone().try_acquire_owned().ok()
    }

    /// The client is gone: calls go on to their ends, and none waits for a human any more.
    pub(super) fn client_left(&self) {
        self.left.send_replace(true);
    }

    /// Ends when the client is gone.
    fn until_left(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut left = self.left.subscribe();
        async move {
            // The sender lives as long as the session; when that ends too, nobody waits either.
            let _ = left.wait_for(|left| *left).await;
        }
    }

    /// Waits until every call has ended.
    pub(super) async fn all_ended(&self) {
        // Never closed, so it fails never; all places at once are free only when nobody has one.
        let _ = self.places.acquire_many(MAX_CALLS).await;
    }
}

/// How long a call that waits for a human is waited with, and who sends it again.
pub(super) struct Waits {
    pub(super) most: Duration,
    pub(super) tokens: Arc<dyn Tokens>,
}

impl Waits {
    fn patience(self, teller: Option<Teller>) -> Patience {
        let Self { most, tokens } = self;
        let tell = move |awaits: &AwaitsHuman| {
            if let Some(teller) = &teller {
                teller.say(awaited(awaits));
            }
        };
        Patience { most, renew: Box::new(move |call| tokens.renew(call)), tell: Box::new(tell) }
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
    (place, calls): (Place, &Calls),
    context: &RequestContext<RoleServer>,
    words: Words,
    waits: Option<Waits>,
) -> Result<Response, Lost> {
    let (mut relay, mut teller) = (None, None);
    if let Some(token) = context.meta.get_progress_token() {
        let (new, signals, own) = Relay::new(token, context.peer.clone(), words);
        (relay, teller, call.signals) = (Some(new), Some(own), signals);
    }
    let signals = call.signals.clone();
    let (kernel, left) = (kernel.clone(), calls.until_left());
    let patience = waits.map(|waits| waits.patience(teller));
    let mut evaluation = tokio::spawn(async move {
        let _place = place;
        waiting::evaluate(&kernel, call, patience, left).await
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
