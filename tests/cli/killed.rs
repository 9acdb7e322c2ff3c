//! `run`, killed while a tool runs and started again.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Place, repository};

/// `O_NONBLOCK` on Linux: opening a pipe for writing then fails while nobody reads it.
const NON_BLOCKING: i32 = 0o4000;

/// A host and its client, a line at a time.
struct Session {
    host: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Session {
    fn open(place: &Place) -> Self {
        let mut command = place.command(&["run", "--policy", "policy.yaml"]);
        let mut host = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (host.stdin.take().unwrap(), BufReader::new(host.stdout.take().unwrap()).lines());
        let mut session = Self { host, input, output };
        let client = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        session.say(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }));
        session.hear();
        session.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    fn say(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).unwrap();
        self.input.flush().unwrap();
    }

    fn hear(&mut self) -> Value {
        serde_json::from_str(&self.output.next().expect("the host answers").unwrap()).unwrap()
    }

    /// The same call, with the same id of its own.
    fn ask(&mut self) {
        let params = json!({
            "name": "files__read_file",
            "arguments": { "path": "/workspace/pipe" },
            "_meta": { "chio/request-id": "mine" },
        });
        self.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }));
    }

    fn leave(mut self) {
        drop(self.input);
        self.host.wait().unwrap();
    }
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

    let mut session = Session::open(&place);
    session.ask();
    while !is_read(&pipe) {
        assert!(session.host.try_wait().unwrap().is_none(), "the host has ended");
        std::thread::yield_now();
    }
    session.host.kill().unwrap();
    session.host.wait().unwrap();

    let mut again = Session::open(&place);
    again.ask();
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
