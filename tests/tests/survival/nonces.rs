//! Execution nonces: the two-step flow, and every way of cheating at it (case 21).

use std::sync::Arc;

use chio_host_kernel::call::Call;
use chio_host_kernel::ledger::{
    Durability, Ledger, LedgerError, Mutation, NonceKey, NonceRefusal, Refused, Transition,
};
use chio_host_kernel::nonce::ExecutionNonce;
use chio_host_kernel::operation::State;
use chio_host_kernel::ports::{GuardDecision, Verdict};
use chio_host_kernel::response::{KernelError, Origin, Response};
use chio_host_ledger::{MemoryLedger, Options, SledLedger};
use chio_host_tests::{NativeGuard, TestLedger};

use crate::world::{COST, EXPOSURE, World, builder, limited, poll_times, tool};

async fn requiring(ledger: Arc<dyn Ledger>) -> World {
    World::with(ledger, |settings| settings.nonce.require = true).await
}

/// The first of the two steps.
async fn parked(world: &World, id: &str) -> (Call, ExecutionNonce) {
    let call = world.call(id);
    let response = world.host.evaluate(&call).await;
    assert_eq!(response.decision().verdict(), "pending", "{response:?}");
    assert_eq!(response.code.as_deref(), Some("nonce.pending"));
    (call, response.nonce.expect("a nonce to come back with"))
}

async fn present(world: &World, call: &Call, nonce: &ExecutionNonce) -> Response {
    let mut again = call.clone();
    again.admission.nonce = Some(nonce.clone());
    world.host.evaluate(&again).await
}

#[tokio::test]
async fn a_call_stops_before_dispatch_until_its_nonce_comes_back() {
    let world = requiring(TestLedger::new()).await;
    let (call, nonce) = parked(&world, "request").await;
    assert_eq!((world.entered(), world.account()), (0, (0, EXPOSURE)));
    world.holds();

    // Asking again without it changes nothing, and is given the same.
    let reminded = world.host.evaluate(&call).await;
    assert_eq!((reminded.origin, reminded.nonce.as_ref()), (Origin::Replayed, Some(&nonce)));
    assert_eq!(world.account(), (0, EXPOSURE));

    let done = present(&world, &call, &nonce).await;
    assert_eq!((done.decision().verdict(), world.entered(), world.account()), ("allow", 1, (COST, 0)));
    world.holds();
    let replayed = present(&world, &call, &nonce).await;
    assert_eq!((replayed.receipt.id(), replayed.origin, world.entered()), (done.receipt.id(), Origin::Replayed, 1));
}

#[tokio::test]
async fn a_nonce_is_good_for_its_own_call_alone_and_checked_in_order() {
    let world = requiring(TestLedger::new()).await;
    let (call, nonce) = parked(&world, "request").await;
    let (_, other) = parked(&world, "other").await;
    let with = |change: fn(&mut ExecutionNonce)| {
        let mut forged = nonce.clone();
        change(&mut forged);
        forged
    };
    let late = |n: &mut ExecutionNonce| n.body.expires_at += 1000;
    for (presented, code, why) in [
        (with(|n| n.body.schema = "chio.execution_nonce.v2".into()), "schema", "schema \"chio.execution_nonce.v2\""),
        (with(|n| n.body.expires_at = 0), "expired", "it has expired"),
        (with(|n| n.body.subject = "00".into()), "binding", "its subject is not this call's"),
        (other.clone(), "binding", "its request is not this call's"),
        (with(|n| n.body.capability_id = "cap".into()), "binding", "its capability is"),
        (with(|n| n.body.server = "s".into()), "binding", "its server is"),
        (with(|n| n.body.tool = "t".into()), "binding", "its tool is"),
        (with(|n| n.body.parameter_hash = "h".into()), "binding", "its parameter hash is"),
        (with(|n| n.body.operation_id = "o".into()), "binding", "its operation is"),
        (with(|n| n.body.hold_id = "h".into()), "binding", "its hold is"),
        (with(late), "signature", "its signature is invalid"),
        (with(|n| n.signature = "00".repeat(64)), "signature", "its signature is invalid"),
    ] {
        let refused = present(&world, &call, &presented).await;
        assert_eq!(refused.code.as_deref(), Some(format!("nonce.{code}").as_str()));
        let reason = refused.decision().reason().unwrap();
        assert!(reason.starts_with("execution nonce rejected: ") && reason.contains(why), "{reason}");
        assert_eq!((world.entered(), world.account()), (0, (0, 2 * EXPOSURE)), "it still waits");
    }
    assert_eq!(present(&world, &call, &nonce).await.decision().verdict(), "allow");
    world.holds();

    // A call that waits for nothing has no use for one.
    let plain = World::new(TestLedger::new()).await;
    let refused = present(&plain, &plain.call("request"), &nonce).await;
    assert_eq!(refused.code.as_deref(), Some("nonce.unawaited"));
    assert_eq!((plain.entered(), plain.account()), (0, (0, 0)));
    plain.holds();
}

#[tokio::test]
async fn case_21_two_takers_of_one_nonce_are_one_dispatch() {
    let world = requiring(TestLedger::new()).await;
    let (call, nonce) = parked(&world, "request").await;
    let mut again = call.clone();
    again.admission.nonce = Some(nonce);
    let (one, two) = tokio::join!(world.host.kernel.evaluate(&again), world.host.kernel.evaluate(&again));
    assert_eq!(one.unwrap().receipt.id(), two.unwrap().receipt.id());
    assert_eq!((world.entered(), world.account()), (1, (COST, 0)));
    world.holds();
}

#[tokio::test]
async fn case_21_expiry_compensates_whether_the_caller_comes_back_or_not() {
    let world = requiring(TestLedger::new()).await;
    let (call, nonce) = parked(&world, "late").await;
    parked(&world, "never").await;
    world.host.clock.advance_secs(30);
    let late = present(&world, &call, &nonce).await;
    assert_eq!((late.decision().verdict(), late.code.as_deref()), ("deny", Some("nonce.expired")));
    assert_eq!(world.account(), (0, EXPOSURE));
    world.host.kernel.expire_parked(9).await;
    assert_eq!(world.account(), (0, 0));
    let seen = world.holds();
    let ended = seen.operations.values().filter(|o| o.binding.server == "host");
    assert!(ended.clone().count() == 2 && ended.into_iter().all(|o| o.state == State::CompensatedBeforeDispatch));
}

/// A denial after the nonce was reserved gives it back, with everything else.
#[tokio::test]
async fn case_21_a_later_denial_rolls_the_nonce_back() {
    let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let times = asked.clone();
    let guard = NativeGuard::new("fickle", move |_| {
        let second = times.fetch_add(1, std::sync::atomic::Ordering::SeqCst) > 0;
        let decision =
            if second { GuardDecision::Deny("not any more".into()) } else { GuardDecision::Allow(Vec::new()) };
        Ok(Verdict { decision, details: None, secret_arguments: Vec::new() })
    });
    let tool = tool();
    let entries = tool.entries();
    let builder = builder(TestLedger::new(), tool).native_guard(Arc::new(guard)).settings(|s| s.nonce.require = true);
    let world = World::of(builder, entries, vec![limited()]).await;
    let (call, nonce) = parked(&world, "request").await;
    let denied = present(&world, &call, &nonce).await;
    assert_eq!((denied.decision().verdict(), world.entered(), world.account()), ("deny", 0, (0, 0)));
    let key = NonceKey { expires_at: nonce.body.expires_at, id: nonce.body.nonce_id.clone() };
    assert_eq!(world.host.ledger.nonce(&key).unwrap(), None);
    world.holds();
}

#[tokio::test]
async fn a_drop_of_the_second_step_unwinds_the_first() {
    for polls in 0.. {
        let world = requiring(TestLedger::new()).await;
        let (call, nonce) = parked(&world, "request").await;
        let mut again = call.clone();
        again.admission.nonce = Some(nonce);
        let answered = poll_times(world.host.kernel.evaluate(&again), polls).is_some();
        world.host.settle().await;
        world.holds();
        let before = world.entered();
        let asked = world.host.evaluate(&call).await;
        world.holds();
        assert!(world.entered() == before && before <= 1, "poll {polls}");
        let ended = asked.decision().verdict();
        assert!(ended != "allow" || before == 1, "poll {polls}: {asked:?}");
        // Where it was unwound, this was a first step again, with a nonce that is good.
        if let Some(nonce) = &asked.nonce {
            assert_eq!(present(&world, &call, nonce).await.decision().verdict(), "allow", "poll {polls}");
            world.holds();
        }
        if answered {
            break;
        }
    }
}

#[tokio::test]
async fn a_restart_leaves_what_waits_and_ends_what_waited_too_long() {
    let ledger = TestLedger::killable();
    let world = requiring(ledger.clone()).await;
    let (call, nonce) = parked(&world, "request").await;
    let restarted = requiring(ledger.killed(0)).await;
    assert_eq!(restarted.account(), (0, EXPOSURE));
    let done = present(&restarted, &call, &nonce).await;
    assert_eq!((done.decision().verdict(), restarted.entered()), ("allow", 1));
    restarted.holds();

    let late = builder(ledger.killed(0), tool()).settings(|s| s.nonce.require = true).build();
    late.clock.advance_secs(31);
    let recovered = late.kernel.recover().await.unwrap();
    assert_eq!((recovered.ended, recovered.parked), (1, 0));
    assert_eq!(late.ledger.account("agent").unwrap().unwrap().held, 0);
}

/// A call that waits is resumed with the very token that it was admitted under: another would bypass its revocation.
#[tokio::test]
async fn another_capability_of_the_same_caller_does_not_resume_a_call() {
    let world = requiring(TestLedger::new()).await;
    let (call, nonce) = parked(&world, "request").await;
    let mut other = call.clone();
    other.capability = world.host.token(vec![limited()]);
    let refused = present(&world, &other, &nonce).await;
    assert_eq!(refused.decision().reason(), Some("execution nonce rejected: its capability is not this call's"));
    assert_eq!((world.entered(), world.account()), (0, (0, EXPOSURE)));

    world.host.revoke(&world.token).await;
    assert_eq!(present(&world, &other, &nonce).await.decision().verdict(), "deny");
    let revoked = present(&world, &call, &nonce).await;
    assert!(revoked.decision().reason().unwrap().starts_with("capability has been revoked"));
    assert_eq!((world.entered(), world.account()), (0, (0, 0)));
    world.holds();
}

/// Guards are asked anew when a call is resumed. Until they are, what they said before keeps secrets out of receipts.
#[tokio::test]
async fn a_secret_argument_stays_one_when_its_call_is_resumed() {
    let secretive = || {
        let allow = |_: &[chio_host_kernel::ports::CounterView]| {
            let decision = GuardDecision::Allow(Vec::new());
            Ok(Verdict { decision, details: None, secret_arguments: vec!["/command".into()] })
        };
        Arc::new(NativeGuard::new("secretive", allow).pausing(1))
    };
    for polls in 0.. {
        let tool = tool();
        let entries = tool.entries();
        let builder = builder(TestLedger::new(), tool).native_guard(secretive()).settings(|s| s.nonce.require = true);
        let world = World::of(builder, entries, vec![limited()]).await;
        let (call, nonce) = parked(&world, "request").await;
        let mut wrong = nonce.clone();
        wrong.body.tool = "other".into();
        present(&world, &call, &wrong).await;
        let mut again = call.clone();
        again.admission.nonce = Some(nonce);
        let answered = poll_times(world.host.kernel.evaluate(&again), polls).is_some();
        world.host.settle().await;
        let ledger = &world.host.ledger;
        for entry in ledger.log(0, 99).unwrap() {
            let receipt = ledger.receipt(&entry.receipt_id).unwrap().unwrap();
            if receipt["tool_server"] == "host" {
                assert_eq!(receipt["redaction_mode"], "redacted", "poll {polls}: {receipt}");
                assert!(!receipt.to_string().contains("\"ls\""), "poll {polls}: {receipt}");
            }
        }
        if answered {
            break;
        }
    }
}

/// The process is killed after the nonce was reserved and before it was consumed: it may be presented again.
#[tokio::test]
async fn a_kill_of_the_second_step_leaves_the_nonce_good() {
    use chio_host_kernel::failpoint::{Action, Failpoints};
    let ledger = TestLedger::killable();
    let stop = Failpoints::new(|at| if at == "commit.before" { Action::Hang } else { Action::Continue });
    let world = World::with(ledger.clone(), |settings| {
        settings.nonce.require = true;
        settings.failpoints = stop;
    })
    .await;
    let (call, nonce) = parked(&world, "request").await;
    let mut again = call.clone();
    again.admission.nonce = Some(nonce.clone());
    let mut future = Box::pin(world.host.kernel.evaluate(&again));
    for _ in 0..50 {
        assert!(poll_times(future.as_mut(), 1).is_none());
    }
    let restarted = requiring(ledger.killed(255)).await;
    std::mem::forget(future);
    Box::leak(Box::new(again));
    let done = present(&restarted, &call, &nonce).await;
    assert_eq!((done.decision().verdict(), restarted.entered()), ("allow", 1));
    restarted.holds();
    std::mem::forget(world);
}

/// A clock that stood ahead for a while has pruned marks of the future; new nonces are good all the same.
#[tokio::test]
async fn a_clock_that_stood_ahead_denies_nothing_afterwards() {
    let mut world = World::new(TestLedger::new()).await;
    for (id, step) in [("1", 0), ("2", 24 * 3600), ("3", 40), ("4", 40), ("5", -24 * 3600)] {
        world.host.clock.step_secs(step);
        world.token = world.host.token(vec![limited()]);
        let response = world.host.evaluate(&world.call(id)).await;
        assert_eq!(response.decision().verdict(), "allow", "{id}: {response:?}");
    }
    world.holds();
}

/// The price rises while a call waits: it costs at most what was set aside for it.
#[tokio::test]
async fn a_call_that_waits_keeps_its_ceiling() {
    let ledger = TestLedger::killable();
    let world = requiring(ledger.clone()).await;
    let (call, nonce) = parked(&world, "request").await;
    let dearer = World::with(ledger.closed(), |settings| {
        settings.nonce.require = true;
        settings.prices.get_mut("host").unwrap().per_call = 40;
    })
    .await;
    let done = present(&dearer, &call, &nonce).await;
    assert_eq!((done.decision().verdict(), dearer.account()), ("allow", (EXPOSURE, 0)));
    let cost = &done.receipt.record()["metadata"]["chio_host"]["cost"];
    assert_eq!(cost["overrun"], "41 were claimed, and 5 USD were held");
    dearer.holds();
}

#[tokio::test]
async fn case_21_a_ledger_that_forgets_is_no_place_for_required_nonces() {
    use chio_host_kernel::{Kernel, Ledgers, Plugins, Settings};
    let mut settings = Settings::new("00".repeat(32), Vec::new());
    settings.nonce.require = true;
    let ledger: Arc<dyn Ledger> = Arc::new(MemoryLedger::new());
    let ledgers = Ledgers { durable: ledger.clone(), volatile: ledger };
    let clock = Arc::new(chio_host_tests::TestClock::default());
    let key = chio_host_kernel::keys::Keypair::from_seed(&[1; 32].into());
    let refused = Kernel::new(settings, key, Plugins::default(), ledgers, clock).err();
    assert!(matches!(refused, Some(KernelError::VolatileNonces)));
}

/// Marks by themselves, on both ledgers.
#[tokio::test]
async fn case_21_a_mark_lives_as_long_as_its_nonce_and_is_its_owners_alone() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { nonce_limit: 100, ..Options::default() };
    let on_disk = SledLedger::open_with(folder.path().join("ledger"), &options).unwrap();
    let ledgers: [Arc<dyn Ledger>; 2] = [Arc::new(MemoryLedger::new().with_nonce_limit(100)), Arc::new(on_disk)];
    for ledger in ledgers {
        let id = |n: u64| serde_json::from_value(serde_json::json!(format!("{n:064x}"))).unwrap();
        let key = |n: u64, expires_at| NonceKey { expires_at, id: format!("nonce-{n}") };
        let apply = async |mutation| {
            let transition = Transition::of(ledger.lease_epoch(), vec![mutation]);
            match ledger.apply(transition, Durability::Buffered).await {
                Ok(_) => None,
                Err(LedgerError::Refused(Refused::Nonce { why, .. })) => Some(why),
                Err(other) => panic!("{other}"),
            }
        };
        let reserve = |n, expires_at, now| Mutation::ReserveNonce { nonce: key(n, expires_at), operation: id(n), now };
        let consume = |n, expires_at, by| Mutation::ConsumeNonce { nonce: key(n, expires_at), operation: id(by) };
        let give_back = |n, expires_at, by| Mutation::RollBackNonce { nonce: key(n, expires_at), operation: id(by) };

        assert_eq!(apply(reserve(1, 50, 50)).await, Some(NonceRefusal::Expired));
        assert_eq!(apply(reserve(1, 50, 20)).await, None);
        assert_eq!(apply(reserve(1, 50, 20)).await, Some(NonceRefusal::Used));
        assert_eq!(apply(give_back(1, 50, 2)).await, Some(NonceRefusal::NotOwner));
        assert_eq!(apply(consume(1, 50, 2)).await, Some(NonceRefusal::NotOwner));
        assert_eq!(apply(give_back(1, 50, 1)).await, None);
        assert_eq!(apply(consume(1, 50, 1)).await, Some(NonceRefusal::NotOwner));
        assert_eq!(apply(reserve(1, 50, 20)).await, None);
        assert_eq!(apply(consume(1, 50, 1)).await, None);
        assert_eq!(apply(give_back(1, 50, 1)).await, Some(NonceRefusal::Used));

        // Full of marks that are alive: refused, and none of them is forgotten.
        for n in 2..=100 {
            assert_eq!(apply(reserve(n, 50, 20)).await, None, "{n}");
        }
        assert_eq!(apply(reserve(101, 90, 20)).await, Some(NonceRefusal::Full));
        assert_eq!(apply(reserve(1, 50, 49)).await, Some(NonceRefusal::Used));
        // Expired ones make room. A clock that then steps back does not revive them.
        assert_eq!(apply(reserve(101, 90, 50)).await, None);
        assert_eq!(ledger.nonce(&key(2, 50)).unwrap(), None);
        assert_eq!(apply(reserve(2, 50, 20)).await, Some(NonceRefusal::Expired));
        // One whose mark went with its expiry has nothing to give back, and that is no fault.
        assert_eq!(apply(give_back(2, 50, 2)).await, None);
    }
}
