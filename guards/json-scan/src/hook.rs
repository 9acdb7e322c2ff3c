//! What a hook does with an output, whatever it looks for.

use chio_sdk::HookVerdict;
use serde::Deserialize;
use serde_json::Value;

use crate::finder::Finder;
use crate::glance::is_clean;
use crate::redact::{redact, shown};

/// The largest `max_bytes`: the host hands over no larger output.
const MAX_BYTES: usize = 16 << 20;

/// What happens to an output that holds something.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It is taken out.
    Redact,
    /// The output is withheld.
    Block,
    /// The output is withheld until a human releases it.
    Escalate,
}

impl Action {
    /// Reads an output for `what` (`secrets`), and does this where it holds some. An output that is larger than `max_bytes` is
    /// blocked, never passed unread.
    ///
    /// # Errors
    /// `max_bytes` is none that can be, or the output is not JSON.
    pub fn inspect<F: Finder>(
        self,
        finder: &F,
        what: &str,
        output: &str,
        max_bytes: usize,
    ) -> Result<HookVerdict, String> {
        if !(1..=MAX_BYTES).contains(&max_bytes) {
            return Err(format!("max_bytes is {max_bytes}; it takes 1 to {MAX_BYTES}"));
        }
        if output.len() > max_bytes {
            let size = output.len();
            return Ok(HookVerdict::block(format!(
                "the output has {size} bytes, more than the {max_bytes} that are read for {what}"
            )));
        }
        if is_clean(finder, output) {
            return Ok(HookVerdict::allow());
        }
        let mut value: Value =
            serde_json::from_str(output).map_err(|error| format!("the output is not JSON: {error}"))?;
        let found = redact(finder, &mut value);
        if found.is_empty() {
            return Ok(HookVerdict::allow());
        }
        Ok(match self {
            Self::Redact => HookVerdict::redact(&value, found),
            Self::Block => HookVerdict::block(format!("the output holds {what}: {}", shown(&found))),
            Self::Escalate => HookVerdict::escalate(format!("the output holds {what}: {}", shown(&found))),
        })
    }
}
