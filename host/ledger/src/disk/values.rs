//! Rows by key, whatever keeps them.

use sled::IVec;

use super::halt::Halt;

/// Rows by key.
pub(super) trait Pairs {
    fn row(&self, key: &[u8]) -> Result<Option<IVec>, Halt>;
}

/// Rows by key that can be changed.
pub(super) trait PairsMut: Pairs {
    fn put(&mut self, key: Vec<u8>, row: IVec);
    fn delete(&mut self, key: Vec<u8>);
}

/// Reads a number. Those are kept big-endian.
pub(super) fn read_number(pairs: &impl Pairs, key: &[u8]) -> Result<Option<u64>, Halt> {
    let Some(row) = pairs.row(key)? else { return Ok(None) };
    let damaged = |_| Halt::Damaged(format!("the row {}: it is not a number", key.escape_ascii()));
    Ok(Some(u64::from_be_bytes(row.as_ref().try_into().map_err(damaged)?)))
}

/// Writes a number, in place of whatever number stands there.
pub(super) fn write_number(pairs: &mut impl PairsMut, key: Vec<u8>, number: u64) {
    pairs.put(key, (&number.to_be_bytes()).into());
}
