//! Rows that are applied and not in sled yet.
//!
//! A sled transaction seals and writes its log twice, whatever its size, so one for each apply would cost more than the
//! apply. Instead an apply changes rows here, and each round of the sync thread takes all that has gathered into one sled
//! batch. A batch is recovered whole or not at all, and holds everything that was applied before it ended, so an apply is
//! never recovered in part, nor without those before it.

use std::collections::BTreeMap;
use std::iter::{from_fn, repeat};
use std::sync::Arc;

use sled::{Batch, IVec, Tree};

use super::halt::Halt;
use super::values::Pairs;

/// New values by key; none for a row that is removed.
pub(super) type Changes = BTreeMap<Vec<u8>, Option<IVec>>;

/// The changes on their way to sled.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// Since the last round began. An apply that finds too many rows here waits for a round, and so bounds them.
    newest: Changes,
    /// What the round that is running writes.
    leaving: Arc<Changes>,
}

impl Pending {
    /// Adds the changes of one apply, and answers how many rows are waiting.
    pub(super) fn add(&mut self, changes: Changes) -> usize {
        self.newest.extend(changes);
        self.newest.len()
    }

    /// Hands out what has gathered. It stays readable here until it [`has_left`](Self::has_left).
    pub(super) fn leave(&mut self) -> Arc<Changes> {
        self.leaving = Arc::new(std::mem::take(&mut self.newest));
        Arc::clone(&self.leaving)
    }

    /// What was handed out can be read from sled now.
    pub(super) fn has_left(&mut self) {
        self.leaving = Arc::default();
    }
}

/// As one sled batch.
pub(super) fn to_batch(changes: &Changes) -> Batch {
    let mut batch = Batch::default();
    for (key, value) in changes {
        match value {
            Some(value) => batch.insert(key.as_slice(), value),
            None => batch.remove(key.as_slice()),
        }
    }
    batch
}

/// Every row as it stands: pending over stored.
#[derive(Clone, Copy)]
pub(super) struct Current<'a> {
    pub(super) pending: &'a Pending,
    pub(super) tree: &'a Tree,
}

impl Pairs for Current<'_> {
    fn row(&self, key: &[u8]) -> Result<Option<IVec>, Halt> {
        match self.pending.newest.get(key).or_else(|| self.pending.leaving.get(key)) {
            Some(changed) => Ok(changed.clone()),
            None => Ok(self.tree.get(key)?),
        }
    }
}

impl<'a> Current<'a> {
    /// The keys that begin with `prefix`, in order.
    pub(super) fn keys(self, prefix: &'a [u8]) -> impl Iterator<Item = Result<IVec, sled::Error>> + 'a {
        let mut stored = self.tree.scan_prefix(prefix).keys().peekable();
        let mut changed = self.changed(prefix).into_iter().peekable();
        from_fn(move || {
            loop {
                match (stored.peek(), changed.peek()) {
                    (Some(Ok(key)), Some((change, _))) if key.as_ref() == *change => drop(stored.next()),
                    (Some(Ok(key)), Some((change, _))) if key.as_ref() > *change => {}
                    (Some(_), _) => return stored.next(),
                    (None, _) => {}
                }
                if let (key, true) = changed.next()? {
                    return Some(Ok(key.into()));
                }
            }
        })
    }

    /// The pending changes of keys that begin with `prefix`, and whether the row is there after them.
    fn changed(self, prefix: &[u8]) -> BTreeMap<&'a [u8], bool> {
        let mut all = BTreeMap::new();
        for (changes, prefix) in [&*self.pending.leaving, &self.pending.newest].into_iter().zip(repeat(prefix)) {
            let from = changes.range(prefix.to_vec()..);
            let within = from.take_while(|(key, _)| key.starts_with(prefix));
            all.extend(within.map(|(key, value)| (key.as_slice(), value.is_some())));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Put(u8, u8),
        Remove(u8),
        Leave,
        Arrive,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0_u8..12, any::<u8>()).prop_map(|(k, v)| Step::Put(k, v)),
            3 => (0_u8..12).prop_map(Step::Remove),
            1 => Just(Step::Leave),
            1 => Just(Step::Arrive),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Wherever its rows are on their way, a ledger reads like a map.
        #[test]
        fn pending_over_stored_reads_like_one_map(steps in prop::collection::vec(step(), 1..60)) {
            let db = sled::Config::new().temporary(true).flush_every_ms(None).open().unwrap();
            let (mut pending, mut model) = (Pending::default(), BTreeMap::new());
            let mut on_its_way = None;
            for step in steps {
                let key = |k: u8| vec![b'k', k];
                match step {
                    Step::Put(k, v) => {
                        pending.add(Changes::from([(key(k), Some(IVec::from(&[v])))]));
                        model.insert(key(k), v);
                    }
                    Step::Remove(k) => {
                        pending.add(Changes::from([(key(k), None)]));
                        model.remove(&key(k));
                    }
                    Step::Leave if on_its_way.is_none() => on_its_way = Some(pending.leave()),
                    Step::Leave => {}
                    Step::Arrive => if let Some(changes) = on_its_way.take() {
                        db.apply_batch(to_batch(&changes)).unwrap();
                        pending.has_left();
                    }
                }
                let current = Current { pending: &pending, tree: &db };
                let keys: Vec<_> = current.keys(b"k").map(|k| k.unwrap().to_vec()).collect();
                prop_assert_eq!(keys, model.keys().cloned().collect::<Vec<_>>());
                for k in 0..12 {
                    let row = current.row(&key(k)).unwrap().map(|v| v[0]);
                    prop_assert_eq!(row, model.get(&key(k)).copied());
                }
            }
        }
    }
}
