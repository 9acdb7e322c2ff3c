//! Listing a folder.

use std::fs::{self, DirEntry};
use std::path::Path;

use chio_sdk::ToolError;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::explain;

/// The most entries that one listing holds.
pub(crate) const MAX_ENTRIES: usize = 1_000;

#[derive(Debug, Serialize)]
pub(crate) struct Listing {
    pub(crate) entries: Vec<Entry>,
    /// Whether the folder has more entries than are listed.
    pub(crate) truncated: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Entry {
    pub(crate) name: String,
    kind: &'static str,
    /// A file's size.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "entries": { "type": "array", "items": { "type": "object", "properties": {
                "name": { "type": "string" },
                "kind": { "enum": ["file", "folder", "link", "other"] },
                "bytes": { "type": "integer" }
            }, "required": ["name", "kind"] } },
            "truncated": { "type": "boolean" }
        },
        "required": ["entries", "truncated"]
    })
}

/// Lists `path` in the order of names. A name that is not UTF-8 is shown with replacement characters.
pub(crate) fn list(path: &Path) -> Result<Listing, ToolError> {
    let failed = |error: &std::io::Error| ToolError::failed_before_effect(explain("list", path, error));
    let mut entries = Vec::new();
    let mut reader = fs::read_dir(path).map_err(|error| failed(&error))?;
    for entry in reader.by_ref().take(MAX_ENTRIES) {
        entries.push(describe(&entry.map_err(|error| failed(&error))?));
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Listing { entries, truncated: reader.next().is_some() })
}

fn describe(entry: &DirEntry) -> Entry {
    let name = entry.file_name().to_string_lossy().into_owned();
    // An entry that vanished meanwhile, or that may not be looked at, is still listed.
    let Ok(metadata) = entry.metadata() else {
        return Entry { name, kind: "other", bytes: None };
    };
    let kind = match metadata.file_type() {
        kind if kind.is_file() => "file",
        kind if kind.is_dir() => "folder",
        kind if kind.is_symlink() => "link",
        _ => "other",
    };
    Entry { name, kind, bytes: metadata.is_file().then_some(metadata.len()) }
}
