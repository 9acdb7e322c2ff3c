//! Case 11 for calls that wait for a human, are paid through a rail, and call another tool: killed at every failpoint, with and
//! without a sync before it, and started again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use chio_host_kernel::approval::{ApprovalBody, ApprovalDecision, ApprovalToken, SCHEMA};
use chio_host_kernel::capability::{Grant, Operation};
use chio_host_kernel::failpoint::{Failpoints, NAMES, OF_OTHERS};
use chio_host_kernel::keys::Keypair;
use chio_host_kernel::ports::{GuardDecision, Verdict};
use chio_host_kernel::{AccountSettings, NestedTarget};
use chio_host_ledger::{Options, SledLedger};
use chio_host_tests::invariants::{self, Known};
use chio_host_tests::rail::{Entry, TestRail};
use chio_host_tests::{FixtureBuilder, NativeGuard, fixture, grant};
use serde_json::json;

use crate::crash::{LEDGER, Role, counted_as, entries, kill_child_at};
use crate::world::{World, price, usd};

const CALL: &str = "call";

fn approver() -> Keypair {
    Keypair::from_seed(&[50; 32].into())
}

/// A host whose calls use all of it, on what its folder holds.
async fn world(folder: &Path, failpoints: Failpoints) -> World {
    let options = Options { failpoints: failpoints.clone(), ..Options::default() };
    let ledger = Arc::new(SledLedger::open_with(folder.join(LEDGER), &options).unwrap());
    let careful = NativeGuard::new("careful", |_| {
        let decision = GuardDecision::PendingApproval("somebody has to look".to_owned());
        Ok(Verdict { decision, details: None, secret_arguments: Vec::new() })
    });
    let tool = counted_as("host", "bash", folder).calling("leaf", "read", json!({ "path": "/a" }));
    let builder = FixtureBuilder::default()
        .ledger(ledger)
        .native_guard(Arc::new(OnlyFor("host", careful)))
        .rail("bank", TestRail::at("bank", folder.join("bank")))
        .native_server(tool)
        .native_server(counted_as("leaf", "read", folder))
        .settings(|settings| {
            settings.failpoints = failpoints;
            settings.approvals.approvers = vec![approver().public().hex().to_owned()];
            settings.nested.insert("host".to_owned(), vec![NestedTarget { server: "leaf".into(), tool: "*".into() }]);
            settings.prices.insert("host".to_owned(), price());
            settings.accounts = vec![AccountSettings {
                name: "agent".to_owned(),
                subject: fixture::agent().public().hex().to_owned(),
                total: usd(0),
                rail: Some("bank".to_owned()),
            }];
        });
    let handed_on = Grant { operations: vec![Operation::Invoke, Operation::Delegate], ..grant("leaf", "read") };
    World::of(builder, Arc::default(), vec![grant("host", "bash"), handed_on]).await
}

/// A guard that judges the calls of one server, and lets the others pass.
struct OnlyFor(&'static str, NativeGuard);

impl chio_host_kernel::ports::Guard for OnlyFor {
    fn component(&self) -> &chio_host_kernel::operation::Component {
        self.1.component()
    }

    fn check<'a>(
        &'a self,
        call: &'a chio_host_kernel::call::Snapshot,
        counters: &'a [chio_host_kernel::ports::CounterView],
    ) -> chio_host_kernel::ports::BoxFuture<'a, chio_host_kernel::ports::Ran<Verdict>> {
        if call.server == self.0 {
            return self.1.check(call, counters);
        }
        let decision = GuardDecision::Allow(Vec::new());
        let outcome = Ok(Verdict { decision, details: None, secret_arguments: Vec::new() });
        Box::pin(async { chio_host_kernel::ports::Ran { outcome, fuel: 1 } })
    }
}

/// The call, approved whenever it waits for that. Answers with how it ended.
async fn to_the_end(world: &World) -> String {
    let mut call = world.call("request");
    call.admission.reservations.clear();
    for n in 0..4 {
        let response = world.host.evaluate(&call).await;
        let verdict = response.decision().verdict();
        if verdict != "pending" {
            return verdict.to_owned();
        }
        let waiting = world.host.kernel.waiting_approvals().unwrap();
        let Some(waits) = waiting.iter().find(|w| !w.approved) else { continue };
        let now = world.host.clock.now();
        let body = ApprovalBody {
            schema: SCHEMA.to_owned(),
            id: format!("approval-{n}"),
            approver: approver().public().hex().to_owned(),
            decision: ApprovalDecision::Approved,
            request: waits.request.clone(),
            issued_at: now,
            expires_at: now + 300,
            because: None,
        };
        let token = ApprovalToken::sign(body, &approver());
        world.host.kernel.decide(ApprovalDecision::Approved, &token).await.unwrap();
    }
    "pending".to_owned()
}

/// Not a test: the child's part.
#[tokio::test]
async fn child() {
    let Some(Role { folder, armed, failpoints, .. }) = Role::of_this_process() else { return };
    let world = world(&folder, failpoints).await;
    armed.store(true, Ordering::SeqCst);
    to_the_end(&world).await;
}

fn violations(world: &World, folder: &Path) -> Vec<String> {
    let known = Known { entries: Some(entries(folder)), accounts: &[], ..world.known() };
    let mut wrong = invariants::violations(&*world.host.ledger, &known);
    let frozen = world.host.ledger.holds(9).unwrap().len();
    for entry in TestRail::at("bank", folder.join("bank")).entries() {
        let taken = Entry { authorized: 0, captured: 4, captures: 1 };
        let set_aside = Entry { authorized: 5, captured: 0, captures: 0 };
        let is_right = entry == Entry::default() || entry == taken || (frozen == 1 && entry == set_aside);
        if !is_right {
            wrong.push(format!("the rail has {entry:?}, and {frozen} holds are open"));
        }
    }
    wrong
}

#[tokio::test]
async fn case_11_a_kill_at_every_failpoint_of_approvals_rails_and_nested_calls_leaves_one_signed_end() {
    let mut report = vec![format!("{:<24} {:>20} {:>12}", "killed at", "invariant violations", "then it ends")];
    let mut wrong = Vec::new();
    let points = NAMES.iter().filter(|name| !name.starts_with("recover.")).chain(&OF_OTHERS);
    for name in points {
        for failpoint in [(*name).to_owned(), format!("{name}+sync")] {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path();
            assert!(kill_child_at("crash_people::child", CALL, &failpoint, folder), "{failpoint} was passed");
            let world = world(folder, Failpoints::default()).await;
            let mut violated = violations(&world, folder);
            let end = to_the_end(&world).await;
            violated.extend(violations(&world, folder));
            // The outer tool and the one that it calls, each at most once for a call that ended well.
            if end == "allow" && entries(folder) != 2 {
                violated.push(format!("tools were entered {} times", entries(folder)));
            }
            report.push(format!("{failpoint:<24} {:>20} {end:>12}", violated.len()));
            wrong.extend(violated.into_iter().map(|why| format!("{failpoint}: {why}")));
        }
    }
    std::io::Write::write_all(&mut std::io::stdout(), format!("\n{}\n", report.join("\n")).as_bytes()).unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
