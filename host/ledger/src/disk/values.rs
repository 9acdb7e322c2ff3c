//! Values of any size.
//!
//! sled writes a page that exceeds a quarter of a segment to a file of its own, which it never syncs. A page holds up to 17
//! rows, so values are cut into parts that keep 17 of them, with their keys, well under that: 128 KiB with sled's own
//! segment size. A test fills a ledger with large values and finds no such file.

use std::ops::Range;

use sled::{IVec, Tree};

use super::halt::Halt;
use super::keys;

/// The longest value that is kept in one row, in bytes.
const PART: usize = 4096;
/// First byte of a value that follows.
const WHOLE: u8 = 0;
/// First byte of a value that stands in parts; its length follows, big-endian.
const PARTS: u8 = 1;

/// Rows by key.
pub(super) trait Pairs {
    fn row(&self, key: &[u8]) -> Result<Option<IVec>, Halt>;
}

/// Rows by key that can be changed.
pub(super) trait PairsMut: Pairs {
    fn put(&mut self, key: Vec<u8>, row: IVec);
    fn delete(&mut self, key: Vec<u8>);
}

impl Pairs for Tree {
    fn row(&self, key: &[u8]) -> Result<Option<IVec>, Halt> {
        Ok(self.get(key)?)
    }
}

/// Reads a value, however it is kept.
pub(super) fn read(pairs: &impl Pairs, key: &[u8]) -> Result<Option<Vec<u8>>, Halt> {
    let Some(row) = pairs.row(key)? else { return Ok(None) };
    let length = match (row.first(), length_in_parts(&row)) {
        (Some(&WHOLE), _) => return Ok(Some(row[1..].to_vec())),
        (_, Some(length)) => length,
        _ => return Err(damaged(key, "its first byte is unknown")),
    };
    let mut value = Vec::new();
    for number in 0..parts_of(length) {
        let part = pairs.row(&keys::part(key, number))?.ok_or_else(|| damaged(key, "a part of it is missing"))?;
        value.extend_from_slice(&part);
    }
    if value.len() as u64 == length { Ok(Some(value)) } else { Err(damaged(key, "its length is wrong")) }
}

/// Reads a number. Those are kept as they are, big-endian.
pub(super) fn read_number(pairs: &impl Pairs, key: &[u8]) -> Result<Option<u64>, Halt> {
    let Some(row) = pairs.row(key)? else { return Ok(None) };
    let number = row.as_ref().try_into().map_err(|_| damaged(key, "it is not a number"))?;
    Ok(Some(u64::from_be_bytes(number)))
}

/// Writes a number, in place of whatever number stands there.
pub(super) fn write_number(pairs: &mut impl PairsMut, key: Vec<u8>, number: u64) {
    pairs.put(key, (&number.to_be_bytes()).into());
}

/// Writes a value where nothing stands. Looking whether something does costs as much as the writing.
pub(super) fn insert(pairs: &mut impl PairsMut, key: &[u8], value: &[u8]) {
    replace(pairs, key, value, 0);
}

/// Writes a value in place of whatever stands there.
pub(super) fn write(pairs: &mut impl PairsMut, key: &[u8], value: &[u8]) -> Result<(), Halt> {
    let parts_before = parts_at(pairs, key)?;
    replace(pairs, key, value, parts_before);
    Ok(())
}

fn replace(pairs: &mut impl PairsMut, key: &[u8], value: &[u8], parts_before: u32) {
    if value.len() <= PART {
        pairs.put(key.to_vec(), [&[WHOLE], value].concat().into());
        delete_parts(pairs, key, 0..parts_before);
        return;
    }
    let length = value.len() as u64;
    pairs.put(key.to_vec(), [&[PARTS], &length.to_be_bytes()[..]].concat().into());
    for (number, part) in (0..).zip(value.chunks(PART)) {
        pairs.put(keys::part(key, number), part.into());
    }
    delete_parts(pairs, key, parts_of(length)..parts_before);
}

/// Removes a value and its parts.
pub(super) fn remove(pairs: &mut impl PairsMut, key: &[u8]) -> Result<(), Halt> {
    let parts = parts_at(pairs, key)?;
    pairs.delete(key.to_vec());
    delete_parts(pairs, key, 0..parts);
    Ok(())
}

fn parts_at(pairs: &impl Pairs, key: &[u8]) -> Result<u32, Halt> {
    Ok(pairs.row(key)?.and_then(|row| length_in_parts(&row)).map_or(0, parts_of))
}

fn delete_parts(pairs: &mut impl PairsMut, of: &[u8], numbers: Range<u32>) {
    for number in numbers {
        pairs.delete(keys::part(of, number));
    }
}

fn length_in_parts(row: &[u8]) -> Option<u64> {
    let (&PARTS, length) = row.split_first()? else { return None };
    Some(u64::from_be_bytes(length.try_into().ok()?))
}

/// How many parts a value has. One too long to count has as many as can be counted, and will miss some of them.
fn parts_of(length: u64) -> u32 {
    u32::try_from(length.div_ceil(PART as u64)).unwrap_or(u32::MAX)
}

fn damaged(key: &[u8], why: &str) -> Halt {
    Halt::Damaged(format!("the row {}: {why}", key.escape_ascii()))
}
