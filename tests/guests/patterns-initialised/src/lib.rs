//! The same guard, which compiles its patterns once, when it is loaded.

#![expect(clippy::unnecessary_wraps, reason = "the type of every guard's function")]

#[path = "../../patterns/src/patterns.rs"]
mod patterns;

use chio_sdk::{Call, Verdict};
use patterns::Patterns;

fn init(config: &str) -> Result<Patterns, String> {
    Patterns::compile(&chio_sdk::parse_config(config)?)
}

fn check(patterns: &Patterns, call: &Call) -> Result<Verdict, String> {
    Ok(patterns.judge(call))
}

chio_sdk::initialised_guard!(init, check, Patterns);

#[cfg(test)]
mod tests {
    use chio_sdk::testing::call;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pattern_that_matches_denies_and_one_that_is_none_refuses_the_load() {
        let call = call("files", "write_file").arguments(json!({ "text": "AKIA0123" })).build();
        let decide = |deny: &str| init(&json!({ "deny": [deny] }).to_string()).map(|patterns| check(&patterns, &call));
        assert!(decide("^AKIA[0-9]+$").unwrap().unwrap().is_deny());
        assert!(!decide("^BKIA").unwrap().unwrap().is_deny());
        assert!(decide("(").unwrap_err().starts_with("\"(\" is not a pattern: "));
    }
}
