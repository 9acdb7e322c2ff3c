#![no_main]

//! The strict parser: what it takes, it and everybody else read alike.

use chio_host_kernel::call::Arguments;
use chio_host_kernel::canonical;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(arguments) = Arguments::parse(bytes) else { return };
    let text = canonical::to_string(arguments.value());
    let again = Arguments::parse(text.as_bytes()).expect("canonical JSON is strict");
    assert_eq!(canonical::to_string(again.value()), text);
    let other: serde_json::Value = serde_json::from_slice(bytes).expect("another parser takes it too");
    assert_eq!(canonical::to_string(&other), text, "and reads the same");
});
