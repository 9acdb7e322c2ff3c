//! Rules that are replaced while calls are under way.

use std::collections::BTreeSet;
use std::sync::Arc;

use chio_host_kernel::call::{Call, EffectClass};
use chio_host_kernel::response::Response;
use chio_host_kernel::{Kernel, Settings};
use chio_host_tests::generations::{self, generation, generation_of};
use chio_host_tests::{FixtureBuilder, NativeServer, TestLedger};
use serde_json::json;

use crate::world::{World, builder, limited, poll_times, tool};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_is_lost_or_judged_by_a_half_of_two_sets_of_rules() {
    let host = Arc::new(generation(FixtureBuilder::default(), 0).await.build());
    let token = host.wildcard();
    let receipts = generations::run(&host, &token, (16, 640, 20), true, |_| ()).await;
    assert_eq!(receipts.iter().collect::<BTreeSet<_>>().len(), 640);
    let log = host.ledger.log(0, usize::MAX).unwrap();
    assert_eq!(log.len(), 640);
    let record = |id: &String| host.ledger.receipt(id).unwrap().unwrap();
    let used: BTreeSet<_> = receipts.iter().map(|id| generation_of(&record(id))).collect();
    assert!(used.len() > 20, "{used:?}");
}

/// The usual world's rules, under another policy and with another tool behind them.
async fn successor(of: &Kernel, server: NativeServer, change: impl FnOnce(&mut Settings)) -> Arc<Kernel> {
    let other = |settings: &mut Settings| settings.policy_hash = "cd".repeat(32);
    let (settings, plugins) = builder(TestLedger::new(), server).settings(other).settings(change).rules();
    Arc::new(of.succeeded_by(settings, plugins).await.unwrap())
}

#[tokio::test]
async fn a_call_ends_under_the_rules_that_it_began_with() {
    let world = World::new(TestLedger::new()).await;
    let call = world.call("request-1");
    let mut under_way = Box::pin(world.host.kernel.evaluate(&call));
    poll_times(under_way.as_mut(), 3);
    let unlike = NativeServer::new("host", "bash", EffectClass::SideEffecting, |_| Ok(json!({ "other": true })));
    let next = successor(&world.host.kernel, unlike, |_| ()).await;
    let (old, new) = (under_way.await.unwrap(), next.evaluate(&world.call("request-2")).await.unwrap());
    let said = |response: &Response| response.output.as_ref().unwrap().value.to_string();
    assert!(said(&old).contains("did") && said(&new).contains("other"), "{} {}", said(&old), said(&new));
    let policy = |response: &Response| response.receipt.record()["policy_hash"].clone();
    assert_eq!((policy(&old), policy(&new)), (json!("ab".repeat(32)), json!("cd".repeat(32))));
    // An id means the same call whoever is asked.
    let again = next.evaluate(&call).await.unwrap();
    assert_eq!(again.receipt.id(), old.receipt.id());
}

/// One that is dropped after the rules were replaced is settled under its own, and the new ones know its hold.
#[tokio::test]
async fn a_call_that_is_dropped_is_settled_as_it_began() {
    for polls in 1..40 {
        let world = World::new(TestLedger::new()).await;
        let call = world.call("request-1");
        let mut under_way = Box::pin(world.host.kernel.evaluate(&call));
        let is_done = poll_times(under_way.as_mut(), polls).is_some();
        let next = successor(&world.host.kernel, tool().counting(world.entries.clone()), |_| ()).await;
        drop(under_way);
        world.host.settle().await;
        world.holds();
        let answered = next.evaluate(&call).await.unwrap();
        world.host.settle().await;
        assert!(world.entered() <= 1, "after {polls} polls, entered twice: {answered:?}");
        world.holds();
        if is_done {
            return;
        }
    }
    panic!("the call never ended");
}

#[tokio::test]
async fn rules_that_an_account_does_not_take_are_not_in_force() {
    let world = World::new(TestLedger::new()).await;
    for n in 0..3 {
        world.host.evaluate(&world.call(&format!("request-{n}"))).await;
    }
    let too_little = |settings: &mut Settings| settings.accounts[0].total.units = 11;
    let (settings, plugins) = builder(TestLedger::new(), tool()).settings(too_little).rules();
    let refused = world.host.kernel.succeeded_by(settings, plugins).await.err().unwrap();
    assert!(refused.to_string().contains("account agent"), "{refused}");
    assert_eq!(world.account(), (12, 0));
    let more = |settings: &mut Settings| settings.accounts[0].total.units = 12;
    let next = successor(&world.host.kernel, tool(), more).await;
    let denied = next.evaluate(&world.call("request-9")).await.unwrap();
    assert_eq!(denied.receipt.record()["decision"]["verdict"], "deny");
    world.holds();
}

/// What a policy limits is counted on across its successors: nobody gets a fresh budget by a reload.
#[tokio::test]
async fn limits_are_counted_on() {
    let grants = vec![chio_host_kernel::capability::Grant { max_invocations: Some(3), ..limited() }];
    let native = tool();
    let entries = native.entries();
    let world = World::of(builder(TestLedger::new(), native), entries, grants).await;
    let mut kernel = world.host.kernel.clone();
    let mut allowed = 0;
    for n in 0..6 {
        let call: Call = world.call(&format!("request-{n}"));
        let response = kernel.evaluate(&call).await.unwrap();
        allowed += usize::from(response.output.is_some());
        kernel = successor(&kernel, tool().counting(world.entries.clone()), |_| ()).await;
    }
    assert_eq!((allowed, world.entered()), (3, 3));
    world.holds();
}
