//! `wasi:config/store`, by which components that nobody wrote for this host read their settings: what stands under `config` in
//! the policy, name by name. It has no version yet, only drafts, so it is linked under the very name that is imported.

use std::collections::BTreeMap;
use std::sync::Arc;

use chio_host_kernel::canonical;
use serde_json::Value;
use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use super::effect;
use super::state::ToolState;
use crate::bindings::settings::wasi::config::store::Error;
use crate::error::{LoadError, one_line};
use crate::inspect::Inspection;

/// Defines it where it is imported.
pub(super) fn link(linker: &mut Linker<ToolState>, inspection: &Inspection, config: &Value) -> Result<(), LoadError> {
    for name in inspection.imports.iter().filter(|name| effect::is_settings(name)) {
        let settings = Arc::new(settings(config)?);
        define(linker, name, settings).map_err(|e| LoadError::Types(inspection.kind, one_line(&e)))?;
    }
    Ok(())
}

fn define(linker: &mut Linker<ToolState>, name: &str, settings: Arc<BTreeMap<String, String>>) -> wasmtime::Result<()> {
    type Answer<T> = wasmtime::Result<(Result<T, Error>,)>;
    let mut store = linker.instance(name)?;
    let all: Vec<(String, String)> = settings.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    store.func_wrap("get", move |_: StoreContextMut<'_, ToolState>, (name,): (String,)| -> Answer<Option<String>> {
        Ok((Ok(settings.get(&name).cloned()),))
    })?;
    store.func_wrap("get-all", move |_: StoreContextMut<'_, ToolState>, (): ()| -> Answer<Vec<(String, String)>> {
        Ok((Ok(all.clone()),))
    })
}

/// A text as it stands, anything else as JSON.
fn settings(config: &Value) -> Result<BTreeMap<String, String>, LoadError> {
    let text = |value: &Value| value.as_str().map_or_else(|| canonical::to_string(value), ToOwned::to_owned);
    match config {
        Value::Null => Ok(BTreeMap::new()),
        Value::Object(object) => Ok(object.iter().map(|(name, value)| (name.clone(), text(value))).collect()),
        _ => Err(LoadError::Settings),
    }
}
