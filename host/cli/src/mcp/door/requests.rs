//! The requests that wait for their answer.

use std::collections::HashSet;

use rmcp::model::RequestId;
use tokio::sync::watch;

/// The most requests without an answer. At the bound nothing more is read: a client that asks and never reads what it is
/// told fills its own pipe, not this memory.
const MAX_OPEN: usize = 1024;

/// The ids of open requests.
pub(super) struct Requests(watch::Sender<HashSet<RequestId>>);

impl Requests {
    pub(super) fn new() -> Self {
        Self(watch::Sender::default())
    }

    /// Notes a request; `false` if one with this id waits already.
    pub(super) fn open(&self, id: &RequestId) -> bool {
        self.0.send_if_modified(|open| open.insert(id.clone()))
    }

    /// Forgets a request that was answered, or that nobody waits for any more.
    pub(super) fn close(&self, id: &RequestId) {
        self.0.send_if_modified(|open| open.remove(id));
    }

    /// Waits until one more request can be taken.
    pub(super) async fn room(&self) {
        self.wait(|open| open.len() < MAX_OPEN).await;
    }

    /// Waits until no request is open.
    pub(super) async fn all_answered(&self) {
        self.wait(HashSet::is_empty).await;
    }

    async fn wait(&self, condition: impl FnMut(&HashSet<RequestId>) -> bool) {
        // The sender is `self`, so it cannot be gone.
        let _ = self.0.subscribe().wait_for(condition).await;
    }
}
