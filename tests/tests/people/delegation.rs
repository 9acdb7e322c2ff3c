//! Delegation: chains that verify offline, every way of widening one, revocation from above, budgets that are shared.

use std::sync::Arc;

use chio_host_kernel::Settings;
use chio_host_kernel::call::{Call, EffectClass, RequestId};
use chio_host_kernel::capability::{
    CapabilityBody, CapabilityError, CapabilityToken, Constraint, Grant, Narrower, Operation, Scope,
};
use chio_host_kernel::keys::Keypair;
use chio_host_kernel::ledger::CounterKey;
use chio_host_kernel::money::{Currency, Money};
use chio_host_tests::invariants::{self, Known};
use chio_host_tests::polling::{poll, poll_times};
use chio_host_tests::{Fixture, FixtureBuilder, NativeServer, TestLedger, grant};
use serde_json::{Value, json};

type Change = Box<dyn FnOnce(&mut CapabilityBody)>;
type Bend = Box<dyn Fn(&mut Value)>;

fn usd(units: u64) -> Money {
    Money { units, currency: Currency::try_from("USD".to_owned()).unwrap() }
}

fn key(n: u8) -> Keypair {
    Keypair::from_seed(&[100 + n; 32].into())
}

fn deep(settings: &mut Settings) {
    settings.delegation_depth_limit = 5;
}

fn host(ledger: Arc<TestLedger>) -> Fixture {
    let tool = NativeServer::new("host", "bash", EffectClass::SideEffecting, |_| Ok(json!({ "done": true })));
    FixtureBuilder::default().ledger(ledger).native_server(tool.pausing(1)).settings(deep).build()
}

fn delegable(limit: u64) -> Grant {
    let operations = vec![Operation::Invoke, Operation::Delegate];
    Grant { operations, max_invocations: Some(limit), ..grant("host", "bash") }
}

/// A capability with one grant, by its holder for somebody else.
fn derive(parent: &CapabilityToken, holder: &Keypair, to: &Keypair, grant: Grant) -> Arc<CapabilityToken> {
    Arc::new(try_derive(parent, holder, to, Scope { grants: vec![grant] }, |_| ()).unwrap())
}

fn try_derive(
    parent: &CapabilityToken,
    holder: &Keypair,
    to: &Keypair,
    scope: Scope,
    change: impl FnOnce(&mut Narrower),
) -> Result<CapabilityToken, CapabilityError> {
    let body = parent.body();
    let mut narrower = Narrower {
        id: format!("{}+{}", body.id, &to.public().hex()[..4]),
        subject: to.public().hex().to_owned(),
        scope,
        issued_at: body.issued_at,
        expires_at: body.expires_at,
    };
    change(&mut narrower);
    parent.attenuate(narrower, holder)
}

fn call(host: &Fixture, token: &Arc<CapabilityToken>, id: &str) -> Call {
    let mut call = host.call(token, "host", "bash", json!({ "command": "ls", "path": "/data/x" }));
    call.agent.clone_from(&token.body().subject);
    call.request_id = RequestId::new(id).unwrap();
    call
}

fn reason(response: &chio_host_kernel::response::Response) -> &str {
    response.decision().reason().unwrap_or("none")
}

/// A chain of hops, each to the next key and with one invocation less.
fn chain(host: &Fixture, hops: u8) -> Vec<Arc<CapabilityToken>> {
    let mut tokens = vec![host.token(vec![delegable(20)])];
    for hop in 0..hops {
        let holder = if hop == 0 { host.agent.clone() } else { key(hop) };
        let parent = tokens.last().unwrap();
        tokens.push(derive(parent, &holder, &key(hop + 1), delegable(19 - u64::from(hop))));
    }
    tokens
}

#[tokio::test]
async fn a_chain_of_five_narrowed_hops_verifies_with_the_issuers_key_alone() {
    let host = host(TestLedger::new());
    let tokens = chain(&host, 5);
    let leaf = tokens.last().unwrap();
    let text = leaf.to_json().to_string();
    let read = CapabilityToken::parse(text.as_bytes()).unwrap();
    assert_eq!((read.verify(), read.check_attenuation()), (Ok(()), Ok(())));
    assert_eq!(read.root().body().issuer, host.issuer.public().hex());
    assert_eq!(read.ancestors().len(), 5);

    let response = host.evaluate(&call(&host, leaf, "deep")).await;
    assert_eq!(response.decision().verdict(), "allow", "{}", reason(&response));
    let attribution = &response.receipt.record()["metadata"]["attribution"];
    assert_eq!(attribution["delegation_depth"], 5);
    assert_eq!(attribution["delegation_chain"].as_array().unwrap().len(), 5);
    // One more hop is one too many for the policy.
    let sixth = derive(leaf, &key(5), &key(6), delegable(1));
    let refused = host.evaluate(&call(&host, &sixth, "deeper")).await;
    let limit = "delegation admission failed: it went through 6 hands, and the policy's delegation_depth_limit is 5";
    assert_eq!(reason(&refused), limit);
}

/// A chain whose holder signs whatever it likes, as one who does not use our code would.
fn forge(parent: &CapabilityToken, holder: &Keypair, change: impl FnOnce(&mut CapabilityBody)) -> Arc<CapabilityToken> {
    let honest = derive(parent, holder, &key(1), wide_child());
    let mut body = honest.body().clone();
    change(&mut body);
    Arc::new(CapabilityToken::issue(body, holder))
}

fn wide_parent() -> Grant {
    Grant {
        max_cost_per_invocation: Some(usd(5)),
        max_total_cost: Some(usd(50)),
        constraints: vec![
            Constraint::path_prefix("/data"),
            Constraint { kind: "max_args_size".into(), value: json!(1000) },
        ],
        ..delegable(20)
    }
}

fn wide_child() -> Grant {
    Grant { operations: vec![Operation::Invoke], ..wide_parent() }
}

#[tokio::test]
async fn twenty_ways_of_widening_a_capability_are_refused_each_with_its_reason() {
    let host = host(TestLedger::new());
    let read_only = Grant { operations: vec![Operation::ReadResult, Operation::Delegate], ..grant("other", "tool") };
    let kept = Grant { constraints: vec![Constraint::path_prefix("/data")], ..grant("host", "kept") };
    let proven = Grant { dpop_required: Some(true), ..Grant { tool_name: "proven".into(), ..delegable(5) } };
    let root = host.token(vec![wide_parent(), read_only, kept, proven]);
    let agent = &host.agent;
    let only = |grant: Grant| move |body: &mut CapabilityBody| body.scope = Scope { grants: vec![grant] };
    let args = |max: u64| Constraint { kind: "max_args_size".into(), value: json!(max) };
    let constraints = |constraints: Vec<Constraint>| Grant { constraints, ..wide_child() };
    let ways: Vec<(&str, Change)> = vec![
        (
            "max_invocations is 21, and the parent's is 20",
            Box::new(only(Grant { max_invocations: Some(21), ..wide_child() })),
        ),
        ("max_invocations is missing", Box::new(only(Grant { max_invocations: None, ..wide_child() }))),
        (
            "max_cost_per_invocation is 6 USD",
            Box::new(only(Grant { max_cost_per_invocation: Some(usd(6)), ..wide_child() })),
        ),
        ("max_cost_per_invocation is missing", Box::new(only(Grant { max_cost_per_invocation: None, ..wide_child() }))),
        ("max_total_cost is 51 USD", Box::new(only(Grant { max_total_cost: Some(usd(51)), ..wide_child() }))),
        ("max_total_cost is missing", Box::new(only(Grant { max_total_cost: None, ..wide_child() }))),
        (
            "max_total_cost is 1 EUR",
            Box::new(only(Grant {
                max_total_cost: Some(Money { units: 1, currency: Currency::try_from("EUR".to_owned()).unwrap() }),
                ..wide_child()
            })),
        ),
        (
            "the parent's constraint path_prefix is missing, or wider here",
            Box::new(only(constraints(vec![Constraint::path_prefix("/"), args(1000)]))),
        ),
        (
            "the parent's constraint path_prefix is missing, or wider here",
            Box::new(only(constraints(vec![args(1000)]))),
        ),
        (
            "the parent's constraint path_prefix is missing, or wider here",
            Box::new(only(constraints(vec![Constraint::path_prefix("/data-too"), args(1000)]))),
        ),
        (
            "the parent's constraint max_args_size is missing, or wider here",
            Box::new(only(constraints(vec![Constraint::path_prefix("/data"), args(1001)]))),
        ),
        (
            "Invoke of rm on host is not in the parent's scope",
            Box::new(only(Grant { tool_name: "rm".into(), ..wide_child() })),
        ),
        (
            "Invoke of bash on elsewhere is not in the parent's scope",
            Box::new(only(Grant { server_id: "elsewhere".into(), ..wide_child() })),
        ),
        (
            "Invoke of * on host is not in the parent's scope",
            Box::new(only(Grant { tool_name: "*".into(), ..wide_child() })),
        ),
        (
            "Invoke of bash on * is not in the parent's scope",
            Box::new(only(Grant { server_id: "*".into(), ..wide_child() })),
        ),
        (
            "the parent's grant does not allow Subscribe",
            Box::new(only(Grant { operations: vec![Operation::Invoke, Operation::Subscribe], ..wide_child() })),
        ),
        ("Invoke of tool on other is not in the parent's scope", Box::new(only(grant("other", "tool")))),
        (
            "it has no operation delegate",
            Box::new(only(Grant { constraints: vec![Constraint::path_prefix("/data")], ..grant("host", "kept") })),
        ),
        (
            "asks for a proof of possession, and this one does not",
            Box::new(only(Grant { max_invocations: Some(5), ..grant("host", "proven") })),
        ),
        ("it allows nothing", Box::new(only(Grant { operations: Vec::new(), ..wide_child() }))),
        ("it expires at", Box::new(|body| body.expires_at += 1)),
        ("it is good from", Box::new(|body| body.issued_at -= 1)),
    ];
    assert!(ways.len() >= 20);
    for (i, (expected, change)) in ways.into_iter().enumerate() {
        let token = forge(&root, agent, change);
        // Signed by the right key all the way; only what it allows is wrong.
        assert_eq!(token.verify(), Ok(()), "{expected}");
        let response = host.evaluate(&call(&host, &token, &format!("way-{i}"))).await;
        let why = reason(&response);
        assert_eq!(response.decision().verdict(), "deny", "{expected}");
        assert!(why.starts_with("delegation admission failed: ") && why.contains(expected), "{expected}\n{why}");
        // And nobody is handed one by mistake.
        let Scope { grants } = token.body().scope.clone();
        let times = (token.body().issued_at, token.body().expires_at);
        let own = try_derive(&root, agent, &key(1), Scope { grants }, |n| (n.issued_at, n.expires_at) = times);
        assert!(matches!(own, Err(CapabilityError::Wider(_))), "{expected}");
    }
}

/// The chain itself cannot be bent either.
#[tokio::test]
async fn a_chain_that_does_not_hold_together_is_nobodys() {
    let host = host(TestLedger::new());
    let tokens = chain(&host, 2);
    let leaf = tokens[2].to_json();
    let mutations: Vec<(&str, Bend)> = vec![
        ("a link is left out", Box::new(|t| drop(t["delegation_chain"].as_array_mut().unwrap().remove(0)))),
        ("links are swapped", Box::new(|t| t["delegation_chain"].as_array_mut().unwrap().reverse())),
        (
            "a link is wider than signed",
            Box::new(|t| t["delegation_chain"][0]["scope"]["grants"][0]["max_invocations"] = json!(99)),
        ),
        ("a link has another subject", Box::new(|t| t["delegation_chain"][0]["subject"] = t["subject"].clone())),
        ("a link is said to live longer", Box::new(|t| t["delegation_chain"][1]["expires_at"] = json!(u32::MAX))),
    ];
    for (what, mutate) in mutations {
        let mut touched = leaf.clone();
        mutate(&mut touched);
        let token = Arc::new(CapabilityToken::parse(touched.to_string().as_bytes()).unwrap());
        let response = host.evaluate(&call(&host, &token, what)).await;
        assert_eq!(response.decision().verdict(), "deny", "{what}");
    }
    // A stranger's token below a trusted root: signed by somebody who was never given the root.
    let mut body = tokens[1].body().clone();
    body.issuer = key(9).public().hex().to_owned();
    let stranger = Arc::new(CapabilityToken::issue(body, &key(9)));
    let response = host.evaluate(&call(&host, &stranger, "stranger")).await;
    assert!(reason(&response).contains("was not signed by the subject of"), "{}", reason(&response));
    // A root that nobody trusts.
    let mut body = host.token(vec![delegable(5)]).body().clone();
    body.issuer = key(9).public().hex().to_owned();
    let foreign = CapabilityToken::issue(body, &key(9));
    let below = derive(&foreign, &host.agent, &key(1), delegable(5));
    let response = host.evaluate(&call(&host, &below, "foreign")).await;
    assert_eq!(reason(&response), "capability issuer is not a trusted CA");
}

#[tokio::test]
async fn revoking_a_capability_revokes_everything_under_it_also_while_its_tool_runs() {
    let host = host(TestLedger::new());
    let tokens = chain(&host, 3);
    let allowed = host.evaluate(&call(&host, &tokens[3], "before")).await;
    assert_eq!(allowed.decision().verdict(), "allow");
    host.revoke(&tokens[1]).await;
    let refused = host.evaluate(&call(&host, &tokens[3], "after")).await;
    assert_eq!(reason(&refused), format!("delegation chain revoked at ancestor {}", tokens[1].body().id));
    let own = host.evaluate(&call(&host, &tokens[1], "own")).await;
    assert_eq!(reason(&own), format!("capability has been revoked: {}", tokens[1].body().id));
    let root = host.evaluate(&call(&host, &tokens[0], "root")).await;
    assert_eq!(root.decision().verdict(), "allow", "what is above goes on");
}

fn used(host: &Fixture, token: &CapabilityToken) -> u64 {
    let key = CounterKey::new(&["invocations", &token.budget_id(), "0"]);
    host.ledger.counter(&key).unwrap().map_or(0, |c| c.used)
}

fn holds(host: &Fixture) {
    let known = Known { kernel_key: host.issuer.public().hex(), entries: None, accounts: &[] };
    invariants::hold(&*host.ledger, &known);
}

#[tokio::test]
async fn case_24_what_children_used_counts_for_the_parent() {
    let host = host(TestLedger::new());
    let root = host.token(vec![delegable(5)]);
    let left = derive(&root, &host.agent, &key(1), delegable(3));
    let right = derive(&root, &host.agent, &key(2), delegable(3));
    let mut verdicts = Vec::new();
    for (i, token) in [&left, &right, &left, &right, &root, &left].into_iter().enumerate() {
        let response = host.evaluate(&call(&host, token, &format!("call-{i}"))).await;
        verdicts.push(response.decision().verdict());
    }
    // Five in all: the fifth by the root itself, so that nothing is left for a sixth.
    assert_eq!(verdicts, ["allow", "allow", "allow", "allow", "allow", "deny"]);
    assert_eq!((used(&host, &root), used(&host, &left), used(&host, &right)), (5, 2, 2));
    holds(&host);
}

/// A child's share is set aside at the parent while the child is at work, and goes back with its last holder.
#[tokio::test]
async fn case_03_a_share_is_kept_until_its_last_holder_leaves_and_a_sibling_cannot_have_it() {
    let ledger = TestLedger::new();
    let host = host(ledger.clone());
    let root = host.token(vec![delegable(5)]);
    let left = derive(&root, &host.agent, &key(1), delegable(4));
    let right = derive(&root, &host.agent, &key(2), delegable(2));
    let leaf = derive(&left, &key(1), &key(3), delegable(3));

    // Two calls of the same child under way, each stopped with its hold taken.
    let (one, two) = (call(&host, &leaf, "one"), call(&host, &left, "two"));
    let mut first = Box::pin(host.kernel.evaluate(&one));
    let mut second = Box::pin(host.kernel.evaluate(&two));
    for (future, holds) in [(&mut first, 1), (&mut second, 2)] {
        while host.ledger.holds(9).unwrap().len() < holds {
            assert!(poll(future).is_none());
        }
    }
    assert_eq!(used(&host, &root), 4, "the share of the left child");
    let refused = host.evaluate(&call(&host, &right, "sibling")).await;
    assert_eq!(reason(&refused), format!("invocation budget exhausted for capability {}", root.body().id));

    drop(first);
    host.settle().await;
    assert_eq!(used(&host, &root), 4, "another holder is still there");
    let refused = host.evaluate(&call(&host, &right, "sibling again")).await;
    assert_eq!(refused.decision().verdict(), "deny");

    drop(second);
    host.settle().await;
    holds(&host);
    let allowed = host.evaluate(&call(&host, &right, "sibling at last")).await;
    assert_eq!(allowed.decision().verdict(), "allow", "{}", reason(&allowed));
    holds(&host);
}

/// However a child's call is dropped, its parents' counters are what they were, or count a call that was dispatched.
#[tokio::test]
async fn case_02_a_share_goes_back_at_whatever_poll_the_call_is_dropped() {
    for polls in 0..40 {
        let host = host(TestLedger::new());
        let tokens = chain(&host, 2);
        let call = call(&host, &tokens[2], "dropped");
        drop(poll_times(host.kernel.evaluate(&call), polls));
        host.settle().await;
        holds(&host);
        assert!(host.ledger.holds(9).unwrap().iter().all(|h| h.state != chio_host_kernel::ledger::HoldState::Held));
    }
}

#[tokio::test]
async fn money_is_shared_like_invocations_and_the_parents_account_pays() {
    let tool = NativeServer::new("host", "bash", EffectClass::SideEffecting, |_| Ok(json!({}))).costing(0, None);
    let host = FixtureBuilder::default()
        .native_server(tool)
        .settings(deep)
        .settings(|settings| {
            let currency = usd(0).currency;
            let price = chio_host_kernel::Price { per_call: 3, per_million_fuel: 2, max_reported: None, currency };
            settings.prices.insert("host".to_owned(), price);
            settings.accounts = vec![chio_host_kernel::AccountSettings {
                name: "agent".to_owned(),
                subject: chio_host_tests::fixture::agent().public().hex().to_owned(),
                total: usd(100),
                rail: None,
            }];
        })
        .build();
    host.kernel.recover().await.unwrap();
    let priced = |total: u64| Grant { max_invocations: None, max_total_cost: Some(usd(total)), ..delegable(0) };
    let root = host.token(vec![priced(20)]);
    let child = derive(&root, &host.agent, &key(1), priced(10));
    for n in 0..2 {
        let response = host.evaluate(&call(&host, &child, &format!("call-{n}"))).await;
        assert_eq!(response.decision().verdict(), "allow", "{}", reason(&response));
    }
    // 3 each, where 5 were set aside for each: 4 are left, and a third call may cost 5.
    let refused = host.evaluate(&call(&host, &child, "call-2")).await;
    assert_eq!(reason(&refused), format!("cost budget exhausted for capability {}", child.body().id));
    let cost = |token: &CapabilityToken| {
        let key = CounterKey::new(&["cost", &token.budget_id(), "0"]);
        host.ledger.counter(&key).unwrap().unwrap().used
    };
    assert_eq!((cost(&root), cost(&child)), (6, 6));
    let account = host.ledger.account("agent").unwrap().unwrap();
    assert_eq!((account.captured, account.held), (6, 0));
    holds(&host);
}

/// A capability that was handed on counts under what nobody can choose: not under the id that its holder gave it.
#[tokio::test]
async fn a_child_that_takes_anothers_id_does_not_use_up_its_budget() {
    let host = host(TestLedger::new());
    let victim = host.token(vec![delegable(2)]);
    let root = host.token(vec![delegable(10)]);
    let scope = Scope { grants: vec![delegable(5)] };
    let thief = try_derive(&root, &host.agent, &key(1), scope, |n| n.id.clone_from(&victim.body().id)).unwrap();
    let thief = Arc::new(thief);
    for n in 0..3 {
        let response = host.evaluate(&call(&host, &thief, &format!("thief-{n}"))).await;
        assert_eq!(response.decision().verdict(), "allow");
    }
    assert_eq!(used(&host, &victim), 0);
}
