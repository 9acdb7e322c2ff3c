//! Calls and outputs that wait for a human.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chio_host_kernel::approval::{ApprovalBody, ApprovalDecision, ApprovalToken, Asker, SCHEMA};
use chio_host_kernel::call::{Call, EffectClass, RequestId};
use chio_host_kernel::capability::{CapabilityToken, Constraint, Grant};
use chio_host_kernel::keys::Keypair;
use chio_host_kernel::ledger::CounterKey;
use chio_host_kernel::operation::State;
use chio_host_kernel::ports::{GuardDecision, HookVerdict, Verdict};
use chio_host_kernel::response::{Origin, Response};
use chio_host_kernel::{Decided, Settings, WaitingApproval};
use chio_host_tests::invariants::{self, Known};
use chio_host_tests::polling::poll_times;
use chio_host_tests::{Fixture, FixtureBuilder, NativeGuard, NativeHook, NativeServer, TestLedger, grant};
use serde_json::{Value, json};

const TTL: u64 = 600;

type Change = Box<dyn FnOnce(&mut ApprovalBody)>;

fn approver() -> Keypair {
    Keypair::from_seed(&[50; 32].into())
}

fn with_approver(settings: &mut Settings) {
    settings.approvals.approvers = vec![approver().public().hex().to_owned()];
    settings.approvals.ttl_secs = TTL;
}

fn careful() -> NativeGuard {
    NativeGuard::new("careful", |_| {
        let decision = GuardDecision::PendingApproval("somebody has to look".to_owned());
        Ok(Verdict { decision, details: None, secret_arguments: vec!["/secret".to_owned()] })
    })
}

fn tool() -> NativeServer {
    NativeServer::new("host", "bash", EffectClass::SideEffecting, |a| Ok(json!({ "did": a["command"] }))).pausing(1)
}

struct World {
    host: Fixture,
    token: Arc<CapabilityToken>,
    entries: Arc<std::sync::atomic::AtomicUsize>,
}

impl World {
    fn of(builder: FixtureBuilder) -> Self {
        let tool = tool();
        let entries = tool.entries();
        let host = builder.native_server(tool).settings(with_approver).build();
        let token = host.token(vec![Grant { max_invocations: Some(5), ..grant("host", "bash") }]);
        Self { host, token, entries }
    }

    fn careful(ledger: Arc<TestLedger>) -> Self {
        Self::of(FixtureBuilder::default().ledger(ledger).native_guard(Arc::new(careful())))
    }

    fn call(&self, id: &str) -> Call {
        let arguments = json!({ "command": "make all", "secret": "hunter2" });
        let mut call = self.host.call(&self.token, "host", "bash", arguments);
        call.request_id = RequestId::new(id).unwrap();
        call
    }

    async fn ask(&self, id: &str) -> Response {
        self.host.evaluate(&self.call(id)).await
    }

    fn waiting(&self) -> WaitingApproval {
        let mut waiting = self.host.kernel.waiting_approvals().unwrap();
        assert_eq!(waiting.len(), 1);
        waiting.remove(0)
    }

    fn sign(&self, decision: ApprovalDecision, change: impl FnOnce(&mut ApprovalBody)) -> ApprovalToken {
        self.sign_with(&approver(), decision, change)
    }

    fn sign_with(
        &self,
        key: &Keypair,
        decision: ApprovalDecision,
        change: impl FnOnce(&mut ApprovalBody),
    ) -> ApprovalToken {
        let now = self.host.clock.now();
        let mut body = ApprovalBody {
            schema: SCHEMA.to_owned(),
            id: "approval-1".to_owned(),
            approver: key.public().hex().to_owned(),
            decision,
            request: self.waiting().request,
            issued_at: now,
            expires_at: now + 300,
            because: Some("looks fine".to_owned()),
        };
        change(&mut body);
        ApprovalToken::sign(body, key)
    }

    async fn decide(&self, token: &ApprovalToken) -> Result<Decided, String> {
        self.host.kernel.decide(token.body.decision, token).await.map_err(|e| e.to_string())
    }

    async fn approve(&self) {
        let approved = self.decide(&self.sign(ApprovalDecision::Approved, |_| ())).await.unwrap();
        assert!(matches!(approved, Decided::MayRun));
    }

    fn entered(&self) -> usize {
        self.entries.load(Ordering::SeqCst)
    }

    fn holds(&self) {
        let known = Known { kernel_key: self.host.issuer.public().hex(), entries: Some(self.entered()), accounts: &[] };
        invariants::hold(&*self.host.ledger, &known);
    }
}

fn reason(response: &Response) -> &str {
    response.decision().reason().unwrap_or("none")
}

#[tokio::test]
async fn a_call_waits_for_its_human_and_runs_once_when_it_is_sent_again() {
    let world = World::careful(TestLedger::new());
    let pending = world.ask("request").await;
    assert_eq!((pending.decision().verdict(), reason(&pending)), ("pending", "somebody has to look"));
    assert_eq!(pending.code.as_deref(), Some("guard.pending"));
    // Asked again, it waits: the same receipt, and nothing is set aside meanwhile.
    let again = world.ask("request").await;
    assert_eq!((again.origin, again.receipt.id()), (Origin::Replayed, pending.receipt.id()));
    assert!(world.host.ledger.holds(9).unwrap().is_empty());

    let waiting = world.waiting();
    assert_eq!(waiting.reason, "somebody has to look");
    assert_eq!(waiting.arguments, json!({ "command": "make all", "secret": "[secret argument]" }));
    assert_eq!(waiting.request.asked_by, [Asker { name: "careful".into(), digest: "00".repeat(32) }]);
    assert!(!waiting.approved);
    let mut decisions = world.host.kernel.decisions();
    world.approve().await;
    assert!(decisions.has_changed().unwrap());
    decisions.mark_unchanged();
    assert!(world.waiting().approved);
    assert_eq!(world.entered(), 0);

    let allowed = world.ask("request").await;
    assert_eq!(allowed.decision().verdict(), "allow", "{}", reason(&allowed));
    let host = &allowed.receipt.record()["metadata"]["chio_host"];
    assert_eq!(host["approval"], json!({ "id": "approval-1", "approver": approver().public().hex() }));
    let record = allowed.receipt.record().to_string();
    assert!(!record.contains("hunter2"), "{record}");
    assert_eq!(world.ask("request").await.receipt.id(), allowed.receipt.id());
    assert_eq!(world.entered(), 1);
    assert!(world.host.kernel.waiting_approvals().unwrap().is_empty());
    world.holds();
}

#[tokio::test]
async fn a_denied_call_ends_with_the_approvers_word() {
    let world = World::careful(TestLedger::new());
    world.ask("request").await;
    let token = world.sign(ApprovalDecision::Denied, |_| ());
    let Decided::Ended(receipt) = world.decide(&token).await.unwrap() else { panic!("it ended") };
    let answer = world.ask("request").await;
    assert_eq!(answer.receipt.id(), receipt.id());
    let expected = format!("approval rejected: denied by {}: looks fine", approver().public().hex());
    assert_eq!((answer.decision().verdict(), reason(&answer)), ("deny", expected.as_str()));
    assert_eq!(world.entered(), 0);
    world.holds();
}

#[tokio::test]
async fn nobody_answers_in_time_so_the_answer_is_no() {
    let world = World::careful(TestLedger::new());
    world.ask("request").await;
    world.host.clock.advance_secs(TTL - 1);
    world.host.kernel.expire_parked(9).await;
    assert_eq!(world.host.kernel.waiting_approvals().unwrap().len(), 1);
    world.host.clock.advance_secs(1);
    world.host.kernel.expire_parked(9).await;
    assert!(world.host.kernel.waiting_approvals().unwrap().is_empty());
    let answer = world.ask("request").await;
    assert_eq!(reason(&answer), "approval rejected: nobody approved it in time");
    world.holds();
}

/// The first half of case 22.
#[tokio::test]
async fn case_22_one_approval_lets_one_call_run() {
    let world = World::careful(TestLedger::new());
    world.ask("first").await;
    let token = world.sign(ApprovalDecision::Approved, |_| ());
    world.decide(&token).await.unwrap();
    assert_eq!(world.decide(&token).await.unwrap_err(), "approval rejected: somebody has decided already");
    assert_eq!(world.ask("first").await.decision().verdict(), "allow");
    // Another call like it waits for an approval of its own, whatever is sent for it.
    assert_eq!(world.ask("second").await.decision().verdict(), "pending");
    let waiting = world.waiting().request;
    let stolen = ApprovalToken { body: ApprovalBody { request: waiting, ..token.body.clone() }, ..token.clone() };
    assert_eq!(world.decide(&stolen).await.unwrap_err(), "approval rejected: its signature is invalid");
    assert_eq!(world.decide(&token).await.unwrap_err(), "approval rejected: no call of that id waits for a human");
    assert_eq!(world.ask("second").await.decision().verdict(), "pending");
    assert_eq!(world.entered(), 1);
    world.holds();
}

#[tokio::test]
async fn case_22_what_is_signed_is_what_counts() {
    let world = World::careful(TestLedger::new());
    world.ask("request").await;
    let before = world.host.ledger.log(0, 99).unwrap().len();
    // The envelope says approved, the signed token says denied: nothing changes.
    let denied = world.sign(ApprovalDecision::Denied, |_| ());
    let error = world.host.kernel.decide(ApprovalDecision::Approved, &denied).await.unwrap_err().to_string();
    assert_eq!(error, "approval rejected: it was sent as one decision, and signed as the other");
    let stranger = Keypair::from_seed(&[51; 32].into());
    let foreign = world.sign_with(&stranger, ApprovalDecision::Approved, |_| ());
    let why = format!("approval rejected: {} is not one of the policy's approvers", stranger.public().hex());
    assert_eq!(world.decide(&foreign).await.unwrap_err(), why);
    // Who pretends to be an approver has no key for it.
    let forged =
        world.sign_with(&stranger, ApprovalDecision::Approved, |b| b.approver = approver().public().hex().into());
    assert_eq!(world.decide(&forged).await.unwrap_err(), "approval rejected: its signature is invalid");
    let changes: Vec<(&str, Change)> = vec![
        ("its request id is not what waits", Box::new(|b| b.request.request_id = "other".into())),
        ("its subject is not what waits", Box::new(|b| b.request.subject = "00".repeat(32))),
        ("its server is not what waits", Box::new(|b| b.request.server = "other".into())),
        ("its tool is not what waits", Box::new(|b| b.request.tool = "other".into())),
        ("its grant is not what waits", Box::new(|b| b.request.grant_hash = "00".repeat(32))),
        ("its parameter hash is not what waits", Box::new(|b| b.request.parameter_hash = "00".repeat(32))),
        ("its policy is not what waits", Box::new(|b| b.request.policy_hash = "00".repeat(32))),
        ("its guard is not what waits", Box::new(|b| b.request.asked_by.clear())),
        ("its guard is not what waits", Box::new(|b| b.request.asked_by[0].digest = "11".repeat(32))),
        ("it is not good at this time", Box::new(|b| b.expires_at = b.issued_at)),
        ("it is not good at this time", Box::new(|b| b.issued_at += 3600)),
        ("schema \"x\" is not supported; chio.approval.v1 is", Box::new(|b| b.schema = "x".into())),
        ("no call of that id waits for a human", Box::new(|b| b.request.operation_id = "00".repeat(32))),
    ];
    for (expected, change) in changes {
        let token = world.sign(ApprovalDecision::Approved, change);
        assert_eq!(world.decide(&token).await.unwrap_err(), format!("approval rejected: {expected}"));
    }
    assert_eq!(world.host.ledger.log(0, 99).unwrap().len(), before);
    assert_eq!(world.ask("request").await.decision().verdict(), "pending");
    world.holds();
}

/// The second half of case 22: approved, and then something is not what it was.
#[tokio::test]
async fn case_22_what_changed_after_the_approval_is_refused() {
    let ledger = TestLedger::new();
    let world = World::careful(ledger.clone());
    for id in ["arguments", "policy", "guard", "capability"] {
        world.ask(id).await;
        let waiting = world.host.kernel.waiting_approvals().unwrap();
        let request = waiting.into_iter().find(|w| !w.approved).unwrap().request;
        let now = world.host.clock.now();
        let body = ApprovalBody {
            schema: SCHEMA.to_owned(),
            id: format!("approval-{id}"),
            approver: approver().public().hex().to_owned(),
            decision: ApprovalDecision::Approved,
            request,
            issued_at: now,
            expires_at: now + 300,
            because: None,
        };
        world.decide(&ApprovalToken::sign(body, &approver())).await.unwrap();
    }
    // Other arguments under the id are another call, and change nothing.
    let mut other = world.call("arguments");
    other.arguments = chio_host_kernel::call::Arguments::new(json!({ "command": "rm -rf /" })).unwrap();
    let conflict = world.host.evaluate(&other).await;
    assert!(reason(&conflict).contains("belongs to another call"), "{}", reason(&conflict));
    assert_eq!(world.ask("arguments").await.decision().verdict(), "allow");

    // A wider grant than the approver saw.
    let mut wider = world.call("capability");
    wider.capability = world.host.token(vec![grant("host", "bash")]);
    let refused = world.host.evaluate(&wider).await;
    assert_eq!(reason(&refused), "approval rejected: its grant is not what waits");

    let rebuilt = |builder: FixtureBuilder| {
        let built = World::of(builder.ledger(ledger.clone()));
        World { token: world.token.clone(), ..built }
    };
    let guarded = FixtureBuilder::default().native_guard(Arc::new(careful()));
    let policy = rebuilt(guarded.settings(|s| s.policy_hash = "cd".repeat(32)));
    assert_eq!(reason(&policy.ask("policy").await), "approval rejected: its policy is not what waits");
    let other = NativeGuard::new("stricter", |_| {
        let decision = GuardDecision::PendingApproval("I have to be asked too".to_owned());
        Ok(Verdict { decision, details: None, secret_arguments: Vec::new() })
    });
    let guards = rebuilt(FixtureBuilder::default().native_guard(Arc::new(careful())).native_guard(Arc::new(other)));
    assert_eq!(reason(&guards.ask("guard").await), "approval rejected: its guard is not what waits");
    assert_eq!((policy.entered(), guards.entered(), world.entered()), (0, 0, 1));
}

#[tokio::test]
async fn a_later_denial_by_a_guard_wins_over_an_approval() {
    let denies = Arc::new(AtomicBool::new(false));
    let switch = denies.clone();
    let second = NativeGuard::new("second", move |_| {
        let decision = if switch.load(Ordering::SeqCst) {
            GuardDecision::Deny("no longer".to_owned())
        } else {
            GuardDecision::Allow(Vec::new())
        };
        Ok(Verdict { decision, details: None, secret_arguments: Vec::new() })
    });
    let guards = FixtureBuilder::default().native_guard(Arc::new(careful())).native_guard(Arc::new(second));
    let world = World::of(guards);
    world.ask("request").await;
    world.approve().await;
    denies.store(true, Ordering::SeqCst);
    let refused = world.ask("request").await;
    assert_eq!(refused.decision().verdict(), "deny");
    assert_eq!(world.entered(), 0);
    world.holds();
}

#[tokio::test]
async fn an_approval_survives_a_restart_and_a_renewed_token() {
    let ledger = TestLedger::killable();
    let world = World::careful(ledger.clone());
    world.ask("request").await;
    world.approve().await;
    let again = World::careful(ledger.killed(0));
    let recovered = again.host.kernel.recover().await.unwrap();
    assert_eq!((recovered.ended, recovered.parked), (0, 1));
    assert!(again.waiting().approved);
    // The same grant, in a token that was issued since.
    let allowed = again.ask("request").await;
    assert_eq!(allowed.decision().verdict(), "allow", "{}", reason(&allowed));
    let used = again.host.ledger.counter(&CounterKey::new(&["invocations", &again.token.body().id, "0"])).unwrap();
    assert_eq!(used.unwrap().used, 1);
}

#[tokio::test]
async fn a_call_above_an_amount_needs_a_human() {
    let usd = |units: u64| json!({ "units": units, "currency": "USD" });
    let above = |units| Constraint { kind: "require_approval_above".into(), value: usd(units) };
    let world = World::of(FixtureBuilder::default().settings(|settings| {
        let currency = serde_json::from_value(json!("USD")).unwrap();
        let price = chio_host_kernel::Price { per_call: 5, per_million_fuel: 0, max_reported: None, currency };
        settings.prices.insert("host".to_owned(), price);
        settings.accounts = vec![chio_host_kernel::AccountSettings {
            name: "agent".to_owned(),
            subject: chio_host_tests::fixture::agent().public().hex().to_owned(),
            total: serde_json::from_value(usd(100)).unwrap(),
            rail: None,
        }];
    }));
    world.host.kernel.recover().await.unwrap();
    let with = |units| {
        let token = world.host.token(vec![Grant { constraints: vec![above(units)], ..grant("host", "bash") }]);
        world.host.call(&token, "host", "bash", json!({}))
    };
    assert_eq!(world.host.evaluate(&with(5)).await.decision().verdict(), "allow");
    let dear = with(4);
    let pending = world.host.evaluate(&dear).await;
    assert_eq!(reason(&pending), "the call may cost 5 USD, and more than 4 USD needs approval");
    let waiting = world.waiting().request;
    assert_eq!((waiting.max_cost.unwrap().units, waiting.asked_by[0].name.as_str()), (5, "capability"));
    // An approver who sees the price may set a lower ceiling; what would cost more does not run.
    let cheap = world.sign(ApprovalDecision::Approved, |b| b.request.max_cost.as_mut().unwrap().units = 4);
    assert_eq!(world.decide(&cheap).await.unwrap_err(), "approval rejected: its maximum cost is not what waits");
    world.approve().await;
    assert_eq!(world.host.evaluate(&dear).await.decision().verdict(), "allow");
}

fn escalating(ledger: Arc<TestLedger>) -> World {
    let hook = NativeHook::new("look", Ok(HookVerdict::Escalate("a human should see this".to_owned())));
    World::of(FixtureBuilder::default().ledger(ledger).native_hook(Arc::new(hook)))
}

#[tokio::test]
async fn an_escalated_output_is_released_by_a_human_also_after_a_restart() {
    let ledger = TestLedger::killable();
    let world = escalating(ledger.clone());
    let pending = world.ask("request").await;
    assert_eq!((pending.decision().verdict(), pending.code.as_deref()), ("pending", Some("hook.escalated")));
    assert_eq!(pending.receipt.record()["metadata"]["chio_host"]["effect"], "executed");
    assert!(pending.output.is_none());
    let waiting = world.waiting();
    assert_eq!(waiting.output, Some(json!({ "did": "make all" })));

    let again = escalating(ledger.killed(0));
    assert_eq!(again.host.kernel.recover().await.unwrap().parked, 1);
    let token = again.sign(ApprovalDecision::Approved, |_| ());
    let Decided::Ended(receipt) = again.decide(&token).await.unwrap() else { panic!("it is over") };
    let released = again.ask("request").await;
    assert_eq!((released.receipt.id(), released.decision().verdict()), (receipt.id(), "allow"));
    assert_eq!(released.output.unwrap().value, json!({ "did": "make all" }));
    assert_eq!((world.entered(), again.entered()), (1, 0));
    let again = World { entries: world.entries.clone(), ..again };
    again.holds();
}

#[tokio::test]
async fn an_escalated_output_is_denied_or_forgotten_and_nobody_sees_it() {
    for forgotten in [false, true] {
        let world = escalating(TestLedger::new());
        world.ask("request").await;
        if forgotten {
            world.host.clock.advance_secs(TTL);
            world.host.kernel.expire_parked(9).await;
        } else {
            world.decide(&world.sign(ApprovalDecision::Denied, |_| ())).await.unwrap();
        }
        let answer = world.ask("request").await;
        assert_eq!(answer.decision().verdict(), "deny");
        assert!(answer.output.is_none());
        let operation = answer.receipt.record()["metadata"]["chio_host"]["operation_id"].clone();
        let id = serde_json::from_value(operation).unwrap();
        assert!(world.host.ledger.output(&id).unwrap().is_none());
        assert!(world.host.ledger.draft(&id).unwrap().is_none(), "what was withheld is gone");
        assert_eq!(world.host.ledger.operation(&id).unwrap().unwrap().state, State::Completed);
        world.holds();
    }
}

#[tokio::test]
async fn a_revocation_between_the_run_and_the_release_withholds() {
    let world = escalating(TestLedger::new());
    world.ask("request").await;
    world.host.revoke(&world.token).await;
    world.decide(&world.sign(ApprovalDecision::Approved, |_| ())).await.unwrap();
    let answer = world.ask("request").await;
    assert_eq!(reason(&answer), format!("capability has been revoked: {}", world.token.body().id));
    assert!(answer.output.is_none());
}

/// Whatever the poll at which the call is dropped, before and after its approval, and whatever the poll at which the
/// decision itself is: it waits, or it has ended, and never runs twice.
#[tokio::test]
async fn case_09_a_call_that_waits_for_a_human_is_dropped_at_every_poll() {
    for builds in [World::careful, escalating] {
        for stage in 0..3 {
            let mut finished = false;
            let mut polls = 0;
            while !finished {
                let world = builds(TestLedger::new());
                let call = world.call("request");
                if stage > 0 {
                    world.host.evaluate(&call).await;
                }
                let token = (stage > 0).then(|| world.sign(ApprovalDecision::Approved, |_| ()));
                if stage == 2 {
                    world.decide(token.as_ref().unwrap()).await.unwrap();
                }
                if stage == 1 {
                    let token = token.as_ref().unwrap();
                    finished = poll_times(world.host.kernel.decide(ApprovalDecision::Approved, token), polls).is_some();
                } else {
                    finished = poll_times(world.host.kernel.evaluate(&call), polls).is_some();
                }
                world.host.settle().await;
                world.holds();
                // Whatever was dropped, the call can be brought to its end.
                for _ in 0..2 {
                    world.host.evaluate(&call).await;
                    if let Some(waiting) = world.host.kernel.waiting_approvals().unwrap().first()
                        && !waiting.approved
                    {
                        let token = world.sign(ApprovalDecision::Approved, |b| b.id = "approval-2".into());
                        world.decide(&token).await.unwrap();
                    }
                }
                let end = world.host.evaluate(&call).await;
                world.host.settle().await;
                world.holds();
                let verdict = end.decision().verdict();
                assert!(["allow", "cancelled"].contains(&verdict), "stage {stage}, {polls} polls: {verdict}");
                assert!(world.entered() <= 1, "stage {stage}, {polls} polls");
                polls += 1;
                assert!(polls < 100);
            }
        }
    }
}

#[tokio::test]
async fn with_no_approver_a_call_that_needs_one_ends_at_once() {
    let host = FixtureBuilder::default().native_guard(Arc::new(careful())).native_server(tool()).build();
    let response = host.run(&host.wildcard(), "host", "bash", json!({})).await;
    assert_eq!(response.decision().verdict(), "pending");
    assert!(host.kernel.waiting_approvals().unwrap().is_empty());
    let Value::Object(_) = response.receipt.record() else { panic!("a record") };
}

/// A call of a server with secrets is a broker's attempt: registered before anything is set aside, and required by the commit.
#[tokio::test]
async fn a_call_that_is_given_secrets_is_a_brokers_attempt() {
    for asks in [false, true] {
        let mut builder = FixtureBuilder::default();
        if asks {
            builder = builder.native_guard(Arc::new(careful())).settings(with_approver);
        }
        let tool = NativeServer::new("host", "bash", EffectClass::SideEffecting, |_| Ok(json!({})));
        let host = builder.native_server(tool.with_secret("api-key")).build();
        let token = host.wildcard();
        let call = host.call(&token, "host", "bash", json!({}));
        let mut response = host.evaluate(&call).await;
        if asks {
            let request = host.kernel.waiting_approvals().unwrap().remove(0).request;
            let (schema, now, key) = (SCHEMA.to_owned(), host.clock.now(), approver());
            let body = ApprovalBody {
                schema,
                id: "approval-1".to_owned(),
                approver: key.public().hex().to_owned(),
                decision: ApprovalDecision::Approved,
                request,
                issued_at: now,
                expires_at: now + 300,
                because: None,
            };
            host.kernel.decide(ApprovalDecision::Approved, &ApprovalToken::sign(body, &key)).await.unwrap();
            response = host.evaluate(&call).await;
        }
        assert_eq!(response.decision().verdict(), "allow", "{}", reason(&response));
        let attempt = &response.receipt.record()["metadata"]["chio_host"]["broker_attempt"];
        assert!(attempt.as_str().unwrap().starts_with("attempt-"));
    }
}

#[tokio::test]
async fn a_caller_that_is_an_approver_does_not_approve_itself() {
    let agent = chio_host_tests::fixture::agent();
    let own = agent.public().hex().to_owned();
    let world = World::of(FixtureBuilder::default().native_guard(Arc::new(careful())).settings(|_| ()));
    // Listed or not, it is not believed.
    world.ask("request").await;
    let forged = world.sign_with(&agent, ApprovalDecision::Approved, |_| ());
    assert!(world.decide(&forged).await.unwrap_err().contains("is not one of the policy's approvers"));
    let host = FixtureBuilder::default()
        .native_guard(Arc::new(careful()))
        .native_server(tool())
        .settings(|settings| settings.approvals.approvers = vec![own])
        .build();
    let token = host.wildcard();
    let listed = World { entries: world.entries.clone(), host, token };
    listed.ask("request").await;
    let forged = listed.sign_with(&agent, ApprovalDecision::Approved, |_| ());
    let refused = listed.decide(&forged).await.unwrap_err();
    assert_eq!(refused, "approval rejected: a caller does not approve its own calls");
}

/// A hook that asks for a human does not keep a later one from looking at what the human will release.
#[tokio::test]
async fn what_is_released_has_been_through_every_hook_and_is_what_the_grant_fixes() {
    let asks = || Arc::new(NativeHook::new("look", Ok(HookVerdict::Escalate("see this".to_owned()))));
    let later = |verdict| Arc::new(NativeHook::new("later", Ok(verdict)));
    let what = vec![chio_host_kernel::ports::Removal { kind: "password".to_owned(), count: 1 }];
    let redact = HookVerdict::Redact { value: json!({ "did": "[gone]" }), what };
    let world = World::of(FixtureBuilder::default().native_hook(asks()).native_hook(later(redact)));
    world.ask("request").await;
    assert_eq!(world.waiting().output, Some(json!({ "did": "[gone]" })));
    world.decide(&world.sign(ApprovalDecision::Approved, |_| ())).await.unwrap();
    assert_eq!(world.ask("request").await.output.unwrap().value, json!({ "did": "[gone]" }));

    let block = HookVerdict::Block("not that".to_owned());
    let world = World::of(FixtureBuilder::default().native_hook(asks()).native_hook(later(block)));
    let blocked = world.ask("request").await;
    assert_eq!((blocked.decision().verdict(), blocked.code.as_deref()), ("deny", Some("hook.blocked")));

    let world = escalating(TestLedger::new());
    let digest = Constraint::output_digest(&"00".repeat(32));
    let token = world.host.token(vec![Grant { constraints: vec![digest], ..grant("host", "bash") }]);
    let other = world.host.run(&token, "host", "bash", json!({ "command": "ls" })).await;
    assert_eq!((other.decision().verdict(), other.code.as_deref()), ("deny", Some("output.digest")));
    assert!(world.host.kernel.waiting_approvals().unwrap().is_empty());
}

/// Of several amounts each has to let the call pass.
#[tokio::test]
async fn an_amount_in_another_currency_lets_nothing_pass() {
    let above = |units: u64, currency: &str| Constraint {
        kind: "require_approval_above".into(),
        value: json!({ "units": units, "currency": currency }),
    };
    let world = World::of(FixtureBuilder::default().settings(|settings| {
        let currency = serde_json::from_value(json!("USD")).unwrap();
        let price = chio_host_kernel::Price { per_call: 5, per_million_fuel: 0, max_reported: None, currency };
        settings.prices.insert("host".to_owned(), price);
    }));
    let total = Some(serde_json::from_value(json!({ "units": 100, "currency": "USD" })).unwrap());
    let ask = |constraints: Vec<Constraint>| {
        let token =
            world.host.token(vec![Grant { constraints, max_total_cost: total.clone(), ..grant("host", "bash") }]);
        world.host.call(&token, "host", "bash", json!({}))
    };
    let passes = world.host.evaluate(&ask(vec![above(5, "USD"), above(6, "USD")])).await;
    assert_eq!(passes.decision().verdict(), "allow", "{}", reason(&passes));
    for amounts in [vec![above(5, "USD"), above(9, "EUR")], vec![above(9, "EUR"), above(4, "USD")]] {
        assert_eq!(world.host.evaluate(&ask(amounts)).await.decision().verdict(), "pending");
    }
}
