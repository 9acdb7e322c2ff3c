//! Reading a file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use chio_sdk::ToolError;

use crate::error::explain;

/// The most that is read, in bytes: a model has no use for more, and the host's limit on output is not far above.
pub(crate) const MAX_BYTES: u64 = 1 << 20;

pub(crate) fn read(path: &Path) -> Result<String, ToolError> {
    let failed = |error: &std::io::Error| ToolError::failed_before_effect(explain("read", path, error));
    let file = File::open(path).map_err(|error| failed(&error))?;
    if file.metadata().map_err(|error| failed(&error))?.is_dir() {
        return Err(ToolError::invalid_arguments(format!("{} is a folder; list_files lists it", shown(path))));
    }
    let mut bytes = Vec::new();
    // The file may grow after its size was asked, so the reading is what is bounded.
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ToolError::failed_before_effect(format!("{} is larger than {MAX_BYTES} bytes", shown(path))));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        ToolError::failed_before_effect(format!("{} is not text: byte {at} is not valid UTF-8", shown(path)))
    })
}

fn shown(path: &Path) -> String {
    chio_sdk::quote(&path.to_string_lossy())
}
