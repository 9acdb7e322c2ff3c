//! Writing a file.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use chio_sdk::ToolError;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::explain;

#[derive(Debug, Serialize)]
pub(crate) struct Written {
    pub(crate) bytes_written: usize,
}

pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "bytes_written": { "type": "integer" } },
        "required": ["bytes_written"]
    })
}

/// Writes `content` beside `path` and renames it there, so that a reader sees the old file or the new one, never half
/// of it. A link at `path` is replaced, not followed.
pub(crate) fn write(path: &Path, content: &str, operation_id: &str) -> Result<Written, ToolError> {
    let before = |error: &io::Error| ToolError::failed_before_effect(explain("write", path, error));
    let (Some(folder), Some(_)) = (path.parent(), path.file_name()) else {
        return Err(ToolError::invalid_arguments("the path names no file"));
    };
    if path.is_dir() {
        return Err(ToolError::invalid_arguments(format!("{} is a folder", chio_sdk::quote(&path.to_string_lossy()))));
    }
    // No other call has this operation's id, so no other writes to this name; one that exists was put there by somebody
    // else, and is refused rather than followed.
    let temporary = folder.join(format!(".chio-{}.tmp", operation_id.get(..16).unwrap_or(operation_id)));
    let file = File::create_new(&temporary).map_err(|error| before(&error))?;
    if let Err(error) = fill(file, content).and_then(|()| fs::rename(&temporary, path)) {
        // The first error is the one that matters; a temporary file that cannot be removed is only untidy.
        let _ = fs::remove_file(&temporary);
        return Err(ToolError::failed(explain("write", path, &error)));
    }
    Ok(Written { bytes_written: content.len() })
}

fn fill(mut file: File, content: &str) -> io::Result<()> {
    file.write_all(content.as_bytes())?;
    file.sync_all()
}
