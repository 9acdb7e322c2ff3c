//! What the host knows of components: those that it carries in its own binary, and what others import.

use std::borrow::Cow;

use chio_host_kernel::operation::Role;

/// One embedded component.
#[derive(Clone, Debug)]
pub struct Builtin {
    /// The component.
    pub bytes: Cow<'static, [u8]>,
    /// Its `manifest.yaml`.
    pub manifest: Cow<'static, str>,
}

/// What a component can use of what a policy grants, if it is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imports {
    /// It can open files.
    pub files: bool,
    /// It can send requests.
    pub requests: bool,
    /// It can read environment variables.
    pub environment: bool,
}

/// Finds the host's own components. The binary implements it; a policy needs no more than names.
pub trait Builtins {
    /// The built-in of this role and name.
    fn find(&self, role: Role, name: &str) -> Option<Builtin>;

    /// The names of this role, for suggestions.
    fn names(&self, role: Role) -> Vec<&str>;
}
