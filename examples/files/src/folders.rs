//! The folders that the policy grants, and the paths inside them.

use std::path::{Component, Path, PathBuf};

use chio_sdk::ToolError;

/// Where the guest sees the granted folders.
#[derive(Debug)]
pub(crate) struct Folders(Vec<PathBuf>);

impl Folders {
    /// What the host preopened.
    #[cfg(target_os = "wasi")]
    pub(crate) fn granted() -> Self {
        Self(wasip2::filesystem::preopens::get_directories().into_iter().map(|(_, path)| path.into()).collect())
    }

    /// Outside the sandbox nothing is granted; tests name their own folders.
    #[cfg(not(target_os = "wasi"))]
    pub(crate) fn granted() -> Self {
        Self(Vec::new())
    }

    #[cfg(test)]
    pub(crate) fn at(folders: &[&Path]) -> Self {
        Self(folders.iter().map(|folder| folder.to_path_buf()).collect())
    }

    /// The file or folder that a caller's path means: the granted folder it begins with, with or without the leading
    /// slash, and what follows; or, relative to the only granted folder, all of it.
    ///
    /// Every `..` is refused, also one that would stay inside: what it means depends on links that may change.
    pub(crate) fn resolve(&self, path: &str) -> Result<PathBuf, ToolError> {
        self.any()?;
        let shown = chio_sdk::quote(path);
        if path.is_empty() || path.contains('\0') {
            return Err(ToolError::invalid_arguments("the path is empty or contains a NUL character"));
        }
        let Some(wanted) = parts(Path::new(path)) else {
            return Err(ToolError::invalid_arguments(format!("the path {shown} contains `..`; name the file itself")));
        };
        // The longest first, so that a folder granted inside another keeps its own access.
        let inside =
            |folder: &&PathBuf| parts(folder).is_some_and(|parts| !parts.is_empty() && wanted.starts_with(&parts));
        if let Some(folder) = self.0.iter().filter(inside).max_by_key(|folder| folder.components().count()) {
            let depth = parts(folder).map_or(0, |parts| parts.len());
            return Ok(folder.join(wanted[depth..].iter().collect::<PathBuf>()));
        }
        if Path::new(path).has_root() {
            let root = self.0.iter().find(|folder| parts(folder).is_some_and(|parts| parts.is_empty()));
            return root.map(|root| root.join(wanted.iter().collect::<PathBuf>())).ok_or_else(|| {
                ToolError::invalid_arguments(format!(
                    "the path {shown} is outside the granted folders: {}",
                    self.names()
                ))
            });
        }
        Ok(self.only()?.join(wanted.iter().collect::<PathBuf>()))
    }

    /// The only folder that is granted.
    pub(crate) fn only(&self) -> Result<PathBuf, ToolError> {
        self.any()?;
        match self.0.as_slice() {
            [folder] => Ok(folder.clone()),
            _ => Err(ToolError::invalid_arguments(format!("name one of the granted folders: {}", self.names()))),
        }
    }

    fn any(&self) -> Result<(), ToolError> {
        if self.0.is_empty() {
            return Err(ToolError::failed_before_effect(
                "no folder is granted to this server; the policy grants one with \
                 `servers.<name>.permissions.files: [{ path: …, access: read-write }]`",
            ));
        }
        Ok(())
    }

    fn names(&self) -> String {
        self.0.iter().map(|folder| folder.to_string_lossy()).collect::<Vec<_>>().join(", ")
    }
}

/// The names in a path, without root and `.`; `None` when there is a `..`.
fn parts(path: &Path) -> Option<Vec<&std::ffi::OsStr>> {
    path.components()
        .filter(|part| !matches!(part, Component::RootDir | Component::CurDir))
        .map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect()
}
