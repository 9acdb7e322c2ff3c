//! `rails`: payment providers and what each is granted.

use serde_json::Value;

use super::named;
use super::plugins::{Common, Source, common};
use super::servers::{Granted, permissions};
use crate::limits::LimitOverrides;
use crate::problem::Located;
use crate::yaml::Cursor;

/// One payment rail, as written.
#[derive(Debug)]
pub(crate) struct RailEntry {
    pub(crate) name: Located<String>,
    pub(crate) source: Source,
    pub(crate) config: Value,
    pub(crate) limits: LimitOverrides,
    pub(crate) signer: Option<Located<String>>,
    pub(crate) granted: Granted,
}

pub(super) fn read(section: &Cursor<'_>) -> Option<Vec<RailEntry>> {
    let entries = named(section, "a mapping of payment rails, such as bank: { component: plugins/bank.wasm }")?;
    let read = |(name, cursor): (Located<String>, Cursor<'_>)| {
        cursor.fields("a mapping, such as { component: plugins/bank.wasm }", |f| {
            let Common { source, config, limits, signer } = common(f);
            let granted = f.or("permissions", Granted::default(), |c| permissions(&c));
            if let Some(folder) = granted.files.first() {
                cursor.report().at(&folder.path.spot, "a payment rail has no files; remove it");
            }
            if let Some(variable) = granted.environment.first() {
                cursor.report().at(&variable.spot, "a payment rail has no environment; its config says what it needs");
            }
            if let Some(invoke) = granted.invoke.first() {
                cursor.report().at(&invoke.server.spot, "a payment rail calls no tools; remove it");
            }
            RailEntry { name, source, config, limits, signer, granted }
        })
    };
    Some(entries.into_iter().filter_map(read).collect())
}
