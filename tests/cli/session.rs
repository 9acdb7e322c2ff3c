//! `run`, and an MCP client that speaks to it a line at a time.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::Place;

/// A host and its client.
pub(crate) struct Session {
    host: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    /// What the host says to its operator, where the test listens.
    aside: Option<Lines<BufReader<ChildStderr>>>,
}

impl Session {
    /// A session that is open, of a host with these options beside its policy.
    pub(crate) fn open(place: &Place, more: &[&str]) -> Self {
        Self::open_with(place, more, Stdio::null())
    }

    /// The same, of a host whose operator listens.
    pub(crate) fn overheard(place: &Place) -> Self {
        Self::open_with(place, &[], Stdio::piped())
    }

    fn open_with(place: &Place, more: &[&str], stderr: Stdio) -> Self {
        let mut command = place.command(&[&["run", "--policy", "policy.yaml"], more].concat());
        let mut host = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let (input, output) = (host.stdin.take(), BufReader::new(host.stdout.take().unwrap()).lines());
        let aside = host.stderr.take().map(|stderr| BufReader::new(stderr).lines());
        let mut session = Self { host, input, output, aside };
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

    /// Sends a request, and answers the result, which is the next message.
    pub(crate) fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.result(id)
    }

    /// Waits until the host has said a line with this in it, and answers all that it said until then.
    pub(crate) fn overhear(&mut self, part: &str) -> String {
        let lines = self.aside.as_mut().expect("somebody listens");
        let mut said = String::new();
        while !said.contains(part) {
            said += &lines.next().unwrap_or_else(|| panic!("the host never says {part:?}: {said}")).unwrap();
            said.push('\n');
        }
        said
    }

    /// The host's process id.
    #[cfg(unix)]
    pub(crate) fn process(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.host)
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
