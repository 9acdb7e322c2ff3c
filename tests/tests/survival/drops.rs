//! Dropped and panicked calls.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use chio_host_kernel::Resolution;
use chio_host_kernel::call::EffectClass;
use chio_host_kernel::failpoint::{self, Action, Failpoints};
use chio_host_kernel::ledger::{HoldPart, LedgerError, Mutation, Refused};
use chio_host_kernel::operation::State;
use chio_host_kernel::response::Origin;
use chio_host_tests::ledgers::does;
use chio_host_tests::{FixtureBuilder, NativeServer, TestLedger, invariants};
use serde_json::{Value, json};

use crate::world::{COST, EXPOSURE, World, poll_times};

const DROPPED: &str = "tool evaluation future dropped after admission";
const FAULT: &str = "tool evaluation future dropped before dispatch with cleanup fault";
const COMMIT_FAILED: &str = "dispatch credential commit failed after tool execution";

/// Case 9: whatever the poll at which a call is dropped, everything that has to hold does, and the same id asked again is
/// either a first call or the record of this one.
#[tokio::test]
async fn case_09_a_drop_at_every_poll_leaves_nothing_open() {
    let mut ends = BTreeSet::new();
    for polls in 0.. {
        let world = World::new(TestLedger::new()).await;
        let call = world.call("request");
        let answered = poll_times(world.host.kernel.evaluate(&call), polls).is_some();
        let unwound = world.host.settle().await;
        let seen = world.holds();
        let ended = seen.operations.values().find(|o| o.binding.server == "host").cloned();
        let signed = ended.as_ref().and_then(|o| seen.terminal.get(o.id.as_str())).cloned();
        let before = world.entered();
        ends.insert((ended.as_ref().map(|o| o.state), before, unwound));
        match (&ended, &signed) {
            _ if answered => assert_eq!(world.account(), (COST, 0)),
            (None, _) => assert_eq!((before, world.account()), (0, (0, 0)), "poll {polls}"),
            (Some(operation), Some(receipt)) => {
                let reason = receipt["decision"]["reason"].as_str();
                match operation.state {
                    State::OutcomeUnknownAfterDispatch => {
                        assert_eq!((reason, world.account()), (Some(DROPPED), (0, EXPOSURE)));
                        assert_eq!(receipt["decision"]["verdict"], "cancelled");
                        assert_eq!(receipt["metadata"]["chio_host"]["effect"], "unknown");
                        let kept = &receipt["metadata"]["chio_runtime"]["retained_reservations"];
                        let agent = world.host.agent.public().hex().to_owned();
                        let lease = json!({ "kind": "destructive_lease", "id": "lease-request", "of": agent });
                        assert_eq!(kept[0], lease);
                    }
                    State::NotAcceptedAfterDispatchCommit => {
                        assert_eq!((reason, world.account(), before), (Some(DROPPED), (0, 0), 0));
                        assert_eq!(receipt["metadata"]["chio_host"]["effect"], "none");
                    }
                    State::Completed => assert_eq!((reason, world.account()), (None, (COST, 0))),
                    other => panic!("poll {polls} ended in {other:?}"),
                }
            }
            (Some(operation), None) => panic!("poll {polls}: {:?} without a receipt", operation.state),
        }

        let again = world.host.evaluate(&call).await;
        world.holds();
        if ended.is_none() {
            assert_eq!((again.origin, world.entered()), (Origin::Fresh, 1), "poll {polls}: a first call");
        } else {
            assert_eq!((again.origin, world.entered()), (Origin::Replayed, before), "poll {polls}: the record");
            assert_eq!(Some(again.receipt.record()), signed.as_ref());
        }
        if answered {
            break;
        }
    }
    let states: BTreeSet<_> = ends.iter().filter_map(|(state, ..)| *state).collect();
    let expected = [State::Completed, State::NotAcceptedAfterDispatchCommit, State::OutcomeUnknownAfterDispatch];
    assert_eq!(states, BTreeSet::from(expected), "{ends:?}");
    assert!(ends.contains(&(None, 0, 0)) && ends.contains(&(None, 0, 1)), "both before and after its record: {ends:?}");
}

/// The same for a call that is recorded nowhere durable: what may have run has its receipt.
#[tokio::test]
async fn a_drop_of_a_call_that_has_nothing_to_lose_is_accounted_for_as_well() {
    let mut cancelled = 0;
    for polls in 0.. {
        let ledger = TestLedger::new();
        let tool = NativeServer::new("host", "look", EffectClass::ReadOnly, |_| Ok(json!(7))).pausing(3);
        let entries = tool.entries();
        let builder = FixtureBuilder::default().ledger(ledger.clone()).native_server(tool);
        let world = World::of(builder, entries, vec![chio_host_tests::grant("host", "look")]).await;
        let call = world.host.call(&world.token, "host", "look", json!({}));
        let answered = poll_times(world.host.kernel.evaluate(&call), polls).is_some();
        world.host.settle().await;
        let known = invariants::Known { kernel_key: world.host.issuer.public().hex(), ..Default::default() };
        let seen = invariants::hold(&*world.host.ledger, &known);
        assert!(seen.receipts <= 1, "poll {polls}");
        assert!(world.entered() == 0 || seen.receipts == 1, "poll {polls}: entered, and no receipt");
        cancelled += usize::from(!answered && seen.receipts == 1);
        let again = world.host.evaluate(&call).await;
        assert_eq!(again.origin == Origin::Replayed, seen.receipts == 1, "poll {polls}");
        if answered {
            break;
        }
    }
    assert!(cancelled > 3);
}

/// Case 8.
#[tokio::test]
async fn case_08_a_panic_at_every_failpoint_is_a_drop() {
    for name in failpoint::NAMES.into_iter().filter(|name| !name.starts_with("recover.")) {
        let fires = Arc::new(std::sync::atomic::AtomicBool::new(true));
        let armed = fires.clone();
        let failpoints = Failpoints::new(move |at| {
            let fire = at == name && armed.swap(false, std::sync::atomic::Ordering::SeqCst);
            if fire { Action::Panic } else { Action::Continue }
        });
        let world = World::with(TestLedger::new(), |settings| settings.failpoints = failpoints).await;
        let (kernel, call) = (world.host.kernel.clone(), world.call("request"));
        let asked = call.clone();
        let panicked = tokio::spawn(async move { kernel.evaluate(&asked).await.map(drop) }).await.unwrap_err();
        assert!(panicked.is_panic(), "{name}");
        assert!(!fires.load(std::sync::atomic::Ordering::SeqCst), "{name} was passed");
        world.host.settle().await;
        world.holds();
        let entered = world.entered();
        let again = world.host.evaluate(&call).await;
        assert_eq!(world.entered(), entered.max(usize::from(again.origin == Origin::Fresh)), "{name}");
        world.holds();
    }
}

fn refused() -> LedgerError {
    LedgerError::Refused(Refused::Account { account: "agent".into(), why: "a test says so" })
}

/// A world, and a call of it that was dropped with its hold taken and before its dispatch.
async fn dropped_with_a_hold(ledger: &Arc<TestLedger>) -> World {
    let failpoints = Failpoints::new(|at| if at == "commit.before" { Action::Hang } else { Action::Continue });
    let world = World::with(ledger.clone(), |settings| settings.failpoints = failpoints).await;
    assert!(poll_times(world.host.kernel.evaluate(&world.call("request")), 100).is_none());
    assert_eq!(world.account(), (0, EXPOSURE), "its hold is taken");
    world
}

/// In a guard, the first thing that is awaited: nothing is recorded yet.
#[tokio::test]
async fn case_01_a_drop_while_a_guard_runs_leaves_no_trace() {
    let world = World::new(TestLedger::new()).await;
    let receipts = world.holds_but_open();
    assert!(poll_times(world.host.kernel.evaluate(&world.call("request")), 1).is_none());
    assert_eq!(world.host.settle().await, 0);
    assert_eq!(world.holds().receipts, receipts);
    assert!(world.host.ledger.open_operations(9).unwrap().is_empty());
    assert!(world.host.ledger.holds(9).unwrap().is_empty());
    let counters = world.host.ledger.counters(&chio_host_kernel::ledger::CounterKey::new(&[""]), 99).unwrap();
    assert!(counters.is_empty(), "{counters:?}");
}

/// One poll after its tool was entered.
#[tokio::test]
async fn case_06_a_drop_after_dispatch_began_is_a_cancellation_and_never_a_second_dispatch() {
    let world = World::new(TestLedger::new()).await;
    let call = world.call("request");
    {
        let mut future = pin!(world.host.kernel.evaluate(&call));
        while world.entered() == 0 {
            assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
    }
    assert_eq!(world.host.settle().await, 1);
    let seen = world.holds();
    let (id, operation) = seen.operations.iter().find(|(_, o)| o.binding.server == "host").unwrap();
    assert_eq!(operation.state, State::OutcomeUnknownAfterDispatch);
    let receipt = &seen.terminal[id];
    assert_eq!(receipt["decision"]["reason"], DROPPED);
    assert_eq!(receipt["metadata"]["chio_runtime"]["retained_reservations"][0]["id"], "lease-request");
    let again = world.host.evaluate(&call).await;
    assert_eq!((again.receipt.id(), world.entered()), (receipt["id"].as_str().unwrap(), 1));
}

/// Case 2.
#[tokio::test]
async fn case_02_a_drop_before_dispatch_reverses_everything_and_signs_nothing() {
    let world = dropped_with_a_hold(&TestLedger::new()).await;
    let receipts = world.holds_but_open();
    world.host.settle().await;
    assert_eq!(world.holds().receipts, receipts);
    assert_eq!(world.account(), (0, 0));
    let counters = world.host.ledger.counters(&chio_host_kernel::ledger::CounterKey::new(&[""]), 99).unwrap();
    assert!(counters.len() >= 3 && counters.iter().all(|(_, c)| c.used == 0), "{counters:?}");
}

impl World {
    /// How many receipts there are, while a call is still open.
    fn holds_but_open(&self) -> usize {
        self.host.ledger.log(0, 1000).unwrap().len()
    }
}

/// Cases 4 and 5.
#[tokio::test]
async fn case_04_05_a_reversal_that_fails_is_signed_with_its_ids_and_the_others_still_run() {
    type Fails = fn(&Mutation) -> bool;
    let money: Fails = |m| matches!(m, Mutation::ReleaseHold { part: HoldPart::All | HoldPart::Charge, .. });
    let lease: Fails = |m| matches!(m, Mutation::ReleaseReservation { .. });
    let cases: [(&[Fails], &[&str]); 3] = [
        (&[money], &["monetary_hold"]),
        (&[lease], &["runtime_reservations"]),
        (&[money, lease], &["monetary_hold", "runtime_reservations"]),
    ];
    for (fails, steps) in cases {
        let ledger = TestLedger::new();
        let world = dropped_with_a_hold(&ledger).await;
        let fails = fails.to_vec();
        ledger.refuse(move |t| fails.iter().any(|f| does(t, *f)).then(refused));
        world.host.settle().await;
        let seen = world.holds();
        let receipt = seen.terminal.values().find(|r| r["tool_server"] == "host").unwrap();
        assert_eq!(
            (&receipt["decision"]["verdict"], &receipt["decision"]["reason"]),
            (&json!("cancelled"), &json!(FAULT))
        );
        let runtime = &receipt["metadata"]["chio_runtime"];
        assert_eq!(runtime["pre_dispatch_cleanup_failed"], true);
        let faults = runtime["cleanup_faults"].as_array().unwrap();
        let failed: Vec<_> = faults.iter().map(|f| f["step"].as_str().unwrap()).collect();
        assert_eq!(failed, steps);
        for fault in faults {
            assert!(!fault["ids"].as_array().unwrap().is_empty(), "{fault}");
        }
        let invocations =
            world.host.ledger.counters(&chio_host_kernel::ledger::CounterKey::new(&["invocations", ""]), 9);
        assert_eq!(invocations.unwrap()[0].1.used, 0, "the slot was given back whatever became of the others");

        // What is stuck is listed, and an operator gives it back.
        ledger.relent();
        let stuck = world.host.kernel.unresolved().unwrap();
        assert_eq!(stuck.len(), usize::from(steps.contains(&"monetary_hold")));
        let id = receipt["metadata"]["chio_host"]["operation_id"].as_str().unwrap();
        let captured = world.host.kernel.resolve(id, Resolution::Capture, "it was not").await.unwrap_err();
        assert!(captured.to_string().contains("never entered"), "{captured}");
        world.host.kernel.resolve(id, Resolution::Release, "seen to be unused").await.unwrap();
        assert_eq!(world.account(), (0, 0));
        let again = world.host.kernel.resolve(id, Resolution::Release, "twice").await.unwrap_err();
        assert!(again.to_string().contains("nothing to resolve"), "{again}");
        let mut after = world.call("after");
        after.admission.reservations = world.call("request").admission.reservations;
        let polled = poll_times(world.host.kernel.evaluate(&after), 100);
        assert!(polled.is_none(), "its single-use id is free, so it gets to the failpoint: {polled:?}");
        world.host.settle().await;
    }
}

/// Case 10.
#[tokio::test]
async fn case_10_without_a_place_at_the_settler_a_call_is_refused_before_it_changes_anything() {
    let failpoints = Failpoints::new(|at| if at == "hold.after" { Action::Hang } else { Action::Continue });
    let world = World::with(TestLedger::new(), |settings| {
        settings.failpoints = failpoints;
        settings.settler_places = 1;
    })
    .await;
    let waiting = world.call("first");
    let mut first = Box::pin(world.host.kernel.evaluate(&waiting));
    for _ in 0..20 {
        assert!(poll_times(first.as_mut(), 1).is_none());
    }
    let held = world.account();
    let second = world.call("second");
    let refused = world.host.evaluate(&second).await;
    let reason = "durable admission failed: the settler takes no more calls: its queue is full; try again later";
    assert_eq!(refused.decision().reason(), Some(reason));
    assert_eq!(world.account(), held, "it took nothing");
    drop(first);
    world.host.settle().await;
    world.holds();
    assert_eq!(world.account(), (0, 0));
    // Its id means nothing yet, so it can be asked again.
    assert!(poll_times(world.host.kernel.evaluate(&second), 20).is_none());
    world.host.settle().await;
    world.holds();

    let dead = World::new(TestLedger::new()).await;
    dead.host.end_settler().await;
    let refused = dead.host.evaluate(&dead.call("request")).await;
    assert!(refused.decision().reason().unwrap().contains("it has ended; start the host again"));
    assert_eq!((dead.entered(), dead.account()), (0, (0, 0)));
    dead.holds();
}

/// The end of a call cannot be recorded after its tool ran: nothing is released, and that is what is signed.
#[tokio::test]
async fn an_end_that_cannot_be_recorded_is_an_unknown_outcome() {
    let ledger = TestLedger::new();
    let world = World::new(ledger.clone()).await;
    ledger.refuse(|t| t.operation.as_ref().is_some_and(|w| w.record.state == State::Completed).then(refused));
    let call = world.call("request");
    let failed = world.host.kernel.evaluate(&call).await;
    assert!(failed.is_err(), "{failed:?}");
    world.host.settle().await;
    let seen = world.holds();
    let receipt = seen.terminal.values().find(|r| r["tool_server"] == "host").unwrap();
    assert_eq!(receipt["decision"]["reason"], COMMIT_FAILED);
    assert_eq!(receipt["metadata"]["chio_host"]["cost"]["frozen"], true);
    ledger.relent();
    let again = world.host.evaluate(&call).await;
    assert_eq!((again.receipt.id(), world.entered()), (receipt["id"].as_str().unwrap(), 1));
    assert_eq!(again.output, None);
}

/// A stored outcome wins over a drop, and is there for whoever asks again, though outputs are otherwise released once.
#[tokio::test]
async fn an_output_that_was_never_released_is_kept_for_the_next_asker() {
    let failpoints = Failpoints::new(|at| if at == "close.before" { Action::Hang } else { Action::Continue });
    let world = World::with(TestLedger::new(), |settings| {
        settings.failpoints = failpoints;
        settings.outputs = chio_host_kernel::Outputs::ReleasedOnce;
    })
    .await;
    let call = world.call("request");
    assert!(poll_times(world.host.kernel.evaluate(&call), 100).is_none());
    world.host.settle().await;
    let again = world.host.evaluate(&call).await;
    let output: Option<Value> = again.output.map(|o| o.value);
    assert_eq!(output, Some(json!({ "did": { "command": "ls" } })));
    world.holds();
}

/// Receipts of nested calls, as an earlier part of the host signed them.
async fn children() -> Vec<chio_host_kernel::receipt::SignedReceipt> {
    let world = World::new(TestLedger::new()).await;
    let mut children = Vec::new();
    for id in ["child-1", "child-2", "child-3"] {
        let response = world.host.evaluate(&world.host.call(&world.token, "host", "other", json!({ "id": id }))).await;
        children.push((*response.receipt).clone());
    }
    children
}

/// The receipts on the log of a world, in order.
fn logged(world: &World) -> Vec<String> {
    world.host.ledger.log(0, 99).unwrap().into_iter().map(|entry| entry.receipt_id).collect()
}

async fn nesting(ledger: &Arc<TestLedger>, failpoints: Failpoints) -> (World, Vec<String>) {
    let children = children().await;
    let ids = children.iter().map(|c| c.id().to_owned()).collect();
    let tool = crate::world::tool().nesting(children);
    let entries = tool.entries();
    let builder = crate::world::builder(ledger.clone(), tool).settings(|s| s.failpoints = failpoints);
    (World::of(builder, entries, vec![crate::world::limited()]).await, ids)
}

#[tokio::test]
async fn children_come_before_their_parent() {
    let (world, children) = nesting(&TestLedger::new(), Failpoints::default()).await;
    let parent = world.host.evaluate(&world.call("request")).await;
    let log = logged(&world);
    assert_eq!(log[1..], [&children[..], &[parent.receipt.id().to_owned()]].concat());
}

/// Case 7: of three children the first cannot be appended; the others are, and the parent is the last.
#[tokio::test]
async fn case_07_a_dropped_parent_leaves_its_children_on_the_log() {
    let ledger = TestLedger::new();
    let at_tool = Failpoints::new(|at| if at == "tool.after" { Action::Hang } else { Action::Continue });
    let (world, children) = nesting(&ledger, at_tool).await;
    assert!(poll_times(world.host.kernel.evaluate(&world.call("request")), 100).is_none());
    let first = children[0].clone();
    ledger.refuse(move |t| {
        let is_first = |m: &Mutation| matches!(m, Mutation::AppendReceipt { receipt, .. } if receipt.id() == first);
        t.mutations.iter().any(is_first).then(refused)
    });
    world.host.settle().await;
    let log = logged(&world);
    assert_eq!(log[1..3], children[1..]);
    let parent = world.host.ledger.receipt(&log[3]).unwrap().unwrap();
    assert_eq!((log.len(), &parent["decision"]["reason"]), (4, &json!(DROPPED)));
    world.holds();
}
