//! The official MCP client and independent verifiers, in Python, against the binary.
//!
//! They need what `tests/python/requirements.txt` lists. `.ci/run` installs it and names the interpreter in
//! `CHIO_TEST_PYTHON`; without that variable these tests say that they did not run.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::{BINARY, Place, repository, shared};

fn python() -> Option<PathBuf> {
    let python = std::env::var_os("CHIO_TEST_PYTHON").map(PathBuf::from);
    if python.is_none() {
        println!("not run: CHIO_TEST_PYTHON does not name a Python with tests/python/requirements.txt installed");
    }
    python
}

fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("Python runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    out.into_owned()
}

#[test]
fn an_independent_verifier_accepts_every_receipt_of_the_demo() {
    let Some(python) = python() else { return };
    let place = Place::new();
    assert_eq!(place.run(&["demo", "--state", "state"]).code, 0);
    let export = place.run(&["receipt", "list", "--state", "state", "--format", "json"]);
    let file = place.write("export.jsonl", &export.stdout);
    let verifier = repository("tests/python/verify_receipts.py");
    assert_eq!(run(Command::new(&python).arg(&verifier).arg(&file)), "4 receipts verified\n");
    let foreign = repository("tests/vectors/foreign-receipts.jsonl");
    assert!(run(Command::new(&python).arg(&verifier).arg(foreign)).ends_with("receipts verified\n"));

    let changed = export.stdout.replacen("hello_world", "hello_wormd", 1);
    let file = place.write("changed.jsonl", changed);
    let refused = Command::new(&python).arg(&verifier).arg(&file).output().expect("Python runs");
    assert!(!refused.status.success(), "a changed receipt is refused");
}

#[test]
fn the_official_client_lists_calls_and_is_denied() {
    let Some(python) = python() else { return };
    let place = Place::new();
    place.write("policy.yaml", std::fs::read(repository("examples/policies/agent.yaml")).expect("the example policy"));
    let key = ["AKIA", "Q3EGWNBV", "7XK2MPLS"].concat();
    place.write("workspace/secret.txt", format!("aws_access_key_id = {key}\n"));
    run(Command::new(&python)
        .arg(repository("tests/python/mcp_client.py"))
        .arg(BINARY)
        .args(["run", "--policy", "policy.yaml", "--state", "state"])
        // As options: the client hands on no environment.
        .args(["--keys".as_ref(), shared("keys").as_os_str(), "--cache".as_ref(), shared("compiled").as_os_str()])
        .current_dir(place.path()));
    assert_eq!(place.run(&["receipt", "verify", "--state", "state"]).code, 0);
}
