#![no_main]

//! Whatever a policy says, a guard answers: that it cannot be configured so, or a verdict.

use serde_json::Value;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(config @ Value::Object(_)) = serde_json::from_str(text) else { return };
    for check in [
        egress::__CHIO_CHECK,
        forbidden_path::__CHIO_CHECK,
        patch_integrity::__CHIO_CHECK,
        path_allowlist::__CHIO_CHECK,
        prompt_injection::__CHIO_CHECK,
        rate::__CHIO_CHECK,
        secret_leak::__CHIO_CHECK,
        shell_command::__CHIO_CHECK,
        sql_statement::__CHIO_CHECK,
        tool_access::__CHIO_CHECK,
    ] {
        chio_host_fuzz::ask(check, &config, "a text");
    }
});
