//! Folders: asked by the manifest, granted by the policy, and safe to open.

use super::Context;
use super::components::Asked;
use crate::document::{FileGrant, ServerEntry};
use crate::policy::{Access, Preopen};
use crate::problem::quote;
use crate::protected::absolute;

impl Context<'_> {
    /// The folders of a server. A grant of what was not asked is an error: the component would be given what its author
    /// never meant it to have.
    pub(super) fn granted(&self, grants: &[FileGrant], asked: &Asked) -> Vec<Preopen> {
        let preopen = |grant: &FileGrant| {
            self.check_asked(grant, asked);
            Preopen {
                path: grant.path.value.clone(),
                host: absolute(&self.dir.join(&grant.path.value)),
                at: grant.at.clone(),
                access: grant.access.value,
            }
        };
        grants.iter().map(preopen).collect()
    }

    fn check_asked(&self, grant: &FileGrant, asked: &Asked) {
        let granted = grant.access.value;
        let why = match asked {
            Asked::Nothing(file) => format!("there is no manifest {} to ask for it", quote(file)),
            Asked::Manifest(manifest) if manifest.files >= Some(granted) => return,
            Asked::Manifest(manifest) => {
                let wanted = manifest.files.map_or("no files", Access::as_str);
                format!("the manifest asks for {wanted} ({})", manifest.files_spot())
            }
        };
        self.report.at(&grant.access.spot, format!("grants {}, and {why}", granted.as_str()));
    }

    /// That every folder is there, and exposes nothing.
    pub(super) fn check_folders(&self, servers: &[ServerEntry]) {
        for grant in servers.iter().flat_map(|server| &server.files) {
            let path = absolute(&self.dir.join(&grant.path.value));
            let shown = quote(&grant.path.value);
            let problem = match path.canonicalize() {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    Some(format!("the folder {shown} does not exist; make it first"))
                }
                Err(error) => Some(format!("the folder {shown} cannot be opened: {error}")),
                Ok(folder) if !folder.is_dir() => Some(format!("{shown} is no folder")),
                Ok(folder) => self.protected.check(&folder).err().map(|why| format!("the folder {shown} {why}")),
            };
            if let Some(problem) = problem {
                self.report.at(&grant.path.spot, problem);
            }
        }
    }
}
