//! Waiting with a call that waits for a human: it is sent again after each decision, and ends as it would for a caller who came
//! back.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use chio_host_kernel::call::Call;
use chio_host_kernel::ports::Clock;
use chio_host_kernel::receipt::Decision;
use chio_host_kernel::response::{KernelError, Response};
use chio_host_kernel::{AwaitsHuman, Kernel};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::clock::SystemClock;

/// How often whoever waits is told so.
const TOLD: Duration = Duration::from_secs(10);

/// How a call is waited with.
pub(crate) struct Patience {
    /// For how long at most; never longer than the call itself waits.
    pub(crate) most: Duration,
    /// Gives a call that is sent again what it needs anew.
    pub(crate) renew: Box<dyn Fn(&mut Call) + Send + Sync>,
    /// Says what is waited for, at once and now and then.
    pub(crate) tell: Box<dyn Fn(&AwaitsHuman) + Send + Sync>,
}

/// Why a wait is over.
enum Over {
    /// A human decided something.
    Decided,
    /// The call itself waits no longer.
    Expired,
    /// Nobody waits with it any more.
    GivenUp,
}

/// Evaluates a call. With patience, and for as long as `left` has not ended, one that waits for a human is evaluated again when
/// one has spoken.
pub(crate) async fn evaluate(
    kernel: &Arc<Kernel>,
    mut call: Call,
    patience: Option<Patience>,
    left: impl Future<Output = ()>,
) -> Result<Response, KernelError> {
    let Some(patience) = patience else { return kernel.evaluate(&call).await };
    let mut left = pin!(left);
    let mut decisions = kernel.decisions();
    let give_up = Instant::now() + patience.most;
    loop {
        decisions.borrow_and_update();
        let response = kernel.evaluate(&call).await?;
        let over = match kernel.awaits_human(&response)? {
            Some(awaits) => tokio::select! {
                over = wait(&awaits, give_up, &mut decisions, &patience) => over,
                () = &mut left => Over::GivenUp,
            },
            // Somebody was faster than the look at it.
            None if is_pending(&response) && decisions.has_changed().unwrap_or(false) => Over::Decided,
            None => return Ok(response),
        };
        if let Over::GivenUp = over {
            return Ok(response);
        }
        (patience.renew)(&mut call);
        if let Over::Expired = over {
            return kernel.evaluate(&call).await;
        }
    }
}

fn is_pending(response: &Response) -> bool {
    matches!(response.decision(), Decision::Pending { .. })
}

async fn wait(
    awaits: &AwaitsHuman,
    give_up: Instant,
    decisions: &mut watch::Receiver<u64>,
    patience: &Patience,
) -> Over {
    // A second more, so that it has passed by the kernel's clock too, which counts whole ones.
    let left = awaits.until.saturating_sub(SystemClock::new().now_ms() / 1000).saturating_add(1);
    let expires = Instant::now() + Duration::from_secs(left);
    let mut now_and_then = tokio::time::interval(TOLD);
    loop {
        tokio::select! {
            biased;
            changed = decisions.changed() => return if changed.is_ok() { Over::Decided } else { Over::GivenUp },
            () = tokio::time::sleep_until(expires) => return Over::Expired,
            () = tokio::time::sleep_until(give_up) => return Over::GivenUp,
            _ = now_and_then.tick() => (patience.tell)(awaits),
        }
    }
}
