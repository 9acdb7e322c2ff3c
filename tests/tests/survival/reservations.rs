//! Single-use ids: of the call, of the grant, and what becomes of them.

use chio_host_kernel::Resolution;
use chio_host_kernel::capability::{Constraint, Grant};
use chio_host_kernel::reservation::{ReservationKind, RuntimeReservation};
use chio_host_tests::TestLedger;
use serde_json::json;

use crate::world::{World, builder, limited, poll_times, tool};

#[tokio::test]
async fn an_id_is_used_once() {
    let world = World::new(TestLedger::new()).await;
    let mut first = world.call("first");
    for kind in ReservationKind::ALL {
        first.admission.reservations.push(RuntimeReservation::new(kind, "shared").unwrap());
    }
    let done = world.host.evaluate(&first).await;
    assert_eq!(done.decision().verdict(), "allow");
    let kept = &done.receipt.record()["metadata"]["chio_runtime"]["retained_reservations"];
    assert_eq!(kept.as_array().unwrap().len(), 4);
    for kind in ReservationKind::ALL {
        let mut second = world.call(kind.as_str());
        second.admission.reservations = vec![RuntimeReservation::new(kind, "shared").unwrap()];
        let refused = world.host.evaluate(&second).await;
        let reason = refused.decision().reason().unwrap();
        assert!(reason.contains(&format!("{} shared is taken by operation ", kind.as_str())), "{reason}");
        assert_eq!(refused.code.as_deref(), Some("admission.reserved"));
    }
    assert_eq!(world.entered(), 1);
    world.holds();
}

#[tokio::test]
async fn a_grant_may_name_one() {
    let lease = RuntimeReservation::new(ReservationKind::TreatyContinuation, "treaty-7").unwrap();
    let tool = tool();
    let entries = tool.entries();
    let grant = Grant { constraints: vec![Constraint::takes(&lease)], ..limited() };
    let world = World::of(builder(TestLedger::new(), tool), entries, vec![grant]).await;
    let verdicts = [
        world.host.evaluate(&world.call("first")).await.decision().verdict(),
        world.host.evaluate(&world.call("second")).await.decision().verdict(),
    ];
    assert_eq!((verdicts, world.entered()), (["allow", "deny"], 1));
    world.holds();
}

/// What a caller names is its own: nobody can use up what another's grant, or another caller, stands for.
#[tokio::test]
async fn a_caller_cannot_use_up_what_is_not_its_own() {
    let lease = RuntimeReservation::new(ReservationKind::DestructiveLease, "drop-table-7").unwrap();
    let tool = tool();
    let entries = tool.entries();
    let granted = Grant { constraints: vec![Constraint::takes(&lease)], ..limited() };
    let world = World::of(builder(TestLedger::new(), tool), entries, vec![limited()]).await;
    let mut greedy = world.call("greedy");
    greedy.admission.reservations = vec![lease];
    assert_eq!(world.host.evaluate(&greedy).await.decision().verdict(), "allow");
    let mut call = world.call("rightful");
    call.capability = world.host.token(vec![granted]);
    assert_eq!(world.host.evaluate(&call).await.decision().verdict(), "allow");
    call.request_id = chio_host_kernel::call::RequestId::new("again").unwrap();
    assert_eq!(world.host.evaluate(&call).await.decision().verdict(), "deny");
    world.holds();
}

#[tokio::test]
async fn a_drop_gives_it_back_before_dispatch_and_an_operator_does_after() {
    let world = World::new(TestLedger::new()).await;
    // Long enough to be in the tool.
    let mut polls = 0;
    let call = loop {
        let call = world.call(&format!("request-{polls}"));
        assert!(poll_times(world.host.kernel.evaluate(&call), polls).is_none());
        world.host.settle().await;
        if world.entered() == 1 {
            break call;
        }
        polls += 1;
    };
    world.holds();
    let mut other = world.call("other");
    other.admission.reservations.clone_from(&call.admission.reservations);
    assert_eq!(world.host.evaluate(&other).await.decision().verdict(), "deny");

    let stuck = world.host.kernel.unresolved().unwrap();
    assert_eq!(stuck.len(), 1);
    let kept: Vec<_> = stuck[0].reservations.iter().map(ToString::to_string).collect();
    let wanted: Vec<_> = call.admission.reservations.iter().map(ToString::to_string).collect();
    assert_eq!((stuck[0].request_id.as_str(), kept), (call.request_id.as_str(), wanted));
    let id = stuck[0].operation.as_str();
    for bad in ["", "   ", &"x".repeat(1001)] {
        assert!(world.host.kernel.resolve(id, Resolution::Release, bad).await.is_err());
    }
    let receipt = world.host.kernel.resolve(id, Resolution::Release, "the log shows no effect").await.unwrap();
    let parameters = json!({ "because": "the log shows no effect", "operation_id": id, "resolution": "release" });
    assert_eq!(receipt.body().action.parameters, parameters);
    assert_eq!(world.account(), (0, 0));
    assert_eq!(world.host.kernel.unresolved().unwrap(), []);
    let again = world.host.kernel.resolve(id, Resolution::Capture, "twice").await.unwrap_err();
    assert!(again.to_string().contains("has nothing to resolve"), "{again}");
    let mut free = world.call("free");
    free.admission.reservations.clone_from(&call.admission.reservations);
    assert_eq!(world.host.evaluate(&free).await.decision().verdict(), "allow");
    world.holds();
}
