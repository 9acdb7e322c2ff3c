//! The seed's denials, end to end, each with its exact reason and its verified receipt; and what an allow looks like.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::atomic::Ordering;

use chio_host_kernel::call::{Call, EffectClass, Mode};
use chio_host_kernel::capability::{ANY, Constraint};
use chio_host_kernel::denial::Denial;
use chio_host_kernel::operation::{OperationId, State};
use chio_host_kernel::ports::ToolError;
use chio_host_kernel::receipt::{Decision, RedactionMode};
use chio_host_kernel::response::{DirectDispatchUnavailable, Origin, Response};
use chio_host_tests::{Fixture, FixtureBuilder, NativeServer, grant};
use serde_json::{Value, json};

/// A server `host` with the tools `read_file` and `bash`, which side effects cannot be ruled out for.
fn shell() -> NativeServer {
    NativeServer::new("host", "bash", EffectClass::SideEffecting, |_| Ok(json!("done")))
}

async fn guarded() -> Fixture {
    FixtureBuilder::default()
        .guard("forbidden_path")
        .await
        .guard("shell_command")
        .await
        .native_server(shell())
        .hello()
        .await
        .build()
}

fn denied(response: &Response, reason: &str, guard: &str, code: &str) {
    let Decision::Deny { reason: actual, guard: by } = response.decision() else {
        panic!("not denied: {:?}", response.decision());
    };
    assert_eq!((actual.as_str(), by.as_str()), (reason, guard));
    let own = &response.receipt.record()["metadata"]["chio_host"];
    assert_eq!((own["code"].as_str(), response.code.as_deref()), (Some(code), Some(code)));
    assert_eq!(own["effect"], "none");
    assert_eq!(
        response.receipt.body().content_hash,
        "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b",
        "the hash of null"
    );
}

fn evidence<'r>(response: &'r Response, guard: &str) -> &'r str {
    let entry = response.receipt.body().evidence.iter().find(|e| e.guard_name == guard && !e.verdict);
    entry.and_then(|e| e.details.as_deref()).expect("the guard that refused stands in the evidence")
}

#[tokio::test]
async fn an_allowed_call_says_what_ran_and_what_came_of_it() {
    let host = guarded().await;
    let response = host.run(&host.wildcard(), "hello", "hello_world", json!({ "name": "Chio" })).await;
    assert_eq!(response.decision(), &Decision::Allow);
    assert!(response.output.unwrap().value.to_string().contains("Chio"));
    let record = response.receipt.record();
    let own = &record["metadata"]["chio_host"];
    assert_eq!((own["effect"].as_str(), own["mode"].as_str()), (Some("executed"), Some("call")));
    let ran: Vec<_> = own["components"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(ran, ["forbidden_path", "shell_command", "hello"]);
    for component in own["components"].as_array().unwrap() {
        assert_eq!(component["digest"].as_str().unwrap().len(), 64);
        assert!(component["fuel"].as_u64().unwrap() > 0, "{component}");
    }
    for guard in &own["components"].as_array().unwrap()[..2] {
        assert!(guard["fuel"].as_u64().unwrap() < 20_000, "a guard builds nothing anew for each call: {guard}");
    }
    assert_eq!(record["evidence"].as_array().unwrap().len(), 2);
    assert_eq!(record["metadata"]["attribution"]["grant_index"], 0);
}

#[tokio::test]
async fn a_forbidden_path_is_denied_by_the_guard() {
    let host = guarded().await;
    let response = host.run(&host.wildcard(), "host", "bash", json!({ "path": "/etc/shadow" })).await;
    let reason = "guard denied the request: guard \"forbidden_path\" denied the request";
    denied(&response, reason, "forbidden_path", "guard.denied");
    assert!(evidence(&response, "forbidden_path").contains("/etc/shadow"));
    assert!(response.receipt.record()["evidence"].is_array(), "a guard's denial has evidence");
}

#[tokio::test]
async fn a_dangerous_command_is_denied_by_the_guard() {
    let server = shell();
    let entries = server.entries();
    let host = FixtureBuilder::default().guard("shell_command").await.native_server(server).build();
    let response = host.run(&host.wildcard(), "host", "bash", json!({ "command": "sudo rm -rf /" })).await;
    let reason = "guard denied the request: guard \"shell_command\" denied the request";
    denied(&response, reason, "shell_command", "guard.denied");
    assert_eq!(entries.load(Ordering::SeqCst), 0, "the tool was never entered");
}

#[tokio::test]
async fn a_tool_outside_the_grant_is_denied_before_any_guard() {
    let host = guarded().await;
    let token = host.token(vec![grant("hello", "hello_world")]);
    let response = host.run(&token, "hello", "drop_tables", json!({})).await;
    let reason = "requested tool drop_tables on server hello is not in capability scope";
    denied(&response, reason, "kernel", "scope.tool");
    assert!(response.receipt.record().get("evidence").is_none(), "no guard ran, so there is no evidence key");
}

#[tokio::test]
async fn a_capability_is_good_from_its_issue_to_just_before_its_expiry() {
    let host = guarded().await;
    let token = host.token(vec![grant("hello", ANY)]);
    let later = host.token_with(vec![grant("hello", ANY)], |body| body.issued_at += 1);
    denied(
        &host.run(&later, "hello", "hello_world", json!({ "name": "x" })).await,
        "capability not yet valid",
        "kernel",
        "capability.not_yet_valid",
    );
    host.clock.advance_secs(299);
    let last = host.run(&token, "hello", "hello_world", json!({ "name": "x" })).await;
    assert_eq!(last.decision(), &Decision::Allow);
    host.clock.advance_secs(1);
    let expired = host.run(&token, "hello", "hello_world", json!({ "name": "x" })).await;
    denied(&expired, "capability has expired", "kernel", "capability.expired");
}

#[tokio::test]
async fn a_capability_that_lives_longer_than_the_policy_allows_is_denied() {
    let host = guarded().await;
    let token = host.token_with(vec![grant("hello", ANY)], |body| body.expires_at += 301);
    let response = host.run(&token, "hello", "hello_world", json!({ "name": "x" })).await;
    denied(
        &response,
        "capability lifetime of 601 s is longer than the policy's 600 s",
        "kernel",
        "capability.lifetime",
    );
}

#[tokio::test]
async fn a_revoked_capability_is_denied() {
    let host = guarded().await;
    let token = host.wildcard();
    assert_eq!(host.run(&token, "hello", "hello_world", json!({ "name": "x" })).await.decision(), &Decision::Allow);
    host.revoke(&token).await;
    let response = host.run(&token, "hello", "hello_world", json!({ "name": "x" })).await;
    let reason = format!("capability has been revoked: {}", token.body().id);
    denied(&response, &reason, "kernel", "capability.revoked");
}

#[tokio::test]
async fn an_exhausted_budget_is_denied_and_only_then() {
    let host = guarded().await;
    let token = host
        .token(vec![chio_host_kernel::capability::Grant { max_invocations: Some(2), ..grant("hello", "hello_world") }]);
    for _ in 0..2 {
        let response = host.run(&token, "hello", "hello_world", json!({ "name": "x" })).await;
        assert_eq!(response.decision(), &Decision::Allow);
    }
    let response = host.run(&token, "hello", "hello_world", json!({ "name": "x" })).await;
    let reason = format!("invocation budget exhausted for capability {}", token.body().id);
    denied(&response, &reason, "kernel", "budget.invocations");
    assert_eq!(host.ledger.open_operations(10).unwrap(), [], "the refused operation was compensated");
}

#[tokio::test]
async fn of_many_racers_as_many_run_as_the_budget_allows() {
    let server = shell();
    let entries = server.entries();
    let host = std::sync::Arc::new(FixtureBuilder::default().native_server(server).build());
    let token =
        host.token(vec![chio_host_kernel::capability::Grant { max_invocations: Some(10), ..grant("host", "bash") }]);
    let racers: Vec<_> = (0..64)
        .map(|_| {
            let (host, token) = (host.clone(), token.clone());
            tokio::spawn(async move { host.run(&token, "host", "bash", json!({})).await })
        })
        .collect();
    let mut allowed = 0;
    for racer in racers {
        allowed += usize::from(racer.await.unwrap().decision() == &Decision::Allow);
    }
    assert_eq!((allowed, entries.load(Ordering::SeqCst)), (10, 10));
}

#[tokio::test]
async fn who_asks_is_checked_before_anything_is_recorded_under_the_id() {
    let host = guarded().await;
    let foreign = chio_host_kernel::keys::Keypair::from_seed(&[9; 32].into());
    let body = host.wildcard().body().clone();

    let mut by_nobody = body.clone();
    by_nobody.issuer = foreign.public().hex().to_owned();
    let by_nobody = std::sync::Arc::new(chio_host_kernel::capability::CapabilityToken::issue(by_nobody, &foreign));
    let mut call = host.call(&by_nobody, "hello", "hello_world", json!({ "name": "x" }));
    denied(&host.evaluate(&call).await, "capability issuer is not a trusted CA", "kernel", "capability.issuer");

    let forged = std::sync::Arc::new(chio_host_kernel::capability::CapabilityToken::issue(body, &foreign));
    call.capability = forged;
    denied(&host.evaluate(&call).await, "capability signature is invalid", "kernel", "capability.signature");

    call.capability = host.wildcard();
    call.agent = foreign.public().hex().to_owned();
    let reason = format!(
        "request agent {} does not match capability subject {}",
        foreign.public().hex(),
        host.agent.public().hex()
    );
    denied(&host.evaluate(&call).await, &reason, "kernel", "capability.subject");

    call.agent = host.agent.public().hex().to_owned();
    assert_eq!(host.evaluate(&call).await.decision(), &Decision::Allow, "nobody else could burn the id");
}

#[tokio::test]
async fn case_18_the_same_id_again_is_the_same_call() {
    let server = shell();
    let entries = server.entries();
    let host = FixtureBuilder::default().native_server(server).build();
    let token = host.wildcard();
    let call = host.call(&token, "host", "bash", json!({ "command": "ls" }));
    let first = host.evaluate(&call).await;
    host.clock.advance_secs(1000);
    let again = host.evaluate(&call).await;
    assert_eq!((first.origin, again.origin), (Origin::Fresh, Origin::Replayed));
    assert_eq!(first.receipt, again.receipt, "the original receipt, though the capability has expired since");
    assert_eq!(first.output, again.output);
    assert_eq!(entries.load(Ordering::SeqCst), 1);

    let other = Call { arguments: chio_host_kernel::call::Arguments::parse(b"{}").unwrap(), ..call.clone() };
    let conflict = host.evaluate(&other).await;
    let operation = first.receipt.record()["metadata"]["chio_host"]["operation_id"].as_str().unwrap();
    let reason = format!(
        "durable admission failed: request id {} belongs to another call, operation {operation}",
        call.request_id.as_str()
    );
    denied(&conflict, &reason, "kernel", "admission.refused");
    assert_eq!(host.evaluate(&call).await.receipt, first.receipt, "and nothing changed");
}

#[tokio::test]
async fn sixty_four_with_one_id_are_one_call() {
    let server = shell();
    let entries = server.entries();
    let host = std::sync::Arc::new(FixtureBuilder::default().native_server(server).build());
    let call = std::sync::Arc::new(host.call(&host.wildcard(), "host", "bash", json!({})));
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let (host, call) = (host.clone(), call.clone());
            tokio::spawn(async move { host.evaluate(&call).await.receipt.id().to_owned() })
        })
        .collect();
    let mut ids = std::collections::BTreeSet::new();
    for task in tasks {
        ids.insert(task.await.unwrap());
    }
    assert_eq!((ids.len(), entries.load(Ordering::SeqCst)), (1, 1));
}

#[tokio::test]
async fn case_19_a_denied_id_is_replayed_too() {
    let host = guarded().await;
    let call = host.call(&host.wildcard(), "host", "bash", json!({ "path": "/etc/shadow" }));
    let (first, again) = (host.evaluate(&call).await, host.evaluate(&call).await);
    assert_eq!((first.receipt, first.code), (again.receipt, again.code));
}

#[tokio::test]
async fn a_check_runs_no_tool_takes_no_hold_and_is_never_replayed_for_a_call() {
    let server = shell();
    let entries = server.entries();
    let host = FixtureBuilder::default().native_server(server).build();
    let token =
        host.token(vec![chio_host_kernel::capability::Grant { max_invocations: Some(1), ..grant("host", "bash") }]);
    let call = host.call(&token, "host", "bash", json!({}));
    let check = Call { mode: Mode::Preflight, ..call.clone() };
    for _ in 0..3 {
        let response = host.evaluate(&check).await;
        assert_eq!(response.decision(), &Decision::Allow);
        assert_eq!(response.receipt.record()["metadata"]["chio_host"]["mode"], "check");
    }
    assert_eq!(entries.load(Ordering::SeqCst), 0);
    let response = host.evaluate(&call).await;
    assert_eq!((response.origin, entries.load(Ordering::SeqCst)), (Origin::Fresh, 1));
    let mut another = host.call(&token, "host", "bash", json!({}));
    another.mode = Mode::Preflight;
    assert!(matches!(host.evaluate(&another).await.decision(), Decision::Deny { .. }), "the budget is gone by now");
}

#[tokio::test]
async fn a_secret_in_an_output_is_redacted_before_anybody_sees_it() {
    let folder = tempfile::tempdir().unwrap();
    let key = ["AKIA", "Q3EGWNBV", "7XK2MPLS"].concat();
    std::fs::write(folder.path().join("notes.txt"), format!("key {key} here")).unwrap();
    let host = FixtureBuilder::default().files(folder.path()).await.hook("secret_redactor").await.build();
    let response = host.run(&host.wildcard(), "files", "read_file", json!({ "path": "/workspace/notes.txt" })).await;
    assert_eq!(response.decision(), &Decision::Allow);
    let output = response.output.unwrap().value.to_string();
    assert!(output.contains("REDACTED") && !output.contains(&key), "{output}");
    let record = response.receipt.record();
    assert!(!record.to_string().contains(&key));
    let hook = &record["metadata"]["chio_host"]["hooks"][0];
    assert_eq!((hook["name"].as_str(), hook["verdict"].as_str()), (Some("secret_redactor"), Some("redact")));
}

#[tokio::test]
async fn a_secret_in_an_error_is_redacted_as_well() {
    let key = ["AKIA", "Q3EGWNBV", "7XK2MPLS"].concat();
    let message = format!("cannot parse: {key}");
    let server =
        NativeServer::new("host", "bash", EffectClass::SideEffecting, move |_| Err(ToolError::Failed(message.clone())));
    let host = FixtureBuilder::default().native_server(server).hook("secret_redactor").await.build();
    let response = host.run(&host.wildcard(), "host", "bash", json!({})).await;
    let Decision::Incomplete { reason } = response.decision() else { panic!("{:?}", response.decision()) };
    assert!(reason.starts_with("tool server error: ") && !reason.contains(&key), "{reason}");
    assert_eq!(response.receipt.record()["metadata"]["chio_host"]["effect"], "executed");
}

#[tokio::test]
async fn constraints_are_met_or_refused() {
    let host = guarded().await;
    let within = |prefix: &str| chio_host_kernel::capability::Grant {
        constraints: vec![Constraint::path_prefix(prefix)],
        ..grant("host", "bash")
    };
    let token = host.token(vec![within("/data")]);
    let allowed = host.run(&token, "host", "bash", json!({ "path": "/data/x" })).await;
    assert_eq!(allowed.decision(), &Decision::Allow);
    let outside = host.run(&token, "host", "bash", json!({ "path": "/data/../srv/x" })).await;
    let reason = "invalid capability constraint: path /data/../srv/x is not under /data";
    denied(&outside, reason, "kernel", "scope.constraint");

    let mut unknown = within("/data");
    unknown.constraints = vec![Constraint { kind: "weather".into(), value: Value::Null }];
    let refused = host.run(&host.token(vec![unknown]), "host", "bash", json!({})).await;
    let reason = "invalid capability constraint: constraint weather is not one that this host enforces";
    denied(&refused, reason, "kernel", "scope.constraint");
}

#[tokio::test]
async fn an_output_that_the_grant_did_not_fix_is_denied_after_delivery() {
    let host = guarded().await;
    let digest = chio_host_kernel::canonical::hash(&json!("something else"));
    let token = host.token(vec![chio_host_kernel::capability::Grant {
        constraints: vec![Constraint::output_digest(&digest)],
        max_invocations: Some(5),
        ..grant("host", "bash")
    }]);
    let response = host.run(&token, "host", "bash", json!({})).await;
    let Decision::Deny { reason, .. } = response.decision() else { panic!("{:?}", response.decision()) };
    let actual = chio_host_kernel::canonical::hash(&json!("done"));
    assert_eq!(*reason, Denial::OutputDigest { actual, expected: digest }.to_string());
    assert_eq!(state(&host, &response), State::DeniedAfterDelivery);
    let right = chio_host_kernel::canonical::hash(&json!("done"));
    let token = host.token(vec![chio_host_kernel::capability::Grant {
        constraints: vec![Constraint::output_digest(&right)],
        ..grant("host", "bash")
    }]);
    assert_eq!(host.run(&token, "host", "bash", json!({})).await.decision(), &Decision::Allow);
}

fn state(host: &Fixture, response: &Response) -> State {
    let id = response.receipt.record()["metadata"]["chio_host"]["operation_id"].clone();
    let id: OperationId = serde_json::from_value(id).unwrap();
    host.ledger.operation(&id).unwrap().unwrap().state
}

#[tokio::test]
async fn a_tool_that_nobody_offers_is_not_registered() {
    let host = guarded().await;
    for (server, tool) in [("hello", "goodbye"), ("nowhere", "hello_world")] {
        let response = host.run(&host.wildcard(), server, tool, json!({})).await;
        denied(&response, &format!("tool not registered: {tool}"), "kernel", "tool.not_registered");
    }
}

#[tokio::test]
async fn no_receipt_of_a_plain_call_claims_redaction() {
    let host = guarded().await;
    let response = host.run(&host.wildcard(), "hello", "hello_world", json!({ "name": "x" })).await;
    assert_eq!(response.receipt.body().redaction_mode, RedactionMode::None);
}

#[tokio::test]
async fn direct_dispatch_is_unavailable() {
    let host = guarded().await;
    let call = host.call(&host.wildcard(), "hello", "hello_world", json!({}));
    let error = host.kernel.dispatch(&call).unwrap_err();
    assert_eq!(error, DirectDispatchUnavailable);
    assert_eq!(error.to_string(), "direct tool dispatch is unavailable; use the full evaluation pipeline");
}

#[tokio::test]
async fn the_log_is_contiguous_over_all_of_it() {
    let host = guarded().await;
    let token = host.wildcard();
    for i in 0..5 {
        let tool = if i % 2 == 0 { "hello_world" } else { "nothing" };
        host.run(&token, "hello", tool, json!({ "name": "x" })).await;
    }
    let log = host.ledger.log(0, 100).unwrap();
    assert_eq!(log.len(), 5);
    let mut last = None;
    for entry in &log {
        assert_eq!(*entry, chio_host_kernel::ledger::LogEntry::after(last, &entry.receipt_id));
        last = Some(entry);
    }
}
