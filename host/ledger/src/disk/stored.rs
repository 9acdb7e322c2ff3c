//! How a row stands in sled: a small value as it is, and of a larger one where the journal has it.
//!
//! sled rewrites a page of up to 17 rows with every tenth change to one of them, and reads all that it ever wrote when it is
//! opened, so its rows are few and short. What every call adds under a number of its own stands there as places alone, those
//! of 64 numbers in one row.

use std::collections::BTreeMap;

use sled::{Batch, IVec, Tree};

use super::halt::Halt;
use super::journal::Place;
use super::keys;
use super::pending::Journaled;

/// The longest value that stands in sled, in bytes.
const SHORT: usize = 128;
/// First byte of a value that follows.
const HERE: u8 = 0;
/// First byte of the place of a value.
const IN_JOURNAL: u8 = 1;
/// First byte of a group of places.
const GROUP: u8 = 2;
/// How many numbers share a row.
const GROUPED: u64 = 64;

/// A row of sled.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stored<'a> {
    Here(&'a [u8]),
    InJournal(Place),
}

impl<'a> Stored<'a> {
    /// None for what was never written.
    fn of(row: &'a [u8]) -> Option<Self> {
        match row.split_first()? {
            (&HERE, value) => Some(Self::Here(value)),
            (&IN_JOURNAL, place) => Place::from_bytes(place).map(Self::InJournal),
            _ => None,
        }
    }

    pub(super) fn to_row(&self) -> Vec<u8> {
        match self {
            Self::Here(value) => [&[HERE], *value].concat(),
            Self::InJournal(place) => [&[IN_JOURNAL], place.to_bytes().as_slice()].concat(),
        }
    }
}

/// The value that sled has under a key, or that the journal has where sled says.
pub(super) fn read(
    tree: &Tree,
    key: &[u8],
    in_journal: impl FnOnce(Place) -> Result<IVec, Halt>,
) -> Result<Option<IVec>, Halt> {
    let damaged = || Halt::Damaged(format!("the row {}: it is not what was written", key.escape_ascii()));
    if let Some((row, slot)) = slot_of(key) {
        let Some(group) = tree.get(&row)? else { return Ok(None) };
        let place = Group::of(&group).ok_or_else(damaged)?.place(slot).ok_or_else(damaged)?;
        return place.map(in_journal).transpose();
    }
    let Some(row) = tree.get(key)? else { return Ok(None) };
    match Stored::of(&row).ok_or_else(damaged)? {
        Stored::Here(value) => Ok(Some(value.into())),
        Stored::InJournal(place) => in_journal(place).map(Some),
    }
}

/// What is in the journal, as one sled batch over what sled has.
pub(super) fn batch(rows: &Journaled, tree: &Tree) -> Result<Batch, Halt> {
    let mut batch = Batch::default();
    let mut groups: BTreeMap<Vec<u8>, Group> = BTreeMap::new();
    for (key, row) in rows {
        let place = row.as_ref().map(|(_, place)| *place);
        if let Some((group, slot)) = slot_of(key) {
            let group = match groups.entry(group) {
                std::collections::btree_map::Entry::Occupied(there) => there.into_mut(),
                std::collections::btree_map::Entry::Vacant(new) => {
                    let damaged = || Halt::Damaged(format!("the row {}: it is no group", new.key().escape_ascii()));
                    let stored = tree.get(new.key())?;
                    let group = stored.map(|row| Group::of(&row).ok_or_else(damaged)).transpose()?;
                    new.insert(group.unwrap_or_default())
                }
            };
            group.set(slot, place);
            continue;
        }
        match (row, place) {
            (Some((value, _)), _) if value.len() <= SHORT => batch.insert(&**key, Stored::Here(value).to_row()),
            (_, Some(place)) => batch.insert(&**key, Stored::InJournal(place).to_row()),
            (_, None) => batch.remove(&**key),
        }
    }
    for (key, group) in groups {
        batch.insert(key, group.0);
    }
    Ok(batch)
}

/// The row and the slot in it that stand for a key, if its number shares one.
fn slot_of(key: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (tag, number) = keys::every_call(key)?;
    let slot = usize::try_from(number % GROUPED).ok()?;
    Some(([&[tag], &(number / GROUPED).to_be_bytes()[..]].concat(), slot))
}

/// The places of numbers that follow each other; as long as the last that is there.
#[derive(Debug)]
struct Group(Vec<u8>);

impl Default for Group {
    fn default() -> Self {
        Self(vec![GROUP])
    }
}

impl Group {
    fn of(row: &IVec) -> Option<Self> {
        let is_group = row.first() == Some(&GROUP) && (row.len() - 1).is_multiple_of(Place::BYTES);
        is_group.then(|| Self(row.to_vec()))
    }

    /// None where the slot cannot be read.
    #[expect(clippy::option_option, reason = "a slot that is empty is as good as one that is taken")]
    fn place(&self, slot: usize) -> Option<Option<Place>> {
        let Some(bytes) = self.0[1..].chunks_exact(Place::BYTES).nth(slot) else { return Some(None) };
        if bytes.iter().all(|byte| *byte == 0) { Some(None) } else { Place::from_bytes(bytes).map(Some) }
    }

    fn set(&mut self, slot: usize, place: Option<Place>) {
        let begin = 1 + slot * Place::BYTES;
        let end = begin + Place::BYTES;
        if self.0.len() < end {
            self.0.resize(end, 0);
        }
        let bytes = place.map_or_else(|| vec![0; Place::BYTES], Place::to_bytes);
        self.0[begin..end].copy_from_slice(&bytes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// In one checkpoint each: a number, and where its row stands by then, if anywhere.
    fn checkpoints() -> impl Strategy<Value = Vec<BTreeMap<u64, Option<u64>>>> {
        prop::collection::vec(prop::collection::btree_map(0_u64..200, prop::option::of(1_u64..1000), 0..40), 1..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Those that share a row are as if each had its own.
        #[test]
        fn grouped_rows_read_like_a_map(checkpoints in checkpoints()) {
            let db = sled::Config::new().temporary(true).flush_every_ms(None).open().unwrap();
            let place = |offset| Place { segment: 1, offset, length: 9 };
            let mut model = BTreeMap::new();
            for changes in checkpoints {
                let row = |offset: u64| (IVec::from(vec![0; 200]), place(offset));
                let rows = changes.iter().map(|(number, at)| (keys::receipt(*number), at.map(row))).collect();
                db.apply_batch(batch(&rows, &db).unwrap()).unwrap();
                model.extend(changes);
                for number in 0..200 {
                    let found = read(&db, &keys::receipt(number), |place| Ok(IVec::from(place.to_bytes()))).unwrap();
                    let expected = model.get(&number).copied().flatten().map(|at| place(at).to_bytes());
                    prop_assert_eq!(found.map(|row| row.to_vec()), expected);
                }
                prop_assert!(db.len() <= 4);
            }
        }
    }
}
