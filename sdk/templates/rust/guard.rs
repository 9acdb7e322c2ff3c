//! A guard: it judges calls before they run. It sees the call and its own `config`, and nothing else.

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

    use super::*;

    /// `cargo test` asks the function; the fixtures ask the component.
    #[test]
    fn nothing_is_written_on_a_sunday() {
        let sunday = call("files", "write_file").time(1_767_528_000).build();
        let judged = with_config(&serde_json::json!({ "weekend": "deny" }), || check(&sunday));
        assert!(judged.unwrap().is_deny());
    }
}
