//! A map that can undo what was put into it since the last commit.

use std::collections::BTreeMap;
use std::ops::Deref;

/// Rows by key, with the changes of the transaction that is running.
#[derive(Clone, Debug)]
pub(super) struct Table<K, V> {
    rows: BTreeMap<K, V>,
    /// What stood there before each change. Bounded by the mutations of one transition: emptied after it.
    undo: Vec<(K, Option<V>)>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), undo: Vec::new() }
    }
}

impl<K: Ord + Clone, V> Table<K, V> {
    pub(super) fn put(&mut self, key: K, value: V) {
        let before = self.rows.insert(key.clone(), value);
        self.undo.push((key, before));
    }

    pub(super) fn remove(&mut self, key: &K) {
        if let Some(before) = self.rows.remove(key) {
            self.undo.push((key.clone(), Some(before)));
        }
    }

    pub(super) fn commit(&mut self) {
        self.undo.clear();
    }

    pub(super) fn roll_back(&mut self) {
        while let Some((key, before)) = self.undo.pop() {
            match before {
                Some(value) => self.rows.insert(key, value),
                None => self.rows.remove(&key),
            };
        }
    }
}

impl<K, V> Deref for Table<K, V> {
    type Target = BTreeMap<K, V>;

    fn deref(&self) -> &Self::Target {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_roll_back_leaves_what_was_committed() {
        let mut table = Table::default();
        table.put(1, "one");
        table.put(2, "two");
        table.commit();
        table.put(1, "uno");
        table.put(1, "eins");
        table.remove(&2);
        table.remove(&9);
        table.put(3, "three");
        table.roll_back();
        assert_eq!(*table, BTreeMap::from([(1, "one"), (2, "two")]));
    }
}
