//! Hostile guards: one per limit, and what comes after them.

use std::time::Duration;

use chio_host_kernel::ports::{Fault, Guard, GuardDecision, Ran, Stop, Verdict};

use crate::error::LoadError;
use crate::guard::WasmGuard;
use crate::limits::Limits;
use crate::testing::{guard, guard_with, limits, plugin, runtime, snapshot, tool};

async fn load(bytes: &[u8], limits: Limits) -> Result<WasmGuard, LoadError> {
    WasmGuard::load(&runtime(), &plugin(bytes, limits)).await
}

async fn check(bytes: &[u8], limits: Limits) -> Ran<Verdict> {
    load(bytes, limits).await.unwrap().check(&snapshot(), &[]).await
}

async fn fault(bytes: &[u8], limits: Limits) -> Fault {
    check(bytes, limits).await.outcome.unwrap_err()
}

const LOOP: &str = "(loop (br 0))";

#[tokio::test]
async fn an_honest_guard_answers_and_its_fuel_is_counted() {
    let ran = check(&guard("nop"), limits()).await;
    let verdict = Verdict { decision: GuardDecision::Allow(Vec::new()), details: None, secret_arguments: Vec::new() };
    assert_eq!(ran.outcome, Ok(verdict));
    assert!(ran.fuel > 0 && ran.fuel < 1000, "{}", ran.fuel);
}

#[tokio::test]
async fn a_loop_ends_with_its_fuel() {
    let limits = Limits { fuel: 5_000_000, deadline: Duration::from_mins(1), ..limits() };
    let ran = check(&guard(LOOP), limits).await;
    assert_eq!(ran.outcome.unwrap_err(), Fault::new(Stop::Fuel, "fuel limit of 5000000 reached"));
    assert!(ran.fuel >= 5_000_000, "{}", ran.fuel);
}

#[tokio::test]
async fn a_loop_with_fuel_ends_at_its_deadline_and_others_do_not_notice() {
    let hurried = Limits { fuel: u64::MAX / 2, deadline: Duration::from_millis(50), ..limits() };
    let runtime = runtime();
    let (looping, honest) = (guard(LOOP), guard("nop"));
    let looping = WasmGuard::load(&runtime, &plugin(&looping, hurried)).await.unwrap();
    let honest = WasmGuard::load(&runtime, &plugin(&honest, limits())).await.unwrap();
    let call = snapshot();
    let (stopped, passed) = tokio::join!(looping.check(&call, &[]), honest.check(&call, &[]));
    assert_eq!(stopped.outcome.unwrap_err(), Fault::new(Stop::Deadline, "deadline of 50 ms exceeded"));
    passed.outcome.unwrap();
}

/// kubewarden/policy-server#413: limits that are set after instantiation do not bound a start function.
#[tokio::test]
async fn a_start_function_is_under_the_limits_too() {
    let looping = guard_with("", &format!("(func $work) (func $start {LOOP}) (start $start)"));
    let enough = Duration::from_mins(1);
    let loaded = load(&looping, Limits { deadline: enough, ..limits() }).await;
    assert!(matches!(loaded, Err(LoadError::Ran { fault: Fault { stop: Stop::Fuel, .. }, .. })));
    let loaded = load(&looping, Limits { fuel: u64::MAX / 2, deadline: Duration::from_millis(20), ..limits() }).await;
    assert!(matches!(loaded, Err(LoadError::Ran { fault: Fault { stop: Stop::Deadline, .. }, .. })));
}

/// wasmtime#3772: what a guest makes of a refused page is its own trap.
#[tokio::test]
async fn allocating_for_ever_is_called_by_its_name() {
    let limits = Limits { memory_bytes: 1 << 24, ..limits() };
    let fault = fault(&guard("(loop (drop (memory.grow (i32.const 1))) (br 0))"), limits).await;
    assert_eq!(fault, Fault::new(Stop::Memory, "memory limit of 16777216 bytes reached"));
}

#[tokio::test]
async fn growing_a_table_is_bounded() {
    let items =
        "(table $t 1 funcref) (func $work (loop (drop (table.grow $t (ref.null func) (i32.const 100))) (br 0)))";
    let limits = Limits { table_elements: 1000, ..limits() };
    let fault = fault(&guard_with("", items), limits).await;
    assert_eq!(fault, Fault::new(Stop::Tables, "table limit of 1000 elements reached"));
}

#[tokio::test]
async fn too_many_instances_are_refused() {
    let loaded = load(&guard("nop"), Limits { instances: 0, ..limits() }).await;
    let Err(LoadError::Ran { fault, .. }) = loaded else { panic!("it was loaded") };
    assert_eq!(fault, Fault::new(Stop::Instances, "instance limit of 0 reached"));
}

#[tokio::test]
async fn what_can_never_start_is_refused_with_both_numbers() {
    let bytes = guard("nop");
    let error = load(&bytes, Limits { memory_bytes: 1000, ..limits() }).await.err().unwrap();
    assert_eq!(error.to_string(), "it needs 65536 bytes of memory from the start; its limit is 1000");
    let error = load(&bytes, Limits { component_bytes: 10, ..limits() }).await.err().unwrap();
    assert_eq!(error.to_string(), format!("the component is {} bytes; at most 10 are accepted", bytes.len()));
}

#[tokio::test]
async fn a_trap_is_a_fault_and_the_next_call_has_a_fresh_instance() {
    // Traps unless the caller's memory says that it ran before, which it never does.
    let items = "(global $ran (mut i32) (i32.const 0)) (func $work \
        (if (i32.load (i32.const 0)) (then (return))) (i32.store (i32.const 0) (i32.const 1)) \
        (global.set $ran (i32.add (global.get $ran) (i32.const 1))) unreachable)";
    let guard = load(&guard_with("", items), limits()).await.unwrap();
    for _ in 0..3 {
        let fault = guard.check(&snapshot(), &[]).await.outcome.unwrap_err();
        assert_eq!(fault.stop, Stop::Trap);
        assert!(fault.message.contains("unreachable"), "{}", fault.message);
    }
}

#[tokio::test]
async fn nothing_carries_over_between_calls() {
    // Denies with as many letters as it has calls behind it.
    let items = r#"(data (i32.const 16) "aaaaaaaaaaaaaaaa") (func $work
        (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
        (i32.store8 (i32.const 1028) (i32.const 1))
        (i32.store (i32.const 1032) (i32.const 16)) (i32.store (i32.const 1036) (i32.load (i32.const 0))))"#;
    let guard = load(&guard_with("", items), limits()).await.unwrap();
    for _ in 0..5 {
        let verdict = guard.check(&snapshot(), &[]).await.outcome.unwrap();
        assert_eq!(verdict.decision, GuardDecision::Deny("a".to_owned()));
    }
}

#[tokio::test]
async fn answers_that_make_no_sense_are_faults() {
    let store = |at: u32, value: u32| format!("(i32.store (i32.const {at}) (i32.const {value}))");
    // A discriminant that does not exist; a reason outside the memory; 17 reservations; a pointer that is none.
    let unknown = store(1028, 9);
    let outside = store(1028, 1) + &store(1032, 65_000) + &store(1036, 10_000);
    let many = store(1032, 2048) + &store(1036, 17);
    let pointer = store(1048, 2048) + &store(1052, 1) + &store(2048, 1025) + &store(2052, 1);
    for code in [unknown, outside, many, pointer] {
        let fault = fault(&guard(&code), limits()).await;
        assert_eq!(fault.stop, Stop::Answer, "{code}: {}", fault.message);
    }
}

#[tokio::test]
async fn an_error_of_its_own_is_one_and_is_printable() {
    let code = "(i32.store8 (i32.const 1024) (i32.const 1)) (i32.store (i32.const 1028) (i32.const 16)) \
                (i32.store (i32.const 1032) (i32.const 4)) (i32.store (i32.const 16) (i32.const 0x216f1b6e))";
    assert_eq!(fault(&guard(code), limits()).await, Fault::new(Stop::Error, "n o!"));
}

/// What a guest hands over is copied into the host, and a list may name the same bytes many times.
#[tokio::test]
async fn an_answer_larger_than_its_limit_is_not_even_copied() {
    let code = "(i32.store8 (i32.const 1028) (i32.const 1)) (drop (memory.grow (i32.const 20))) \
                (i32.store (i32.const 1032) (i32.const 0)) (i32.store (i32.const 1036) (i32.const 1000000))";
    let fault = fault(&guard(code), limits()).await;
    assert_eq!(fault, Fault::new(Stop::OutputBytes, "output limit of 262144 bytes reached"));
}

#[tokio::test]
async fn a_guard_that_wants_more_than_its_configuration_is_refused_by_the_import() {
    let imports = r#"(import "chio:plugin/host@0.1.0" "cancelled" (func $cancelled (result i32)))"#;
    let bytes = guard_with(imports, "(func $work (drop (call $cancelled)))");
    let error = load(&bytes, limits()).await.err().unwrap().to_string();
    assert!(error.starts_with("it imports chio:plugin/host@0.1.0, which guards and hooks do not have"), "{error}");
}

#[tokio::test]
async fn a_component_of_another_world_is_refused_by_name() {
    let error = load(&tool("", "(func $work)"), limits()).await.err().unwrap().to_string();
    assert_eq!(error, "it is of the world tool-server, and guard is needed; it exports chio:plugin/serving@0.1.0");
}

/// The configuration is the reason of its denial.
#[tokio::test]
async fn a_guard_sees_its_configuration() {
    let imports = r#"(import "chio:plugin/configuration@0.1.0" "get" (func $get (param i32)))"#;
    let items = "(func $work (i32.store8 (i32.const 1028) (i32.const 1)) (call $get (i32.const 1032)))";
    let bytes = guard_with(imports, items);
    let config = serde_json::json!({"b": 1, "a": [true]});
    let plugin = crate::plugin::Plugin { config: &config, ..plugin(&bytes, limits()) };
    let guard = WasmGuard::load(&runtime(), &plugin).await.unwrap();
    let verdict = guard.check(&snapshot(), &[]).await.outcome.unwrap();
    assert_eq!(verdict.decision, GuardDecision::Deny(r#"{"a":[true],"b":1}"#.to_owned()));
}

#[tokio::test]
async fn more_calls_than_places_wait_and_all_are_answered() {
    let runtime = runtime();
    let bytes = guard("nop");
    let limits = Limits { concurrency: 2, deadline: Duration::from_mins(1), ..limits() };
    let guard = std::sync::Arc::new(WasmGuard::load(&runtime, &plugin(&bytes, limits)).await.unwrap());
    let calls: Vec<_> = (0..64)
        .map(|_| {
            let guard = guard.clone();
            tokio::spawn(async move { guard.check(&snapshot(), &[]).await.outcome })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
}
