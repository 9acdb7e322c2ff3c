//! Guards whose toolchain insists on WASI: they find it, it tells them nothing, and they answer the same every time.

use std::time::Duration;

use chio_host_kernel::call::Snapshot;
use chio_host_kernel::ports::{Fault, Guard, GuardDecision, Ran, Stop, Verdict};

use crate::engines::Allocation;
use crate::error::LoadError;
use crate::guard::WasmGuard;
use crate::inspect::{Kind, inspect};
use crate::limits::Limits;
use crate::testing::{component, limits, plugin, runtime, snapshot};

const ENVIRONMENT: &str = r#"
    (import "wasi:cli/environment@0.2.0" "get-environment" (func $environment (param i32)))
    (import "wasi:cli/environment@0.2.0" "get-arguments" (func $arguments (param i32)))"#;
const PREOPENS: &str = r#"(import "wasi:filesystem/preopens@0.2.0" "get-directories" (func $folders (param i32)))"#;
const STDIN: &str = r#"
    (import "wasi:cli/stdin@0.2.0" "get-stdin" (func $stdin (result i32)))
    (import "wasi:io/streams@0.2.0" "[method]input-stream.read" (func $read (param i32 i64 i32)))"#;
const STDOUT: &str = r#"
    (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
    (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
        (func $write (param i32 i32 i32 i32)))"#;
const CLOCKS: &str = r#"
    (import "wasi:clocks/monotonic-clock@0.2.0" "now" (func $now (result i64)))
    (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $in (param i64) (result i32)))
    (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
    (import "wasi:clocks/wall-clock@0.2.0" "now" (func $today (param i32)))"#;
const RANDOM: &str = r#"(import "wasi:random/random@0.2.0" "get-random-bytes" (func $random (param i64 i32)))"#;
const SOCKETS: &str =
    r#"(import "wasi:sockets/tcp-create-socket@0.2.0" "create-tcp-socket" (func $tcp (param i32 i32)))"#;

/// A guard whose `check` runs `code` and answers with what stands at 1024; zeros there allow the call. `$is` traps unless
/// both numbers are the same.
fn guard_with(imports: &str, items: &str, code: &str) -> Vec<u8> {
    let body = format!(
        r#"(func $is (param i64 i64) (if (i64.ne (local.get 0) (local.get 1)) (then unreachable)))
        {items}
        (func (export "chio:plugin/guarding@0.1.0#check") (param i32) (result i32) {code} (i32.const 1024))"#
    );
    component("wasi-guard", imports, &body)
}

fn guard(imports: &str, code: &str) -> Vec<u8> {
    guard_with(imports, "", code)
}

async fn load(bytes: &[u8], limits: Limits) -> Result<WasmGuard, LoadError> {
    WasmGuard::load(&runtime(), &plugin(bytes, limits)).await
}

async fn check(bytes: &[u8]) -> Ran<Verdict> {
    load(bytes, limits()).await.unwrap().check(&snapshot(), &[]).await
}

#[tokio::test]
async fn there_is_nothing_to_read_and_nothing_to_open() {
    let is_empty =
        |list: &str| format!("(call ${list} (i32.const 64)) (call $is (i64.load32_u (i32.const 68)) (i64.const 0))");
    // An error (1) that says: closed (1).
    let closed = "(call $read (call $stdin) (i64.const 10) (i32.const 64)) \
        (call $is (i64.load8_u (i32.const 64)) (i64.const 1)) (call $is (i64.load8_u (i32.const 68)) (i64.const 1))";
    // An error (1) that says: access denied (1).
    let denied = "(call $tcp (i32.const 0) (i32.const 64)) \
        (call $is (i64.load8_u (i32.const 64)) (i64.const 1)) (call $is (i64.load8_u (i32.const 68)) (i64.const 1))";
    let cases = [
        (ENVIRONMENT, is_empty("environment")),
        (ENVIRONMENT, is_empty("arguments")),
        (PREOPENS, is_empty("folders")),
        (STDIN, closed.to_owned()),
        (SOCKETS, denied.to_owned()),
    ];
    for (imports, code) in cases {
        check(&guard(imports, &code)).await.outcome.unwrap_or_else(|fault| panic!("{code}: {fault}"));
    }
}

/// Waiting for an hour takes no time, and moves both clocks by an hour; nothing else moves them.
#[tokio::test]
async fn the_only_time_is_the_calls_and_a_timer_returns_at_once() {
    const HOUR: u64 = 3_600_000_000_000;
    let today = |seconds: u64| {
        format!(
            "(call $today (i32.const 64)) (call $is (i64.load (i32.const 64)) (i64.const {seconds})) \
             (call $is (i64.load32_u (i32.const 72)) (i64.const 0))"
        )
    };
    let call = Snapshot { time: 1_700_000_000, ..snapshot() };
    let code = format!(
        "(call $is (call $now) (i64.const 0)) {} (call $block (call $in (i64.const {HOUR}))) \
         (call $is (call $now) (i64.const {HOUR})) {} (call $block (call $in (i64.const -1)))",
        today(call.time),
        today(call.time + 3600),
    );
    let guard = load(&guard(CLOCKS, &code), limits()).await.unwrap();
    guard.check(&call, &[]).await.outcome.unwrap();
}

/// What `init` leaves behind depends on the configuration alone.
#[tokio::test]
async fn an_initialised_guard_has_none_of_it() {
    let body = r#"(func (export "init") (param i32 i32) (result i32) (i32.const 512))
        (func (export "chio:plugin/guarding@0.1.0#check") (param i32) (result i32) (i32.const 1024))"#;
    let today = r#"(import "wasi:clocks/wall-clock@0.2.0" "now" (func $today (param i32)))"#;
    let refused = load(&component("wasi-initialised-guard", today, body), limits()).await.err().unwrap();
    assert!(refused.to_string().starts_with("it imports wasi:clocks/wall-clock@0.2.0"), "{refused}");
}

/// The reason of its denial: 16 random bytes, a letter each.
const DRAWS: &str = "(local $i i32)
    (call $random (i64.const 16) (i32.const 64))
    (loop $next
        (i32.store8 (i32.add (i32.load (i32.const 64)) (local.get $i))
            (i32.add (i32.const 97) (i32.and (i32.const 15)
                (i32.load8_u (i32.add (i32.load (i32.const 64)) (local.get $i))))))
        (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 16))))
    (i32.store8 (i32.const 1028) (i32.const 1))
    (i32.store (i32.const 1032) (i32.load (i32.const 64))) (i32.store (i32.const 1036) (i32.const 16))";

/// The letters are written down here, so that they are the same on every machine and in every build.
#[tokio::test]
async fn random_numbers_are_the_same_in_every_run_and_so_is_the_fuel() {
    let bytes = guard(RANDOM, DRAWS);
    let first = check(&bytes).await;
    let GuardDecision::Deny(letters) = first.outcome.clone().unwrap().decision else { panic!("it is no denial") };
    assert_eq!(letters, "bophfihfbbglhida");
    for _ in 0..3 {
        assert_eq!(check(&bytes).await, first);
    }
    // A component that is too large for the pool runs beside it, and answers the same.
    let large = guard_with(RANDOM, "(table 30000 funcref)", DRAWS);
    let limits = Limits { table_elements: 40_000, ..limits() };
    let runtime = runtime();
    assert_eq!(runtime.compile(&large, &limits).await.unwrap().allocation, Allocation::OnDemand);
    let large = WasmGuard::load(&runtime, &plugin(&large, limits)).await.unwrap();
    for _ in 0..3 {
        assert_eq!(large.check(&snapshot(), &[]).await, first);
    }
}

#[tokio::test]
async fn more_random_bytes_than_are_given_are_a_fault() {
    let code = "(call $random (i64.const 65537) (i32.const 64))";
    let fault = check(&guard(RANDOM, code)).await.outcome.unwrap_err();
    assert!(fault.message.contains("at most 65536 are given"), "{}", fault.message);
}

#[tokio::test]
async fn what_it_prints_is_swallowed_up_to_the_limit() {
    let print = "(local $out i32) (local.set $out (call $stdout))";
    let write = "(call $write (local.get $out) (i32.const 512) (i32.const 4096) (i32.const 16))";
    check(&guard(STDOUT, &format!("{print} {write}"))).await.outcome.unwrap();
    let fault = check(&guard(STDOUT, &format!("{print} (loop {write} (br 0))"))).await.outcome.unwrap_err();
    assert_eq!(fault, Fault::new(Stop::StdioBytes, "stdio limit of 4096 bytes reached"));
}

#[tokio::test]
async fn a_guest_that_waits_for_the_clock_without_a_timer_ends_with_its_fuel() {
    let waiting = guard(CLOCKS, "(loop (br_if 0 (i64.eqz (call $now))))");
    let limits = Limits { fuel: 1_000_000, deadline: Duration::from_mins(1), ..limits() };
    let fault = load(&waiting, limits).await.unwrap().check(&snapshot(), &[]).await.outcome.unwrap_err();
    assert_eq!(fault.stop, Stop::Fuel);
}

#[tokio::test]
async fn a_guest_that_exits_has_not_answered() {
    let imports = r#"(import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))"#;
    let fault = check(&guard(imports, "(call $exit (i32.const 0))")).await.outcome.unwrap_err();
    assert_eq!(fault.stop, Stop::Trap);
}

#[tokio::test]
async fn what_is_not_known_to_be_inert_is_refused_by_its_name() {
    let imports = r#"(import "wasi:clocks/timezone@0.2.0" "utc-offset" (func $offset (result i32)))"#;
    let error = load(&guard(imports, "(drop (call $offset))"), limits()).await.err().unwrap().to_string();
    assert!(error.starts_with("it imports wasi:clocks/timezone@0.2.0, which guards and hooks do not have"), "{error}");
    for name in ["wasi:http/types@0.2.0", "wasi:io/poll@0.3.0", "wasi:io/poll", "wasi:keyvalue/store@0.2.0"] {
        assert!(!super::is_inert(name), "{name}");
    }
    assert!(super::is_inert("wasi:io/poll@0.2.12"));
}

/// componentize-qjs leaves such an export behind. An `init` of any other type is the guard's own, and a wrong one is refused:
/// a guard that is not told its configuration would let through what it should not.
#[tokio::test]
async fn an_init_that_a_toolchain_left_behind_is_none() {
    let check = r#"(func (export "chio:plugin/guarding@0.1.0#check") (param i32) (result i32) (i32.const 1024))"#;
    let leftover =
        component("leftover-init", "", &format!(r#"{check} (func (export "init") (param i32 i32) unreachable)"#));
    assert_eq!(inspect(&leftover).unwrap().kind, Kind::Guard);
    load(&leftover, limits()).await.unwrap().check(&snapshot(), &[]).await.outcome.unwrap();
    let init = r#"(func (export "init") (param i32 i32) (result i32) (i32.const 512))"#;
    let misspelt = component("misspelt-init", "", &format!("{check} {init}"));
    assert_eq!(inspect(&misspelt).unwrap().kind, Kind::InitialisedGuard);
    load(&misspelt, limits()).await.err().unwrap();
}
