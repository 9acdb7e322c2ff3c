//! A guard that compiles its patterns in every call.

mod patterns;

use chio_sdk::{Call, Verdict};
use patterns::Patterns;

fn check(call: &Call) -> Result<Verdict, String> {
    Ok(Patterns::compile(&chio_sdk::config()?)?.judge(call))
}

chio_sdk::guard!(check);

#[cfg(test)]
mod tests {
    use chio_sdk::testing::{call, with_config};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pattern_that_matches_denies_and_one_that_is_none_is_an_error() {
        let call = call("files", "write_file").arguments(json!({ "text": "AKIA0123" })).build();
        let decide = |deny: &str| with_config(&json!({ "deny": [deny] }), || check(&call));
        assert!(decide("^AKIA[0-9]+$").unwrap().is_deny());
        assert!(!decide("^BKIA").unwrap().is_deny());
        assert!(decide("(").unwrap_err().starts_with("\"(\" is not a pattern: "));
    }
}
