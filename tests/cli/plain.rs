//! Components that nobody wrote for this host, as an operator uses them.

use std::io::{Read, Write};
use std::net::TcpListener;

use chio_host_builtin::testing::{NOTES, PLAIN_FETCH, PLAIN_TYPES};
use serde_json::{Value, json};

use crate::session::Session;
use crate::support::Place;

/// A policy with one server, whose component lies in `plugins`.
fn policy(server: &str) -> String {
    format!(
        "plugins: {{ allow_unsigned: true }}\nguards: {{ forbidden_path: {{ enabled: true }} }}\nservers: {{ x: {{ component: plugins/x.wasm{server} }} }}\n\
         capabilities: {{ d: {{ tools: [{{ server: x, tool: \"*\", operations: [invoke], ttl: 300 }}] }} }}\n"
    )
}

fn place(component: &[u8], server: &str) -> Place {
    let place = Place::new();
    place.write("plugins/x.wasm", component);
    place.write("policy.yaml", policy(server));
    place
}

/// One whose calls cost 3 of an account of 10.
fn priced() -> Place {
    let place = place(PLAIN_TYPES, "");
    let account = "accounts: { agent: { total: 10, currency: USD } }\n";
    place.write("policy.yaml", policy(", price: { per_call: 3, currency: USD }") + account);
    place
}

fn call(place: &Place, tool: &str, params: &Value) -> (i32, Value) {
    let params = params.to_string();
    let arguments = ["--policy", "policy.yaml", "--server", "x", "--tool", tool, "--params", &params];
    let done = place.run(&[&["call", "--format", "json"], &arguments[..]].concat());
    (done.code, done.json_lines().pop().unwrap_or_default())
}

fn receipt(place: &Place, answered: &Value) -> Value {
    let id = answered["receipt_id"].as_str().unwrap();
    place.run(&["receipt", "show", id, "--format", "json"]).json_lines().pop().unwrap()
}

#[test]
fn a_plain_component_is_checked_called_and_recorded_like_any_other() {
    let place = priced();
    let checked = place.ask("check", "x", "greet", r#"{"name":"Chio"}"#);
    assert_eq!((checked.code, checked.field("verdict")), (0, "ALLOW"));
    let (code, answered) = call(&place, "greet", &json!({ "name": "Chio" }));
    assert_eq!((code, &answered["output"]), (0, &json!("Hello, Chio!")));
    let shown = receipt(&place, &answered).to_string();
    let digest = chio_host_kernel::canonical::sha256_hex(PLAIN_TYPES);
    assert!(shown.contains(&digest) && shown.contains("\"effect\":\"executed\""), "{shown}");

    let (code, answered) = call(&place, "echo_fail-with", &json!({ "why": "no such thing" }));
    assert_ne!(code, 0);
    assert!(answered.to_string().contains("no such thing"), "{answered}");
    assert!(receipt(&place, &answered).to_string().contains("\"code\":\"tool.failed\""));
    assert_eq!(place.run(&["budget", "show", "--format", "json"]).json_lines()[0]["spent"], 6);
}

/// They are refused before the component is entered, so they cost nothing and had no effect.
#[test]
fn wrong_arguments_are_a_denial_that_costs_nothing() {
    let place = priced();
    let (code, answered) = call(&place, "counting_add", &json!({ "a": 1, "b": -1 }));
    assert_eq!(code, 2, "{answered}");
    let why = "invalid arguments: /b: an integer from 0 to 4294967295 is needed, and this is none";
    assert!(answered["reason"].as_str().unwrap().ends_with(why), "{answered}");
    let shown = receipt(&place, &answered).to_string();
    assert!(shown.contains("\"effect\":\"none\"") && shown.contains("\"code\":\"tool.invalid_arguments\""), "{shown}");
    let budget = &place.run(&["budget", "show", "--format", "json"]).json_lines()[0];
    assert_eq!((&budget["spent"], &budget["held"]), (&json!(0), &json!(0)));
    assert_eq!(place.run(&["receipt", "verify"]).code, 0);
}

#[test]
fn a_client_is_shown_the_schemas_and_calls_the_tools() {
    let place = place(NOTES, ", permissions: { files: [{ path: ./notes, at: /notes, access: read }] }");
    place.write("notes/milk", "buy some milk");
    place.write(
        "plugins/x.manifest.yaml",
        std::fs::read(crate::support::repository("examples/notes/manifest.yaml")).unwrap(),
    );
    let mut session = Session::open(&place, &[]);
    let listed = session.ask(1, "tools/list", &json!({}));
    let tools = listed["tools"].as_array().unwrap();
    let find = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{listed}"));
    let list = find("x__list-notes");
    assert!(list["description"].as_str().unwrap().starts_with("Lists the notes of a folder"), "{list}");
    assert_eq!(
        list["inputSchema"],
        json!({
            "type": "object", "required": ["folder"], "additionalProperties": false,
            "properties": { "folder": { "type": "string" }, "word": { "anyOf": [{ "type": "string" }, { "type": "null" }] } },
        })
    );
    session.call(2, "x__read-note", &json!({ "path": "/notes/milk" }), &json!({}));
    let result = session.result(2);
    assert_eq!(result["content"][0]["text"], "buy some milk", "{result}");
    // The manifest says that it is a path, so the guard looks at it as one.
    session.call(3, "x__read-note", &json!({ "path": "/notes/../etc/shadow" }), &json!({}));
    let result = session.result(3);
    assert!(result["isError"] == true && result.to_string().contains("forbidden_path"), "{result}");
    session.call(4, "x__read-note", &json!({ "file": "/notes/milk" }), &json!({}));
    let result = session.result(4);
    assert!(result["isError"] == true, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("there is no parameter \"file\"; there are path"), "{text}");
    session.leave();
}

/// Its manifest would say that it asks; without one, its imports do.
#[test]
fn what_it_imports_may_be_granted_and_nothing_else() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let length = stream.read(&mut request).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsunny").unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    let network = format!(", permissions: {{ network: [{{ scheme: http, host: 127.0.0.1, port: {port} }}] }}");
    let place = place(PLAIN_FETCH, &network);
    let (code, answered) = call(&place, "fetch", &json!({ "url": format!("http://127.0.0.1:{port}/today") }));
    assert_eq!((code, &answered["output"]), (0, &json!("sunny")), "{answered}");
    assert!(server.join().unwrap().starts_with("GET /today HTTP/1.1\r\n"));
    let (code, answered) = call(&place, "fetch", &json!({ "url": "http://example.com/" }));
    assert_ne!(code, 0);
    assert!(answered.to_string().contains("would grant it"), "{answered}");

    place.write("plugins/x.wasm", PLAIN_TYPES);
    let refused = place.ask("call", "x", "greet", r#"{"name":"x"}"#);
    refused.is_error(&["policy.yaml:3:", "the component imports nothing that sends requests"]);
    place.write("plugins/x.wasm", PLAIN_FETCH);
    place.write("plugins/x.manifest.yaml", "name: x\nkind: tool-server\n");
    let refused = place.ask("call", "x", "fetch", r#"{"url":"x"}"#);
    refused.is_error(&["policy.yaml:3:", "the manifest does not ask for it (plugins/x.manifest.yaml:1)"]);
}

#[test]
fn a_component_is_inspected_without_being_run() {
    let place = place(PLAIN_TYPES, "");
    let seen = place.run(&["plugin", "inspect", "plugins/x.wasm", "--format", "json"]).json_lines().pop().unwrap();
    assert_eq!(seen["world"], "plain");
    let greet = seen["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "greet").unwrap();
    assert_eq!(greet["input_schema"]["properties"]["name"], json!({ "type": "string" }));
    assert_eq!(greet["output_schema"], json!({ "type": "string" }));
    let why = "it has a resource among its types, which JSON cannot hold";
    assert!(
        seen["left_out"]
            .as_array()
            .unwrap()
            .contains(&json!({ "function": "test:kinds/counting@1.2.3#sum", "why": why }))
    );
    let shown = place.run(&["plugin", "inspect", "plugins/x.wasm"]).stdout;
    assert!(shown.contains("\ntool:       greet\n  takes:    {\"additionalProperties\":false,"), "{shown}");
    assert!(shown.contains(&format!("\nleft out:   test:kinds/counting@1.2.3#sum: {why}\n")), "{shown}");
    // A guard is nothing of the kind, and neither is this one a guard.
    let policy = policy("").replace("forbidden_path: { enabled: true }", "g: { component: plugins/x.wasm }");
    place.write("policy.yaml", policy);
    place.ask("check", "x", "greet", "{}").is_error(&["guards.g", "it is of the world plain, and guard is needed"]);
}
