//! Values, read where the index says that they are.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use sled::IVec;

use super::super::halt::Halt;
use super::{Place, frame, read_at, segment_path};

/// How many segments are kept open for reading. What is read is mostly what was written last.
const OPEN: usize = 32;

pub(in crate::disk) struct Reader {
    folder: PathBuf,
    /// The one that was used last comes first.
    open: Mutex<VecDeque<(u32, Arc<File>)>>,
}

impl Reader {
    pub(in crate::disk) fn new(folder: PathBuf) -> Self {
        Self { folder, open: Mutex::default() }
    }

    /// The value of the row that stands at `place`, which has to be `key`'s.
    pub(in crate::disk) fn value(&self, place: Place, key: &[u8]) -> Result<IVec, Halt> {
        let damaged = |why: &str| {
            let Place { segment, offset, .. } = place;
            Halt::Damaged(format!("the row {}, at {offset} in journal segment {segment}: {why}", key.escape_ascii()))
        };
        let read = || {
            let file = self.segment(place.segment)?;
            // Before as much memory is taken as a damaged index may ask for.
            if place.offset.saturating_add(place.length) > file.metadata()?.len() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let mut bytes = vec![0; usize::try_from(place.length).map_err(|_| io::ErrorKind::UnexpectedEof)?];
            read_at(&file, &mut bytes, place.offset)?;
            Ok(bytes)
        };
        let bytes = read().map_err(|error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => damaged("the segment is missing"),
            io::ErrorKind::UnexpectedEof => damaged("the segment ends before it"),
            _ => Halt::Storage(sled::Error::Io(error)),
        })?;
        match frame::row(&bytes) {
            Some(row) if row.key == key => row.value.map(IVec::from).ok_or_else(|| damaged("it has no value there")),
            Some(_) => Err(damaged("another row stands there")),
            None => Err(damaged("it is not what was written")),
        }
    }

    fn segment(&self, number: u32) -> io::Result<Arc<File>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match open.iter().position(|(segment, _)| *segment == number).and_then(|i| open.remove(i)) {
            Some((_, file)) => file,
            None => Arc::new(File::open(segment_path(&self.folder, number))?),
        };
        open.push_front((number, Arc::clone(&found)));
        open.truncate(OPEN);
        Ok(found)
    }
}
