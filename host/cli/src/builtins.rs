//! The embedded components, as a policy looks them up.

use std::borrow::Cow;

use chio_host_builtin::Kind;
use chio_host_kernel::operation::Role;
use chio_host_policy::{Builtin, Builtins};

/// What the binary carries.
pub(crate) struct Embedded;

fn kind(role: Role) -> Option<Kind> {
    match role {
        Role::Guard => Some(Kind::Guard),
        Role::OutputHook => Some(Kind::Hook),
        Role::ToolServer => Some(Kind::ToolServer),
        // A payment provider is somebody's own.
        Role::Rail => None,
    }
}

impl Builtins for Embedded {
    fn find(&self, role: Role, name: &str) -> Option<Builtin> {
        let found = chio_host_builtin::find(kind(role)?, name)?;
        Some(Builtin { bytes: Cow::Borrowed(found.bytes), manifest: Cow::Borrowed(found.manifest) })
    }

    fn names(&self, role: Role) -> Vec<&str> {
        chio_host_builtin::all().iter().filter(|b| Some(b.kind) == kind(role)).map(|b| b.name).collect()
    }
}
