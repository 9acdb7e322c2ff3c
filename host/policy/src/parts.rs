//! The files of one plugin, read once: whatever is checked, and whatever is loaded, are these bytes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chio_host_kernel::canonical::sha256_hex;

use crate::builtins::Builtin;
use crate::files::{self, MAX_COMPONENT_BYTES};
use crate::package::{self, PackageError};
use crate::policy::Origin;
use crate::problem::quote;
use crate::protected::absolute;
use crate::yaml::MAX_BYTES;

/// The ending of a package's name.
const PACKAGE: &str = ".chio";
/// The longest signature file, in bytes: many times what one takes.
pub(crate) const MAX_SIGNATURE: usize = 4096;

/// What may stand beside a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// What it asks for.
    Manifest,
    /// Who signed it.
    Signature,
    /// Calls on which it was tried.
    Fixtures,
}

impl Beside {
    /// All, in a package's order.
    pub(crate) const ALL: [Self; 3] = [Self::Manifest, Self::Signature, Self::Fixtures];

    /// Its name in a package, and behind `NAME.` beside a `NAME.wasm`.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Self::Manifest => "manifest.yaml",
            Self::Signature => "signature.json",
            Self::Fixtures => "fixtures.yaml",
        }
    }

    /// How messages call it.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Signature => "signature",
            Self::Fixtures => "fixtures",
        }
    }

    pub(crate) fn max(self) -> usize {
        match self {
            Self::Manifest | Self::Fixtures => MAX_BYTES,
            Self::Signature => MAX_SIGNATURE,
        }
    }

    /// Where it is for a component: `plugins/x.manifest.yaml` for `plugins/x.wasm`, `plugins/x.chio/manifest.yaml` in a
    /// package.
    #[must_use]
    pub fn of(self, component: &str) -> String {
        if is_package(component) {
            return format!("{component}/{}", self.file());
        }
        format!("{}.{}", component.strip_suffix(".wasm").unwrap_or(component), self.file())
    }
}

/// Whether a component's name is that of a package.
#[must_use]
pub fn is_package(name: &str) -> bool {
    name.ends_with(PACKAGE)
}

/// A plugin's files.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The component's file, or `builtin:NAME`, as messages call it.
    pub name: String,
    /// Where it was found.
    pub origin: Origin,
    /// The component.
    pub component: Arc<[u8]>,
    /// SHA-256 of the component, lower-case hex.
    pub digest: String,
    /// The manifest, if there is one.
    pub manifest: Option<Vec<u8>>,
    /// The signature file, if there is one.
    pub signature: Option<Vec<u8>>,
    /// The fixtures, if there are any.
    pub fixtures: Option<Vec<u8>>,
}

/// Why a plugin's files cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PartsError {
    /// The component, or the package.
    #[error("{} {why}", quote(file))]
    Component {
        /// Which file.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// Something beside the component.
    #[error("its {} {} {why}", what.noun(), quote(file))]
    Beside {
        /// What it is.
        what: Beside,
        /// Which file.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// A package that is none.
    #[error("{} is no package of a plugin: {error}", quote(file))]
    Package {
        /// Which file.
        file: String,
        /// What is wrong with it.
        error: PackageError,
    },
}

impl Parts {
    /// Reads a component's file and what stands beside it, or a package. `name` is relative to `dir`; a component that is
    /// longer than `max_component` bytes is refused.
    ///
    /// # Errors
    /// A file that is not there, is no regular file, or is too long; a package that is not one.
    pub fn read(dir: &Path, name: &str, max_component: usize) -> Result<Self, PartsError> {
        let path = absolute(&dir.join(name));
        let max = max_component.min(MAX_COMPONENT_BYTES);
        let read = |max| -> Result<(Vec<u8>, PathBuf), PartsError> {
            let bytes = files::read(&path, max);
            let found = bytes.and_then(|bytes| {
                Ok((bytes, path.canonicalize().map_err(|error| format!("cannot be read: {error}"))?))
            });
            found.map_err(|why| PartsError::Component { file: name.to_owned(), why })
        };
        if is_package(name) {
            let (bytes, found) = read(package::max_bytes(max))?;
            let read = package::read(&bytes, max);
            let packed = read.map_err(|error| PartsError::Package { file: name.to_owned(), error })?;
            return Ok(Self { name: name.to_owned(), origin: Origin::File(found), ..packed });
        }
        let (component, found) = read(max)?;
        let beside = |what: Beside| {
            let file = what.of(name);
            let path = absolute(&dir.join(&file));
            if is_absent(&path) {
                return Ok(None);
            }
            files::read(&path, what.max()).map(Some).map_err(|why| PartsError::Beside { what, file, why })
        };
        Ok(Self {
            name: name.to_owned(),
            origin: Origin::File(found),
            digest: sha256_hex(&component),
            component: component.into(),
            manifest: beside(Beside::Manifest)?,
            signature: beside(Beside::Signature)?,
            fixtures: beside(Beside::Fixtures)?,
        })
    }

    /// Those of one of the host's own components.
    #[must_use]
    pub fn of_builtin(name: &str, builtin: &Builtin) -> Self {
        Self {
            name: format!("builtin:{name}"),
            origin: Origin::Builtin(name.to_owned()),
            digest: sha256_hex(&builtin.bytes),
            component: builtin.bytes.as_ref().into(),
            manifest: Some(builtin.manifest.as_bytes().to_vec()),
            signature: None,
            fixtures: None,
        }
    }

    /// What problems call one of its files.
    #[must_use]
    pub fn file(&self, what: Beside) -> String {
        match self.origin {
            Origin::Builtin(_) => format!("{}/{}", self.name, what.file()),
            Origin::File(_) => what.of(&self.name),
        }
    }

    /// One of its files.
    #[must_use]
    pub fn beside(&self, what: Beside) -> Option<&[u8]> {
        match what {
            Beside::Manifest => self.manifest.as_deref(),
            Beside::Signature => self.signature.as_deref(),
            Beside::Fixtures => self.fixtures.as_deref(),
        }
    }
}

/// Nothing stands there, not even a link that leads nowhere.
fn is_absent(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_beside_a_component_has_its_name() {
        for (component, manifest) in [
            ("plugins/x.wasm", "plugins/x.manifest.yaml"),
            ("x", "x.manifest.yaml"),
            ("a.b.wasm", "a.b.manifest.yaml"),
            ("plugins/x.chio", "plugins/x.chio/manifest.yaml"),
        ] {
            assert_eq!(Beside::Manifest.of(component), manifest);
        }
    }
}
