//! `run`, killed while a tool runs and started again.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::session::Session;
use crate::support::{Place, repository};

/// `O_NONBLOCK` on Linux: opening a pipe for writing then fails while nobody reads it.
const NON_BLOCKING: i32 = 0o4000;

/// The same call, with the same id of its own.
fn ask(session: &mut Session) {
    let call = json!({ "path": "/workspace/pipe" });
    session.call(1, "files__read_file", &call, &json!({ "chio/request-id": "mine" }));
}

fn is_read(pipe: &Path) -> bool {
    OpenOptions::new().write(true).custom_flags(NON_BLOCKING).open(pipe).is_ok()
}

#[test]
fn a_host_that_is_killed_while_a_tool_runs_says_so_and_never_runs_it_again() {
    let place = Place::new();
    fs::copy(repository("examples/policies/agent.yaml"), place.path().join("policy.yaml")).unwrap();
    fs::create_dir(place.path().join("workspace")).unwrap();
    // The tool reads a pipe into which nobody writes, so it is in the middle of its work until somebody stops it.
    let pipe = place.path().join("workspace/pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());

    let mut session = Session::open(&place, &[]);
    ask(&mut session);
    while !is_read(&pipe) {
        session.is_alive();
        std::thread::yield_now();
    }
    session.kill();

    let mut again = Session::open(&place, &[]);
    ask(&mut again);
    let answer = again.hear();
    let result = &answer["result"];
    assert_eq!(
        (&result["isError"], &result["_meta"]["chio/verdict"]),
        (&json!(true), &json!("incomplete")),
        "{answer}"
    );
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("the host stopped after dispatch; outcome is unknown\neffect: unknown"), "{text}");
    assert!(!is_read(&pipe), "the tool was entered again");
    again.leave();

    let receipt = result["_meta"]["chio/receipt-id"].as_str().unwrap();
    let verified = place.run(&["receipt", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    let shown = place.run(&["receipt", "show", receipt, "--format", "json"]).json_lines().remove(0);
    assert_eq!(shown["metadata"]["chio_host"]["recovered"], true);
    let nothing = place.run(&["recover", "list"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, "Nothing waits for an operator.\n"));
}
