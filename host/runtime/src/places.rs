//! Places to run in. A run waits for one, and never meets a full pool.

use std::sync::Arc;
use std::time::Duration;

use chio_host_kernel::MAX_NESTED_DEPTH;
use chio_host_kernel::ports::{Fault, Stop};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use wasmtime::Engine;

use crate::limits::{Limits, size};
use crate::ticker::Ticker;

/// An engine, and a permit for each run that it has room for. The ticker lasts as long as anything can run here.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    engine: Engine,
    permits: Levels,
    _ticker: Arc<Ticker>,
}

impl Places {
    pub(crate) fn new(engine: Engine, places: u32, ticker: Arc<Ticker>) -> Self {
        Self { engine, permits: levels(size(places.into()), reserved(places)), _ticker: ticker }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }
}

/// Permits by the depth of the call, its own first. A call waits inside a tool that holds a place: if it had to wait for a place
/// of the same kind, those who wait would keep each other waiting for ever.
type Levels = Arc<[Arc<Semaphore>]>;

fn levels(own: usize, nested: usize) -> Levels {
    let permits = |depth| if depth == 0 { own } else { nested };
    (0..=RAILS).map(|depth| Arc::new(Semaphore::new(permits(depth)))).collect()
}

/// The level of payment rails, below all calls: whoever asks one holds no place, and may be a call inside others that do.
pub(crate) const RAILS: u32 = MAX_NESTED_DEPTH + 1;

/// The places of each level of nested calls, beside those that callers have.
fn reserved(places: u32) -> usize {
    size((places / 8).max(1).into())
}

/// The places of all levels together.
pub(crate) fn in_all(places: u32) -> u32 {
    let nested = u32::try_from(reserved(places)).unwrap_or(u32::MAX).saturating_mul(RAILS);
    places.saturating_add(nested)
}

/// The places of one plugin: never more at the same time than it may have, and never more than there are.
#[derive(Clone, Debug)]
pub(crate) struct Turnstile {
    own: Levels,
    shared: Levels,
}

/// A place to run in, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    _own: OwnedSemaphorePermit,
    _shared: OwnedSemaphorePermit,
}

impl Turnstile {
    pub(crate) fn new(limits: &Limits, places: &Places) -> Self {
        let own = size(limits.concurrency).min(Semaphore::MAX_PERMITS);
        Self { own: levels(own, own), shared: places.permits.clone() }
    }

    /// How many places are free.
    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        self.own[0].available_permits()
    }

    /// Waits for a place of this depth, at most until `deadline`. The plugin's own come first, so that one that is asked too
    /// much does not keep shared places waiting. What a plugin may have is counted for each depth.
    pub(crate) async fn enter(&self, deadline: Instant, depth: u32) -> Option<Place> {
        let both = async {
            let depth = size(depth.into());
            let own = self.own.get(depth)?.clone().acquire_owned().await.ok()?;
            let shared = self.shared.get(depth)?.clone().acquire_owned().await.ok()?;
            Some(Place { _own: own, _shared: shared })
        };
        tokio::time::timeout_at(deadline, both).await.ok().flatten()
    }
}

/// The fault of a run that found no place.
pub(crate) fn no_place(limits: &Limits, waited: Duration) -> Fault {
    limits.fault(Stop::Concurrency, waited).unwrap_or_else(|| Fault::new(Stop::Concurrency, "no place was free"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::runtime;

    #[tokio::test]
    async fn a_place_is_waited_for_until_the_deadline_and_no_longer() {
        let runtime = runtime();
        let limits = Limits { concurrency: 1, ..Limits::GUARD };
        let turnstile = Turnstile::new(&limits, &runtime.engines.pooled);
        let place = turnstile.enter(Instant::now(), 0).await.unwrap();
        assert!(turnstile.enter(Instant::now(), 0).await.is_none());
        let waiting = turnstile.enter(Instant::now() + Duration::from_mins(1), 0);
        let (waited, ()) = tokio::join!(biased; waiting, async { drop(place) });
        assert!(waited.is_some());
        let fault = no_place(&limits, Duration::from_millis(50));
        assert_eq!(fault, Fault::new(Stop::Concurrency, "no place was free within 50 ms; at most 1 run at once"));
    }

    /// The pool has room for all that the permits let in.
    #[tokio::test]
    async fn places_are_shared_by_all_plugins() {
        let runtime = runtime();
        let turnstiles = [(); 3].map(|()| Turnstile::new(&Limits::GUARD, &runtime.engines.pooled));
        let mut places = Vec::new();
        for turnstile in turnstiles.iter().cycle().take(4) {
            places.push(turnstile.enter(Instant::now(), 0).await.unwrap());
        }
        assert!(turnstiles[0].enter(Instant::now(), 0).await.is_none());
        // A call inside one of those is not kept waiting by it.
        assert!(turnstiles[0].enter(Instant::now(), 1).await.is_some());
        assert!(turnstiles[0].enter(Instant::now(), RAILS + 1).await.is_none());
    }
}
