//! The row that every apply changes: epoch, transitions applied, and how far each count is.

use super::halt::Halt;
use super::keys;
use super::values::Pairs;

/// What an apply has to know that it could otherwise only find by scanning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// The lease epoch of the last opening.
    pub(super) epoch: u64,
    /// How many transitions were applied, openings included. The mark beside the database remembers it too.
    pub(super) applied: u64,
    /// How many entries the log has.
    pub(super) log_length: u64,
    /// How many operations have a number.
    pub(super) operations: u64,
    /// How many requests have a number.
    pub(super) requests: u64,
}

impl Head {
    pub(super) fn read(pairs: &impl Pairs) -> Result<Self, Halt> {
        let missing = || Halt::Damaged("the head row is missing".to_owned());
        Self::from_row(&pairs.row(keys::HEAD)?.ok_or_else(missing)?)
    }

    pub(super) fn to_row(self) -> Vec<u8> {
        let Self { epoch, applied, log_length, operations, requests } = self;
        [epoch, applied, log_length, operations, requests].iter().flat_map(|n| n.to_be_bytes()).collect()
    }

    fn from_row(row: &[u8]) -> Result<Self, Halt> {
        let damaged = || Halt::Damaged("the head row is not what was written".to_owned());
        let row: &[u8; 40] = row.try_into().map_err(|_| damaged())?;
        let [epoch, applied, log_length, operations, requests] =
            std::array::from_fn(|i| u64::from_be_bytes(std::array::from_fn(|byte| row[i * 8 + byte])));
        Ok(Self { epoch, applied, log_length, operations, requests })
    }
}
