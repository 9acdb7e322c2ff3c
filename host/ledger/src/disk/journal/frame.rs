//! How rows stand in the journal.
//!
//! | what | bytes |
//! |---|---|
//! | frame | length of its rows (8), CRC-32 of that and the rows (4), rows |
//! | row | CRC-32 of what follows (4), length of the key (4), 1 or 0 for a value or none (1), length of the value (8), key, value |
//!
//! Numbers are big-endian. The frame's checksum tells a frame that was written whole from one that was not; a row's tells
//! whoever comes from the index that it is the row that was meant, and as it was written.

use sled::IVec;

use super::super::pending::Changes;
use super::{Place, Position};

pub(super) const FRAME_HEAD: usize = 12;
const ROW_HEAD: usize = 17;
const SUM: usize = 4;

/// A row that was read.
pub(super) struct Row<'a> {
    pub(super) key: &'a [u8],
    /// None for one that is removed.
    pub(super) value: Option<&'a [u8]>,
    /// With its head, in bytes.
    pub(super) length: usize,
}

fn row_length(key: &[u8], value: Option<&IVec>) -> usize {
    ROW_HEAD + key.len() + value.map_or(0, |value| value.len())
}

/// Where each of these rows will stand in a frame that begins at `frame`.
pub(in crate::disk) fn place_of_rows(frame: Position, changes: &Changes) -> impl Iterator<Item = Place> {
    let mut offset = frame.offset + FRAME_HEAD as u64;
    changes.iter().map(move |(key, value)| {
        let length = row_length(key, value.as_ref()) as u64;
        let place = Place { segment: frame.segment, offset, length };
        offset += length;
        place
    })
}

/// One frame with these rows.
pub(super) fn encode(changes: &Changes) -> Vec<u8> {
    let length: usize = changes.iter().map(|(key, value)| row_length(key, value.as_ref())).sum();
    let mut frame = Vec::with_capacity(FRAME_HEAD + length);
    frame.extend_from_slice(&(length as u64).to_be_bytes());
    frame.extend_from_slice(&[0; SUM]);
    for (key, value) in changes {
        let begin = frame.len();
        let bytes = value.as_deref().unwrap_or_default();
        frame.extend_from_slice(&[0; SUM]);
        frame.extend_from_slice(&u32::try_from(key.len()).unwrap_or(u32::MAX).to_be_bytes());
        frame.push(u8::from(value.is_some()));
        frame.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        frame.extend_from_slice(key);
        frame.extend_from_slice(bytes);
        let sum = crc32fast::hash(&frame[begin + SUM..]);
        frame[begin..begin + SUM].copy_from_slice(&sum.to_be_bytes());
    }
    let sum = frame_sum(length as u64, &frame[FRAME_HEAD..]);
    frame[8..FRAME_HEAD].copy_from_slice(&sum.to_be_bytes());
    frame
}

fn frame_sum(length: u64, rows: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&length.to_be_bytes());
    sum.update(rows);
    sum.finalize()
}

/// How long the rows of a frame are, as its head says, in bytes.
pub(super) fn length_in(head: &[u8; FRAME_HEAD]) -> u64 {
    u64::from_be_bytes(std::array::from_fn(|i| head[i]))
}

/// Whether these are the rows that were written with this head.
pub(super) fn is_whole(head: &[u8; FRAME_HEAD], rows: &[u8]) -> bool {
    frame_sum(rows.len() as u64, rows).to_be_bytes() == head[8..]
}

/// The row that `bytes` begin with; none where that is not a row as it was written.
pub(super) fn row(bytes: &[u8]) -> Option<Row<'_>> {
    let (sum, rest) = bytes.split_first_chunk::<SUM>()?;
    let (key_length, after) = rest.split_first_chunk()?;
    let (&kind, after) = after.split_first()?;
    let (value_length, after) = after.split_first_chunk()?;
    let key_length = usize::try_from(u32::from_be_bytes(*key_length)).ok()?;
    let value_length = usize::try_from(u64::from_be_bytes(*value_length)).ok()?;
    let (key, after) = after.split_at_checked(key_length)?;
    let (value, _) = after.split_at_checked(value_length)?;
    let length = ROW_HEAD + key_length + value_length;
    let value = match kind {
        0 if value.is_empty() => None,
        1 => Some(value),
        _ => return None,
    };
    (crc32fast::hash(&bytes[SUM..length]).to_be_bytes() == *sum).then_some(Row { key, value, length })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn changes() -> impl Strategy<Value = Changes> {
        let value = prop::option::of(prop::collection::vec(any::<u8>(), 0..200).prop_map(IVec::from));
        prop::collection::btree_map(prop::collection::vec(any::<u8>(), 0..40), value, 0..12)
    }

    proptest! {
        #[test]
        fn rows_are_read_where_their_places_say(changes in changes(), offset in 0_u64..1000) {
            let frame = encode(&changes);
            let (head, rows) = frame.split_first_chunk().unwrap();
            prop_assert!(is_whole(head, rows));
            prop_assert_eq!(length_in(head), rows.len() as u64);
            let at = Position { segment: 3, offset };
            for (place, (key, value)) in place_of_rows(at, &changes).zip(&changes) {
                let begin = usize::try_from(place.offset - offset).unwrap();
                let found = row(&frame[begin..]).unwrap();
                prop_assert_eq!((found.key, found.value), (key.as_slice(), value.as_deref()));
                prop_assert_eq!((found.length as u64, place.segment), (place.length, 3));
            }
        }

        /// A bit that flipped, and a frame that was cut short, are both noticed.
        #[test]
        fn nothing_else_passes_for_what_was_written(changes in changes(), at: prop::sample::Index, bit in 0_u8..8) {
            let mut frame = encode(&changes);
            let at = at.index(frame.len());
            frame[at] ^= 1 << bit;
            let (head, rows) = frame.split_first_chunk().unwrap();
            prop_assert!(length_in(head) != rows.len() as u64 || !is_whole(head, rows));
            let cut = &rows[..rows.len().saturating_sub(1)];
            prop_assert!(cut.len() == rows.len() || !is_whole(head, cut));
        }
    }
}
