//! Finds a component and its manifest: in the host's binary, or in a file with the manifest beside it.

use std::path::Path;

use chio_host_kernel::canonical::sha256_hex;
use chio_host_kernel::operation::Role;

use super::Context;
use crate::builtins::{Builtin, Imports};
use crate::document::Source;
use crate::files;
use crate::limits::Limits;
use crate::manifest::Manifest;
use crate::policy::{Component, Origin};
use crate::problem::{Located, quote, suggestion};
use crate::protected::absolute;
use crate::yaml::MAX_BYTES;

/// What a component asks for.
pub(super) enum Asked {
    /// What its manifest says.
    Manifest(Box<Manifest>),
    /// Whatever its imports can use: it has no manifest, because nobody wrote it for this host.
    Imports(Imports),
    /// Nothing: it has no manifest, which would have stood in this file.
    Nothing(String),
}

impl Context<'_> {
    pub(super) fn component(
        &mut self,
        source: &Source,
        name: &Located<String>,
        role: Role,
        limits: &Limits,
    ) -> Option<(Component, Asked)> {
        match source {
            Source::Broken => None,
            Source::Named => {
                let found = self.host.builtins.find(role, &name.value);
                if found.is_none() {
                    let near = suggestion(&name.value, self.host.builtins.names(role));
                    let (what, own) = (noun(role), article(role));
                    let message =
                        format!("no built-in {what} has this name, and {own} of your own needs component: PATH");
                    self.report.at(&name.spot, message + &near);
                }
                self.builtin(&name.value, &found?, role)
            }
            Source::Builtin(wanted) => {
                let found = self.host.builtins.find(role, &wanted.value);
                if found.is_none() {
                    let names = self.host.builtins.names(role);
                    let near = suggestion(&wanted.value, names.iter().copied());
                    let known = match (names.as_slice(), near) {
                        ([], _) => "; there is none".to_owned(),
                        (names, near) if near.is_empty() => format!("; there are: {}", names.join(", ")),
                        (_, near) => near,
                    };
                    let message = format!("no built-in {} is called {}{known}", noun(role), quote(&wanted.value));
                    self.report.at(&wanted.spot, message);
                }
                self.builtin(&wanted.value, &found?, role)
            }
            Source::File(path) => self.file(path, role, limits),
        }
    }

    /// The built-in that a capability names and no section does.
    pub(super) fn implied(&mut self, name: &str) -> Option<(Component, Asked)> {
        let found = self.host.builtins.find(Role::ToolServer, name)?;
        self.builtin(name, &found, Role::ToolServer)
    }

    fn builtin(&mut self, name: &str, builtin: &Builtin, role: Role) -> Option<(Component, Asked)> {
        let manifest = self.manifest(&builtin.manifest, &format!("builtin:{name}/manifest.yaml"), role)?;
        Some((component(&builtin.bytes, Origin::Builtin(name.to_owned())), Asked::Manifest(Box::new(manifest))))
    }

    fn file(&mut self, written: &Located<String>, role: Role, limits: &Limits) -> Option<(Component, Asked)> {
        let path = absolute(&self.dir.join(&written.value));
        let max = usize::try_from(limits.component_bytes).unwrap_or(usize::MAX).min(files::MAX_COMPONENT_BYTES);
        let read = files::read(&path, max)
            .and_then(|bytes| Ok((bytes, path.canonicalize().map_err(|e| format!("cannot be read: {e}"))?)));
        let component = match read {
            Ok((bytes, canonical)) => Some(component(&bytes, Origin::File(canonical))),
            Err(why) => {
                self.report.at(&written.spot, format!("{} {why}", quote(&written.value)));
                None
            }
        };
        self.protected.add(&format!("the component {}", written.value), &path);
        let asked = self.manifest_beside(written, role);
        let (component, asked) = (component?, asked?);
        let imports = match asked {
            Asked::Nothing(_) if role == Role::ToolServer => (self.host.imports)(&component.bytes),
            _ => None,
        };
        Some((component, imports.map_or(asked, Asked::Imports)))
    }

    /// `plugins/house_rules.manifest.yaml`, for `plugins/house_rules.wasm`. There need not be one.
    fn manifest_beside(&mut self, component: &Located<String>, role: Role) -> Option<Asked> {
        let stem = component.value.strip_suffix(".wasm").unwrap_or(&component.value);
        let name = format!("{stem}.manifest.yaml");
        let path = absolute(&self.dir.join(&name));
        self.protected.add(&format!("the manifest {name}"), &path);
        if is_absent(&path) {
            return Some(Asked::Nothing(name));
        }
        match files::read(&path, MAX_BYTES).and_then(files::text) {
            Ok(text) => self.manifest(&text, &name, role).map(|manifest| Asked::Manifest(Box::new(manifest))),
            Err(why) => {
                self.report.at(&component.spot, format!("its manifest {} {why}", quote(&name)));
                None
            }
        }
    }

    fn manifest(&self, text: &str, file: &str, role: Role) -> Option<Manifest> {
        let manifest = Manifest::parse(text, file).map_err(|problems| self.report.extend(problems)).ok()?;
        if manifest.role == role {
            return Some(manifest);
        }
        let message = format!("is {}, and the policy uses it as {}", article(manifest.role), article(role));
        self.report.at(manifest.kind_spot(), message);
        None
    }
}

fn component(bytes: &[u8], origin: Origin) -> Component {
    Component { digest: sha256_hex(bytes), bytes: bytes.into(), origin }
}

/// Nothing stands there, not even a link that leads nowhere.
fn is_absent(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

fn noun(role: Role) -> &'static str {
    match role {
        Role::Guard => "guard",
        Role::OutputHook => "hook",
        Role::ToolServer => "tool server",
        Role::Rail => "payment rail",
    }
}

fn article(role: Role) -> &'static str {
    match role {
        Role::Guard => "a guard",
        Role::OutputHook => "a hook",
        Role::ToolServer => "a tool server",
        Role::Rail => "a payment rail",
    }
}
