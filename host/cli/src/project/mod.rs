//! A project that a component is written in: what `plugin new` lays out and `plugin build` builds.

mod build;
mod files;
mod python;
mod rust;
mod wanted;

use std::path::{Path, PathBuf};

use chio_host_kernel::operation::Role;
use chio_host_policy::Manifest;

pub(crate) use self::build::build;
pub(crate) use self::files::lay_out;
pub(crate) use self::wanted::{Kind, Language, Wanted};

use crate::component;
use crate::error::CliError;

/// What a project's manifest is called: its name, and this.
const MANIFEST: &str = ".manifest.yaml";

/// A project that is there.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) dir: PathBuf,
    pub(crate) name: String,
    pub(crate) role: Role,
}

impl Project {
    /// The project in a folder: it has one `NAME.manifest.yaml`.
    pub(crate) fn open(dir: &Path) -> Result<Self, CliError> {
        let none = |why: String| CliError::path(dir, format!("{why}; `chio-host plugin new NAME` starts a project"));
        let mut names = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(|e| CliError::path(dir, e))? {
            let file = entry.map_err(|e| CliError::path(dir, e))?.file_name();
            names.extend(file.to_str().and_then(|file| file.strip_suffix(MANIFEST)).map(str::to_owned));
        }
        names.sort();
        let name = match names.as_slice() {
            [name] => name.clone(),
            [] => return Err(none("it is no project: there is no NAME.manifest.yaml".to_owned())),
            several => {
                return Err(none(format!("there are manifests of {}, and a project has one", several.join(", "))));
            }
        };
        let path = dir.join(format!("{name}{MANIFEST}"));
        let text = component::read_text(&path)?;
        let manifest =
            Manifest::parse(&text, &path.display().to_string()).map_err(|e| CliError::Policy(e.to_string()))?;
        Ok(Self { dir: dir.to_owned(), name, role: manifest.role })
    }

    /// Where its component is, once it is built.
    pub(crate) fn component(&self) -> PathBuf {
        let component = self.dir.join(format!("{}.wasm", self.name));
        component.strip_prefix(".").map(Path::to_owned).unwrap_or(component)
    }

    /// What it is written in, by the file that its toolchain reads.
    fn language(&self) -> Result<Language, CliError> {
        let known =
            [("Cargo.toml", Language::Rust), ("package.json", Language::Js), ("requirements.txt", Language::Python)];
        let found = known.iter().find(|(file, _)| self.dir.join(file).is_file());
        found.map(|(_, language)| *language).ok_or_else(|| {
            CliError::path(&self.dir, "there is no Cargo.toml, package.json or requirements.txt to build from")
        })
    }
}
