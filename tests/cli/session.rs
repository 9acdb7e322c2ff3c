//! `run`, and an MCP client that speaks to it a line at a time.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::Place;

/// A host and its client.
pub(crate) struct Session {
    host: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Session {
    /// A session that is open, of a host with these options beside its policy.
    pub(crate) fn open(place: &Place, more: &[&str]) -> Self {
        let mut command = place.command(&[&["run", "--policy", "policy.yaml"], more].concat());
        let mut host = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (host.stdin.take(), BufReader::new(host.stdout.take().unwrap()).lines());
        let mut session = Self { host, input, output };
        let client = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        session.say(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }));
        session.hear();
        session.notify("notifications/initialized", &json!({}));
        session
    }

    fn say(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("the client is there");
        input.write_all(format!("{message}\n").as_bytes()).unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.say(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The host's next message.
    pub(crate) fn hear(&mut self) -> Value {
        serde_json::from_str(&self.output.next().expect("the host answers").unwrap()).unwrap()
    }

    /// The result of another request.
    pub(crate) fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.result(id)
    }

    /// Calls a tool and does not wait.
    pub(crate) fn call(&mut self, id: u64, tool: &str, arguments: &Value, meta: &Value) {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }

    /// The result of the call of this id, which is the next message.
    pub(crate) fn result(&mut self, id: u64) -> Value {
        let mut answer = self.hear();
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].take()
    }

    /// Whether the host still lives.
    #[track_caller]
    pub(crate) fn is_alive(&mut self) {
        assert!(self.host.try_wait().unwrap().is_none(), "the host has ended");
    }

    pub(crate) fn kill(&mut self) {
        self.host.kill().unwrap();
        self.host.wait().unwrap();
    }

    /// The client goes; what the host still says until it has ended.
    pub(crate) fn leave(mut self) -> Vec<Value> {
        self.input = None;
        let rest = self.output.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        assert!(self.host.wait().unwrap().success());
        rest
    }
}
