//! What the journal holds beyond the index.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use sled::IVec;

use super::frame::{FRAME_HEAD, is_whole, length_in, row};
use super::{FIRST, Place, Position, header, segment_path, segments};

/// A row as the journal has it, and where.
pub(in crate::disk) type Replayed = (Vec<u8>, Option<(IVec, Place)>);

/// Reads every frame from a position on, in order, and answers where the last one ends. What comes after that was never
/// synced: a frame that was not written whole, at the end of the last segment.
///
/// # Errors
/// What is missing, foreign or damaged. A frame in the midst that is not whole looks like the end; that it was synced is
/// for the caller to know.
pub(in crate::disk) fn replay(
    folder: &Path,
    ledger_id: &str,
    from: Position,
    mut frame: impl FnMut(Vec<Replayed>) -> Result<(), String>,
) -> Result<Position, String> {
    let found = segments(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let last = found.last().copied().unwrap_or_default();
    let mut expected = FIRST..=last.max(from.segment);
    if let Some(missing) = expected.find(|number| found.binary_search(number).is_err()) {
        return Err(format!("{} is missing", segment_path(folder, missing).display()));
    }
    let mut end = from;
    for segment in from.segment..=last {
        let path = segment_path(folder, segment);
        let at = |why: String| format!("{}: {why}", path.display());
        let mut file = File::open(&path).map_err(|e| at(e.to_string()))?;
        let length = file.metadata().map_err(|e| at(e.to_string()))?.len();
        let header = header(ledger_id, segment);
        let mut begin = Vec::new();
        file.by_ref().take(header.len() as u64).read_to_end(&mut begin).map_err(|e| at(e.to_string()))?;
        if begin != header.as_bytes() {
            // One that was only being begun when the host died: nothing was ever in it.
            if segment == last && segment > from.segment && length <= header.len() as u64 {
                return Ok(Position { segment, offset: 0 });
            }
            return Err(at("it is not this ledger's, or not what was written".to_owned()));
        }
        let offset = if segment == from.segment { from.offset } else { header.len() as u64 };
        if offset > length {
            return Err(at(format!("it has {length} bytes, and {offset} were on the disk")));
        }
        file.seek(SeekFrom::Start(offset)).map_err(|e| at(e.to_string()))?;
        let mut rest = Rest { file: BufReader::with_capacity(1 << 20, file), segment, offset, length };
        while let Some(rows) = rest.frame().map_err(at)? {
            frame(rows)?;
        }
        end = Position { segment, offset: rest.offset };
        if rest.offset < length && segment < last {
            return Err(at(format!("what stands at {} is not what was written", rest.offset)));
        }
    }
    Ok(end)
}

/// What is left of a segment.
struct Rest {
    file: BufReader<File>,
    segment: u32,
    offset: u64,
    length: u64,
}

impl Rest {
    /// The next frame; none at the end, and where what follows is not whole.
    fn frame(&mut self) -> Result<Option<Vec<Replayed>>, String> {
        let left = self.length - self.offset;
        let Some(room) = left.checked_sub(FRAME_HEAD as u64) else { return Ok(None) };
        let mut head = [0; FRAME_HEAD];
        self.file.read_exact(&mut head).map_err(|e| e.to_string())?;
        let length = length_in(&head);
        let Some(length) = usize::try_from(length).ok().filter(|_| length <= room) else { return Ok(None) };
        let mut bytes = vec![0; length];
        self.file.read_exact(&mut bytes).map_err(|e| e.to_string())?;
        // A frame without rows is never written, and zeros would pass for one.
        if length == 0 || !is_whole(&head, &bytes) {
            return Ok(None);
        }
        let (mut rows, mut at) = (Vec::new(), 0);
        while at < length {
            let offset = self.offset + (FRAME_HEAD + at) as u64;
            let Some(row) = row(&bytes[at..]) else { return Err(format!("the row at {offset} is damaged")) };
            let place = Place { segment: self.segment, offset, length: row.length as u64 };
            rows.push((row.key.to_vec(), row.value.map(|value| (value.into(), place))));
            at += row.length;
        }
        self.offset += (FRAME_HEAD + length) as u64;
        Ok(Some(rows))
    }
}
