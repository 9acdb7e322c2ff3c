//! Reads a policy, a component or a manifest from the disk, within bounds: here, and for commands that read one by itself.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;

/// The largest component that is read, in bytes, whatever its limits say. Python and JavaScript guests carry their
/// interpreter with them.
pub const MAX_COMPONENT_BYTES: usize = 64 << 20;

/// The bytes of a regular file; anything else (a pipe, a device) could block or never end.
///
/// # Errors
/// Says what is wrong, to stand behind the file's name.
pub fn read(path: &Path, max: usize) -> Result<Vec<u8>, String> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    file.take(limit).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() > max { Err(format!("is longer than {max} bytes")) } else { Ok(bytes) }
}

fn open(path: &Path) -> Result<File, String> {
    if !fs::metadata(path).map_err(|error| failed(&error))?.is_file() {
        return Err("is no regular file".to_owned());
    }
    File::open(path).map_err(|error| failed(&error))
}

fn failed(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "does not exist".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

/// That a regular file stands there and can be opened.
///
/// # Errors
/// Says what is wrong, to stand behind the file's name.
pub(crate) fn check(path: &Path) -> Result<(), String> {
    open(path).map(drop)
}

/// Text, with the place of the first byte that is none.
///
/// # Errors
/// Says which line is no UTF-8.
pub fn text(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.split(|b| *b == b'\n').count();
        format!("is not UTF-8 (line {line})")
    })
}
