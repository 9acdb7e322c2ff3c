//! Rows that are applied and not in sled yet.
//!
//! An apply changes rows here, under one lock, and reads see these over sled. Each round of the sync thread takes what is
//! newest into one frame of the [journal](super::journal); a checkpoint takes all that is in the journal into one sled batch. A
//! frame, and a batch, is recovered whole or not at all, and holds everything that was applied before it ended, so an apply
//! is never recovered in part, nor without those before it.

use std::collections::BTreeMap;
use std::iter::from_fn;
use std::sync::Arc;

use sled::{IVec, Tree};

use super::halt::Halt;
use super::journal::{Place, Position, Reader, Replayed, place_of_rows};
use super::stored;
use super::values::Pairs;

/// New values by key; none for a row that is removed.
pub(super) type Changes = BTreeMap<Vec<u8>, Option<IVec>>;
/// The same, with where each value stands in the journal.
pub(super) type Journaled = BTreeMap<Vec<u8>, Option<(IVec, Place)>>;

/// What becomes of a row.
enum Change<'a> {
    Put(&'a IVec),
    Removed,
}

/// How much there is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Amount {
    /// As many keys.
    pub(super) rows: usize,
    /// Bytes of values. One that was overwritten counts as well.
    pub(super) bytes: usize,
}

impl Amount {
    /// Whether either is over a bound.
    pub(super) fn is_over(self, bound: Self) -> bool {
        self.rows > bound.rows || self.bytes > bound.bytes
    }
}

/// The changes on their way to sled.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// Since the last round began.
    newest: Changes,
    newest_bytes: usize,
    /// In a frame of the journal, since the last checkpoint began.
    journaled: Journaled,
    journaled_bytes: usize,
    /// What the checkpoint that is running takes.
    leaving: Arc<Journaled>,
}

impl Pending {
    /// Adds the changes of one apply, and answers how much waits for the next round.
    pub(super) fn add(&mut self, changes: Changes) -> Amount {
        self.newest_bytes += changes.values().flatten().map(|value| value.len()).sum::<usize>();
        self.newest.extend(changes);
        Amount { rows: self.newest.len(), bytes: self.newest_bytes }
    }

    /// Hands out what is newest, for a frame that begins at `frame`. It stays readable here.
    pub(super) fn leave_for_journal(&mut self, frame: Position) -> Changes {
        let changes = std::mem::take(&mut self.newest);
        self.journaled_bytes += std::mem::take(&mut self.newest_bytes);
        for (place, (key, value)) in place_of_rows(frame, &changes).zip(&changes) {
            self.journaled.insert(key.clone(), value.clone().map(|value| (value, place)));
        }
        changes
    }

    /// Adds a frame that the journal has from before.
    pub(super) fn replay(&mut self, rows: Vec<Replayed>) {
        self.journaled_bytes += rows.iter().filter_map(|(_, row)| Some(row.as_ref()?.0.len())).sum::<usize>();
        self.journaled.extend(rows);
    }

    /// How much is in the journal and not on its way to sled.
    pub(super) fn journaled(&self) -> Amount {
        Amount { rows: self.journaled.len(), bytes: self.journaled_bytes }
    }

    /// Hands out what is in the journal, unless the checkpoint before still runs. It stays readable here until it
    /// [`has_left`](Self::has_left).
    pub(super) fn leave_for_sled(&mut self) -> Option<Arc<Journaled>> {
        if !self.leaving.is_empty() {
            return None;
        }
        self.leaving = Arc::new(std::mem::take(&mut self.journaled));
        self.journaled_bytes = 0;
        Some(Arc::clone(&self.leaving))
    }

    /// What was handed out for it can be read from sled now.
    pub(super) fn has_left(&mut self) {
        self.leaving = Arc::default();
    }

    /// A row, where it is not in sled yet or not as it is there.
    fn change(&self, key: &[u8]) -> Option<Change<'_>> {
        let newest = self.newest.get(key).map(Option::as_ref);
        let before = || self.journaled.get(key).or_else(|| self.leaving.get(key));
        let value = newest.or_else(|| Some(before()?.as_ref().map(|(value, _)| value)))?;
        Some(value.map_or(Change::Removed, Change::Put))
    }
}

/// Every row as it stands: pending over stored.
#[derive(Clone, Copy)]
pub(super) struct Current<'a> {
    pub(super) pending: &'a Pending,
    pub(super) tree: &'a Tree,
    pub(super) journal: &'a Reader,
}

impl Pairs for Current<'_> {
    fn row(&self, key: &[u8]) -> Result<Option<IVec>, Halt> {
        match self.pending.change(key) {
            Some(Change::Put(value)) => return Ok(Some(value.clone())),
            Some(Change::Removed) => return Ok(None),
            None => {}
        }
        stored::read(self.tree, key, |place| self.journal.value(place, key))
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
        let mut all = within(&self.pending.leaving, prefix);
        all.extend(within(&self.pending.journaled, prefix));
        all.extend(within(&self.pending.newest, prefix));
        all
    }
}

/// The changes of keys that begin with `prefix`.
fn within<'a, T>(changes: &'a BTreeMap<Vec<u8>, Option<T>>, prefix: &[u8]) -> BTreeMap<&'a [u8], bool> {
    let from = changes.range(prefix.to_vec()..);
    let within = from.take_while(|(key, _)| key.starts_with(prefix));
    within.map(|(key, value)| (key.as_slice(), value.is_some())).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Put(u8, u8),
        Remove(u8),
        Round,
        Leave,
        Arrive,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0_u8..12, any::<u8>()).prop_map(|(k, v)| Step::Put(k, v)),
            3 => (0_u8..12).prop_map(Step::Remove),
            2 => Just(Step::Round),
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
            let journal = Reader::new("/nowhere".into());
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
                    Step::Round => drop(pending.leave_for_journal(Position { segment: 1, offset: 0 })),
                    Step::Leave => on_its_way = pending.leave_for_sled().or(on_its_way),
                    Step::Arrive => if let Some(rows) = on_its_way.take() {
                        db.apply_batch(stored::batch(&rows, &db).unwrap()).unwrap();
                        pending.has_left();
                    }
                }
                let current = Current { pending: &pending, tree: &db, journal: &journal };
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
