//! Calls and outputs that wait for a human, decided from the command line with no host running.

use std::fs;

use serde_json::json;

use crate::support::{Done, Place, shared};

const POLICY: &str = "
kernel: { approvals: { approvers: [APPROVER], ttl: 1h } }
hooks:
  secret_redactor: { config: { action: escalate } }
servers:
  hello: { price: { per_call: 3, currency: USD } }
accounts: { agent: { total: 100, currency: USD } }
capabilities:
  default:
    tools:
      - { server: hello, tool: hello_world, operations: [invoke], ttl: 300,
          constraints: [{ type: require_approval_above, value: { units: LIMIT, currency: USD } }] }
";

/// A project whose policy lists one approver, with the key in `approver.key`, and in which calls that cost more than this many
/// cents wait for it.
pub(crate) fn place(limit: u64) -> Place {
    let place = Place::new();
    let key = place.run(&["approvals", "key", "--key", "approver.key"]);
    assert_eq!(key.code, 0, "{key:?}");
    place.write("policy.yaml", POLICY.replace("APPROVER", key.stdout.trim()).replace("LIMIT", &limit.to_string()));
    place
}

/// What makes the hook ask for a human.
pub(crate) fn secret() -> String {
    ["AKIA", "Q3EGWNBV", "7XK2MPLS"].concat()
}

fn ask(place: &Place, command: &str, name: &str, more: &[&str]) -> Done {
    let params = json!({ "name": name }).to_string();
    let call = [command, "--policy", "policy.yaml", "--server", "hello", "--tool", "hello_world", "--params", &params];
    place.run(&[&call[..], more].concat())
}

fn greet(place: &Place, name: &str) -> Done {
    ask(place, "call", name, &["--request-id", "mine"])
}

fn decide(place: &Place, verb: &str, operation: &str, more: &[&str]) -> Done {
    place.run(&[&["approvals", verb, operation, "--policy", "policy.yaml"], more].concat())
}

const KEY: [&str; 2] = ["--key", "approver.key"];

#[test]
fn an_approved_call_runs_once_its_caller_comes_back() {
    let place = place(2);
    place.run(&["approvals", "list"]).is_error(&["there is no ledger here"]);
    assert_eq!(ask(&place, "check", "Chio", &["--mode", "full", "--output-fixture", "policy.yaml"]).code, 1, "no JSON");
    place.write("output.json", "1");
    let checked = ask(&place, "check", "Chio", &["--mode", "full", "--output-fixture", "output.json"]);
    assert_eq!((checked.code, checked.field("verdict")), (3, "PENDING"), "{checked:?}");
    let nothing = place.run(&["approvals", "list"]);
    assert_eq!(
        (nothing.code, nothing.stdout.as_str()),
        (0, "Nothing waits for a human.\n"),
        "a check waits for nobody"
    );

    let first = greet(&place, "Chio");
    assert_eq!((first.code, first.field("verdict")), (3, "PENDING"), "{first:?}");
    let operation = first.field("operation").to_owned();
    assert_eq!(first.field("request_id"), "mine");
    assert!(
        first.field("next").starts_with(&format!("chio-host approvals approve {} ", &operation[..12])),
        "{first:?}"
    );
    assert_eq!(greet(&place, "Chio").field("receipt_id"), first.field("receipt_id"), "asked again, it waits as before");

    let listed = place.run(&["approvals", "list"]);
    for part in
        [&operation[..12], "call", "hello/hello_world", "capability", "the call may cost 3 USD", r#"{"name":"Chio"}"#]
    {
        assert!(listed.stdout.lines().nth(1).unwrap().contains(part), "no {part} in {listed:?}");
    }
    let json = &place.run(&["approvals", "list", "--format", "json"]).json_lines()[0];
    assert_eq!((&json["operation"], &json["approved"]), (&json!(operation), &json!(false)));
    place.run(&["approvals", "show", &operation]).is_error(&["no host runs here", "--policy FILE"]);
    let shown = decide(&place, "show", &operation[..8], &[]);
    assert_eq!((shown.code, shown.field("arguments")), (0, r#"{"name":"Chio"}"#), "{shown:?}");

    decide(&place, "release", &operation, &KEY).is_error(&["what waits is the call", "approvals approve"]);
    let approved = decide(&place, "approve", &operation[..8], &[&KEY[..], &["--because", "it is fine"]].concat());
    assert_eq!((approved.code, approved.field("decision")), (0, "approved"), "{approved:?}");
    assert!(approved.field("next").contains("the same request id, mine"), "{approved:?}");
    for part in ["\"parameter_hash\"", "it is fine", &operation] {
        assert!(approved.stderr.contains(part), "what is signed is shown: {approved:?}");
    }
    decide(&place, "approve", &operation, &KEY).is_error(&["somebody has decided already"]);
    assert!(place.run(&["approvals", "list"]).stdout.contains("call (approved)"));

    let second = greet(&place, "Chio");
    assert_eq!((second.code, second.field("output")), (0, "Hello, Chio!"), "{second:?}");
    let receipt = place.run(&["receipt", "show", second.field("receipt_id")]);
    assert!(receipt.stdout.contains(approved.field("approval_id")), "{receipt:?}");
    decide(&place, "approve", &operation, &KEY).is_error(&["no operation", "waits for a human"]);
    assert_eq!(place.run(&["receipt", "verify"]).code, 0);
}

#[test]
fn a_denied_call_never_runs() {
    let place = place(2);
    let operation = greet(&place, "Chio").field("operation").to_owned();
    let denied = decide(&place, "deny", &operation, &[&KEY[..], &["--because", "not today"]].concat());
    assert_eq!((denied.code, denied.field("decision"), denied.field("verdict")), (0, "denied", "deny"), "{denied:?}");
    let told = greet(&place, "Chio");
    assert_eq!(told.code, 2);
    assert!(told.field("reason").starts_with("approval rejected: denied by "), "{told:?}");
    assert!(told.field("reason").ends_with(": not today"), "{told:?}");
    assert!(place.run(&["budget", "show"]).stdout.contains("agent    100    0      0     100   USD"));
}

#[test]
fn a_withheld_output_is_released_or_denied() {
    for (verb, code) in [("release", 0), ("deny", 2)] {
        let place = place(9);
        let first = greet(&place, &secret());
        assert_eq!(first.code, 3, "{first:?}");
        assert!(!first.stdout.contains(&secret()), "{first:?}");
        let operation = first.field("operation").to_owned();
        decide(&place, "approve", &operation, &KEY).is_error(&["what waits is the output", "approvals release"]);
        let shown = decide(&place, "show", &operation, &[]);
        assert!(shown.field("output").contains(&secret()), "an approver sees what is to be released: {shown:?}");
        let decided = decide(&place, verb, &operation, &KEY);
        assert_eq!(decided.code, 0, "{decided:?}");
        let again = greet(&place, &secret());
        assert_eq!(again.code, code, "{again:?}");
        assert_eq!(again.stdout.contains(&format!("output:     Hello, {}!", secret())), code == 0, "{again:?}");
        assert_eq!(place.run(&["receipt", "verify"]).code, 0);
    }
}

#[test]
fn nobody_else_approves() {
    let place = place(2);
    let operation = greet(&place, "Chio").field("operation").to_owned();
    let other = place.run(&["approvals", "key", "--key", "other.key"]);
    let as_other = decide(&place, "approve", &operation, &["--key", "other.key"]);
    as_other.is_error(&["approval rejected", other.stdout.trim(), "not one of the policy's approvers"]);
    decide(&place, "approve", &operation, &["--key", "none.key"]).is_error(&["none.key", "no approver's key here"]);
    decide(&place, "approve", &operation, &[]).is_error(&["--key"]);
    decide(&place, "approve", &operation, &["--key", "policy.yaml"]).is_error(&["policy.yaml"]);
    decide(&place, "approve", "00000000", &KEY).is_error(&["no operation 00000000 waits"]);
    decide(&place, "approve", &operation[..2], &KEY).is_error(&["too short"]);
    let expired = decide(&place, "approve", &operation, &[&KEY[..], &["--for", "0s"]].concat());
    expired.is_error(&["approval rejected: it is not good at this time"]);
    place.run(&["approvals", "approve", &operation, "--key", "approver.key"]).is_error(&["no host runs here"]);
    // Nothing of that decided anything.
    assert_eq!(greet(&place, "Chio").code, 3);
}

#[test]
fn an_approvers_key_lies_where_the_host_does_not_look_and_others_cannot_read() {
    let place = place(2);
    greet(&place, "Chio");
    let keys = shared("keys").join("approver.key");
    for (file, folder) in [(".chio/approver.key", "state"), (keys.to_str().unwrap(), "key")] {
        let made = place.run(&["approvals", "key", "--key", file]);
        made.is_error(&["must not lie in the host's", folder]);
    }
    place.run(&["approvals", "key", "kernel"]).is_error(&["no usable name"]);
    place.run(&["approvals", "key"]).is_error(&["NAME"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{PermissionsExt, symlink};
        symlink(shared("keys").join("agent.key"), place.path().join("link.key")).unwrap();
        decide(&place, "approve", "0000", &["--key", "link.key"]).is_error(&["must not lie in the host's key folder"]);
        let key = place.path().join("approver.key");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
        decide(&place, "approve", "0000", &KEY).is_error(&["approver.key", "chmod 600"]);
    }
    let named = place.run(&["approvals", "key", "alice"]);
    assert_eq!((named.code, named.stdout.len()), (0, 65), "{named:?}");
    let again = place.run(&["approvals", "key", "alice", "--format", "json"]);
    assert_eq!(again.json_lines()[0]["public_key"], named.stdout.trim());
}

#[test]
fn nobody_in_time_is_a_no() {
    let place = place(2);
    let policy = fs::read_to_string(place.path().join("policy.yaml")).unwrap();
    place.write("policy.yaml", policy.replace("ttl: 1h", "ttl: 1s"));
    let denied = ask(&place, "call", "Chio", &["--wait-for-approval"]);
    assert_eq!(
        (denied.code, denied.field("reason")),
        (2, "approval rejected: nobody approved it in time"),
        "{denied:?}"
    );
}

#[test]
fn an_agent_is_no_approver() {
    let place = place(2);
    let agent = place.run(&["capability", "key"]);
    place.write("policy.yaml", POLICY.replace("APPROVER", agent.stdout.trim()).replace("LIMIT", "2"));
    greet(&place, "Chio").is_error(&["kernel.approvals.approvers", "the key \"agent\"", "approve its own calls"]);
}

#[test]
fn without_approvers_a_call_that_needs_one_ends() {
    let place = place(2);
    let policy = fs::read_to_string(place.path().join("policy.yaml")).unwrap();
    let unlisted = policy.lines().filter(|line| !line.starts_with("kernel")).collect::<Vec<_>>().join("\n");
    place.write("policy.yaml", unlisted);
    let pending = ask(&place, "call", "Chio", &["--wait-for-approval"]);
    assert_eq!(pending.code, 3, "{pending:?}");
    assert!(!pending.stdout.contains("operation:"), "{pending:?}");
}
