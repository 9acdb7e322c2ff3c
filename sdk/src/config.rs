//! The plugin's own configuration.

use serde::de::DeserializeOwned;

/// Reads the plugin's `config` of the policy; `T::default()` when the policy gives none.
///
/// Name every key and refuse the others (`#[serde(deny_unknown_fields, default)]`): a misspelt key must not
/// quietly switch a rule off.
///
/// # Errors
/// Says what does not fit `T`. A guard passes it on, and the host denies the call.
pub fn config<T: DeserializeOwned + Default>() -> Result<T, String> {
    parse_config(&text())
}

/// Reads a configuration that arrives as a text, as an initialised guard's does; `null` is `T::default()`.
///
/// # Errors
/// Says what does not fit `T`.
pub fn parse_config<T: DeserializeOwned + Default>(json: &str) -> Result<T, String> {
    // Most plugins have none, and a parser would be a part of every call.
    if json == "null" {
        return Ok(T::default());
    }
    let wrong = |why: &dyn std::fmt::Display| format!("the configuration is not valid: {why}");
    match json.trim_start().chars().next() {
        Some('n') => serde_json::from_str::<Option<T>>(json).map(Option::unwrap_or_default),
        // A list would be taken for the fields in their order, which nobody means.
        Some('{') => serde_json::from_str(json),
        _ => return Err(wrong(&"it is not a map")),
    }
    .map_err(|error| wrong(&error))
}

#[cfg(target_arch = "wasm32")]
fn text() -> String {
    crate::bindings::imports::chio::plugin::configuration::get()
}

#[cfg(not(target_arch = "wasm32"))]
fn text() -> String {
    crate::testing::configuration()
}
