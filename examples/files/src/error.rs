//! What went wrong with a file, for the caller.

use std::io::{Error, ErrorKind};
use std::path::Path;

/// Says what could not be done, and which line of the policy would change it where one would.
pub(crate) fn explain(what: &str, path: &Path, error: &Error) -> String {
    let path = chio_sdk::quote(&path.to_string_lossy());
    match error.kind() {
        ErrorKind::NotFound => format!("cannot {what} {path}: it does not exist"),
        ErrorKind::NotADirectory => format!("cannot {what} {path}: a part of its path is not a folder"),
        ErrorKind::IsADirectory => format!("cannot {what} {path}: it is a folder"),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => format!(
            "cannot {what} {path}: the policy does not allow it; `access: read-write` under \
             `servers.<name>.permissions.files` would allow writing, and a link out of a granted folder is never followed"
        ),
        _ => format!("cannot {what} {path}: {error}"),
    }
}
