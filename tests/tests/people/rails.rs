//! Payments outside the ledger: a provider that fails in each way, at each verb, and calls that are dropped and killed between.

use std::sync::Arc;

use chio_host_kernel::call::{Call, EffectClass, RequestId};
use chio_host_kernel::capability::{CapabilityToken, Constraint};
use chio_host_kernel::failpoint::{Action, Failpoints};
use chio_host_kernel::money::{Currency, Money};
use chio_host_kernel::response::Response;
use chio_host_kernel::{AccountSettings, Price, Resolution};
use chio_host_tests::invariants::{self, Known};
use chio_host_tests::polling::{poll_times, poll_up_to};
use chio_host_tests::rail::{Entry, Mood, TestRail};
use chio_host_tests::{Fixture, FixtureBuilder, NativeServer, TestLedger, fixture, grant};
use serde_json::json;

fn usd(units: u64) -> Money {
    Money { units, currency: Currency::try_from("USD".to_owned()).unwrap() }
}

struct World {
    host: Fixture,
    token: Arc<CapabilityToken>,
    rail: Arc<TestRail>,
}

/// 3 a call and 2 for each started million of fuel: 5 are set aside, and 3 are taken.
const TAKEN: Entry = Entry { authorized: 0, captured: 3, captures: 1 };
const NOTHING: Entry = Entry { authorized: 0, captured: 0, captures: 0 };
const SET_ASIDE: Entry = Entry { authorized: 5, captured: 0, captures: 0 };

impl World {
    fn new(ledger: Arc<TestLedger>, rail: Arc<TestRail>) -> Self {
        Self::stopping(ledger, rail, Failpoints::default())
    }

    fn stopping(ledger: Arc<TestLedger>, rail: Arc<TestRail>, failpoints: Failpoints) -> Self {
        let tool = NativeServer::new("host", "bash", EffectClass::SideEffecting, |_| Ok(json!({ "done": true })));
        let host = FixtureBuilder::default()
            .ledger(ledger)
            .rail("bank", rail.clone())
            .native_server(tool.pausing(1))
            .settings(|settings| {
                settings.failpoints = failpoints;
                let currency = usd(0).currency;
                let price = Price { per_call: 3, per_million_fuel: 2, max_reported: None, currency };
                settings.prices.insert("host".to_owned(), price);
                settings.accounts = vec![AccountSettings {
                    name: "agent".to_owned(),
                    subject: fixture::agent().public().hex().to_owned(),
                    total: usd(0),
                    rail: Some("bank".to_owned()),
                }];
            })
            .build();
        let token = host.token(vec![grant("host", "bash")]);
        Self { host, token, rail }
    }

    fn fresh() -> Self {
        Self::new(TestLedger::new(), TestRail::new("bank"))
    }

    fn call(&self) -> Call {
        let mut call = self.host.call(&self.token, "host", "bash", json!({}));
        call.request_id = RequestId::new("request").unwrap();
        call
    }

    async fn run(&self) -> Response {
        self.host.evaluate(&self.call()).await
    }

    fn holds(&self) {
        let known = Known { kernel_key: self.host.issuer.public().hex(), entries: None, accounts: &[] };
        invariants::hold(&*self.host.ledger, &known);
    }
}

fn reason(response: &Response) -> &str {
    response.decision().reason().unwrap_or("none")
}

#[tokio::test]
async fn a_call_is_paid_for_through_its_rail() {
    let world = World::fresh();
    let response = world.run().await;
    assert_eq!(response.decision().verdict(), "allow", "{}", reason(&response));
    assert_eq!(world.rail.entries(), [TAKEN]);
    let host = &response.receipt.record()["metadata"]["chio_host"];
    let reference = host["payment"]["reference"].as_str().unwrap();
    assert_eq!(host["payment"]["capture"], format!("capture-{reference}"));
    assert_eq!(host["cost"]["realized"]["units"], 3);
    assert_eq!(world.run().await.receipt.id(), response.receipt.id());
    assert_eq!(world.rail.entries(), [TAKEN]);
    world.holds();
}

#[tokio::test]
async fn a_rail_that_does_not_authorize_denies_the_call_and_leaves_nothing_set_aside() {
    for (mood, said) in [
        (Mood::Refuses, "payment failed: rail bank refused: insufficient funds"),
        (Mood::Mumbles, "payment failed: rail bank gave no clear answer: the line went dead"),
        (Mood::Sleeps, "payment failed: rail bank gave no clear answer: nobody answers"),
    ] {
        let world = World::fresh();
        world.rail.will("authorize", &[mood]);
        let response = world.run().await;
        assert_eq!((response.decision().verdict(), reason(&response)), ("deny", said));
        assert!(world.rail.entries().iter().all(|e| *e == NOTHING), "{mood:?}: {:?}", world.rail.entries());
        assert!(world.host.ledger.holds(9).unwrap().is_empty());
        world.holds();
    }
}

#[tokio::test]
async fn an_authorization_that_cannot_be_released_is_on_the_receipt() {
    let world = World::fresh();
    world.rail.will("authorize", &[Mood::Mumbles]);
    world.rail.will("release", &[Mood::Sleeps, Mood::Sleeps]);
    let response = world.run().await;
    let runtime = &response.receipt.record()["metadata"]["chio_runtime"];
    assert_eq!(runtime["pre_dispatch_cleanup_failed"], true);
    assert_eq!(runtime["cleanup_faults"][0]["step"], "monetary_hold");
    assert!(runtime["cleanup_faults"][0]["ids"][0].as_str().unwrap().starts_with("hold-"));
    assert_eq!(world.rail.entries(), [SET_ASIDE]);
}

#[tokio::test]
async fn a_capture_that_is_refused_releases_no_output() {
    let world = World::fresh();
    world.rail.will("capture", &[Mood::Refuses]);
    let response = world.run().await;
    assert_eq!(reason(&response), "payment failed: rail bank: insufficient funds");
    let host = &response.receipt.record()["metadata"]["chio_host"];
    assert_eq!((&host["effect"], &host["cost"]["realized"]["units"]), (&json!("executed"), &json!(0)));
    assert!(response.output.is_none());
    world.holds();
}

/// A capture with the same reference twice charges once.
#[tokio::test]
async fn a_capture_whose_answer_is_lost_is_asked_for_again_and_charges_once() {
    let world = World::fresh();
    world.rail.will("capture", &[Mood::Mumbles]);
    assert_eq!(world.run().await.decision().verdict(), "allow");
    assert_eq!(world.rail.entries(), [TAKEN]);

    // Twice no answer: the money stays set aside for an operator, who asks once more.
    let world = World::fresh();
    world.rail.will("capture", &[Mood::Mumbles, Mood::Sleeps]);
    let response = world.run().await;
    assert_eq!(response.decision().verdict(), "allow");
    let cost = &response.receipt.record()["metadata"]["chio_host"]["cost"];
    assert_eq!((&cost["frozen"], &cost["unsettled"]), (&json!(true), &json!("nobody answers")));
    let unresolved = world.host.kernel.unresolved().unwrap();
    let operation = unresolved[0].operation.as_str().to_owned();
    world.host.kernel.resolve(&operation, Resolution::Capture, "the provider's books say so").await.unwrap();
    assert_eq!(world.rail.entries(), [TAKEN]);
    assert!(world.host.kernel.unresolved().unwrap().is_empty());
    world.holds();
}

#[tokio::test]
async fn case_28_an_output_that_is_not_the_promised_one_is_not_paid_for() {
    let world = World::fresh();
    let digest = Constraint::output_digest(&"00".repeat(32));
    let token = world
        .host
        .token(vec![chio_host_kernel::capability::Grant { constraints: vec![digest], ..grant("host", "bash") }]);
    let response = world.host.run(&token, "host", "bash", json!({})).await;
    assert_eq!(response.code.as_deref(), Some("output.digest"));
    assert_eq!(world.rail.entries(), [NOTHING]);
    world.holds();
}

/// Dropped at every poll: whatever was set aside is released, or taken once for a tool that ran.
#[tokio::test]
async fn case_09_a_paid_call_is_dropped_at_every_poll() {
    let mut polls = 0;
    loop {
        let world = World::fresh();
        let call = world.call();
        let done = poll_times(world.host.kernel.evaluate(&call), polls).is_some();
        world.host.settle().await;
        world.holds();
        let frozen = world.host.ledger.holds(9).unwrap().len();
        for entry in world.rail.entries() {
            let is_settled = entry == NOTHING || entry == TAKEN;
            assert!(is_settled || (frozen == 1 && entry == SET_ASIDE), "after {polls} polls: {entry:?}");
        }
        if done {
            break;
        }
        polls += 1;
        assert!(polls < 100);
    }
}

/// Killed at every poll and started again: the recovery asks the rail under the same reference.
#[tokio::test]
async fn case_11_a_paid_call_is_killed_at_every_poll() {
    let mut polls = 0;
    loop {
        for kept in [0, 255] {
            let (ledger, rail) = (TestLedger::killable(), TestRail::new("bank"));
            let world = World::new(ledger.clone(), rail.clone());
            let call = world.call();
            let mut future = Box::pin(world.host.kernel.evaluate(&call));
            let done = poll_up_to(&mut future, polls).is_some();
            std::mem::forget(future);
            let again = World::new(ledger.killed(kept), rail.clone());
            let again = World { token: world.token.clone(), ..again };
            again.host.kernel.recover().await.unwrap();
            again.holds();
            let frozen = again.host.ledger.holds(9).unwrap().len();
            for entry in rail.entries() {
                let is_settled = entry == NOTHING || entry == TAKEN;
                assert!(is_settled || (frozen == 1 && entry == SET_ASIDE), "{polls} polls, {kept}: {entry:?}");
            }
            if done && kept == 255 {
                return;
            }
        }
        polls += 1;
        assert!(polls < 100);
    }
}

/// Whoever has not the rail leaves the operation to one that has.
#[tokio::test]
async fn case_15_a_payment_waits_for_a_host_that_has_its_rail() {
    let (ledger, rail) = (TestLedger::killable(), TestRail::new("bank"));
    let stops = |at| if at == "authorize.after" { Action::Hang } else { Action::Continue };
    let world = World::stopping(ledger.clone(), rail.clone(), Failpoints::new(stops));
    let call = world.call();
    let mut future = Box::pin(world.host.kernel.evaluate(&call));
    assert!(poll_up_to(&mut future, 20).is_none());
    std::mem::forget(future);
    let killed = ledger.killed(255);
    let without = FixtureBuilder::default().ledger(killed.clone()).build();
    let recovered = without.kernel.recover().await.unwrap();
    assert_eq!((recovered.ended, recovered.quarantined.len()), (0, 1));
    assert!(recovered.quarantined[0].why.contains("rail bank is not one of this host's policy"), "{recovered:?}");
    assert_eq!(rail.entries(), [SET_ASIDE]);
    let with = World::new(killed.closed(), rail.clone());
    assert_eq!(with.host.kernel.recover().await.unwrap().ended, 1);
    assert_eq!(rail.entries(), [NOTHING]);
    with.holds();
}
