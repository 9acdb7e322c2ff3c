//! What no granted folder may expose: a tool that could write its own policy, or read the host's keys, would need no
//! permission.

use std::path::{Component, Path, PathBuf};

/// Files and folders that no tool may reach, on canonical paths.
///
/// Each is kept under every name that leads to it: where it is, where its last link stands, and as it was written. Who
/// can replace a link can replace what it leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protected {
    places: Vec<(PathBuf, String)>,
}

/// Why a folder cannot be granted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exposure {
    /// The folder is, or holds, something protected.
    #[error("would expose {what} ({}); grant a folder that does not contain it", place.display())]
    Contains {
        /// What it is.
        what: String,
        /// Where.
        place: PathBuf,
    },
    /// The folder lies in a protected one.
    #[error("lies inside {what} ({}); grant a folder elsewhere", place.display())]
    Inside {
        /// What it is.
        what: String,
        /// Where.
        place: PathBuf,
    },
}

impl Protected {
    /// Protects the host's state folder and key folder. Neither needs to exist yet.
    #[must_use]
    pub fn new(state: &Path, keys: &Path) -> Self {
        let mut protected = Self::default();
        protected.add("the state folder", state);
        protected.add("the key folder", keys);
        protected
    }

    /// Protects one more file or folder; `what` names it in messages.
    pub fn add(&mut self, what: &str, path: &Path) {
        let written = absolute(path);
        let beside = match (written.parent(), written.file_name()) {
            (Some(parent), Some(name)) => canonical(parent).join(name),
            _ => written.clone(),
        };
        for place in [canonical(&written), beside, written] {
            if self.places.iter().all(|(known, _)| *known != place) {
                self.places.push((place, what.to_owned()));
            }
        }
    }

    /// Whether a folder can be granted without exposing anything. Ask when a policy is loaded, and again when the
    /// folder is opened: links may have changed.
    ///
    /// # Errors
    /// Says what the folder would expose.
    pub fn check(&self, canonical_folder: &Path) -> Result<(), Exposure> {
        for (place, what) in &self.places {
            if place.starts_with(canonical_folder) {
                return Err(Exposure::Contains { what: what.clone(), place: place.clone() });
            }
            if canonical_folder.starts_with(place) {
                return Err(Exposure::Inside { what: what.clone(), place: place.clone() });
            }
        }
        Ok(())
    }
}

/// An absolute path without `.` and `..`, links not followed.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// The canonical path, also of what does not exist yet: the part that exists, resolved, and the rest behind it.
fn canonical(path: &Path) -> PathBuf {
    for existing in path.ancestors() {
        if let (Ok(mut resolved), Ok(rest)) = (existing.canonicalize(), path.strip_prefix(existing)) {
            // Step by step: joining nothing would leave a slash at the end, which messages would show.
            resolved.extend(rest);
            return resolved;
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_may_neither_hold_nor_lie_in_what_is_protected() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for folder in ["state/deep", "keys", "work", "state-evil"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let protected = Protected::new(&root.join("state"), &root.join("keys/not-yet"));
        for (folder, allowed) in [
            ("work", true),
            ("state-evil", true),
            ("", false),
            ("state", false),
            ("state/deep", false),
            ("keys", false),
            ("keys/not-yet/in", false),
        ] {
            assert_eq!(protected.check(&root.join(folder)).is_ok(), allowed, "{folder}");
        }
        assert!(protected.check(Path::new("/")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn every_name_of_a_linked_file_is_protected() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for folder in ["real", "links", "upper"] {
            std::fs::create_dir(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("real/p.wasm"), "").unwrap();
        std::os::unix::fs::symlink("../real/p.wasm", root.join("links/p.wasm")).unwrap();
        std::os::unix::fs::symlink("../links", root.join("upper/down")).unwrap();
        let mut protected = Protected::default();
        protected.add("a plugin", &root.join("upper/down/../down/p.wasm"));
        for folder in ["real", "links", "upper"] {
            assert!(protected.check(&root.join(folder)).is_err(), "{folder}");
        }
    }
}
