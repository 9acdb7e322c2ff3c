//! Initialised guards: honest ones, hostile ones, and what the cache keeps of them.

use std::time::Duration;

use chio_host_builtin::testing::{PATTERNS, PATTERNS_INITIALISED};
use chio_host_kernel::call::{Arguments, Snapshot};
use chio_host_kernel::canonical::sha256_hex;
use chio_host_kernel::facts::extract;
use chio_host_kernel::ports::{Fault, Guard, GuardDecision, Stop};
use serde_json::{Value, json};

use crate::error::LoadError;
use crate::guard::WasmGuard;
use crate::limits::Limits;
use crate::plugin::Plugin;
use crate::testing::{component, limits, patient, plugin, runtime, snapshot};

/// A guard whose `init` and `check` run these, and answer with what stands at 512 and at 1024; zeros there are a yes.
fn initialised(items: &str, init: &str, check: &str) -> Vec<u8> {
    let body = format!(
        r#"{items}
        (func (export "init") (param i32 i32) (result i32) {init} (i32.const 512))
        (func (export "chio:plugin/guarding@0.1.0#check") (param i32) (result i32) {check} (i32.const 1024))"#
    );
    component("initialised-guard", "", &body)
}

/// One that denies every call, with its configuration as the reason.
pub(super) fn echo() -> Vec<u8> {
    let init = "(i32.store8 (i32.const 1028) (i32.const 1)) \
                (i32.store (i32.const 1032) (local.get 0)) (i32.store (i32.const 1036) (local.get 1))";
    initialised("", init, "")
}

/// The same with modules that the encoder would not make.
fn by_hand(memory: &str, items: &str) -> Vec<u8> {
    let text = format!(
        r#"(component {items}
            (core module $m
                (memory (export "memory") {memory})
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
                (func (export "init") (param i32 i32) (result i32) (i32.const 512)))
            (core instance $i (instantiate $m))
            (func (export "init") (param "config" string) (result (result (error string)))
                (canon lift (core func $i "init") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))
            (instance $guarding)
            (export "chio:plugin/guarding@0.1.0" (instance $guarding)))"#
    );
    wat::parse_str(text).unwrap()
}

async fn load(bytes: &[u8], limits: Limits) -> Result<WasmGuard, LoadError> {
    WasmGuard::load(&runtime(), &plugin(bytes, limits)).await
}

async fn refused(bytes: &[u8], limits: Limits) -> LoadError {
    load(bytes, limits).await.err().expect("it is not loaded")
}

pub(super) async fn reason(guard: &WasmGuard, call: &Snapshot) -> Result<Option<String>, Fault> {
    guard.check(call, &[]).await.outcome.map(|verdict| match verdict.decision {
        GuardDecision::Deny(why) => Some(why),
        _ => None,
    })
}

fn saying(text: &str) -> Snapshot {
    let arguments = json!({ "text": text });
    Snapshot { facts: extract(&arguments, &[]), arguments: Arguments::new(arguments).unwrap(), ..snapshot() }
}

#[tokio::test]
async fn the_plain_and_the_initialised_version_agree() {
    let runtime = runtime();
    let configs =
        [Value::Null, json!({}), json!({ "deny": ["AKIA[0-9A-Z]{16}", r"(?i)\bsecret\b", "^[a-z]+-key$", "é+"] })];
    let mut denied = 0;
    for config in &configs {
        let load = async |bytes| {
            let plugin = Plugin { name: "patterns", bytes, config, limits: patient(Limits::GUARD) };
            WasmGuard::load(&runtime, &plugin).await.unwrap()
        };
        let (plain, initialised) = (load(PATTERNS).await, load(PATTERNS_INITIALISED).await);
        for text in ["", "AKIAIOSFODNN7EXAMPLE", "my Secret.", "secrets", "the-key", "a-key", "thé", "text"] {
            let call = saying(text);
            let (one, other) = (plain.check(&call, &[]).await, initialised.check(&call, &[]).await);
            assert_eq!(one.outcome, other.outcome, "{config}: {text}");
            assert!(other.fuel < one.fuel, "{config}: {} and {}", one.fuel, other.fuel);
            denied += usize::from(reason(&initialised, &call).await.unwrap().is_some());
        }
        assert_eq!(initialised.component().digest, sha256_hex(PATTERNS_INITIALISED), "it is what was shipped");
    }
    assert_eq!(denied, 5);
}

#[tokio::test]
async fn a_configuration_that_it_refuses_refuses_the_load() {
    let config = json!({ "deny": ["("] });
    let plugin = Plugin { name: "patterns", bytes: PATTERNS_INITIALISED, config: &config, limits: limits() };
    let error = WasmGuard::load(&runtime(), &plugin).await.err().unwrap().to_string();
    assert!(error.starts_with("its `init` failed: \"(\" is not a pattern: "), "{error}");
}

/// Memory and globals begin where `init` ended, in each call.
#[tokio::test]
async fn what_init_left_is_there_and_what_a_call_changed_is_not() {
    let items = r#"(global $calls (mut i32) (i32.const 0)) (data (i32.const 16) "aaaaaaaaaaaaaaaa")"#;
    let init = "(if (i32.load (i32.const 0)) (then unreachable)) \
                (i32.store (i32.const 0) (i32.const 2)) (global.set $calls (i32.const 3))";
    let check = "(i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
        (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
        (i32.store8 (i32.const 1028) (i32.const 1)) (i32.store (i32.const 1032) (i32.const 16))
        (i32.store (i32.const 1036) (i32.add (i32.load (i32.const 0)) (global.get $calls)))";
    let guard = load(&initialised(items, init, check), limits()).await.unwrap();
    for _ in 0..4 {
        assert_eq!(reason(&guard, &snapshot()).await, Ok(Some("aaaaaaa".to_owned())));
    }
}

/// A start function has run by then, and does not run again.
#[tokio::test]
async fn a_start_function_runs_before_init_and_never_after() {
    let items =
        "(func $start (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))) (start $start)";
    let once = "(if (i32.ne (i32.load (i32.const 0)) (i32.const 1)) (then unreachable))";
    let guard = load(&initialised(items, once, once), limits()).await.unwrap();
    assert_eq!(reason(&guard, &snapshot()).await, Ok(None));
}

#[tokio::test]
async fn an_init_that_ends_badly_refuses_the_load_and_says_how() {
    let looping = initialised("", "(loop (br 0))", "");
    let unable = initialised("", "unreachable", "");
    let refusing = "(i32.store8 (i32.const 512) (i32.const 1)) \
                    (i32.store (i32.const 516) (local.get 0)) (i32.store (i32.const 520) (local.get 1))";
    let greedy = initialised("", "(loop (drop (memory.grow (i32.const 1))) (br 0))", "");
    let forever = Limits { fuel: u64::MAX / 2, deadline: Duration::from_millis(20), ..limits() };
    let small = Limits { memory_bytes: 1 << 20, ..limits() };
    let cases = [
        (initialised("", refusing, ""), limits(), Stop::Error, "null"),
        (unable, limits(), Stop::Trap, "unreachable"),
        (looping.clone(), limits(), Stop::Fuel, "fuel limit of 50000000 reached"),
        (looping, forever, Stop::Deadline, "deadline of 20 ms exceeded"),
        (greedy, small, Stop::Memory, "memory limit of 1048576 bytes reached"),
    ];
    for (bytes, limits, stop, says) in cases {
        let error = refused(&bytes, limits).await;
        let text = error.to_string();
        let LoadError::Ran { function: "init", fault } = error else { panic!("{text}") };
        assert_eq!(fault.stop, stop, "{text}");
        assert!(text.starts_with("its `init` failed: ") && text.contains(says), "{text}");
    }
    let none = refused(&initialised("", "", ""), Limits { instances: 0, ..limits() }).await.to_string();
    assert_eq!(none, "its `instantiation` failed: instance limit of 0 reached");
    load(&initialised("", "", ""), Limits { instances: 1, ..limits() }).await.unwrap();
    let start = initialised("(func $start (loop (br 0))) (start $start)", "", "");
    let error = refused(&start, limits()).await.to_string();
    assert_eq!(error, "its `instantiation` failed: fuel limit of 50000000 reached");
}

#[tokio::test]
async fn what_init_leaves_behind_is_bounded() {
    let grown = "(drop (memory.grow (i32.const 80)))";
    let full = format!("{grown} (memory.fill (i32.const 65536) (i32.const 7) (i32.const 5242880))");
    let most = Limits { component_bytes: 1 << 20, ..limits() };
    let error = refused(&initialised("", &full, ""), most).await;
    assert!(matches!(error, LoadError::Leaves { size: 5_242_880.., limit: 1_048_576 }), "{error}");
    load(&initialised("", &full, ""), limits()).await.unwrap();
    // Two bytes and two zeros, over and over.
    let torn = format!(
        "(local $at i32) {grown} (local.set $at (i32.const 65536)) (loop \
            (i32.store (local.get $at) (i32.const 0x00010001)) \
            (local.set $at (i32.add (local.get $at) (i32.const 4))) \
            (br_if 0 (i32.lt_u (local.get $at) (i32.const 5308416))))"
    );
    let error = refused(&initialised("", &torn, ""), limits()).await.to_string();
    assert!(error.contains("stretches of memory between zeros; at most 2097152 are accepted"), "{error}");
}

/// The pages that `init` took are the call's as well.
#[tokio::test]
async fn a_call_has_what_init_left_of_its_memory() {
    let bytes = |more: u32| {
        let check = format!("(if (i32.ne (memory.grow (i32.const {more})) (i32.const 10)) (then unreachable))");
        initialised("", "(drop (memory.grow (i32.const 9)))", &check)
    };
    let pages = |most: u64| Limits { memory_bytes: most << 16, ..limits() };
    let guard = load(&bytes(6), pages(16)).await.unwrap();
    assert_eq!(reason(&guard, &snapshot()).await, Ok(None));
    let guard = load(&bytes(7), pages(16)).await.unwrap();
    let fault = reason(&guard, &snapshot()).await.unwrap_err();
    assert_eq!(fault, Fault::new(Stop::Memory, "memory limit of 1048576 bytes reached"));
    let guard = load(&bytes(0), pages(10)).await.unwrap();
    assert_eq!(reason(&guard, &snapshot()).await, Ok(None));
    let LoadError::Ran { fault, .. } = refused(&bytes(0), pages(9)).await else { panic!("another error") };
    assert_eq!(fault.stop, Stop::Memory);
}

#[tokio::test]
async fn what_no_snapshot_can_be_taken_of_is_refused_by_name() {
    let with = |items: &str| initialised(items, "", "");
    let many = |item: &str, count: usize| with(&item.repeat(count));
    let idle = |body: &str| by_hand("1", &format!("(core module $n {body}) (core instance (instantiate $n))"));
    let cases = [
        (with("(table 1 funcref) (func (table.set 0 (i32.const 0) (ref.null func)))"), "table.set"),
        (with("(global (mut funcref) (ref.null func))"), "reference type"),
        (with("(global (mut v128) (v128.const i32x4 0 0 0 0))"), "v128"),
        (with("(memory i64 1)"), "64"),
        (many("(global (mut i32) (i32.const 0))", 1000), "it has 1001 mutable globals, and may have 1000"),
        (with("(memory 0)"), "it has 2 memories, and may have 1"),
        (idle("(memory 1)"), "a state and no exports"),
        (idle("(global (mut i32) (i32.const 0))"), "a state and no exports"),
        (idle("(tag)"), "exceptions"),
        (by_hand("1 1", ""), "reached its own maximum"),
        (by_hand("1", "(instance $a) (export \"wasmtime:wizer/access\" (instance $a))"), "through which its state"),
        (
            by_hand("1", "(core module $n) (core instance (instantiate $n)) (core instance (instantiate $n))"),
            "at most once",
        ),
        (by_hand("1", "(component (core module))"), "nested components"),
    ];
    for (bytes, says) in cases {
        let error = refused(&bytes, limits()).await;
        let text = error.to_string();
        assert!(matches!(error, LoadError::Unfit(_)) && text.contains(says), "{says}: {text}");
        assert!(!text.contains('\n'), "{text}");
    }
}

/// By hand, so that the name is right and the type is not.
#[tokio::test]
async fn an_init_of_another_type_is_refused() {
    let text = r#"(component
        (core module $m (func (export "init")))
        (core instance $i (instantiate $m))
        (func (export "init") (canon lift (core func $i "init")))
        (instance $guarding)
        (export "chio:plugin/guarding@0.1.0" (instance $guarding)))"#;
    let error = refused(&wat::parse_str(text).unwrap(), limits()).await;
    assert!(matches!(error, LoadError::Types(..)), "{error}");
    let error = refused(&by_hand("1", ""), limits()).await;
    assert!(matches!(error, LoadError::Types(..)), "no `check`: {error}");
}

#[tokio::test]
async fn it_has_no_configuration_to_ask_for() {
    let text = r#"(component
        (import "chio:plugin/configuration@0.1.0" (instance (export "get" (func (result string)))))
        (core module $m (memory (export "memory") 1)
            (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 0))
            (func (export "init") (param i32 i32)))
        (core instance $i (instantiate $m))
        (func (export "init") (param "config" string)
            (canon lift (core func $i "init") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))
        (instance $guarding)
        (export "chio:plugin/guarding@0.1.0" (instance $guarding)))"#;
    let error = refused(&wat::parse_str(text).unwrap(), limits()).await.to_string();
    assert!(
        error.starts_with("it imports chio:plugin/configuration@0.1.0, which an initialised guard does not"),
        "{error}"
    );
}

/// Two loads leave the same bytes, whatever order the host does things in.
#[tokio::test]
async fn the_snapshot_is_a_function_of_component_and_configuration() {
    let runtime = runtime();
    let take = async |config: &'static str| {
        let engines = runtime.engines.clone();
        let taken = tokio::task::spawn_blocking(move || {
            super::snapshot(&engines, PATTERNS_INITIALISED, &config.into(), &limits())
        });
        taken.await.unwrap().unwrap()
    };
    let config = r#"{"deny":["AKIA[0-9A-Z]{16}","x{1,20}"]}"#;
    let first = take(config).await;
    assert_eq!(first, take(config).await);
    assert_ne!(first, take(r#"{"deny":["AKIA[0-9A-Z]{16}"]}"#).await);
    assert_eq!(crate::inspect(&first).unwrap().exports, crate::inspect(PATTERNS_INITIALISED).unwrap().exports);
}
