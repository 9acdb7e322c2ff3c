#![no_main]

use serde_json::json;

libfuzzer_sys::fuzz_target!(|text: &str| chio_host_fuzz::ask(prompt_injection::__CHIO_CHECK, &json!({ "action": "deny" }), text));
