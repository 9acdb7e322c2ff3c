//! Folders: asked by the manifest, granted by the policy, and safe to open.

use super::Context;
use super::components::Asked;
use crate::document::{Document, FileGrant, Granted, SecretGrantEntry, ServerEntry};
use crate::policy::{Access, NetworkGrant, Outbound, Preopen, Scheme};
use crate::problem::{Located, quote, suggestion};
use crate::protected::absolute;

impl Context<'_> {
    /// The folders of a server. A grant of what was not asked is an error: the component would be given what its author
    /// never meant it to have.
    pub(super) fn granted(&self, grants: &[FileGrant], asked: &Asked) -> Vec<Preopen> {
        let preopen = |grant: &FileGrant| {
            self.check_asked(grant, asked);
            self.preopen(grant)
        };
        grants.iter().map(preopen).collect()
    }

    /// A folder as it is granted.
    pub(super) fn preopen(&self, grant: &FileGrant) -> Preopen {
        Preopen {
            path: grant.path.value.clone(),
            host: absolute(&self.dir.join(&grant.path.value)),
            at: grant.at.clone(),
            access: grant.access.value,
        }
    }

    fn check_asked(&self, grant: &FileGrant, asked: &Asked) {
        let granted = grant.access.value;
        let why = match asked {
            Asked::Nothing(file) => format!("there is no manifest {} to ask for it", quote(file)),
            Asked::Imports(imports) if imports.files => return,
            Asked::Imports(_) => "the component imports nothing that opens files".to_owned(),
            Asked::Manifest(manifest) if manifest.files >= Some(granted) => return,
            Asked::Manifest(manifest) => {
                let wanted = manifest.files.map_or("no files", Access::as_str);
                format!("the manifest asks for {wanted} ({})", manifest.files_spot())
            }
        };
        self.report.at(&grant.access.spot, format!("grants {}, and {why}", granted.as_str()));
    }

    /// Where a component may send requests, and with which secrets.
    pub(super) fn outbound(&self, granted: &Granted, asked: &Asked, document: &Document) -> Outbound {
        for grant in &granted.network {
            self.check_network_asked(grant, asked);
        }
        for secret in &granted.secrets {
            self.check_secret(secret, &granted.network, document);
        }
        Outbound {
            network: granted.network.iter().map(|grant| grant.value.clone()).collect(),
            secrets: granted.secrets.iter().map(|secret| secret.grant.clone()).collect(),
        }
    }

    fn check_network_asked(&self, grant: &Located<NetworkGrant>, asked: &Asked) {
        let why = match asked {
            Asked::Nothing(file) => format!("there is no manifest {} to ask for it", quote(file)),
            Asked::Imports(imports) if imports.requests => return,
            Asked::Imports(_) => "the component imports nothing that sends requests".to_owned(),
            Asked::Manifest(manifest) if manifest.network.covers(&grant.value) => return,
            Asked::Manifest(manifest) => format!("the manifest does not ask for it ({})", manifest.network_spot()),
        };
        self.report.at(&grant.spot, format!("grants {}, and {why}", grant.value));
    }

    /// That there is such a secret, and that it cannot travel in the clear.
    fn check_secret(&self, entry: &SecretGrantEntry, network: &[Located<NetworkGrant>], document: &Document) {
        let grant = &entry.grant;
        if !document.secrets.iter().any(|secret| secret.name.value == grant.name) {
            let near = suggestion(&grant.name, document.secrets.iter().map(|secret| secret.name.value.as_str()));
            let message = format!("no secret is called {}; `secrets` names them{near}", quote(&grant.name));
            self.report.at(&entry.name.spot, message);
        }
        let mut places =
            network.iter().map(|place| &place.value).filter(|place| place.covers_host(&grant.host)).peekable();
        let message = if places.peek().is_none() {
            format!("{} is not granted; name it under network as well", quote(&grant.host))
        } else if places.all(|place| place.scheme == Scheme::Http && !is_loopback(&grant.host)) {
            format!(
                "{} is granted over http, where anybody could read a secret; grant it over https",
                quote(&grant.host)
            )
        } else {
            return;
        };
        self.report.at(&entry.host.spot, message);
    }

    /// That every folder is there, and exposes nothing.
    pub(super) fn check_folders(&self, servers: &[ServerEntry]) {
        for grant in servers.iter().flat_map(|server| &server.granted.files) {
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

/// Whether a host is this machine's own address, written as such.
fn is_loopback(host: &str) -> bool {
    host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
