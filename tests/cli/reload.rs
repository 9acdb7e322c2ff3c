//! A policy that is changed while the host serves.

use serde_json::{Value, json};

use crate::session::Session;
use crate::support::Place;

const HELLO: &str = "{ server: hello, tool: hello_world, operations: [invoke], ttl: 300 }";
const FILES: &str = "{ server: files, tool: \"*\", operations: [invoke], ttl: 300 }";

fn policy(guards: &str, tools: &[&str]) -> String {
    let tools = tools.iter().map(|tool| format!("      - {tool}")).collect::<Vec<_>>().join("\n");
    format!(
        "guards:\n{guards}servers:\n  hello: {{ component: builtin:hello }}\n  files: {{ component: builtin:files }}\n\
         capabilities:\n  default:\n    tools:\n{tools}\n\
         plugins: {{ allow_unsigned: true }}\n"
    )
}

fn tools(session: &mut Session, id: u64) -> Vec<String> {
    let listed = session.ask(id, "tools/list", &json!({}));
    listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn greet(session: &mut Session, id: u64) -> Value {
    session.ask(id, "tools/call", &json!({ "name": "hello__hello_world", "arguments": { "name": "Chio" } }))
}

fn is_told(session: &mut Session) {
    assert_eq!(session.hear()["method"], "notifications/tools/list_changed");
}

#[test]
fn a_changed_policy_is_in_force_without_a_restart_and_a_broken_one_never_is() {
    let place = Place::new();
    let guards = "  forbidden_path: { enabled: true }\n";
    place.write("policy.yaml", policy(guards, &[HELLO]));
    let mut session = Session::overheard(&place);
    assert_eq!(tools(&mut session, 1), ["hello__hello_world"]);

    place.write("policy.yaml", policy(guards, &[HELLO, FILES]));
    is_told(&mut session);
    assert!(tools(&mut session, 2).contains(&"files__read_file".to_owned()));
    assert_eq!(greet(&mut session, 3)["isError"], false);

    place.write("policy.yaml", policy("  forbiden_path: { enabled: true }\n", &[]));
    let said = session.overhear("forbidden_path");
    assert!(said.contains("stays in force") && said.contains("policy.yaml:2:3"), "{said}");
    assert!(tools(&mut session, 4).contains(&"files__read_file".to_owned()));
    assert_eq!(greet(&mut session, 5)["isError"], false);

    // Names that a client would not take are no less wrong than a misspelt key.
    let long = "x".repeat(60);
    let bad = policy(guards, &[HELLO])
        .replace("hello: {", &format!("{long}: {{"))
        .replace("server: hello", &format!("server: {long}"));
    place.write("policy.yaml", bad);
    session.overhear("shorter name");
    assert_eq!(greet(&mut session, 6)["isError"], false);

    place.write("policy.yaml", policy(guards, &[FILES]));
    is_told(&mut session);
    let refused = greet(&mut session, 7);
    assert!(refused["isError"] == true && refused.to_string().contains("capability scope"), "{refused}");
    assert_eq!(session.leave(), [Value::Null; 0]);

    let listed = place.run(&["receipt", "list", "--format", "json"]).json_lines();
    assert_eq!(listed.len(), 4, "{listed:?}");
    place.run(&["receipt", "verify"]);
}

#[test]
fn a_changed_component_is_in_force_once_it_loads() {
    let component = |name: &str| chio_host_builtin::all().iter().find(|b| b.name == name).unwrap().bytes;
    let place = Place::new();
    place.write("plugins/mine.wasm", component("forbidden_path"));
    place.write("policy.yaml", policy("  mine: { component: plugins/mine.wasm }\n", &[FILES]));
    let mut session = Session::overheard(&place);
    let shadow = json!({ "name": "files__read_file", "arguments": { "path": "/etc/shadow" } });
    let by_guard = |answer: &Value| answer.to_string().contains("guard denied the request");
    assert!(by_guard(&session.ask(1, "tools/call", &shadow)));

    place.write("plugins/mine.wasm", &component("forbidden_path")[..1000]);
    let said = session.overhear("not a WebAssembly component");
    assert!(said.contains("stays in force") && said.contains("guards.mine"), "{said}");
    assert!(by_guard(&session.ask(2, "tools/call", &shadow)));

    // One that loads, and does not do what its own fixtures say.
    let denied = "arguments: { read_file: [{ at: /path, is: path }] }\ncases:\n  - name: the shadow file\n    \
                  call: { server: files, tool: read_file, arguments: { path: /etc/shadow } }\n    expect: { verdict: deny }\n";
    place.write("plugins/mine.fixtures.yaml", denied);
    place.write("plugins/mine.wasm", component("shell_command"));
    let said = session.overhear("the shadow file");
    assert!(said.contains("stays in force") && said.contains("guards.mine"), "{said}");
    assert!(by_guard(&session.ask(3, "tools/call", &shadow)));

    place.write("plugins/mine.fixtures.yaml", denied.replace("verdict: deny", "verdict: allow"));
    session.overhear("loaded anew");
    assert!(!by_guard(&session.ask(4, "tools/call", &shadow)));
    assert_eq!(session.leave(), [Value::Null; 0]);
}

#[cfg(unix)]
#[test]
fn sighup_loads_the_policy_anew() {
    use rustix::process::{Signal, kill_process};

    let place = Place::new();
    place.write("policy.yaml", policy("  forbidden_path: { enabled: true }\n", &[HELLO]));
    let mut session = Session::overheard(&place);
    for id in 1..4 {
        kill_process(session.process(), Signal::HUP).unwrap();
        session.overhear("loaded anew");
        assert_eq!(greet(&mut session, id)["isError"], false);
    }
    assert_eq!(session.leave(), [Value::Null; 0]);
}
