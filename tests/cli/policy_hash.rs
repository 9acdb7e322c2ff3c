//! What the policy's hash covers, as an operator sees it.

use crate::support::Place;

fn policy(component: &str, config: &str, fuel: u64, comment: &str) -> String {
    format!(
        "# {comment}\nguards:\n  forbidden_path:\n    component: {component}\n    config: {config}\n    \
         limits: {{ fuel: {fuel} }}\n\
         capabilities:\n  default:\n    tools:\n      \
         - {{ server: hello, tool: hello_world, operations: [invoke], ttl: 300 }}\nplugins: {{ allow_unsigned: true }}\n"
    )
}

fn hashes(place: &Place, text: &str) -> (String, String) {
    place.write("policy.yaml", text);
    let check = place.ask("check", "hello", "hello_world", r#"{"name":"Chio"}"#);
    assert_eq!(check.code, 0, "{check:?}");
    (check.field("policy").to_owned(), check.field("source").to_owned())
}

#[test]
fn a_byte_of_a_component_its_configuration_or_a_limit_changes_it_and_a_comment_does_not() {
    let place = Place::new();
    let component = chio_host_builtin::find(chio_host_builtin::Kind::Guard, "forbidden_path").unwrap().bytes;
    place.write("guard.wasm", component);
    // The same code with another custom section behind it: one more byte of content, and the same behaviour.
    place.write("guard2.wasm", [component, b"\x00\x03\x01xy"].concat());
    let (policy_hash, source) = hashes(&place, &policy("guard.wasm", "{}", 10_000_000, "a"));

    let (same, other_source) = hashes(&place, &policy("guard.wasm", "{}", 10_000_000, "another comment"));
    assert_eq!(same, policy_hash);
    assert_ne!(other_source, source);
    for changed in [
        policy("guard2.wasm", "{}", 10_000_000, "a"),
        policy("guard.wasm", "{ patterns: [\"secret-place\"] }", 10_000_000, "a"),
        policy("guard.wasm", "{}", 10_000_001, "a"),
    ] {
        assert_ne!(hashes(&place, &changed).0, policy_hash, "{changed}");
    }
}
