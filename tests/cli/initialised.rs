//! A guard whose `init` ran before its first call.

use chio_host_builtin::testing::PATTERNS_INITIALISED;
use chio_host_kernel::canonical::sha256_hex;
use serde_json::{Value, json};

use crate::session::Session;
use crate::support::{Done, Place};

/// A folder with the guard, and a policy that has it deny what matches this pattern.
fn denying(pattern: &str) -> Place {
    let place = Place::new();
    place.write("plugins/patterns.wasm", PATTERNS_INITIALISED);
    policy(&place, pattern);
    place
}

fn policy(place: &Place, pattern: &str) {
    place.write(
        "policy.yaml",
        format!(
            "guards:\n  patterns: {{ component: plugins/patterns.wasm, config: {{ deny: [\"{pattern}\"] }} }}\n\
             plugins: {{ allow_unsigned: true }}\ncapabilities:\n  default:\n    tools:\n      \
             - {{ server: hello, tool: hello_world, operations: [invoke], ttl: 300 }}\n"
        ),
    );
}

fn greet(place: &Place, name: &str) -> Done {
    place.ask("call", "hello", "hello_world", &json!({ "name": name }).to_string())
}

#[test]
fn inspect_names_its_world_and_receipts_the_component_that_was_shipped() {
    let place = denying("^Ch[io]+$");
    let shown = place.run(&["plugin", "inspect", "plugins/patterns.wasm"]);
    assert_eq!(
        (shown.code, shown.field("world"), shown.field("effect")),
        (0, "initialised-guard", "pure"),
        "{shown:?}"
    );
    let digest = sha256_hex(PATTERNS_INITIALISED);
    assert_eq!(shown.field("digest"), digest);
    // The second call finds what the first one compiled.
    for (name, code) in [("Chio", 2), ("Chio!", 0), ("Chio", 2)] {
        let done = greet(&place, name);
        assert_eq!(done.code, code, "{done:?}");
        let receipt: Value = {
            let shown = place.run(&["receipt", "show", done.field("receipt_id")]);
            serde_json::from_str(&shown.stdout).unwrap()
        };
        let components = receipt["metadata"]["chio_host"]["components"].as_array().unwrap();
        let guard = components.iter().find(|component| component["name"] == "patterns").unwrap();
        assert_eq!(guard["digest"], digest.as_str());
    }
}

#[test]
fn a_configuration_that_it_refuses_is_an_error_before_any_call() {
    let place = denying("(");
    greet(&place, "Chio").is_error(&["guards.patterns", "patterns.wasm", "its `init` failed: \"(\" is not a pattern"]);
}

#[test]
fn another_configuration_is_in_force_once_init_accepts_it() {
    let place = denying("^Chio$");
    let mut session = Session::overheard(&place);
    let mut id = 0;
    let mut is_denied = |session: &mut Session, name: &str| {
        id += 1;
        let call = json!({ "name": "hello__hello_world", "arguments": { "name": name } });
        session.ask(id, "tools/call", &call).to_string().contains("guard denied the request")
    };
    assert!(is_denied(&mut session, "Chio") && !is_denied(&mut session, "Ada"));
    policy(&place, "(");
    let said = session.overhear("is not a pattern");
    assert!(said.contains("stays in force"), "{said}");
    assert!(is_denied(&mut session, "Chio") && !is_denied(&mut session, "Ada"));
    policy(&place, "^Ada$");
    session.overhear("loaded anew");
    assert!(!is_denied(&mut session, "Chio") && is_denied(&mut session, "Ada"));
    assert_eq!(session.leave(), [Value::Null; 0]);
}
