//! An output hook that takes secrets out of what a tool returned: tokens and keys in their known forms, private keys, and
//! what stands beside `password=` and looks random.
//!
//! It reads every string, key and number of the output: as it is; without invisible characters, percent-encoding and
//! escapes; what base64 and hexadecimal in it decode to; and over the border of neighbouring strings, be they fields of an
//! object or the same field of a list's elements. A secret is replaced by `[REDACTED:kind]`, in an encoding the whole run is.
//! What looks like a secret, and what does not, is said in the crate `secret-forms`; the keys of Amazon's documentation are
//! taken for secrets here, as losing one costs nothing.
//!
//! An output that is larger than `max_bytes` is blocked, never passed unread, and where more secrets may have begun at once
//! than are followed over the borders of strings, the rest is taken out as `unread`. One that is refused costs nothing but
//! the work: the tool has run.
//!
//! What it does not find: a secret without a known form and without a telling name; one that is encrypted, compressed, or
//! encoded more than three times; an assignment (`password=…`) and a policy's own pattern whose value is spread over several
//! strings; the end of a token that was spread over more strings than it needed to be known. What a tool does with a secret by
//! itself, no hook sees.

use chio_sdk::{Call, HookVerdict};
use json_scan::Action;
use secret_forms::{Custom, Secrets};
use serde::Deserialize;

/// The hook's `config`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// More secrets, each with the kind that is reported for it.
    patterns: Vec<Custom>,
    /// Whether `patterns` stand alone, without the built-in ones.
    replace: bool,
    /// Regular expressions; what one of them matches as a whole is no secret.
    exceptions: Vec<String>,
    /// What happens to an output that holds a secret.
    action: Action,
    /// An output larger than this is blocked.
    max_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            patterns: Vec::new(),
            replace: false,
            exceptions: Vec::new(),
            action: Action::Redact,
            max_bytes: 4 << 20,
        }
    }
}

fn inspect(_call: &Call, output: &str) -> Result<HookVerdict, String> {
    let Config { patterns, replace, exceptions, action, max_bytes } = chio_sdk::config()?;
    let secrets = Secrets::new(&patterns, replace, &exceptions)?;
    action.inspect(&secrets, "secrets", output, max_bytes)
}

chio_sdk::hook!(inspect);

#[cfg(test)]
mod tests;
