//! Tools that call tools.

use std::sync::Arc;

use chio_host_kernel::NestedTarget;
use chio_host_kernel::call::EffectClass;
use chio_host_kernel::capability::{Grant, Operation};
use chio_host_kernel::ledger::{CounterKey, Ledger};
use chio_host_kernel::ports::{GuardDecision, Verdict};
use chio_host_tests::invariants::{self, Known};
use chio_host_tests::polling::{poll, poll_times};
use chio_host_tests::{Fixture, FixtureBuilder, NativeGuard, NativeServer, TestLedger, grant};
use serde_json::{Value, json};

fn target(server: &str, tool: &str) -> NestedTarget {
    NestedTarget { server: server.to_owned(), tool: tool.to_owned() }
}

fn leaf(class: EffectClass) -> NativeServer {
    NativeServer::new("leaf", "read", class, |arguments| Ok(json!({ "read": arguments }))).pausing(1)
}

fn builder(ledger: Arc<TestLedger>, class: EffectClass) -> FixtureBuilder {
    let plan = NativeServer::new("planner", "plan", EffectClass::SideEffecting, |_| Ok(json!({ "plan": "made" })));
    FixtureBuilder::default()
        .ledger(ledger)
        .native_server(plan.calling("leaf", "read", json!({ "path": "/a" })).calling(
            "leaf",
            "read",
            json!({ "path": "/b" }),
        ))
        .native_server(leaf(class))
        .settings(|settings| drop(settings.nested.insert("planner".to_owned(), vec![target("leaf", "*")])))
}

fn may(server: &str, tool: &str, operations: &[Operation]) -> Grant {
    Grant { operations: operations.to_vec(), ..grant(server, tool) }
}

const HANDED_ON: [Operation; 2] = [Operation::Invoke, Operation::Delegate];

fn log(host: &Fixture) -> Vec<Value> {
    let entries = host.ledger.log(0, 100).unwrap();
    entries.iter().map(|entry| host.ledger.receipt(&entry.receipt_id).unwrap().unwrap()).collect()
}

fn holds(host: &Fixture) {
    let known = Known { kernel_key: host.issuer.public().hex(), entries: None, accounts: &[] };
    invariants::hold(&*host.ledger, &known);
}

#[tokio::test]
async fn case_24_nested_calls_are_mediated_counted_and_come_before_their_parent() {
    for class in [EffectClass::Pure, EffectClass::SideEffecting] {
        let host = builder(TestLedger::new(), class).build();
        let counted = Grant { max_invocations: Some(3), ..may("leaf", "read", &HANDED_ON) };
        let token = host.token(vec![grant("planner", "plan"), counted]);
        let response = host.run(&token, "planner", "plan", json!({})).await;
        let output = response.output.unwrap().value;
        assert_eq!(output["called"][0]["ok"]["read"]["path"], "/a", "{output}");
        let log = log(&host);
        assert_eq!(log.len(), 3, "two children and their parent");
        let parent = &log[2];
        assert_eq!(parent["tool_server"], "planner");
        for (child, called) in log[..2].iter().zip(output["called"].as_array().unwrap()) {
            assert_eq!(child["id"], called["receipt_id"]);
            let of = &child["metadata"]["chio_host"]["parent"];
            assert_eq!(of["operation_id"], parent["metadata"]["chio_host"]["operation_id"]);
            assert_eq!(
                child["metadata"]["attribution"]["subject_key"],
                parent["metadata"]["attribution"]["subject_key"]
            );
        }
        let leaf_counter =
            host.ledger.counter(&CounterKey::new(&["invocations", &token.body().id, "1"])).unwrap().unwrap();
        assert_eq!(leaf_counter.used, 2);
        // One is left: the second nested call of the next one is refused, and the tool is told.
        let second = host.run(&token, "planner", "plan", json!({})).await.output.unwrap().value;
        assert!(second["called"][0]["ok"].is_object());
        assert!(
            second["called"][1]["error"].as_str().unwrap().contains("Denied(\"invocation budget exhausted"),
            "{second}"
        );
        holds(&host);
    }
}

#[tokio::test]
async fn a_tool_calls_what_its_policy_and_its_callers_grant_allow_and_nothing_else() {
    let host = builder(TestLedger::new(), EffectClass::Pure).build();
    let error = |output: &Value| output["called"][0]["error"].as_str().unwrap_or("none").to_owned();
    // The caller's grant may not be handed on.
    let token = host.token(vec![grant("planner", "plan"), grant("leaf", "read")]);
    let output = host.run(&token, "planner", "plan", json!({})).await.output.unwrap().value;
    assert!(error(&output).contains("a tool may not use the grant for its caller"), "{output}");
    // The caller may not call it either.
    let token = host.token(vec![grant("planner", "plan")]);
    let output = host.run(&token, "planner", "plan", json!({})).await.output.unwrap().value;
    assert!(error(&output).contains("requested tool read on server leaf is not in capability scope"), "{output}");
    // The policy does not let the tool call it.
    let host = builder(TestLedger::new(), EffectClass::Pure).settings(|s| s.nested.clear()).build();
    let token = host.token(vec![grant("planner", "plan"), may("leaf", "read", &HANDED_ON)]);
    let output = host.run(&token, "planner", "plan", json!({})).await.output.unwrap().value;
    assert!(error(&output).contains("is not in capability scope"), "{output}");
    // Each refusal is on the log, as a child.
    let log = log(&host);
    assert_eq!(log.len(), 3);
    assert!(
        log[..2].iter().all(|r| r["decision"]["verdict"] == "deny" && r["metadata"]["chio_host"]["parent"].is_object())
    );
}

#[tokio::test]
async fn a_tool_that_calls_itself_gets_only_so_deep() {
    let again = NativeServer::new("loop", "again", EffectClass::SideEffecting, |_| Ok(json!({})));
    let host = FixtureBuilder::default()
        .native_server(again.calling("loop", "again", json!({})))
        .settings(|settings| drop(settings.nested.insert("loop".to_owned(), vec![target("loop", "again")])))
        .settings(|settings| settings.nested_depth_limit = 2)
        .build();
    let token = host.token(vec![may("loop", "again", &HANDED_ON)]);
    let output = host.run(&token, "loop", "again", json!({})).await.output.unwrap().value;
    let innermost = output.pointer("/called/0/ok/called/0/ok/called/0/error").unwrap().as_str().unwrap();
    assert!(innermost.contains("nested calls go at most 2 deep"), "{output}");
    let depths: Vec<_> = log(&host).iter().map(|r| r["metadata"]["chio_host"]["code"].clone()).collect();
    assert_eq!(depths[0], "tool.depth");
    assert_eq!(depths.len(), 4);
    holds(&host);
}

#[tokio::test]
async fn a_tool_cannot_wait_for_a_human() {
    let asks = NativeGuard::new("careful", |_| {
        let decision = GuardDecision::PendingApproval("somebody has to look".to_owned());
        Ok(Verdict { decision, details: None, secret_arguments: Vec::new() })
    });
    let plan = NativeServer::new("planner", "plan", EffectClass::SideEffecting, |_| Ok(json!({})));
    let host = FixtureBuilder::default()
        .native_guard(Arc::new(asks))
        .native_server(plan.calling("leaf", "read", json!({})))
        .native_server(leaf(EffectClass::Pure))
        .build();
    let token = host.wildcard();
    // The outer call ends pending already: there is no approver.
    let response = host.run(&token, "planner", "plan", json!({})).await;
    assert_eq!(response.decision().verdict(), "pending");
    holds(&host);
}

/// Case 6 and 9 for a call with nested ones: whatever the poll at which it is dropped, children stand before their parent.
#[tokio::test]
async fn case_09_a_call_with_nested_ones_is_dropped_at_every_poll() {
    for class in [EffectClass::Pure, EffectClass::SideEffecting] {
        for polls in 0..80 {
            let host = builder(TestLedger::new(), class).build();
            let token = host.token(vec![grant("planner", "plan"), may("leaf", "read", &HANDED_ON)]);
            let call = host.call(&token, "planner", "plan", json!({}));
            let done = poll_times(host.kernel.evaluate(&call), polls).is_some();
            host.settle().await;
            holds(&host);
            let log = log(&host);
            let parents: Vec<usize> = (0..log.len()).filter(|i| log[*i]["tool_server"] == "planner").collect();
            let is_last = |at: &usize| *at + 1 == log.len();
            assert!(parents.len() <= 1 && parents.iter().all(is_last), "after {polls} polls");
            if done {
                assert_eq!(log.len(), 3);
                break;
            }
            assert!(polls < 79, "the call never ends");
        }
    }
}

#[tokio::test]
async fn a_killed_parent_leaves_durable_children_on_the_log() {
    let ledger = TestLedger::killable();
    let host = builder(ledger.clone(), EffectClass::SideEffecting).build();
    let token = host.token(vec![grant("planner", "plan"), may("leaf", "read", &HANDED_ON)]);
    let call = host.call(&token, "planner", "plan", json!({}));
    let mut future = Box::pin(host.kernel.evaluate(&call));
    // Until the first child has logged its receipt.
    while ledger.log(0, 9).unwrap().is_empty() {
        assert!(poll(&mut future).is_none());
    }
    std::mem::forget(future);
    // The process is gone; another one recovers.
    let host = builder(ledger.killed(0), EffectClass::SideEffecting).build();
    host.kernel.recover().await.unwrap();
    holds(&host);
    let log = log(&host);
    assert_eq!(log.first().unwrap()["tool_server"], "leaf");
    assert_eq!(log.last().unwrap()["decision"]["verdict"], "incomplete");
}

/// The reference component that calls others: in the sandbox, through two servers, with the reference guards.
#[tokio::test]
async fn a_component_calls_other_components() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("guests.txt"), "Ada\nGrace\n").unwrap();
    let builder = FixtureBuilder::default().hello().await.files(folder.path()).await.reception().await;
    let host = builder.guard("forbidden_path").await.hook("secret_redactor").await.build();
    let token = host.token(vec![may("*", "*", &HANDED_ON)]);
    let arguments = json!({ "guests": "/workspace/guests.txt" });
    let response = host.run(&token, "reception", "greet_all", arguments.clone()).await;
    assert_eq!(response.decision().verdict(), "allow", "{:?}", response.decision());
    assert_eq!(response.output.unwrap().value, json!(["Hello, Ada!", "Hello, Grace!"]));
    let log = log(&host);
    let calls: Vec<_> = log.iter().map(|r| r["tool_name"].as_str().unwrap()).collect();
    assert_eq!(calls, ["read_file", "hello_world", "hello_world", "greet_all"]);
    holds(&host);

    // What the guards refuse inside, the tool hears.
    let forbidden = host.run(&token, "reception", "greet_all", json!({ "guests": "/workspace/.ssh/id_rsa" })).await;
    assert_eq!(forbidden.decision().verdict(), "deny", "the outer call names the path as well");
    std::fs::remove_file(folder.path().join("guests.txt")).unwrap();
    let missing = host.run(&token, "reception", "greet_all", arguments).await;
    assert!(missing.decision().reason().unwrap().contains("files/read_file failed"), "{:?}", missing.decision());
    holds(&host);
}
