//! A kernel with one guard and one server of simple tools, and a client that speaks lines.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chio_host_kernel::admission::Committed;
use chio_host_kernel::call::{Call, EffectClass, Progress, Snapshot};
use chio_host_kernel::capability::{CapabilityBody, CapabilityToken, Grant, Operation, SCHEMA, Scope};
use chio_host_kernel::facts::ArgumentFact;
use chio_host_kernel::keys::Keypair;
use chio_host_kernel::ledger::Ledger;
use chio_host_kernel::operation::{Component, Role};
use chio_host_kernel::ports::{
    BoxFuture, Clock, CounterView, Elicitation, Entry, Guard, GuardDecision, Hints, HookVerdict, Invocation,
    OutputFormat, OutputHook, Ran, ToolDescription, ToolError, ToolOutput, ToolRan, ToolServer, Verdict,
};
use chio_host_kernel::proof::ProofOfPossession;
use chio_host_kernel::{Kernel, Ledgers, Plugins, Settings};
use chio_host_ledger::MemoryLedger;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinHandle;

use crate::mcp::{Catalog, Offer, ServeError, Session, Tokens, serve};

const NOW: u64 = 1_800_000_000;

fn component(role: Role, name: &str) -> Component {
    Component { role, name: name.to_owned(), digest: "0".repeat(64) }
}

struct Frozen;

impl Clock for Frozen {
    fn now_ms(&self) -> u64 {
        NOW * 1000
    }

    fn monotonic_us(&self) -> u64 {
        0
    }
}

/// Denies what mentions `/etc/shadow`, and asks for a human where somebody is asked.
struct Warden(Component);

impl Guard for Warden {
    fn component(&self) -> &Component {
        &self.0
    }

    fn check<'a>(&'a self, call: &'a Snapshot, _: &'a [CounterView]) -> BoxFuture<'a, Ran<Verdict>> {
        let arguments = call.arguments.canonical();
        let decision = if arguments.contains("/etc/shadow") {
            GuardDecision::Deny("path /etc/shadow is forbidden".to_owned())
        } else if arguments.contains("ask somebody") {
            GuardDecision::PendingApproval("somebody has to be asked".to_owned())
        } else {
            GuardDecision::Allow(Vec::new())
        };
        let verdict = Verdict { decision, details: None, secret_arguments: Vec::new() };
        Box::pin(async { Ran { outcome: Ok(verdict), fuel: 1 } })
    }
}

/// Lets everything out.
pub(super) struct Onlooker(Component);

impl Onlooker {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(component(Role::OutputHook, "onlooker")))
    }
}

impl OutputHook for Onlooker {
    fn component(&self) -> &Component {
        &self.0
    }

    fn inspect<'a>(&'a self, _: &'a Snapshot, _: &'a str) -> BoxFuture<'a, Ran<HookVerdict>> {
        Box::pin(async { Ran { outcome: Ok(HookVerdict::Allow), fuel: 1 } })
    }
}

/// Where tests and tools meet.
pub(super) struct Meeting {
    /// One permit for each call that entered `hold` or `heed`.
    pub(super) entered: Semaphore,
    /// One permit lets one `hold` end.
    pub(super) gate: Semaphore,
}

/// A server of tools that do what their names say.
pub(super) struct Desk {
    component: Component,
    tools: Vec<ToolDescription>,
    meeting: Arc<Meeting>,
}

impl Desk {
    pub(super) fn new(name: &str, tools: &[&str], meeting: &Arc<Meeting>) -> Arc<Self> {
        let tools = tools.iter().map(|tool| describe(tool)).collect();
        Arc::new(Self { component: component(Role::ToolServer, name), tools, meeting: meeting.clone() })
    }
}

fn describe(name: &str) -> ToolDescription {
    ToolDescription {
        name: name.to_owned(),
        title: (name == "echo").then(|| "Echo".to_owned()),
        description: format!("The {name} tool."),
        input_schema: json!({ "type": if name == "bent" { "string" } else { "object" } }),
        output_schema: match name {
            "echo" | "lie" => Some(json!({ "type": "object", "required": ["got"] })),
            "say" => Some(json!({ "type": "string" })),
            _ => None,
        },
        hints: Hints { read_only: (name == "echo").then_some(true), ..Hints::default() },
    }
}

impl ToolServer for Desk {
    fn component(&self) -> &Component {
        &self.component
    }

    fn tools(&self) -> &[ToolDescription] {
        &self.tools
    }

    fn effect_class(&self) -> EffectClass {
        EffectClass::SideEffecting
    }

    fn argument_facts(&self, _: &str) -> &[ArgumentFact] {
        &[]
    }

    fn deadline(&self) -> Duration {
        Duration::from_mins(1)
    }

    fn fuel_limit(&self) -> u64 {
        1_000_000
    }

    fn call(&self, _: Committed, invocation: Invocation) -> BoxFuture<'_, ToolRan> {
        Box::pin(async move {
            let answer = run(&self.meeting, &invocation).await;
            ToolRan { entry: Entry::Entered, ran: Ran { outcome: Ok(answer), fuel: 1 } }
        })
    }
}

async fn run(meeting: &Meeting, invocation: &Invocation) -> Result<ToolOutput, ToolError> {
    let arguments = invocation.snapshot.arguments.value();
    let (value, format) = match invocation.snapshot.tool.as_str() {
        "echo" => (json!({ "got": arguments }), OutputFormat::Json),
        "list" => (json!([1, "a"]), OutputFormat::Json),
        "blocks" => {
            (json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]), OutputFormat::McpContent)
        }
        "no_blocks" => (json!([{ "type": "nonsense" }]), OutputFormat::McpContent),
        "fail" => return Err(ToolError::Failed("the disk is full".to_owned())),
        "visit" => {
            let (id, url) = ("1".to_owned(), "https://example.com/consent".to_owned());
            return Err(ToolError::UrlElicitation(vec![Elicitation { id, url, message: "agree first".to_owned() }]));
        }
        "hold" => {
            meeting.entered.add_permits(1);
            meeting.gate.acquire().await.expect("never closed").forget();
            (json!("held"), OutputFormat::Json)
        }
        "heed" => {
            meeting.entered.add_permits(1);
            while !invocation.signals.is_cancelled() {
                tokio::task::yield_now().await;
            }
            (json!("heeded"), OutputFormat::Json)
        }
        "step" => {
            for done in [1.0, 1.0, f64::NAN, 2.5] {
                let message = Some("step".to_owned());
                invocation.signals.report(Progress { done, total: Some(3.0), message });
            }
            (json!("stepped"), OutputFormat::Json)
        }
        // `say`, and `lie`, which declares an object.
        _ => (json!("words"), OutputFormat::Json),
    };
    Ok(ToolOutput { value, format, cost: None })
}

/// The agent's one token, which covers every tool of every server but those called `hidden`.
struct Wallet(Arc<CapabilityToken>);

impl Tokens for Wallet {
    fn agent(&self) -> &str {
        &self.0.body().subject
    }

    fn covers(&self, server: &str, tool: &str) -> bool {
        self.0.body().scope.select(server, tool, Operation::Invoke).is_some()
    }

    fn token_for(&self, _: &str, _: &str) -> Result<Arc<CapabilityToken>, String> {
        Ok(self.0.clone())
    }

    fn proof(&self, _: &Call) -> Option<ProofOfPossession> {
        None
    }
}

fn wallet(issuer: &Keypair, plugins: &Plugins) -> Wallet {
    let tools = plugins.servers.iter().flat_map(|(name, server)| server.tools().iter().map(move |tool| (name, tool)));
    let grants = tools
        .filter(|(_, tool)| tool.name != "hidden")
        .map(|(server, tool)| Grant {
            server_id: server.clone(),
            tool_name: tool.name.clone(),
            operations: vec![Operation::Invoke],
            constraints: Vec::new(),
            max_invocations: None,
            max_cost_per_invocation: None,
            max_total_cost: None,
            dpop_required: None,
        })
        .collect();
    let body = CapabilityBody {
        schema: SCHEMA.to_owned(),
        id: "cap-test".to_owned(),
        issuer: issuer.public().hex().to_owned(),
        subject: Keypair::from_seed(&[9; 32].into()).public().hex().to_owned(),
        scope: Scope { grants },
        issued_at: NOW,
        expires_at: NOW + 300,
        delegation_chain: Vec::new(),
    };
    Wallet(Arc::new(CapabilityToken::issue(body, issuer)))
}

/// A session, from the client's side.
pub(super) struct Client {
    input: Option<WriteHalf<DuplexStream>>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    served: JoinHandle<Result<(), ServeError>>,
    settler: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
    pub(super) ledger: Arc<MemoryLedger>,
    pub(super) meeting: Arc<Meeting>,
    kernel: Arc<Kernel>,
    offering: watch::Sender<Arc<Offer>>,
}

fn signer() -> Keypair {
    Keypair::from_seed(&[7; 32].into())
}

fn plugins(servers: &[(&str, &[&str])], hooks: Vec<Arc<dyn OutputHook>>, meeting: &Arc<Meeting>) -> Plugins {
    let desk = |(name, tools): &(&str, &[&str])| {
        let server: Arc<dyn ToolServer> = Desk::new(name, tools, meeting);
        ((*name).to_owned(), server)
    };
    Plugins {
        guards: vec![Arc::new(Warden(component(Role::Guard, "warden")))],
        hooks,
        servers: servers.iter().map(desk).collect::<BTreeMap<_, _>>(),
        rails: BTreeMap::new(),
    }
}

/// Whether servers with these tools could be offered.
pub(super) fn check(servers: &[(&str, &[&str])]) -> Result<(), ServeError> {
    let meeting = Arc::new(Meeting { entered: Semaphore::new(0), gate: Semaphore::new(0) });
    let plugins = plugins(servers, Vec::new(), &meeting);
    Catalog::new(&plugins, &wallet(&signer(), &plugins)).map(drop).map_err(ServeError::Catalog)
}

/// The names of the tools that most tests use.
pub(super) const TOOLS: &[&str] =
    &["echo", "say", "lie", "list", "blocks", "no_blocks", "fail", "visit", "hold", "heed", "step", "hidden"];

impl Client {
    /// A client of a host with the usual server, `desk`, that has not said anything yet.
    pub(super) fn connect() -> Self {
        Self::connect_to(&[("desk", TOOLS)], Vec::new())
    }

    /// A client of a host with these servers and hooks.
    pub(super) fn connect_to(servers: &[(&str, &[&str])], hooks: Vec<Arc<dyn OutputHook>>) -> Self {
        let meeting = Arc::new(Meeting { entered: Semaphore::new(0), gate: Semaphore::new(0) });
        let plugins = plugins(servers, hooks, &meeting);
        let signer = signer();
        let settings = Settings::new("0".repeat(64), vec![signer.public().hex().to_owned()]);
        let ledger = Arc::new(MemoryLedger::new());
        let ledgers = Ledgers { durable: ledger.clone(), volatile: Arc::new(MemoryLedger::volatile()) };
        let tokens = Arc::new(wallet(&signer, &plugins));
        let (kernel, settler) = Kernel::new(settings, signer, plugins, ledgers, Arc::new(Frozen)).unwrap();
        let (kernel, settler) = (Arc::new(kernel), tokio::spawn(settler.run()));

        let (near, far) = tokio::io::duplex(1 << 16);
        let (output, input) = tokio::io::split(near);
        let (far_input, far_output) = tokio::io::split(far);
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async {
            if stopped.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let offer = Offer::new(kernel.clone(), tokens).unwrap();
        let (offering, offers) = watch::channel(Arc::new(offer));
        let session = Session { offers, wait_for_approval: None };
        let served = tokio::spawn(serve(session, far_input, far_output, shutdown));
        let output = BufReader::new(output).lines();
        Self { input: Some(input), output, served, settler, stop: Some(stop), ledger, meeting, kernel, offering }
    }

    /// Puts other rules in force, with these servers.
    pub(super) async fn offer(&mut self, servers: &[(&str, &[&str])]) {
        let plugins = plugins(servers, Vec::new(), &self.meeting);
        let tokens = Arc::new(wallet(&signer(), &plugins));
        let settings = Settings::new("1".repeat(64), vec![signer().public().hex().to_owned()]);
        let kernel = self.kernel.succeeded_by(settings, plugins).await.unwrap();
        self.kernel = Arc::new(kernel);
        self.offering.send_replace(Arc::new(Offer::new(self.kernel.clone(), tokens).unwrap()));
    }

    /// A client whose session is open.
    pub(super) async fn open() -> Self {
        let mut client = Self::connect();
        client.handshake().await;
        client
    }

    /// Opens the session; returns the host's answer.
    pub(super) async fn handshake(&mut self) -> Value {
        self.handshake_as("2025-06-18").await
    }

    pub(super) async fn handshake_as(&mut self, version: &str) -> Value {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
        let answer = self.ask("open", "initialize", params).await;
        self.notify("notifications/initialized", json!({})).await;
        answer
    }

    pub(super) async fn send(&mut self, line: impl AsRef<[u8]>) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(line.as_ref()).await.unwrap();
        input.write_all(b"\n").await.unwrap();
    }

    /// Sends a request and does not wait.
    pub(super) async fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let request = json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params });
        self.send(request.to_string()).await;
    }

    pub(super) async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()).await;
    }

    /// The host's next message; every one has to be JSON-RPC.
    pub(super) async fn next(&mut self) -> Value {
        self.try_next().await.expect("the host still speaks")
    }

    async fn try_next(&mut self) -> Option<Value> {
        let line = self.output.next_line().await.unwrap()?;
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        Some(message)
    }

    /// Sends a request and takes the next message for its answer.
    pub(super) async fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) -> Value {
        let id = id.into();
        self.request(id.clone(), method, params).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool and returns the result.
    pub(super) async fn call(&mut self, id: impl Into<Value>, name: &str, arguments: Value) -> Value {
        self.ask(id, "tools/call", json!({ "name": name, "arguments": arguments })).await["result"].take()
    }

    /// Ends the input; returns what the host still says, and how the session ended.
    pub(super) async fn leave(mut self) -> (Vec<Value>, Result<(), ServeError>) {
        self.hang_up().await;
        self.rest().await
    }

    /// Ends the input.
    pub(super) async fn hang_up(&mut self) {
        if let Some(mut input) = self.input.take() {
            input.shutdown().await.unwrap();
        }
    }

    /// Tells the host to stop.
    pub(super) fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).unwrap();
        }
    }

    /// Everything that the host says until the session has ended, and how it did.
    pub(super) async fn rest(mut self) -> (Vec<Value>, Result<(), ServeError>) {
        let mut rest = Vec::new();
        while let Some(message) = self.try_next().await {
            rest.push(message);
        }
        let ended = self.served.await.unwrap();
        drop((self.kernel, self.offering));
        // The kernel is gone with the session, and what it dropped is ended before the settler is.
        self.settler.await.unwrap();
        (rest, ended)
    }

    /// How many receipts there are.
    pub(super) fn receipts(&self) -> usize {
        self.ledger.log(0, 1000).unwrap().len()
    }

    pub(super) fn receipt(&self, id: &Value) -> Value {
        self.ledger.receipt(id.as_str().unwrap()).unwrap().expect("the receipt is on the ledger")
    }
}

/// The one text of a result.
pub(super) fn text(result: &Value) -> &str {
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1), "{result}");
    result["content"][0]["text"].as_str().unwrap()
}
