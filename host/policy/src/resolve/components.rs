//! Finds a component and its manifest: in the host's binary, in a file with the manifest beside it, or in a package.

use chio_host_kernel::operation::Role;

use super::Context;
use crate::builtins::Imports;
use crate::document::{PluginEntry, RailEntry, ServerEntry, Source};
use crate::files;
use crate::limits::Limits;
use crate::manifest::Manifest;
use crate::parts::{Beside, Parts, is_package};
use crate::policy::Component;
use crate::problem::{Located, Spot, quote, suggestion};

/// What a component asks for.
pub(super) enum Asked {
    /// What its manifest says.
    Manifest(Box<Manifest>),
    /// Whatever its imports can use: it has no manifest, because nobody wrote it for this host.
    Imports(Imports),
    /// Nothing: it has no manifest, which would have stood in this file.
    Nothing(String),
}

/// A component that a policy names, and where it names it.
pub(super) struct Wanted<'a> {
    pub(super) source: &'a Source,
    pub(super) name: &'a Located<String>,
    pub(super) role: Role,
    pub(super) signer: Option<&'a Located<String>>,
}

impl PluginEntry {
    pub(super) fn wanted(&self, role: Role) -> Wanted<'_> {
        Wanted { source: &self.source, name: &self.name, role, signer: self.signer.as_ref() }
    }
}

impl ServerEntry {
    pub(super) fn wanted(&self) -> Wanted<'_> {
        Wanted { source: &self.source, name: &self.name, role: Role::ToolServer, signer: self.signer.as_ref() }
    }
}

impl RailEntry {
    pub(super) fn wanted(&self) -> Wanted<'_> {
        Wanted { source: &self.source, name: &self.name, role: Role::Rail, signer: self.signer.as_ref() }
    }
}

impl Context<'_> {
    /// The one way in: a component is read, once, with what stands beside it, and the bytes that are let in are those that
    /// were checked.
    pub(super) fn component(&mut self, wanted: &Wanted<'_>, limits: &Limits) -> Option<(Component, Asked)> {
        let (parts, spot) = self.find(wanted, limits)?;
        self.let_in(&parts, spot, wanted.role, wanted.signer)
    }

    /// The built-in that a capability names and no section does. `spot` is where.
    pub(super) fn implied(&mut self, name: &str, spot: &Spot) -> Option<(Component, Asked)> {
        let found = self.host.builtins.find(Role::ToolServer, name)?;
        self.let_in(&Parts::of_builtin(name, &found), spot, Role::ToolServer, None)
    }

    fn let_in(
        &self,
        parts: &Parts,
        spot: &Spot,
        role: Role,
        signer: Option<&Located<String>>,
    ) -> Option<(Component, Asked)> {
        let component = self.admit(parts, spot, signer);
        if component.is_none() && parts.signature.is_some() {
            // What a manifest says that its signer did not sign is nobody's concern.
            return None;
        }
        let asked = self.asked(parts, spot, role);
        Some((component?, asked?))
    }

    /// A component's files, as they are, and where the policy names them.
    pub(super) fn find<'w>(&mut self, wanted: &Wanted<'w>, limits: &Limits) -> Option<(Parts, &'w Spot)> {
        let role = wanted.role;
        let name = match wanted.source {
            Source::Broken => return None,
            Source::Named => {
                let name = wanted.name;
                if self.host.builtins.find(role, &name.value).is_none() {
                    let near = suggestion(&name.value, self.host.builtins.names(role));
                    let (what, own) = (noun(role), article(role));
                    let message =
                        format!("no built-in {what} has this name, and {own} of your own needs component: PATH");
                    self.report.at(&name.spot, message + &near);
                }
                name
            }
            Source::Builtin(name) => {
                if self.host.builtins.find(role, &name.value).is_none() {
                    let names = self.host.builtins.names(role);
                    let near = suggestion(&name.value, names.iter().copied());
                    let known = match (names.as_slice(), near) {
                        ([], _) => "; there is none".to_owned(),
                        (names, near) if near.is_empty() => format!("; there are: {}", names.join(", ")),
                        (_, near) => near,
                    };
                    let message = format!("no built-in {} is called {}{known}", noun(role), quote(&name.value));
                    self.report.at(&name.spot, message);
                }
                name
            }
            Source::File(file) => return Some((self.file(file, limits)?, &file.spot)),
        };
        let found = self.host.builtins.find(role, &name.value)?;
        Some((Parts::of_builtin(&name.value, &found), &name.spot))
    }

    fn file(&mut self, written: &Located<String>, limits: &Limits) -> Option<Parts> {
        let name = &written.value;
        let path = self.dir.join(name);
        (self.host.note)(&path);
        self.protected.add(&format!("the component {name}"), &path);
        if !is_package(name) {
            for what in Beside::ALL {
                let file = what.of(name);
                let path = self.dir.join(&file);
                (self.host.note)(&path);
                self.protected.add(&format!("the {} {file}", what.noun()), &path);
            }
        }
        let max = usize::try_from(limits.component_bytes).unwrap_or(usize::MAX);
        Parts::read(self.dir, name, max).map_err(|error| self.report.at(&written.spot, error.to_string())).ok()
    }

    /// What a component asks: by its manifest, or, where it was not written for this host and has none, by its imports.
    pub(super) fn asked(&self, parts: &Parts, spot: &Spot, role: Role) -> Option<Asked> {
        let file = parts.file(Beside::Manifest);
        let Some(bytes) = &parts.manifest else {
            let imports = (role == Role::ToolServer).then(|| (self.host.imports)(&parts.component)).flatten();
            return Some(imports.map_or(Asked::Nothing(file), Asked::Imports));
        };
        let text = files::text(bytes.clone())
            .map_err(|why| self.report.at(spot, format!("its manifest {} {why}", quote(&file))))
            .ok()?;
        let manifest = Manifest::parse(&text, &file).map_err(|problems| self.report.extend(problems)).ok()?;
        if manifest.role == role {
            return Some(Asked::Manifest(Box::new(manifest)));
        }
        let message = format!("is {}, and the policy uses it as {}", article(manifest.role), article(role));
        self.report.at(manifest.kind_spot(), message);
        None
    }
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
