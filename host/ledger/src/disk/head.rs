//! The row that every apply changes: epoch, transitions applied, length of the log.

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
}

impl Head {
    pub(super) fn read(pairs: &impl Pairs) -> Result<Self, Halt> {
        let missing = || Halt::Damaged("the head row is missing".to_owned());
        Self::from_row(&pairs.row(keys::HEAD)?.ok_or_else(missing)?)
    }

    pub(super) fn to_row(self) -> Vec<u8> {
        [self.epoch, self.applied, self.log_length].iter().flat_map(|n| n.to_be_bytes()).collect()
    }

    fn from_row(row: &[u8]) -> Result<Self, Halt> {
        let number = |i: usize| row.get(i * 8..i * 8 + 8)?.try_into().ok().map(u64::from_be_bytes);
        match (row.len(), number(0), number(1), number(2)) {
            (24, Some(epoch), Some(applied), Some(log_length)) => Ok(Self { epoch, applied, log_length }),
            _ => Err(Halt::Damaged("the head row is not what was written".to_owned())),
        }
    }
}
