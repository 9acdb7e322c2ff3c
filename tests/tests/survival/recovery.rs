//! What a restart finds, and what becomes of it.

use std::sync::Arc;

use chio_host_kernel::Resolution;
use chio_host_kernel::failpoint::{Action, Failpoints};
use chio_host_kernel::ledger::{
    Claimant, Durability, Ledger, LedgerError, Mutation, OperationWrite, Refused, Transition,
};
use chio_host_kernel::operation::{AdmissionRecoveryLease, Operation, State};
use chio_host_kernel::ports::HookVerdict;
use chio_host_kernel::response::Origin;
use chio_host_tests::{NativeHook, TestLedger};
use serde_json::{Value, json};

use crate::world::{COST, EXPOSURE, World, builder, limited, poll_times, tool};

fn hanging_at(name: &'static str) -> Failpoints {
    Failpoints::new(move |at| if at == name { Action::Hang } else { Action::Continue })
}

/// A world whose call `request` was stopped at a failpoint.
async fn stopped_at(name: &'static str, ledger: &Arc<TestLedger>) -> World {
    let world = World::with(ledger.clone(), |settings| settings.failpoints = hanging_at(name)).await;
    let call = world.call("request");
    // Never dropped, like a call whose process is killed.
    let mut future = Box::pin(world.host.kernel.evaluate(&call));
    for _ in 0..100 {
        assert!(poll_times(future.as_mut(), 1).is_none(), "it was to stop at {name}");
    }
    std::mem::forget(future);
    let call = Box::new(call);
    Box::leak(call);
    world
}

fn the_call(ledger: &dyn Ledger) -> Operation {
    let open = ledger.open_operations(9).unwrap();
    assert_eq!(open.len(), 1, "{open:?}");
    open[0].clone().unwrap()
}

fn ended(world: &World) -> (Operation, Value) {
    let seen = world.holds();
    let operation = seen.operations.values().find(|o| o.binding.server == "host").unwrap().clone();
    let receipt = seen.terminal[operation.id.as_str()].clone();
    (operation, receipt)
}

fn advanced(ledger: &dyn Ledger, path: &[State], mutations: Vec<Mutation>) {
    let stored = the_call(ledger);
    let mut record = stored.clone();
    record.version += path.len() as u64;
    record.state = path.last().copied().unwrap_or(record.state);
    record.lease_epoch = ledger.lease_epoch();
    let write = OperationWrite { expected_version: stored.version, path: path.to_vec(), record };
    let transition = Transition { operation: Some(write), ..Transition::of(ledger.lease_epoch(), mutations) };
    poll_times(ledger.apply(transition, Durability::Synced), 9).unwrap().unwrap();
}

#[tokio::test]
async fn a_call_from_before_dispatch_is_compensated_and_signed() {
    for path in [&[][..], &[State::ReadyToDispatch], &[State::ReadyToDispatch, State::CapturePending]] {
        for stop in ["record.after", "hold.after"] {
            if stop == "record.after" && !path.is_empty() {
                continue;
            }
            let ledger = TestLedger::killable();
            let world = stopped_at(stop, &ledger).await;
            let found = ledger.killed(255);
            if !path.is_empty() {
                advanced(&*found, path, Vec::new());
            }
            let restarted = world.restarted(found).await;
            let (operation, receipt) = ended(&restarted);
            assert_eq!(operation.state, State::CompensatedBeforeDispatch);
            assert_eq!(receipt["decision"]["verdict"], "cancelled");
            let reason = "request request was cancelled: the host stopped before the tool was entered";
            assert_eq!(receipt["decision"]["reason"], reason);
            let own = &receipt["metadata"]["chio_host"];
            assert_eq!((&own["effect"], &own["recovered"]), (&json!("none"), &json!(true)));
            assert_eq!((restarted.account(), restarted.entered()), ((0, 0), 0));
            let again = restarted.host.evaluate(&restarted.call("request")).await;
            assert_eq!((again.receipt.record(), again.origin), (&receipt, Origin::Replayed));
        }
    }
}

/// Case 12.
#[tokio::test]
async fn case_12_a_call_whose_tool_may_have_run_is_unknown_and_never_dispatched_again() {
    for stop in ["commit.after", "tool.after", "hooks.after"] {
        for (resolution, account) in [(Resolution::Release, (0, 0)), (Resolution::Capture, (EXPOSURE, 0))] {
            let ledger = TestLedger::killable();
            let world = stopped_at(stop, &ledger).await;
            // Only the dispatch commit was synced.
            let restarted = world.restarted(ledger.killed(0)).await;
            let (operation, receipt) = ended(&restarted);
            assert_eq!(operation.state, State::OutcomeUnknownAfterDispatch);
            assert_eq!(receipt["decision"]["verdict"], "incomplete");
            assert_eq!(receipt["metadata"]["chio_host"]["effect"], "unknown");
            assert_eq!(receipt["metadata"]["chio_runtime"]["retained_reservations"][0]["id"], "lease-request");
            assert_eq!(restarted.account(), (0, EXPOSURE), "the hold is frozen");
            let entered = restarted.entered();
            let again = restarted.host.evaluate(&restarted.call("request")).await;
            assert_eq!((again.receipt.record(), restarted.entered()), (&receipt, entered));

            let stuck = restarted.host.kernel.unresolved().unwrap();
            assert_eq!(stuck.len(), 1);
            restarted.host.kernel.resolve(stuck[0].operation.as_str(), resolution, "looked").await.unwrap();
            assert_eq!(restarted.account(), account);
            restarted.holds();
        }
    }
}

/// Case 13: the hook may be another one by then.
#[tokio::test]
async fn case_13_what_was_stored_is_what_is_completed() {
    for (first, second, verdict) in [
        (HookVerdict::Allow, HookVerdict::Block("no".into()), "allow"),
        (HookVerdict::Block("no".into()), HookVerdict::Allow, "deny"),
        (HookVerdict::Escalate("look".into()), HookVerdict::Allow, "pending"),
    ] {
        for stop in ["finalizing.after", "close.before"] {
            let ledger = TestLedger::killable();
            let tool_of = tool();
            let entries = tool_of.entries();
            let hooked = |b: chio_host_tests::FixtureBuilder, v: &HookVerdict| {
                b.native_hook(Arc::new(NativeHook::new("changing", Ok(v.clone()))))
            };
            let before = hooked(builder(ledger.clone(), tool_of), &first).settings(|s| s.failpoints = hanging_at(stop));
            let world = World::of(before, entries.clone(), vec![limited()]).await;
            let call = world.call("request");
            let mut future = Box::pin(world.host.kernel.evaluate(&call));
            for _ in 0..100 {
                assert!(poll_times(future.as_mut(), 1).is_none());
            }
            let found = ledger.killed(255);
            assert_eq!(the_call(&*found).state, State::Finalizing);
            let after = hooked(builder(found, tool().counting(entries.clone())), &second);
            let restarted = World::of(after, entries, vec![limited()]).await;
            let (operation, receipt) = ended(&restarted);
            assert_eq!((operation.state, &receipt["decision"]["verdict"]), (State::Completed, &json!(verdict)));
            assert_eq!((restarted.account(), restarted.entered()), ((COST, 0), 1));
            let again = restarted.host.evaluate(&restarted.call("request")).await;
            assert_eq!(again.receipt.record(), &receipt);
            let output = again.output.map(|o| o.value);
            assert_eq!(output, (verdict == "allow").then(|| json!({ "did": { "command": "ls" } })));
            std::mem::forget(future);
            Box::leak(Box::new((world, call)));
        }
    }
}

/// Case 14, without a process: a recovery that stops again and again.
#[tokio::test]
async fn case_14_recovery_is_idempotent() {
    let ledger = TestLedger::killable();
    let world = stopped_at("tool.after", &ledger).await;
    let mut found = ledger.killed(0);
    for (stop, kept) in
        [("recover.claimed", 255), ("recover.claimed", 0), ("recover.closed", 0), ("recover.closed", 255)]
    {
        let host = builder(found.clone(), tool()).settings(|s| s.failpoints = hanging_at(stop)).build();
        let mut recovery = Box::pin(host.kernel.recover());
        for _ in 0..50 {
            if let Some(done) = poll_times(recovery.as_mut(), 1) {
                assert_eq!(done.unwrap().ended, 0, "only the one");
                break;
            }
        }
        drop(recovery);
        found = found.killed(kept);
    }
    let restarted = world.restarted(found).await;
    let (operation, _) = ended(&restarted);
    assert_eq!(operation.state, State::OutcomeUnknownAfterDispatch);
}

/// Case 15.
#[tokio::test]
async fn case_15_one_that_cannot_be_resolved_is_set_aside_and_the_others_go_on() {
    let ledger = TestLedger::killable();
    let world = stopped_at("tool.after", &ledger).await;
    let found = ledger.killed(0);
    let broken = the_call(&*found).id;
    let garbage = Mutation::KeepDraft { operation: broken.clone(), bytes: b"{".to_vec() };
    poll_times(found.apply(Transition::of(found.lease_epoch(), vec![garbage]), Durability::Synced), 9)
        .unwrap()
        .unwrap();

    let ledger = found.closed();
    let restarted = world.restarted(ledger.clone()).await;
    let response = restarted.host.evaluate(&restarted.call("another")).await;
    assert_eq!(response.decision().verdict(), "allow");
    let stuck = restarted.host.kernel.unresolved().unwrap();
    assert_eq!((stuck.len(), &stuck[0].operation), (1, &broken));
    assert!(stuck[0].why.as_ref().unwrap().contains("unreadable"), "{stuck:?}");
    let asked = restarted.host.evaluate(&restarted.call("request")).await;
    assert!(asked.decision().reason().unwrap().contains(broken.as_str()), "its id is refused, naming the operation");
    restarted.holds();

    // It stays set aside over restarts, until an operator gives it up.
    let later = restarted.restarted(ledger.closed()).await;
    assert_eq!(later.host.kernel.unresolved().unwrap().len(), 1);
    later.host.kernel.resolve(broken.as_str(), Resolution::Capture, "it was done").await.unwrap();
    assert_eq!(later.host.kernel.unresolved().unwrap(), []);
    let (operation, receipt) = (later.host.ledger.operation(&broken).unwrap().unwrap(), later.holds());
    assert_eq!(operation.state, State::OutcomeUnknownAfterDispatch);
    assert_eq!(receipt.terminal[broken.as_str()]["metadata"]["chio_host"]["code"], "recovery.given_up");
    assert_eq!(later.account(), (COST + EXPOSURE, 0));
}

/// Cases 16 and 17, at the ledger: an epoch or a lease that is over moves nothing.
#[tokio::test]
async fn case_17_a_worker_whose_lease_is_over_is_refused() {
    let ledger = TestLedger::killable();
    let world = stopped_at("tool.after", &ledger).await;
    let found = ledger.killed(0);
    let stored = the_call(&*found);
    let lease = |claimant: &str, expires_at_ms| AdmissionRecoveryLease {
        operation: stored.id.clone(),
        claimant: claimant.to_owned(),
        epoch: found.lease_epoch(),
        version: stored.version,
        expires_at_ms,
    };
    let write = |path: &[State], change: &dyn Fn(&mut Operation)| {
        let now = found.operation(&stored.id).unwrap().unwrap();
        let mut record = now.clone();
        record.version += path.len() as u64;
        record.state = path.last().copied().unwrap_or(record.state);
        record.lease_epoch = found.lease_epoch();
        change(&mut record);
        OperationWrite { expected_version: now.version, path: path.to_vec(), record }
    };
    let apply = |write: OperationWrite, claimant: Option<(&str, u64)>| {
        let claimant = claimant.map(|(id, now_ms)| Claimant { id: id.to_owned(), now_ms });
        let transition = Transition { operation: Some(write), claimant, ..Transition::of(found.lease_epoch(), vec![]) };
        poll_times(found.apply(transition, Durability::Buffered), 9).unwrap().err()
    };
    let why = |error: Option<LedgerError>| match error {
        Some(LedgerError::Refused(Refused::RecoveryLease { why, .. })) => why,
        other => panic!("{other:?}"),
    };
    let claim = |l: AdmissionRecoveryLease| write(&[], &move |r| r.recovery = Some(l.clone()));
    let end = || {
        write(&[State::OutcomeUnknownAfterDispatch], &|r| {
            r.terminal = Some(chio_host_kernel::operation::Terminal { receipt_id: None });
        })
    };
    assert_eq!(why(apply(claim(lease("a", 10)), Some(("a", 10)))), "the lease that it writes is not one");
    assert_eq!(why(apply(claim(lease("a", 100)), Some(("b", 10)))), "the lease that it writes is not one");
    assert_eq!(apply(claim(lease("a", 100)), Some(("a", 10))), None);
    assert_eq!(why(apply(claim(lease("b", 200)), Some(("b", 20)))), "somebody else recovers it");
    assert_eq!(why(apply(end(), None)), "somebody recovers it");
    assert_eq!(why(apply(end(), Some(("b", 20)))), "somebody else recovers it");
    assert_eq!(why(apply(end(), Some(("a", 100)))), "the lease has expired");
    assert_eq!(apply(claim(lease("b", 200)), Some(("b", 100))), None, "an expired one may be taken over");
    assert_eq!(why(apply(end(), Some(("a", 50)))), "somebody else recovers it");

    // The live call of the earlier epoch, which goes on as if nothing had happened.
    let next = found.closed();
    let stale = Transition { operation: Some(end()), ..Transition::of(found.lease_epoch(), vec![]) };
    let refused = poll_times(next.apply(stale, Durability::Buffered), 9).unwrap().unwrap_err();
    assert!(matches!(refused, LedgerError::Refused(Refused::StaleEpoch { presented: 2, current: 3 })), "{refused}");
    drop(world);
}

/// Case 34.
#[tokio::test]
async fn case_34_a_clock_that_steps_opens_nothing_twice() {
    let world = World::new(TestLedger::new()).await;
    world.host.evaluate(&world.call("1")).await;
    world.host.clock.step_secs(-3600);
    let refused = world.host.evaluate(&world.call("2")).await;
    assert_eq!(refused.decision().reason(), Some("capability not yet valid"));
    world.host.clock.step_secs(3600);
    assert_eq!(world.host.evaluate(&world.call("3")).await.decision().verdict(), "allow");
    world.host.clock.step_secs(24 * 3600);
    assert_eq!(world.host.evaluate(&world.call("4")).await.decision().reason(), Some("capability has expired"));
    assert_eq!(world.host.evaluate(&world.call("1")).await.origin, Origin::Replayed);
    assert_eq!((world.entered(), world.account()), (2, (2 * COST, 0)));
    world.holds();
}
