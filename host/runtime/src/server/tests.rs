//! Tool servers, honest and hostile. The tests call past the kernel's `Committed`, which only a dispatch commit makes.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chio_host_kernel::call::{EffectClass, Progress, Signals};
use chio_host_kernel::ports::{Entry, Fault, OutputFormat, Stop, ToolOutput, ToolRan, ToolServer};
use serde_json::json;
use tokio::time::Instant;

use super::WasmToolServer;
use crate::error::LoadError;
use crate::limits::Limits;
use crate::testing::{invocation, limits, plugin, runtime, tool, tool_with};

const ENOUGH: Duration = Duration::from_mins(1);
const LOG: &str = r#"(import "chio:plugin/host@0.1.0" "log" (func $log (param i32 i32 i32)))"#;
const INVOKE: &str =
    r#"(import "chio:plugin/nested@0.1.0" "invoke" (func $invoke (param i32 i32 i32 i32 i32 i32 i32)))"#;
const STDOUT: &str = r#"
    (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
    (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
        (func $write (param i32 i32 i32 i32)))"#;

async fn load(bytes: &[u8], limits: Limits) -> Result<WasmToolServer, LoadError> {
    WasmToolServer::load(&runtime(), &plugin(bytes, limits), Vec::new(), BTreeMap::new()).await
}

async fn call(bytes: &[u8], limits: Limits) -> ToolRan {
    load(bytes, limits).await.unwrap().run(invocation(ENOUGH, Signals::default())).await
}

async fn fault(bytes: &[u8], limits: Limits) -> Fault {
    let ToolRan { entry, ran } = call(bytes, limits).await;
    assert_eq!(entry, Entry::Entered);
    ran.outcome.unwrap_err()
}

#[tokio::test]
async fn an_honest_tool_answers() {
    let server = load(&tool("", "(func $work)"), limits()).await.unwrap();
    assert_eq!(server.effect_class(), EffectClass::Pure);
    assert_eq!(server.tools().len(), 1);
    assert_eq!(server.tools()[0].input_schema, json!({"type": "object"}));
    let ToolRan { entry, ran } = server.run(invocation(ENOUGH, Signals::default())).await;
    assert_eq!(entry, Entry::Entered);
    assert_eq!(ran.outcome, Ok(Ok(ToolOutput { value: json!({}), format: OutputFormat::Json, cost: None })));
    assert!(ran.fuel > 0);
}

#[tokio::test]
async fn what_ends_a_call_before_its_instance_leaves_it_never_entered() {
    let limits = Limits { concurrency: 1, ..limits() };
    let server = load(&tool("", "(func $work)"), limits).await.unwrap();
    let stopped = |ran: ToolRan| {
        assert_eq!(ran.entry, Entry::Never);
        assert_eq!(ran.ran.fuel, 0);
        ran.ran.outcome.unwrap_err().stop
    };
    let past = server.run(invocation(Duration::ZERO, Signals::default())).await;
    assert_eq!(stopped(past), Stop::Deadline);
    let place = server.turnstile.enter(Instant::now(), 0).await.unwrap();
    let full = server.run(invocation(Duration::from_millis(1), Signals::default())).await;
    assert_eq!(stopped(full), Stop::Concurrency);
    drop(place);
    let mut unknown = invocation(ENOUGH, Signals::default());
    Arc::get_mut(&mut unknown.snapshot).unwrap().tool = "other".to_owned();
    assert_eq!(stopped(server.run(unknown).await), Stop::Host);
}

#[tokio::test]
async fn a_loop_ends_with_its_fuel_or_its_time() {
    let looping = tool("", "(func $work (loop (br 0)))");
    let fuel = Limits { fuel: 1_000_000, deadline: ENOUGH, ..limits() };
    assert_eq!(fault(&looping, fuel).await, Fault::new(Stop::Fuel, "fuel limit of 1000000 reached"));
    let time = Limits { fuel: u64::MAX / 2, deadline: Duration::from_millis(200), ..limits() };
    assert_eq!(fault(&looping, time).await, Fault::new(Stop::Deadline, "deadline of 200 ms exceeded"));
}

/// zeroclaw#9255: neither fuel nor epoch ends a guest that waits in the host.
#[tokio::test]
async fn case_31_a_guest_that_sleeps_in_the_host_is_stopped_at_its_deadline() {
    let imports = r#"
        (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $in (param i64) (result i32)))
        (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))"#;
    let sleeping = tool(imports, "(func $work (call $block (call $in (i64.const 3600000000000))))");
    let limits = Limits { deadline: Duration::from_millis(200), ..limits() };
    assert_eq!(fault(&sleeping, limits).await, Fault::new(Stop::Deadline, "deadline of 200 ms exceeded"));
}

#[tokio::test]
async fn logging_for_ever_is_stopped() {
    let logging = tool(LOG, "(func $work (loop (call $log (i32.const 2) (i32.const 520) (i32.const 8)) (br 0)))");
    assert_eq!(fault(&logging, limits()).await, Fault::new(Stop::LogBytes, "log limit of 4096 bytes reached"));
    let empty = tool(LOG, "(func $work (loop (call $log (i32.const 2) (i32.const 0) (i32.const 0)) (br 0)))");
    assert_eq!(fault(&empty, limits()).await.stop, Stop::LogBytes);
}

/// zwasm#158, wasmtime#14181.
#[tokio::test]
async fn printing_for_ever_is_stopped() {
    let printing = tool(
        STDOUT,
        "(func $work (local $out i32) (local.set $out (call $stdout)) \
            (loop (call $write (local.get $out) (i32.const 520) (i32.const 8) (i32.const 16)) (br 0)))",
    );
    assert_eq!(fault(&printing, limits()).await, Fault::new(Stop::StdioBytes, "stdio limit of 4096 bytes reached"));
}

const RPC: &str = r"{\22jsonrpc\22:\222.0\22,\22id\22:1,\22result\22:{}}";

/// surrealdb#7082. The other half of the test below, which runs this one in a process of its own.
#[tokio::test]
async fn a_guest_prints() {
    let items = format!(
        r#"(data (i32.const 2000) "{RPC}\0a") (func $work
            (call $write (call $stdout) (i32.const 2000) (i32.const 37) (i32.const 16)))"#
    );
    let ran = call(&tool(STDOUT, &items), limits()).await;
    ran.ran.outcome.unwrap().unwrap();
}

#[test]
fn a_guest_that_speaks_the_hosts_protocol_is_not_heard() {
    let this = std::env::current_exe().unwrap();
    let name = "server::tests::a_guest_prints";
    let ran = Command::new(this).args(["--exact", name, "--nocapture"]).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
    assert!(!said.contains("jsonrpc"), "{said}");
}

#[tokio::test]
async fn progress_reaches_the_caller_and_a_cancellation_the_guest() {
    let imports = r#"
        (import "chio:plugin/host@0.1.0" "progress" (func $progress (param f64 i32 f64 i32 i32 i32)))
        (import "chio:plugin/host@0.1.0" "cancelled" (func $cancelled (result i32)))"#;
    let items = "(func $work
        (if (i32.eqz (call $cancelled)) (then unreachable))
        (call $progress (f64.const 1) (i32.const 1) (f64.const 2) (i32.const 1) (i32.const 512) (i32.const 1))
        (call $progress (f64.const nan) (i32.const 0) (f64.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))";
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = seen.clone();
    let signals = Signals::with_progress(move |progress| sink.lock().unwrap().push(progress));
    signals.cancel();
    let server = load(&tool(imports, items), limits()).await.unwrap();
    server.run(invocation(ENOUGH, signals)).await.ran.outcome.unwrap().unwrap();
    let told = Progress { done: 1.0, total: Some(2.0), message: Some("t".to_owned()) };
    assert_eq!(*seen.lock().unwrap(), [told]);
}

#[tokio::test]
async fn a_nested_call_is_denied_and_makes_its_server_side_effecting() {
    // Answers as a failure with the text of the denial.
    let items = "(func $work
        (call $invoke (i32.const 512) (i32.const 1) (i32.const 512) (i32.const 1) (i32.const 800) (i32.const 2) (i32.const 16))
        (i32.store8 (i32.const 1024) (i32.const 1)) (i32.store8 (i32.const 1032) (i32.const 2))
        (i32.store (i32.const 1036) (i32.load (i32.const 24))) (i32.store (i32.const 1040) (i32.load (i32.const 28))))";
    let server = load(&tool(INVOKE, items), limits()).await.unwrap();
    assert_eq!(server.effect_class(), EffectClass::SideEffecting);
    let ran = server.run(invocation(ENOUGH, Signals::default())).await;
    let error = ran.ran.outcome.unwrap().unwrap_err();
    assert!(format!("{error:?}").contains("no other tool can be called from here"), "{error:?}");
}

#[tokio::test]
async fn nothing_carries_over_between_calls() {
    let once = "(func $work (if (i32.load (i32.const 0)) (then unreachable)) (i32.store (i32.const 0) (i32.const 1)))";
    let server = load(&tool("", once), limits()).await.unwrap();
    for _ in 0..3 {
        server.run(invocation(ENOUGH, Signals::default())).await.ran.outcome.unwrap().unwrap();
    }
}

#[tokio::test]
async fn output_that_makes_no_sense_is_a_fault() {
    let answer = |at: u32, length: u32, format: u32| {
        let code = format!(
            r#"(data (i32.const 2000) "{{\22a\22:1,\22a\22:2}}") (func $work (i32.store (i32.const 1032) (i32.const {at}))
                (i32.store (i32.const 1036) (i32.const {length})) (i32.store8 (i32.const 1040) (i32.const {format})))"#
        );
        tool("", &code)
    };
    // Duplicate keys; not JSON; MCP content that is no list; a format that does not exist.
    for bytes in [answer(2000, 13, 0), answer(2000, 5, 0), answer(800, 2, 1), answer(800, 2, 7)] {
        let fault = fault(&bytes, limits()).await;
        assert_eq!(fault.stop, Stop::Answer, "{}", fault.message);
    }
    let short = Limits { output_bytes: 1000, ..limits() };
    assert_eq!(fault(&answer(16_384, 1001, 0), short).await.stop, Stop::OutputBytes);
}

#[tokio::test]
async fn a_description_that_uses_an_import_refuses_the_load() {
    let uses = [
        (LOG, "(call $log (i32.const 2) (i32.const 0) (i32.const 0))"),
        (STDOUT, "(drop (call $stdout))"),
        (
            INVOKE,
            "(call $invoke (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 16))",
        ),
        (r#"(import "chio:plugin/configuration@0.1.0" "get" (func $get (param i32)))"#, "(call $get (i32.const 16))"),
    ];
    for (import, code) in uses {
        let bytes = tool_with(import, "(func $work)", code, r"{\22type\22:\22object\22}");
        let error = load(&bytes, limits()).await.err().unwrap().to_string();
        assert!(error.starts_with("its `describe` failed: it uses an import"), "{error}");
    }
    let looping = tool_with("", "(func $work)", "(loop (br 0))", "");
    let error = load(&looping, limits()).await.err().unwrap().to_string();
    assert_eq!(error, "its `describe` failed: fuel limit of 50000000 reached");
}

#[tokio::test]
async fn a_description_that_no_client_could_use_refuses_the_load() {
    let describe = |code: &str, schema: &str| tool_with("", "(func $work)", code, schema);
    let name = "(i32.store8 (i32.const 512) (i32.const 47))";
    let cases = [
        (describe(name, r"{\22type\22:\22object\22}"), "\"/\" is no name for a tool"),
        (describe("", r"{\22type\22:\22string\22}"), "`\"type\": \"object\"` is needed"),
        (describe("", "[1]"), "is an object"),
        (describe("", "{"), "is not usable"),
    ];
    for (bytes, says) in cases {
        let error = load(&bytes, limits()).await.err().unwrap().to_string();
        assert!(error.starts_with("its description is not usable") && error.contains(says), "{error}");
    }
}

#[tokio::test]
async fn facts_about_a_tool_that_is_not_there_refuse_the_load() {
    let bytes = tool("", "(func $work)");
    let facts = BTreeMap::from([("u".to_owned(), Vec::new())]);
    let loaded = WasmToolServer::load(&runtime(), &plugin(&bytes, limits()), Vec::new(), facts).await;
    assert!(matches!(loaded, Err(LoadError::UnknownTool(tool)) if tool == "u"));
}
