//! `guards` and `hooks`, and what servers share with them: where the component is, its configuration, its limits.

use chio_host_kernel::operation::Role;
use serde_json::Value;

use super::{named, path, public_key};
use crate::limits::LimitOverrides;
use crate::problem::Located;
use crate::yaml::{Cursor, Fields};

/// The host signs its own verdicts under this name, so no plugin may have it.
const RESERVED: &str = "kernel";

/// Where a component comes from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// The built-in of the entry's own name.
    Named,
    /// `builtin:NAME`.
    Builtin(Located<String>),
    /// A file, as written.
    File(Located<String>),
    /// Refused, and reported.
    Broken,
}

/// One plugin, as written.
#[derive(Debug)]
pub(crate) struct PluginEntry {
    pub(crate) name: Located<String>,
    pub(crate) enabled: bool,
    pub(crate) source: Source,
    pub(crate) config: Value,
    pub(crate) limits: LimitOverrides,
    pub(crate) signer: Option<Located<String>>,
}

/// What every component may be given.
pub(super) struct Common {
    pub(super) source: Source,
    pub(super) config: Value,
    pub(super) limits: LimitOverrides,
    pub(super) signer: Option<Located<String>>,
}

pub(super) fn read(section: &Cursor<'_>, role: Role) -> Option<Vec<PluginEntry>> {
    let example = match role {
        Role::OutputHook => "a mapping of hooks, such as secret_redactor: { enabled: true }",
        Role::Guard | Role::ToolServer | Role::Rail => "a mapping of guards, such as forbidden_path: { enabled: true }",
    };
    let entries = named(section, example)?;
    let read = |(name, cursor): (Located<String>, Cursor<'_>)| {
        if name.value == RESERVED {
            cursor.report().at(&name.spot, "kernel is the host's own name in receipts; choose another");
        }
        cursor.fields("a mapping, such as { enabled: true }", |f| {
            let enabled = f.or("enabled", true, |c| c.boolean());
            let Common { source, config, limits, signer } = common(f);
            PluginEntry { name, enabled, source, config, limits, signer }
        })
    };
    Some(entries.into_iter().filter_map(read).collect())
}

pub(super) fn common(f: &mut Fields<'_, '_>) -> Common {
    let source = source(f);
    let signer = f.take("signer").and_then(|c| {
        if !matches!(source, Source::File(_) | Source::Broken) {
            c.refuse("a built-in has no signer; remove it, or name a file as component");
            return None;
        }
        public_key(&c).map(|key| c.locate(key))
    });
    Common {
        config: f.or("config", Value::Null, |c| c.json_object("a mapping, such as { weekend: deny }")),
        limits: f.or("limits", LimitOverrides::default(), |c| Some(LimitOverrides::read(&c))),
        source,
        signer,
    }
}

fn source(f: &mut Fields<'_, '_>) -> Source {
    let Some(cursor) = f.take("component") else { return Source::Named };
    let Some(text) = path(&cursor) else { return Source::Broken };
    match text.strip_prefix("builtin:") {
        Some(name) => Source::Builtin(cursor.locate(name.to_owned())),
        None => Source::File(cursor.locate(text.to_owned())),
    }
}
