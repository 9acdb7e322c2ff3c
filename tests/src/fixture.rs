//! A host with the memory ledger and whatever plugins a test gives it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use chio_host_builtin::Kind;
use chio_host_kernel::admission::Settler;
use chio_host_kernel::call::{Arguments, Call, EffectClass, RequestId, Snapshot};
use chio_host_kernel::capability::{ANY, CapabilityBody, CapabilityToken, Grant, Operation, SCHEMA, Scope};
use chio_host_kernel::facts::{self, ArgumentFact, ArgumentKind};
use chio_host_kernel::keys::Keypair;
use chio_host_kernel::ledger::{Durability, Ledger, Mutation, Transition};
use chio_host_kernel::ports::{Clock, Guard, OutputHook, PaymentRail, ToolServer};
use chio_host_kernel::receipt;
use chio_host_kernel::response::Response;
use chio_host_kernel::{Kernel, Ledgers, NestedTarget, Outputs, Plugins, Settings};
use chio_host_ledger::MemoryLedger;
use chio_host_runtime::{
    Access, CompiledCache, FileGrant, Limits, Plugin, Runtime, RuntimeConfig, WasmGuard, WasmHook, WasmToolServer,
};
use serde_json::Value;

/// The moment at which a fixture's clock stands, in milliseconds since 1970.
pub const START_MS: u64 = 1_800_000_000_000;

/// A clock that stands still until it is set.
pub struct TestClock(AtomicU64);

impl Default for TestClock {
    fn default() -> Self {
        Self(AtomicU64::new(START_MS))
    }
}

impl TestClock {
    /// Sets the clock forward.
    pub fn advance_secs(&self, seconds: u64) {
        self.0.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    /// Steps the clock, forward or back.
    pub fn step_secs(&self, seconds: i64) {
        self.0.fetch_add((seconds * 1000).cast_unsigned(), Ordering::SeqCst);
    }

    /// Seconds since 1970.
    pub fn now(&self) -> u64 {
        self.0.load(Ordering::SeqCst) / 1000
    }
}

impl Clock for TestClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    fn monotonic_us(&self) -> u64 {
        self.0.load(Ordering::SeqCst) * 1000
    }
}

/// Collects what a host is made of.
pub struct FixtureBuilder {
    runtime: Arc<Runtime>,
    plugins: Plugins,
    settings: Settings,
    durable: Arc<dyn Ledger>,
}

/// A host under test.
pub struct Fixture {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    settler: tokio::sync::Mutex<Option<Settler>>,
    /// Its ledger.
    pub ledger: Arc<dyn Ledger>,
    /// Its clock.
    pub clock: Arc<TestClock>,
    /// The key that it signs with, and that may issue.
    pub issuer: Keypair,
    /// The key of who calls.
    pub agent: Keypair,
    next: AtomicU64,
}

/// The key of who calls.
#[must_use]
pub fn agent() -> Keypair {
    Keypair::from_seed(&[12; 32].into())
}

/// A grant of one tool without any limit.
#[must_use]
pub fn grant(server: &str, tool: &str) -> Grant {
    Grant {
        server_id: server.to_owned(),
        tool_name: tool.to_owned(),
        operations: vec![Operation::Invoke],
        constraints: Vec::new(),
        max_invocations: None,
        max_cost_per_invocation: None,
        max_total_cost: None,
        dpop_required: None,
    }
}

/// A snapshot of a call whose `path` is a path, for tests that ask a guard by itself.
///
/// # Panics
/// On arguments that are no object.
#[must_use]
pub fn snapshot(server: &str, tool: &str, arguments: Value) -> Snapshot {
    described_snapshot(server, tool, arguments, &[ArgumentFact { at: "/path".into(), is: ArgumentKind::Path }])
}

/// The same, of which a manifest says what is `described`.
///
/// # Panics
/// The arguments are no object.
#[must_use]
pub fn described_snapshot(server: &str, tool: &str, arguments: Value, described: &[ArgumentFact]) -> Snapshot {
    let facts = facts::extract(&arguments, described);
    Snapshot {
        request_id: RequestId::new("request").expect("a plain id"),
        agent: "00".repeat(32),
        capability_id: "cap".to_owned(),
        grant_index: 0,
        delegation_depth: 0,
        server: server.to_owned(),
        tool: tool.to_owned(),
        operation: Operation::Invoke,
        effect_class: EffectClass::ReadOnly,
        arguments: Arguments::new(arguments).expect("an object"),
        facts,
        exposure: None,
        time: START_MS / 1000,
        depth: 0,
    }
}

fn builtin(kind: Kind, name: &str) -> &'static [u8] {
    chio_host_builtin::find(kind, name).expect("the reference component is embedded").bytes
}

fn patient(limits: Limits) -> Limits {
    Limits { deadline: std::time::Duration::from_mins(5), ..limits }
}

/// One sandbox for all tests of a process, with a cache, so that each component is compiled once and not by every test.
fn shared_runtime() -> Arc<Runtime> {
    static SHARED: OnceLock<(Arc<Runtime>, tempfile::TempDir)> = OnceLock::new();
    let (runtime, _) = SHARED.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = CompiledCache::open(&folder.path().join("compiled"), [1; 32]).expect("the cache opens");
        let config = RuntimeConfig { places: 64, cache: Some(cache), ..RuntimeConfig::default() };
        (Runtime::new(config).expect("the engine starts"), folder)
    });
    runtime.clone()
}

impl Default for FixtureBuilder {
    fn default() -> Self {
        let issuer = Keypair::from_seed(&[7; 32].into());
        Self {
            runtime: shared_runtime(),
            plugins: Plugins::default(),
            settings: Settings {
                outputs: Outputs::Kept,
                ..Settings::new("ab".repeat(32), vec![issuer.public().hex().to_owned()])
            },
            durable: Arc::new(MemoryLedger::new()),
        }
    }
}

impl FixtureBuilder {
    /// Changes what the policy would say.
    #[must_use]
    pub fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Another ledger than a fresh one in memory.
    #[must_use]
    pub fn ledger(mut self, ledger: Arc<dyn Ledger>) -> Self {
        self.durable = ledger;
        self
    }

    /// Adds an embedded guard.
    pub async fn guard(self, name: &str) -> Self {
        self.guard_component(name, builtin(Kind::Guard, name), Limits::GUARD, &Value::Null).await
    }

    /// Adds a guard from its bytes.
    pub async fn guard_component(mut self, name: &str, bytes: &[u8], limits: Limits, config: &Value) -> Self {
        let guard = WasmGuard::load(&self.runtime, &Plugin { name, bytes, config, limits }).await;
        let guard: Arc<dyn Guard> = Arc::new(guard.expect("the guard loads"));
        self.plugins.guards.push(guard);
        self
    }

    /// Adds a guard of the test's own.
    #[must_use]
    pub fn native_guard(mut self, guard: Arc<dyn Guard>) -> Self {
        self.plugins.guards.push(guard);
        self
    }

    /// Adds an embedded guard that may take its time, for a test that keeps the machine busy.
    pub async fn patient_guard(self, name: &str) -> Self {
        self.guard_component(name, builtin(Kind::Guard, name), patient(Limits::GUARD), &Value::Null).await
    }

    /// Adds an embedded hook.
    pub async fn hook(self, name: &str) -> Self {
        self.hook_with(name, Limits::HOOK).await
    }

    /// Adds an embedded hook that may take its time.
    pub async fn patient_hook(self, name: &str) -> Self {
        self.hook_with(name, patient(Limits::HOOK)).await
    }

    async fn hook_with(mut self, name: &str, limits: Limits) -> Self {
        let bytes = builtin(Kind::Hook, name);
        let plugin = Plugin { name, bytes, config: &Value::Null, limits };
        let hook = WasmHook::load(&self.runtime, &plugin).await.expect("the hook loads");
        self.plugins.hooks.push(Arc::new(hook));
        self
    }

    /// Adds a hook of the test's own.
    #[must_use]
    pub fn native_hook(mut self, hook: Arc<dyn OutputHook>) -> Self {
        self.plugins.hooks.push(hook);
        self
    }

    /// Adds the embedded `hello`.
    pub async fn hello(self) -> Self {
        self.wasm_server("hello", Vec::new(), BTreeMap::new()).await
    }

    /// Adds the embedded `reception`, which may call the tools of `files` and `hello`.
    pub async fn reception(self) -> Self {
        let may = |server: &str| NestedTarget { server: server.to_owned(), tool: ANY.to_owned() };
        let path = ArgumentFact { at: "/guests".into(), is: ArgumentKind::Path };
        let facts = BTreeMap::from([("greet_all".to_owned(), vec![path])]);
        let built = self.wasm_server("reception", Vec::new(), facts).await;
        built.settings(|s| drop(s.nested.insert("reception".to_owned(), vec![may("files"), may("hello")])))
    }

    /// Adds the embedded `files`, which sees `folder` as `/workspace`.
    pub async fn files(self, folder: &Path) -> Self {
        let grant = FileGrant::new(folder, "/workspace", Access::ReadWrite).expect("the folder is there");
        let path = ArgumentFact { at: "/path".into(), is: ArgumentKind::Path };
        let content = ArgumentFact { at: "/content".into(), is: ArgumentKind::Content };
        let facts = BTreeMap::from([
            ("read_file".to_owned(), vec![path.clone()]),
            ("list_files".to_owned(), vec![path.clone()]),
            ("write_file".to_owned(), vec![path, content]),
        ]);
        self.wasm_server("files", vec![grant], facts).await
    }

    async fn wasm_server(
        mut self,
        name: &str,
        files: Vec<FileGrant>,
        facts: BTreeMap<String, Vec<ArgumentFact>>,
    ) -> Self {
        let bytes = builtin(Kind::ToolServer, name);
        let plugin = Plugin { name, bytes, config: &Value::Null, limits: Limits::TOOL };
        let server = WasmToolServer::load(&self.runtime, &plugin, files, facts).await.expect("the server loads");
        self.plugins.servers.insert(name.to_owned(), Arc::new(server));
        self
    }

    /// Adds a tool server of the test's own.
    #[must_use]
    pub fn native_server(mut self, server: impl ToolServer + 'static) -> Self {
        self.plugins.servers.insert(server.component().name.clone(), Arc::new(server));
        self
    }

    /// Adds a payment rail of the test's own.
    #[must_use]
    pub fn rail(mut self, name: &str, rail: Arc<dyn PaymentRail>) -> Self {
        self.plugins.rails.insert(name.to_owned(), rail);
        self
    }

    /// What it would be made of, for a kernel that succeeds another.
    #[must_use]
    pub fn rules(self) -> (Settings, Plugins) {
        (self.settings, self.plugins)
    }

    /// The host.
    #[must_use]
    pub fn build(self) -> Fixture {
        let issuer = Keypair::from_seed(&[7; 32].into());
        let clock = Arc::new(TestClock::default());
        let ledger = self.durable;
        let ledgers = Ledgers { durable: ledger.clone(), volatile: Arc::new(MemoryLedger::volatile()) };
        let kernel = Kernel::new(self.settings, issuer.clone(), self.plugins, ledgers, clock.clone());
        let (kernel, settler) = kernel.expect("the settings fit the ledger");
        Fixture {
            kernel: Arc::new(kernel),
            settler: tokio::sync::Mutex::new(Some(settler)),
            ledger,
            clock,
            issuer,
            agent: agent(),
            next: AtomicU64::new(1),
        }
    }
}

impl Fixture {
    /// A token for everything, good for five minutes from now.
    #[must_use]
    pub fn wildcard(&self) -> Arc<CapabilityToken> {
        self.token(vec![grant(ANY, ANY)])
    }

    /// A token with these grants, good for five minutes from now.
    #[must_use]
    pub fn token(&self, grants: Vec<Grant>) -> Arc<CapabilityToken> {
        self.token_with(grants, |_| ())
    }

    /// A token that is changed before it is signed.
    #[must_use]
    pub fn token_with(&self, grants: Vec<Grant>, change: impl FnOnce(&mut CapabilityBody)) -> Arc<CapabilityToken> {
        let mut body = CapabilityBody {
            schema: SCHEMA.to_owned(),
            id: format!("cap-{}", self.next.fetch_add(1, Ordering::SeqCst)),
            issuer: self.issuer.public().hex().to_owned(),
            subject: self.agent.public().hex().to_owned(),
            scope: Scope { grants },
            issued_at: self.clock.now(),
            expires_at: self.clock.now() + 300,
            delegation_chain: Vec::new(),
        };
        change(&mut body);
        Arc::new(CapabilityToken::issue(body, &self.issuer))
    }

    /// A call with an id of its own.
    #[must_use]
    pub fn call(&self, token: &Arc<CapabilityToken>, server: &str, tool: &str, arguments: Value) -> Call {
        let id = RequestId::new(format!("request-{}", self.next.fetch_add(1, Ordering::SeqCst))).expect("a plain id");
        let arguments = Arguments::new(arguments).expect("an object");
        Call::new(id, self.agent.public().hex(), token.clone(), server, tool, arguments).expect("plain names")
    }

    /// Evaluates a call, and checks what holds of every answer: the receipt verifies, stands in the log, and is about this
    /// call; what was not allowed has no output.
    pub async fn evaluate(&self, call: &Call) -> Response {
        let response = self.kernel.evaluate(call).await.expect("the kernel answers");
        let record = response.receipt.record();
        let verified = receipt::verify(record).expect("the receipt verifies");
        assert_eq!(verified.kernel_key, self.issuer.public().hex());
        let stored = self.ledger.receipt(&verified.id).expect("the ledger reads");
        assert_eq!(stored.as_ref(), Some(record), "the receipt is on the ledger");
        assert_eq!(record["metadata"]["receipt_context"]["request_id"], call.request_id.as_str());
        if record["decision"]["verdict"] != "allow" {
            assert!(response.output.is_none(), "output of a call that was not allowed");
        }
        response
    }

    /// Evaluates a new call.
    pub async fn run(&self, token: &Arc<CapabilityToken>, server: &str, tool: &str, arguments: Value) -> Response {
        self.evaluate(&self.call(token, server, tool, arguments)).await
    }

    /// Ends what dropped calls left, and answers how many those were.
    pub async fn settle(&self) -> usize {
        match &mut *self.settler.lock().await {
            Some(settler) => settler.run_until_idle().await,
            None => 0,
        }
    }

    /// Ends the settler, as a panic of its task would.
    pub async fn end_settler(&self) {
        *self.settler.lock().await = None;
    }

    /// Revokes a capability.
    pub async fn revoke(&self, token: &CapabilityToken) {
        let revoke = Mutation::Revoke { capability_id: token.body().id.clone(), at: self.clock.now() };
        let transition = Transition::of(self.ledger.lease_epoch(), vec![revoke]);
        self.ledger.apply(transition, Durability::Synced).await.expect("the revocation is recorded");
    }
}
