#![no_main]

use serde_json::json;

libfuzzer_sys::fuzz_target!(|text: &str| chio_host_fuzz::ask(path_allowlist::__CHIO_CHECK, &json!({ "allow": [{ "path": "/workspace" }] }), text));
