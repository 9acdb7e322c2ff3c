#![no_main]

use serde_json::Value;

libfuzzer_sys::fuzz_target!(|text: &str| chio_host_fuzz::ask(shell_command::__CHIO_CHECK, &Value::Null, text));
