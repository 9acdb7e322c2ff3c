//! An output hook that takes secrets out of what a tool returned: tokens and keys in their known forms, private keys, and
//! what stands beside `password=` and looks random.
//!
//! It reads every string and every key of the output: as it is; without invisible characters, percent-encoding and `\u`
//! escapes; what base64 and hexadecimal in it decode to; and over the border of neighbouring strings. A secret is replaced
//! by `[REDACTED:kind]`, in an encoding the whole run is.
//!
//! Not taken for secrets: digests, UUIDs, images in base64, and placeholders. The keys of Amazon's documentation
//! (`AKIAIOSFODNN7EXAMPLE`) are taken for secrets: they have the form, and losing one costs nothing.
//!
//! What it does not find: a secret without a known form and without a telling name, one that is encrypted, encoded twice, or
//! spread over several strings. An output that is too large to read is blocked, never passed unread.

mod assignment;
mod decode;
mod forms;
mod glance;
mod outline;
mod patterns;
mod scan;

use chio_sdk::{Call, HookVerdict};
use serde::Deserialize;
use serde_json::Value;

use patterns::{Custom, Patterns};
use scan::Scan;

/// The guard's `config`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// More secrets, each with the kind that is reported for it.
    patterns: Vec<Custom>,
    /// Whether `patterns` stand alone, without the built-in ones.
    replace: bool,
    /// What happens to an output that holds a secret.
    action: Action,
    /// An output larger than this is blocked.
    max_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { patterns: Vec::new(), replace: false, action: Action::Redact, max_bytes: 4 << 20 }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Redact,
    Block,
    Escalate,
}

fn inspect(_call: &Call, output: &str) -> Result<HookVerdict, String> {
    let Config { patterns, replace, action, max_bytes } = chio_sdk::config()?;
    if output.len() > max_bytes {
        let size = output.len();
        return Ok(HookVerdict::block(format!(
            "the output has {size} bytes, more than the {max_bytes} that are read for secrets"
        )));
    }
    let patterns = Patterns::new(&patterns, !replace)?;
    if patterns.are_built_in() && glance::is_clean(&Scan::new(&patterns), output) {
        return Ok(HookVerdict::allow());
    }
    let mut value: Value = serde_json::from_str(output).map_err(|error| format!("the output is not JSON: {error}"))?;
    let mut scan = Scan::new(&patterns);
    scan.value(&mut value);
    let found = scan.found();
    if found.is_empty() {
        return Ok(HookVerdict::allow());
    }
    let kinds = || found.iter().map(|(kind, count)| format!("{kind} ({count})")).collect::<Vec<_>>().join(", ");
    Ok(match action {
        Action::Redact => HookVerdict::redact(&value, found),
        Action::Block => HookVerdict::block(format!("the output holds secrets: {}", kinds())),
        Action::Escalate => HookVerdict::escalate(format!("the output holds secrets: {}", kinds())),
    })
}

chio_sdk::hook!(inspect);

#[cfg(test)]
mod tests;
