//! Every verdict of guards and hooks, as the caller and the ledger see it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use chio_host_kernel::call::EffectClass;
use chio_host_kernel::operation::{Delivery, OperationId, State};
use chio_host_kernel::ports::{
    Elicitation, Fault, GuardDecision, HookVerdict, Removal, Reservation, Stop, ToolError, Verdict,
};
use chio_host_kernel::receipt::{Decision, RedactionMode};
use chio_host_kernel::response::Response;
use chio_host_tests::{Fixture, FixtureBuilder, NativeGuard, NativeHook, NativeServer};
use serde_json::{Value, json};

fn server() -> NativeServer {
    NativeServer::new("host", "bash", EffectClass::SideEffecting, |_| Ok(json!({ "secret": 7 })))
}

fn verdict(decision: GuardDecision) -> Verdict {
    Verdict { decision, details: None, secret_arguments: Vec::new() }
}

fn pending() -> Verdict {
    verdict(GuardDecision::PendingApproval("large amount".into()))
}

async fn run(host: &Fixture) -> Response {
    host.run(&host.wildcard(), "host", "bash", json!({ "command": "ls", "password": "hunter2" })).await
}

async fn hooked(outcomes: Vec<Result<HookVerdict, Fault>>) -> (Fixture, Response) {
    let mut builder = FixtureBuilder::default().native_server(server());
    for (i, outcome) in outcomes.into_iter().enumerate() {
        builder = builder.native_hook(Arc::new(NativeHook::new(&format!("hook{i}"), outcome)));
    }
    let host = builder.build();
    let response = run(&host).await;
    (host, response)
}

fn own(response: &Response) -> &Value {
    &response.receipt.record()["metadata"]["chio_host"]
}

fn operation(host: &Fixture, response: &Response) -> chio_host_kernel::operation::Operation {
    let id: OperationId = serde_json::from_value(own(response)["operation_id"].clone()).unwrap();
    host.ledger.operation(&id).unwrap().unwrap()
}

#[tokio::test]
async fn a_redaction_feeds_the_next_hook_and_is_what_is_released() {
    let redact =
        |value: Value| Ok(HookVerdict::Redact { value, what: vec![Removal { kind: "number".into(), count: 1 }] });
    let (_, response) = hooked(vec![redact(json!({ "secret": "-" })), Ok(HookVerdict::Allow)]).await;
    let output = response.output.as_ref().unwrap();
    assert_eq!(output.value, json!({ "secret": "-" }));
    assert_eq!(response.receipt.body().content_hash, chio_host_kernel::canonical::hash(&output.value));
    assert_eq!(own(&response)["hooks"][0]["what"], json!([{ "kind": "number", "count": 1 }]));
}

#[tokio::test]
async fn a_block_withholds_the_output_of_a_call_that_was_made() {
    let (host, response) = hooked(vec![Ok(HookVerdict::Block("too long".into())), Ok(HookVerdict::Allow)]).await;
    let reason = "output hook blocked the output: hook \"hook0\": too long".to_owned();
    assert_eq!(response.decision(), &Decision::Deny { reason, guard: "hook0".into() });
    assert_eq!((own(&response)["effect"].as_str(), response.code.as_deref()), (Some("executed"), Some("hook.blocked")));
    let operation = operation(&host, &response);
    assert_eq!((operation.state, operation.delivery), (State::Completed, Some(Delivery::Block)));
    assert_eq!(run(&host).await.code.as_deref(), Some("hook.blocked"), "the next call works as before");
}

#[tokio::test]
async fn a_hook_that_breaks_is_a_block_that_says_how() {
    let (_, response) = hooked(vec![Err(Fault::new(Stop::Memory, "memory limit of 1 bytes reached"))]).await;
    let reason = "output hook blocked the output: hook \"hook0\" error (fail-closed): memory limit of 1 bytes reached";
    assert_eq!(response.decision().reason(), Some(reason));
    assert_eq!(own(&response)["stopped"], json!({ "component": "hook0", "by": "memory" }));
}

#[tokio::test]
async fn an_escalation_withholds_the_output_and_waits() {
    let (host, response) = hooked(vec![Ok(HookVerdict::Escalate("odd".into()))]).await;
    assert_eq!(response.decision(), &Decision::Pending { reason: "odd".into(), guard: "hook0".into() });
    assert_eq!(operation(&host, &response).delivery, Some(Delivery::Withheld));
}

#[tokio::test]
async fn a_guard_that_asks_for_a_human_is_outvoted_by_a_later_denial() {
    let asking = || Arc::new(NativeGuard::new("asks", |_| Ok(pending())));
    let tool = server();
    let entries = tool.entries();
    let waiting = FixtureBuilder::default().native_guard(asking()).native_server(tool).build();
    let response = run(&waiting).await;
    assert_eq!(response.decision(), &Decision::Pending { reason: "large amount".into(), guard: "asks".into() });

    let no = NativeGuard::new("no", |_| Ok(verdict(GuardDecision::Deny("never".into()))));
    let host =
        FixtureBuilder::default().native_guard(asking()).native_guard(Arc::new(no)).native_server(server()).build();
    assert_eq!(run(&host).await.code.as_deref(), Some("guard.denied"));
    assert_eq!(entries.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_secret_argument_is_in_no_receipt_and_its_hash_is() {
    let marks = NativeGuard::new("marks", |_| {
        let allow = verdict(GuardDecision::Allow(Vec::new()));
        Ok(Verdict { secret_arguments: vec!["/password".into()], ..allow })
    });
    let host = FixtureBuilder::default().native_guard(Arc::new(marks)).native_server(server()).build();
    let response = run(&host).await;
    let body = response.receipt.body();
    assert_eq!(body.redaction_mode, RedactionMode::Redacted);
    assert!(!response.receipt.record().to_string().contains("hunter2"));
    let true_arguments = json!({ "command": "ls", "password": "hunter2" });
    assert_eq!(body.action.parameter_hash, chio_host_kernel::canonical::hash(&true_arguments));
    let replay = host.ledger.replay_record(response.receipt.id()).unwrap().unwrap();
    assert!(!String::from_utf8(replay).unwrap().contains("hunter2"));
}

/// The guard allows each call with a reservation; admission takes it, and racers cannot all pass.
#[tokio::test]
async fn reservations_are_taken_atomically_and_shown_to_their_guard() {
    let rate = NativeGuard::new("rate", |_| {
        let reservation = Reservation { counter: "calls".into(), amount: 1, window_seconds: 60, limit: 3 };
        Ok(verdict(GuardDecision::Allow(vec![reservation])))
    });
    let host = Arc::new(FixtureBuilder::default().native_guard(Arc::new(rate)).native_server(server()).build());
    let racers: Vec<_> = (0..16)
        .map(|_| {
            let host = host.clone();
            tokio::spawn(async move { run(&host).await })
        })
        .collect();
    let mut allowed = 0;
    for racer in racers {
        let response = racer.await.unwrap();
        if response.decision() == &Decision::Allow {
            allowed += 1;
        } else {
            assert_eq!(
                response.decision().reason(),
                Some("guard denied the request: guard \"rate\" denied the request")
            );
            let last = response.receipt.body().evidence.last().unwrap();
            assert_eq!(last.details.as_deref(), Some("counter calls is used up for this window"));
        }
    }
    assert_eq!(allowed, 3);
    host.clock.advance_secs(60);
    assert_eq!(run(&host).await.decision(), &Decision::Allow, "a new window");
}

#[tokio::test]
async fn a_tool_that_sends_the_user_elsewhere_leaves_the_outcome_unknown() {
    let elicitation = Elicitation { id: "1".into(), url: "https://example.com/".into(), message: "log in".into() };
    let asks = elicitation.clone();
    let tool = NativeServer::new("host", "bash", EffectClass::SideEffecting, move |_| {
        Err(ToolError::UrlElicitation(vec![asks.clone()]))
    });
    let host = FixtureBuilder::default().native_server(tool).build();
    let response = run(&host).await;
    let reason = "tool server returned URL elicitation after dispatch; outcome is unknown".to_owned();
    assert_eq!(response.decision(), &Decision::Incomplete { reason });
    assert_eq!(response.elicitations, [elicitation]);
    assert_eq!(operation(&host, &response).state, State::OutcomeUnknownAfterDispatch);
    assert_eq!(own(&response)["effect"], "unknown");
}

#[tokio::test]
async fn a_revocation_while_the_tool_runs_withholds_its_output() {
    // The hook stands for what happens between the tool's return and the release.
    struct Revokes(std::sync::OnceLock<Arc<dyn Fn() + Send + Sync>>);
    impl chio_host_kernel::ports::OutputHook for Revokes {
        fn component(&self) -> &chio_host_kernel::operation::Component {
            static COMPONENT: std::sync::OnceLock<chio_host_kernel::operation::Component> = std::sync::OnceLock::new();
            COMPONENT.get_or_init(|| chio_host_kernel::operation::Component {
                role: chio_host_kernel::operation::Role::OutputHook,
                name: "revokes".into(),
                digest: "00".repeat(32),
            })
        }

        fn inspect<'a>(
            &'a self,
            _call: &'a chio_host_kernel::call::Snapshot,
            _output: &'a str,
        ) -> chio_host_kernel::ports::BoxFuture<'a, chio_host_kernel::ports::Ran<HookVerdict>> {
            self.0.get().unwrap()();
            Box::pin(async { chio_host_kernel::ports::Ran { outcome: Ok(HookVerdict::Allow), fuel: 1 } })
        }
    }
    let hook = Arc::new(Revokes(std::sync::OnceLock::new()));
    let host = Arc::new(FixtureBuilder::default().native_hook(hook.clone()).native_server(server()).build());
    let token = host.wildcard();
    let (ledger, id, now) = (host.ledger.clone(), token.body().id.clone(), host.clock.now());
    let revoke = move || {
        let mutations = vec![chio_host_kernel::ledger::Mutation::Revoke { capability_id: id.clone(), at: now }];
        let transition = chio_host_kernel::ledger::Transition::of(ledger.lease_epoch(), mutations);
        // The memory ledger applies at once; the future is done when it is first polled.
        let mut applied = ledger.apply(transition, chio_host_kernel::ledger::Durability::Buffered);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(applied.as_mut().poll(&mut context).is_ready());
    };
    assert!(hook.0.set(Arc::new(revoke)).is_ok());
    let response = host.run(&token, "host", "bash", json!({})).await;
    let reason = format!("capability has been revoked: {}", token.body().id);
    assert_eq!(response.decision().reason(), Some(reason.as_str()));
    assert_eq!(own(&response)["effect"], "executed");
    assert_eq!(operation(&host, &response).delivery, Some(Delivery::Revoked));
}
