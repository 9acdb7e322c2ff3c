//! The journal: what is applied, in order, in files that are only ever appended to.
//!
//! It is the ledger. Each round of the sync thread appends one [frame](frame) with all rows that changed since the round
//! before, and syncs it; that alone is what an acknowledged apply waits for. sled is an index over it, brought up to date
//! [from time to time](super::checkpoint): a small value stands in sled itself, of a larger one the [`Place`] in the journal. So
//! what changes often costs sled one write for many, what is gone again by then costs it none, and its own log, which it
//! reads whole when it is opened, stays small.
//!
//! Segments follow each other under numbers from 1, `0000000001.journal` first. Only the last is written to, and a new one
//! begins where that has reached 128 MiB. Nothing in them is changed, and none is removed.

mod frame;
mod reader;
mod replay;
mod writer;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

pub(super) use self::frame::place_of_rows;
pub(super) use self::reader::Reader;
pub(super) use self::replay::{Replayed, replay};
pub(super) use self::writer::Writer;
use super::identity::FORMAT;

/// The first segment.
const FIRST: u32 = 1;
const SUFFIX: &str = ".journal";

/// A point between two frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) segment: u32,
    /// From the beginning of the segment's file, in bytes.
    pub(super) offset: u64,
}

/// Where one row stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) segment: u32,
    pub(super) offset: u64,
    /// With its key and its checksum, in bytes.
    pub(super) length: u64,
}

impl Position {
    /// Where the first frame of a new ledger will stand.
    pub(super) fn beginning(ledger_id: &str) -> Self {
        Self { segment: FIRST, offset: header(ledger_id, FIRST).len() as u64 }
    }

    pub(super) fn to_row(self) -> Vec<u8> {
        [&self.segment.to_be_bytes()[..], &self.offset.to_be_bytes()].concat()
    }

    pub(super) fn from_row(row: &[u8]) -> Option<Self> {
        let (segment, offset) = row.split_first_chunk()?;
        Some(Self { segment: u32::from_be_bytes(*segment), offset: u64::from_be_bytes(offset.try_into().ok()?) })
    }
}

impl Place {
    /// How long it is, in bytes.
    pub(super) const BYTES: usize = 20;

    pub(super) fn to_bytes(self) -> Vec<u8> {
        [&self.segment.to_be_bytes()[..], &self.offset.to_be_bytes(), &self.length.to_be_bytes()].concat()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (segment, rest) = bytes.split_first_chunk()?;
        let (offset, length) = rest.split_first_chunk()?;
        Some(Self {
            segment: u32::from_be_bytes(*segment),
            offset: u64::from_be_bytes(*offset),
            length: u64::from_be_bytes(length.try_into().ok()?),
        })
    }
}

/// What every segment begins with: whose it is, and which.
fn header(ledger_id: &str, segment: u32) -> String {
    format!("chio-host-journal {FORMAT}\nid {ledger_id}\nsegment {segment:010}\n")
}

fn segment_path(folder: &Path, segment: u32) -> PathBuf {
    folder.join(format!("{segment:010}{SUFFIX}"))
}

/// The segments of a folder, oldest first.
fn segments(folder: &Path) -> io::Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in folder.read_dir()? {
        let name = entry?.file_name();
        found.extend(name.to_str().and_then(|name| name.strip_suffix(SUFFIX)?.parse::<u32>().ok()));
    }
    found.sort_unstable();
    Ok(found)
}

/// The files that may hold what was written since the last sync.
pub(in crate::disk) fn newest_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let segments = segments(folder)?;
    // One may just have been begun.
    Ok(segments.iter().rev().take(2).map(|segment| segment_path(folder, *segment)).collect())
}

/// Reads exactly this part of a file that others read as well.
#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(not(unix))]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    // A cloned handle shares its position with the first, so one reader at a time.
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    use std::io::{Read, Seek, SeekFrom};
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(buffer)
}
