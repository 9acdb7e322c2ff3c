//! Other commands while `run` has the ledger: they reach it through its socket, and so does a human's decision.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use chio_host_kernel::approval::{ApprovalBody, ApprovalDecision, ApprovalRequest, ApprovalToken, SCHEMA};
use chio_host_kernel::keys::Keypair;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::approvals::{place, secret};
use crate::session::Session;
use crate::support::{Done, Place};

fn socket(place: &Place) -> PathBuf {
    place.path().join(".chio/control.sock")
}

/// One request as a program sends it that is none of ours.
fn exchange(place: &Place, line: &[u8]) -> Value {
    let mut stream = UnixStream::connect(socket(place)).unwrap();
    // A host that has heard enough does not listen to the rest.
    let _ = stream.write_all(line);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    serde_json::from_str(&said).unwrap()
}

fn ask(place: &Place, request: &Value) -> Value {
    exchange(place, format!("{request}\n").as_bytes())
}

/// Calls the tool that costs more than is let pass, and answers the result.
fn greet(session: &mut Session, id: u64, name: &str, meta: &Value) -> Value {
    session.call(id, "hello__hello_world", &json!({ "name": name }), meta);
    session.result(id)
}

fn decide(place: &Place, verb: &str, operation: &str) -> Done {
    place.run(&["approvals", verb, operation, "--key", "approver.key"])
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn a_call_is_approved_from_another_process_while_the_host_serves() {
    let place = place(2);
    let mut session = Session::open(&place, &[]);
    let first = greet(&mut session, 1, "Chio", &json!({}));
    assert_eq!(first["_meta"]["chio/verdict"], "pending", "{first}");
    let operation = first["_meta"]["chio/operation-id"].as_str().unwrap().to_owned();
    let id = first["_meta"]["chio/request-id"].clone();
    for part in ["awaits: an approver's approval", "approvals approve", &operation, id.as_str().unwrap()] {
        assert!(text(&first).contains(part), "no {part} in {first}");
    }
    assert!(place.run(&["approvals", "list"]).stdout.contains(&operation[..12]));
    let approved = decide(&place, "approve", &operation[..12]);
    assert_eq!((approved.code, approved.field("decision")), (0, "approved"), "{approved:?}");
    let second = greet(&mut session, 2, "Chio", &json!({ "chio/request-id": id }));
    assert_eq!((&second["isError"], text(&second)), (&json!(false), "Hello, Chio!"), "{second}");

    let denied = greet(&mut session, 3, "Nobody", &json!({ "chio/request-id": "other" }));
    let operation = denied["_meta"]["chio/operation-id"].as_str().unwrap();
    assert_eq!(decide(&place, "deny", operation).code, 0);
    let denied = greet(&mut session, 4, "Nobody", &json!({ "chio/request-id": "other" }));
    assert_eq!(denied["_meta"]["chio/verdict"], "deny", "{denied}");
    assert!(session.leave().is_empty());
    assert_eq!(place.run(&["receipt", "verify"]).code, 0);
}

#[test]
fn a_host_that_waits_for_a_human_goes_on_by_itself() {
    let place = place(2);
    let mut session = Session::open(&place, &["--wait-for-approval"]);
    for (id, verb, verdict) in [(1, "approve", "allow"), (2, "deny", "deny")] {
        session.call(id, "hello__hello_world", &json!({ "name": "Chio" }), &json!({ "progressToken": "p" }));
        let told = session.hear();
        assert_eq!(
            (&told["method"], &told["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!("p"))
        );
        assert!(told["params"]["message"].as_str().unwrap().contains("approvals approve "), "{told}");
        let listed = place.run(&["approvals", "list", "--format", "json"]).json_lines();
        assert_eq!(listed.len(), 1, "{listed:?}");
        let decided = decide(&place, verb, listed[0]["operation"].as_str().unwrap());
        assert_eq!(decided.code, 0, "{decided:?}");
        let result = session.result(id);
        assert_eq!(result["_meta"]["chio/verdict"], verdict, "{result}");
    }
    assert!(session.leave().is_empty());
}

#[test]
fn an_output_is_waited_for_too() {
    let place = place(9);
    let mut session = Session::open(&place, &["--wait-for-approval", "1h"]);
    session.call(1, "hello__hello_world", &json!({ "name": secret() }), &json!({ "progressToken": 7 }));
    let told = session.hear();
    assert!(told["params"]["message"].as_str().unwrap().contains("approvals release "), "{told}");
    let listed = place.run(&["approvals", "list", "--format", "json"]).json_lines();
    let operation = listed[0]["operation"].as_str().unwrap().to_owned();
    assert_eq!(decide(&place, "release", &operation).code, 0);
    let result = session.result(1);
    assert_eq!((&result["isError"], text(&result)), (&json!(false), &*format!("Hello, {}!", secret())), "{result}");
    session.leave();
}

#[test]
fn what_was_withheld_is_released_after_a_restart() {
    let place = place(9);
    let meta = json!({ "chio/request-id": "mine" });
    let mut session = Session::open(&place, &[]);
    let first = greet(&mut session, 1, &secret(), &meta);
    assert_eq!(first["_meta"]["chio/verdict"], "pending", "{first}");
    assert!(!first.to_string().contains(&secret()), "{first}");
    session.leave();
    let mut session = Session::open(&place, &[]);
    let operation = first["_meta"]["chio/operation-id"].as_str().unwrap();
    assert!(place.run(&["approvals", "show", operation]).field("output").contains(&secret()));
    let released = decide(&place, "release", operation);
    assert_eq!((released.code, released.field("decision")), (0, "released"), "{released:?}");
    let again = greet(&mut session, 2, &secret(), &meta);
    assert_eq!(text(&again), format!("Hello, {}!", secret()), "{again}");
    session.leave();
}

#[test]
fn a_client_that_cancels_or_leaves_ends_the_wait_and_not_the_call() {
    let place = place(2);
    let mut session = Session::open(&place, &["--wait-for-approval"]);
    let meta = json!({ "progressToken": "p", "chio/request-id": "mine" });
    session.call(1, "hello__hello_world", &json!({ "name": "Chio" }), &meta);
    assert_eq!(session.hear()["method"], "notifications/progress");
    session.notify("notifications/cancelled", &json!({ "requestId": 1 }));
    // The same call again, by a client that leaves.
    session.call(2, "hello__hello_world", &json!({ "name": "Chio" }), &meta);
    assert_eq!(session.hear()["method"], "notifications/progress");
    let rest = session.leave();
    let answers: Vec<_> = rest.iter().filter(|message| message.get("id").is_some()).collect();
    assert!(answers.iter().all(|answer| answer["id"] == 2), "a cancelled call has no answer: {rest:?}");
    assert!(answers.iter().all(|answer| answer["result"]["_meta"]["chio/verdict"] == "pending"), "{rest:?}");

    let listed = place.run(&["approvals", "list", "--format", "json"]).json_lines();
    assert_eq!((listed.len(), &listed[0]["request_id"]), (1, &json!("mine")), "it waits for another day");
}

/// A call that waits with its human, and the operation that it names.
fn waiting_call(place: &Place) -> (Child, String) {
    let params = r#"{"name":"Chio"}"#;
    let call = ["call", "--policy", "policy.yaml", "--server", "hello", "--tool", "hello_world", "--params", params];
    let more = ["--wait-for-approval", "--request-id", "mine"];
    let mut waiting = place.command(&[&call[..], &more].concat());
    let mut waiting = waiting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(waiting.stderr.take().unwrap()).lines();
    let told = said.by_ref().map(Result::unwrap).find(|line| line.starts_with("awaits: ")).expect("it says so");
    let operation = told.split("approvals approve ").nth(1).unwrap().trim_end_matches(')').to_owned();
    // Somebody reads what it says to its end.
    std::thread::spawn(move || said.count());
    (waiting, operation)
}

#[test]
fn a_call_waits_with_its_human_as_well() {
    let place = place(2);
    let (waiting, operation) = waiting_call(&place);
    assert_eq!(decide(&place, "approve", &operation).code, 0);
    let done = waiting.wait_with_output().unwrap();
    let stdout = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success() && stdout.contains("Hello, Chio!"), "{stdout}");
    assert!(!socket(&place).exists());
}

#[test]
fn whoever_stops_waiting_stops_no_call() {
    let place = place(2);
    let (mut waiting, operation) = waiting_call(&place);
    assert!(Command::new("kill").args(["-INT", &waiting.id().to_string()]).status().unwrap().success());
    assert_eq!(waiting.wait().unwrap().code(), Some(1));
    assert!(!socket(&place).exists());
    assert!(place.run(&["approvals", "list"]).stdout.contains(&operation));
}

#[test]
fn whoever_reaches_the_socket_cannot_approve() {
    let place = place(2);
    let mut session = Session::open(&place, &[]);
    let first = greet(&mut session, 1, "Chio", &json!({ "chio/request-id": "mine" }));
    let operation = first["_meta"]["chio/operation-id"].clone();
    let waits = ask(&place, &json!({ "ask": "waiting_one", "operation": operation }))["ok"].take();
    let request: ApprovalRequest = serde_json::from_value(waits["request"].clone()).unwrap();
    let mut seed = Zeroizing::new([0; 32]);
    let key = fs::read_to_string(place.path().join("approver.key")).unwrap();
    hex::decode_to_slice(key.trim_end(), &mut *seed).unwrap();
    let approver = Keypair::from_seed(&seed);
    let body = |decision| ApprovalBody {
        schema: SCHEMA.to_owned(),
        id: "approval-by-hand".to_owned(),
        approver: approver.public().hex().to_owned(),
        decision,
        request: request.clone(),
        issued_at: 0,
        expires_at: u64::MAX >> 12,
        because: None,
    };
    let signed = |decision, key: &Keypair| ApprovalToken::sign(body(decision), key).to_json();
    let decide = |says: &str, approval: Value| {
        ask(&place, &json!({ "ask": "decide", "says": says, "approval": approval }))["error"].to_string()
    };
    let denial = signed(ApprovalDecision::Denied, &approver);
    assert!(decide("approved", denial.clone()).contains("sent as one decision, and signed as the other"));
    let mut turned = denial;
    turned["body"]["decision"] = "approved".into();
    assert!(decide("approved", turned).contains("its signature is invalid"));
    let (stranger, _) = Keypair::generate().unwrap();
    assert!(decide("approved", signed(ApprovalDecision::Approved, &stranger)).contains("its signature is invalid"));
    let mut other = signed(ApprovalDecision::Approved, &approver);
    other["body"]["request"]["tool"] = "drop_tables".into();
    assert!(decide("approved", other).contains("its tool is not what waits"));
    assert!(decide("approved", json!({})).contains("not an approval"));
    let still = greet(&mut session, 2, "Chio", &json!({ "chio/request-id": "mine" }));
    assert_eq!(still["_meta"]["chio/verdict"], "pending", "none of that decided anything: {still}");
    session.leave();
}

#[test]
fn what_is_no_request_is_said_to_be_none() {
    let place = place(2);
    let session = Session::open(&place, &[]);
    for (line, part) in [
        (&b"not json\n"[..], "the request: "),
        (b"{}\n", "missing field `ask`"),
        (b"{\"ask\":\"call\"}\n", "unknown variant `call`"),
        (b"{\"ask\":\"accounts\",\"more\":1}\n", "unknown field `more`"),
        (b"{\"ask\":\"accounts\",\"ask\":\"accounts\"}\n", "stands twice"),
        (b"{\"ask\":\"accounts\"}", "one line"),
        (b"", "one line"),
    ] {
        let said = exchange(&place, line);
        assert!(said["error"].as_str().is_some_and(|why| why.contains(part)), "{part}: {said}");
    }
    assert!(ask(&place, &json!({ "ask": "accounts" }))["ok"].is_array(), "and it still listens");
    session.leave();
}

#[test]
fn an_operator_needs_not_stop_the_host() {
    let place = place(9);
    let mut session = Session::open(&place, &[]);
    let hello = greet(&mut session, 1, "Chio", &json!({}));
    assert_eq!(text(&hello), "Hello, Chio!");
    let receipt = hello["_meta"]["chio/receipt-id"].as_str().unwrap();

    let topped = place.run(&["budget", "top-up", "agent", "50", "--because", "more work"]);
    assert_eq!((topped.code, topped.field("total"), topped.field("free")), (0, "150", "147"), "{topped:?}");
    let token = place.run(&["receipt", "show", receipt]).stdout;
    let capability = serde_json::from_str::<Value>(&token).unwrap()["capability_id"].as_str().unwrap().to_owned();
    assert_eq!(place.run(&["recover", "list"]).stdout, "Nothing waits for an operator.\n");
    assert_eq!(
        place.run(&["receipt", "list"]).stdout.lines().count(),
        3,
        "an account opened, a call, an account changed"
    );
    assert_eq!(place.run(&["receipt", "verify"]).code, 0);
    assert_eq!(place.run(&["receipt", "verify", receipt]).code, 0);
    assert!(place.run(&["receipt", "explain", &receipt[..12]]).stdout.contains("decision: allow"));
    place.run(&["recover", "resolve", "0000", "--release", "--because", "x"]).is_error(&["nothing to resolve"]);

    let revoked = place.run(&["revoke", &capability, "--because", "enough"]);
    assert_eq!(revoked.code, 0, "{revoked:?}");
    let denied = greet(&mut session, 2, "Chio", &json!({}));
    assert!(text(&denied).starts_with("capability has been revoked"), "{denied}");
    session.leave();
    assert!(place.run(&["budget", "show"]).stdout.contains("agent    150"));
}

#[test]
fn the_socket_is_its_owners_and_goes_with_the_host() {
    let place = place(2);
    let session = Session::open(&place, &[]);
    let meta = fs::symlink_metadata(socket(&place)).unwrap();
    assert!(meta.file_type().is_socket() && meta.permissions().mode() & 0o777 == 0o600);
    session.leave();
    assert!(!socket(&place).exists());

    // One that a killed host left is replaced.
    let mut session = Session::open(&place, &[]);
    session.kill();
    assert!(socket(&place).exists());
    let session = Session::open(&place, &[]);
    assert!(ask(&place, &json!({ "ask": "unresolved" }))["ok"].is_array());
    session.leave();

    // One on which somebody listens is not, and what is no socket is left alone: the host serves without.
    let squatter = UnixListener::bind(socket(&place)).unwrap();
    let session = Session::open(&place, &[]);
    assert!(socket(&place).exists());
    session.leave();
    drop(squatter);
    fs::remove_file(socket(&place)).unwrap();
    place.write(".chio/control.sock", "mine");
    let session = Session::open(&place, &[]);
    place.run(&["budget", "show"]).is_error(&["it takes no requests"]);
    session.leave();
    assert_eq!(fs::read_to_string(socket(&place)).unwrap(), "mine");
}

/// The system's own bound on a socket's path is 107 bytes.
#[cfg(target_os = "linux")]
#[test]
fn a_state_folder_may_lie_deep() {
    let place = place(2);
    let deep = format!("{0}/{0}/state", "deep".repeat(20));
    fs::create_dir_all(place.path().join(&deep)).unwrap();
    fs::set_permissions(place.path().join(&deep), fs::Permissions::from_mode(0o700)).unwrap();
    let session = Session::open(&place, &["--state", &deep]);
    let shown = place.run(&["budget", "show", "--state", &deep]);
    assert!(shown.code == 0 && shown.stdout.contains("agent "), "{shown:?}");
    session.leave();
}

#[test]
fn a_ledger_whose_holder_takes_no_requests_is_said_to_be_held() {
    let place = place(2);
    let mut session = Session::open(&place, &[]);
    fs::remove_file(socket(&place)).unwrap();
    for command in [&["budget", "show"][..], &["approvals", "list"], &["receipt", "list"], &["recover"]] {
        place.run(command).is_error(&["is held by process", "it takes no requests"]);
    }
    session.is_alive();
    session.leave();
}
