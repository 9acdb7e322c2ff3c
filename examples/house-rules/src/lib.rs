//! A guard for one house: nothing is written at weekends, if the policy says so.

use chio_sdk::{Call, Verdict};
use serde::Deserialize;

/// What stands under `config` in the policy.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    weekend: Weekend,
}

#[derive(Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Weekend {
    #[default]
    Allow,
    Deny,
}

fn check(call: &Call) -> Result<Verdict, String> {
    let config: Config = chio_sdk::config()?;
    // 1970 began on a Thursday.
    let day = (call.time / 86_400 + 3) % 7;
    if day >= 5 && config.weekend == Weekend::Deny && call.tool.starts_with("write_") {
        return Ok(Verdict::deny("nothing is written at weekends"));
    }
    Ok(Verdict::allow())
}

chio_sdk::guard!(check);

#[cfg(test)]
mod tests {
    use chio_sdk::testing::{call, with_config};
    use serde_json::json;

    use super::*;

    const SATURDAY: u64 = 2 * 86_400;

    #[test]
    fn nothing_is_written_at_weekends() {
        with_config(&json!({ "weekend": "deny" }), || {
            let at = |time| check(&call("files", "write_file").time(time).build()).unwrap();
            assert!(at(SATURDAY).is_deny());
            assert!(!at(SATURDAY + 2 * 86_400).is_deny());
        });
    }
}
