#![no_main]

use serde_json::Value;

libfuzzer_sys::fuzz_target!(|text: &str| chio_host_fuzz::show(pii_redactor::__CHIO_INSPECT, &Value::Null, text));
