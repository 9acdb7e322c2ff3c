//! Every permission has a component that reaches for what it does not give: what stops it, and the line that grants it, is the
//! page `docs/limits.md`. Each line is then added, and what was refused is done.

mod attempts;

use std::net::TcpListener;

use chio_host_builtin::testing::{HOSTILE_CLIENT, INTRUDER};
use serde_json::{Value, json};

use self::attempts::{Attempt, Grant, Hosts};
use crate::outbound::{echo, serve_whole};
use crate::support::{Done, Place};
use crate::table::{ALLOWED, Met, NOT_LOADED, code, holds, table};

/// A variable of the host under test, and a secret of it.
const VARIABLE: (&str, &str) = ("CHIO_TEST_LANG", "tlh");
const SECRET: (&str, &str) = ("CHIO_TEST_API_KEY", "sesame-open-1234");

/// The code of a call that its caller may not make.
const SCOPE: &str = "scope.tool";

/// A manifest that asks for all there is.
const ASKS: &str = "permissions: { files: read-write, network: any, environment: any }";

/// A folder with all that is reached for, and a component of each kind, with these permissions for one.
fn prepare(place: &Place) {
    for (name, bytes) in [("intruder", INTRUDER), ("client", HOSTILE_CLIENT)] {
        place.write(&format!("{name}.wasm"), bytes);
        place.write(&format!("{name}.manifest.yaml"), format!("name: {name}\nkind: tool-server\n{ASKS}\n"));
    }
    place.write("work/a.txt", "in the folder");
    place.write("private/secret.txt", "outside");
    std::os::unix::fs::symlink("../private/secret.txt", place.path().join("work/link")).unwrap();
}

fn write_policy(place: &Place, server: &str, permissions: &str) {
    let component = if server == "fetch" { "builtin:fetch".to_owned() } else { format!("{server}.wasm") };
    let any = |server: &str| format!("{{ server: {server}, tool: \"*\", operations: [invoke, delegate], ttl: 300 }}");
    place.write(
        "policy.yaml",
        format!(
            "plugins: {{ allow_unsigned: true }}\nsecrets: {{ api_key: {{ env: {} }} }}\n\
            servers:\n  {server}: {{ component: \"{component}\", permissions: {{ {permissions} }} }}\n  hello: {{}}\n\
            capabilities: {{ default: {{ tools: [{}, {}] }} }}\n",
            SECRET.0,
            any(server),
            any("hello"),
        ),
    );
}

fn call(place: &Place, attempt: &Attempt, params: &Value) -> Met {
    let params = params.to_string();
    let target = ["--policy", "policy.yaml", "--server", attempt.server, "--tool", attempt.tool, "--params", &params];
    let mut command = place.command(&[&["call", "--format", "json"][..], &target].concat());
    let output = command.envs([VARIABLE, SECRET]).output().unwrap();
    let done = Done {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    };
    assert!(!done.stdout.contains(SECRET.1) && !done.stderr.contains(SECRET.1), "{done:?}");
    Met::of(place, &done)
}

#[test]
fn every_permission_is_reached_beyond_and_one_line_grants_it() {
    let (to, _) = echo();
    let location = format!("http://{to}/");
    let (from, _) =
        serve_whole(move |_| format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"));
    // Somebody else may take it meanwhile, and would be asked for TLS; a request that is refused never gets that far.
    let nowhere = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let at = Hosts { port: to.port(), from: from.port(), nowhere };
    let place = Place::new();
    prepare(&place);
    let ports = [(at.port, "8080"), (at.from, "8081"), (at.nowhere, "8082")];
    let shown = |text: &str| {
        let text = text.replace(&format!("{}/", place.path().canonicalize().unwrap().display()), "/…/");
        ports.iter().fold(text, |text, (port, name)| text.replace(&port.to_string(), name))
    };
    let mut rows = Vec::new();
    for attempt in attempts::all(&at, &place) {
        write_policy(&place, attempt.server, &attempt.granted);
        let met = call(&place, &attempt, &attempt.params);
        let said = said(&met);
        let what = format!("{}: {}: {met:?}", attempt.permission, attempt.tries);
        assert!(said.contains(&attempt.says), "{what}");
        if attempt.tool == "invoke" {
            let receipts = place.run(&["receipt", "list", "--format", "json"]).json_lines();
            assert!(receipts.iter().any(|receipt| receipt["metadata"]["chio_host"]["code"] == SCOPE), "{receipts:?}");
        }
        let line = match &attempt.grant {
            Grant::Never(why) => (*why).to_owned(),
            Grant::Line { permissions, shown, params } => {
                assert!(met.exit != 0 || attempt.tool == "follow", "{what}");
                write_policy(&place, attempt.server, permissions);
                let met = call(&place, &attempt, params);
                let what = format!("{}: {} once granted: {met:?}", attempt.permission, attempt.tries);
                assert!(!self::said(&met).contains(&attempt.says), "{what}");
                // Where nobody listens, a request that may be sent fails in another way.
                assert!(met.exit == 0 || said.contains("https://"), "{what}");
                code(&format!("servers.{}.permissions.{shown}", attempt.server))
            }
        };
        let receipt = match met.code.as_str() {
            NOT_LOADED | ALLOWED => met.code,
            outer if attempt.tool == "invoke" => format!("{} of the call inside; {}", code(SCOPE), code(outer)),
            other => code(other),
        };
        let cells = [
            attempt.permission.to_owned(),
            attempt.tries,
            attempt.stopped_by.to_owned(),
            code(&shown(&excerpt(&said, &attempt.says))),
            receipt,
            met.exit.to_string(),
            shown(&line),
        ];
        rows.push(cells);
    }
    let head = [
        "permission",
        "reached for",
        "stopped by",
        "the answer says",
        "code in the receipt",
        "exit code",
        "what grants it",
    ];
    holds("limits.md", "permissions", &table(head, &rows));
}

/// The error, or where there is none, what the tool returned.
fn said(met: &Met) -> String {
    if met.says.is_empty() { met.output.to_string() } else { met.says.clone() }
}

/// An error as it is; of what a tool returned, the words that matter.
fn excerpt(said: &str, says: &str) -> String {
    if !said.starts_with(['{', '[']) {
        return said.to_owned();
    }
    let value: Value = serde_json::from_str(said).unwrap();
    let error = value.pointer("/1/error").and_then(Value::as_str);
    error.map_or_else(|| says.to_owned(), ToOwned::to_owned)
}

/// All that a process is told when it starts.
#[test]
fn a_component_is_told_nothing_of_the_host() {
    let place = Place::new();
    prepare(&place);
    let attempt = Attempt {
        permission: "environment",
        tries: String::new(),
        stopped_by: "",
        server: "intruder",
        tool: "arguments",
        params: json!({}),
        granted: String::new(),
        says: String::new(),
        grant: Grant::Never(""),
    };
    for (granted, names) in [("", "[]"), ("environment: [TZ=UTC, CHIO_TEST_LANG]", r#"["CHIO_TEST_LANG", "TZ"]"#)] {
        write_policy(&place, "intruder", granted);
        let met = call(&place, &attempt, &attempt.params);
        assert_eq!(met.output, format!("arguments [], folder None, variables {names}"), "{met:?}");
    }
}

/// What is asked and not granted, the effect of what is, and whose value it is: for people who look.
#[test]
fn inspect_names_the_line_of_a_variable() {
    let place = Place::new();
    prepare(&place);
    place.write(
        "intruder.manifest.yaml",
        "name: i\nkind: tool-server\npermissions: { environment: [TZ, CHIO_TEST_LANG] }\n",
    );
    let inspect = || {
        let arguments = ["plugin", "inspect", "intruder.wasm", "--policy", "policy.yaml", "--format", "json"];
        let output = place.command(&arguments).envs([VARIABLE, SECRET]).output().unwrap();
        let mut shown: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(shown["manifest"]["environment"], json!(["TZ", "CHIO_TEST_LANG"]));
        shown["uses"][0].take()
    };
    write_policy(&place, "intruder", "environment: [TZ=UTC]");
    let shown = inspect();
    assert_eq!(shown["environment"], json!([{ "name": "TZ", "value": "UTC" }]));
    assert_eq!(shown["gaps"][0]["line"], "servers.intruder.permissions.environment: [CHIO_TEST_LANG]");
    write_policy(&place, "intruder", "environment: [TZ=UTC, CHIO_TEST_LANG]");
    let shown = inspect();
    assert_eq!(shown["environment"][1], json!({ "name": "CHIO_TEST_LANG" }));
    assert_eq!((&shown["effect"], &shown["problems"]), (&json!("side_effecting"), &json!([])));
}
