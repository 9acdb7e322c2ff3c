//! How a row stands in sled: a small value as it is, and of a larger one where the journal has it.
//!
//! sled rewrites a page of up to 17 rows with every tenth change to one of them, and reads all that it ever wrote when it is
//! opened, so its rows are kept short.

use sled::Batch;

use super::journal::Place;
use super::pending::Journaled;

/// The longest value that stands in sled, in bytes.
const SHORT: usize = 128;
/// First byte of a value that follows.
const HERE: u8 = 0;
/// First byte of the place of a value.
const IN_JOURNAL: u8 = 1;

/// A row of sled.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stored<'a> {
    Here(&'a [u8]),
    InJournal(Place),
}

impl<'a> Stored<'a> {
    /// None for what was never written.
    pub(super) fn of(row: &'a [u8]) -> Option<Self> {
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

/// What is in the journal, as one sled batch.
pub(super) fn batch(rows: &Journaled) -> Batch {
    let mut batch = Batch::default();
    for (key, row) in rows {
        match row {
            Some((value, _)) if value.len() <= SHORT => batch.insert(key.as_slice(), Stored::Here(value).to_row()),
            Some((_, place)) => batch.insert(key.as_slice(), Stored::InJournal(*place).to_row()),
            None => batch.remove(key.as_slice()),
        }
    }
    batch
}
