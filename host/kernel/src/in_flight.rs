//! One call per request id at a time: whoever comes second waits, and then finds the record of the first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::ledger::RequestKey;
use crate::response::KernelError;

/// The request ids under way. Bounded: each entry is one call being evaluated, or unwound.
pub(crate) struct InFlight {
    table: Arc<Table>,
    limit: usize,
}

type Table = Mutex<HashMap<RequestKey, watch::Receiver<()>>>;

/// The right to evaluate one request id. When its last clone is dropped, those who wait for it are woken.
#[derive(Clone)]
pub(crate) struct Turn(#[expect(dead_code, reason = "it is held, and not looked at")] Arc<Held>);

struct Held {
    table: Arc<Table>,
    key: RequestKey,
    _done: watch::Sender<()>,
}

impl InFlight {
    pub(crate) fn new(limit: usize) -> Self {
        Self { table: Arc::default(), limit }
    }

    /// Waits until nobody else evaluates this id, however often it is beaten to it.
    pub(crate) async fn turn(&self, key: &RequestKey) -> Result<Turn, KernelError> {
        loop {
            let mut other = match self.try_turn(key) {
                Ok(turn) => return turn,
                Err(other) => other,
            };
            // Nothing is ever sent: the sender is dropped when the other call has ended.
            let _ = other.changed().await;
        }
    }

    /// The turn if nobody has it.
    pub(crate) fn turn_now(&self, key: &RequestKey) -> Option<Turn> {
        self.try_turn(key).ok()?.ok()
    }

    fn try_turn(&self, key: &RequestKey) -> Result<Result<Turn, KernelError>, watch::Receiver<()>> {
        let mut table = lock(&self.table);
        if let Some(other) = table.get(key) {
            return Err(other.clone());
        }
        if table.len() >= self.limit {
            return Ok(Err(KernelError::Busy { limit: self.limit }));
        }
        let (done, other) = watch::channel(());
        table.insert(key.clone(), other);
        Ok(Ok(Turn(Arc::new(Held { table: self.table.clone(), key: key.clone(), _done: done }))))
    }
}

/// A panic elsewhere leaves the table whole: each change is one insert or one remove.
fn lock(table: &Table) -> MutexGuard<'_, HashMap<RequestKey, watch::Receiver<()>>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Held {
    fn drop(&mut self) {
        lock(&self.table).remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::call::{Namespace, RequestId};

    fn key(id: &str) -> RequestKey {
        RequestKey { subject: "s".into(), namespace: Namespace::Call, request_id: RequestId::new(id).unwrap() }
    }

    #[tokio::test]
    async fn one_at_a_time_and_everybody_in_the_end() {
        let calls = Arc::new(InFlight::new(8));
        let (inside, finished) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..64)
            .map(|_| {
                let (calls, inside, finished) = (calls.clone(), inside.clone(), finished.clone());
                tokio::spawn(async move {
                    let turn = calls.turn(&key("one")).await.unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(turn);
                    finished.fetch_add(1, Ordering::SeqCst);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(finished.load(Ordering::SeqCst), 64);
        assert!(lock(&calls.table).is_empty());
    }

    #[tokio::test]
    async fn a_full_table_refuses_new_ids() {
        let calls = InFlight::new(1);
        let _first = calls.turn(&key("a")).await.unwrap();
        assert!(matches!(calls.turn(&key("b")).await, Err(KernelError::Busy { limit: 1 })));
    }
}
