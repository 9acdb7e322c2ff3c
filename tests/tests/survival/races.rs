//! Many tasks, one id; many tasks, one budget.

use std::sync::Arc;

use chio_host_kernel::ledger::Ledger;
use chio_host_kernel::receipt::Decision;
use chio_host_ledger::SledLedger;
use chio_host_tests::TestLedger;
use tokio::task::JoinSet;

use crate::world::{COST, World, limited, usd};

async fn on_each_ledger(test: impl AsyncFn(Arc<dyn Ledger>)) {
    test(TestLedger::new()).await;
    let folder = tempfile::tempdir().unwrap();
    test(Arc::new(SledLedger::open(folder.path().join("ledger")).unwrap())).await;
}

/// Case 20.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_20_sixty_four_tasks_with_one_id_are_one_dispatch() {
    on_each_ledger(async |ledger| {
        let world = World::new(ledger).await;
        let mut tasks = JoinSet::new();
        for _ in 0..64 {
            let (kernel, call) = (world.host.kernel.clone(), world.call("request"));
            tasks.spawn(async move { kernel.evaluate(&call).await.unwrap() });
        }
        let responses = tasks.join_all().await;
        assert_eq!(world.entered(), 1);
        assert!(responses.iter().all(|r| r.receipt.id() == responses[0].receipt.id()));
        assert!(responses.iter().all(|r| r.decision() == &Decision::Allow && r.output.is_some()));
        assert_eq!(world.account(), (COST, 0));
        world.holds();
    })
    .await;
}

/// Case 27.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_27_two_hundred_and_fifty_six_tasks_share_a_hundred_calls() {
    on_each_ledger(async |ledger| {
        let world = World::new(ledger).await;
        let mut tasks = JoinSet::new();
        for n in 0..256 {
            let (kernel, call) = (world.host.kernel.clone(), world.call(&format!("request-{n}")));
            tasks.spawn(async move { kernel.evaluate(&call).await.unwrap() });
        }
        let responses = tasks.join_all().await;
        let allowed = responses.iter().filter(|r| r.decision() == &Decision::Allow).count();
        let reason = format!("invocation budget exhausted for capability {}", world.token.body().id);
        let denied = responses.iter().filter(|r| r.decision().reason() == Some(reason.as_str())).count();
        assert_eq!((allowed, denied, world.entered()), (100, 156, 100));
        assert_eq!(world.account(), (100 * COST, 0));
        world.holds();
    })
    .await;
}

/// The same for money: what is set aside counts, so that no two calls spend the same unit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_share_what_a_grant_may_spend() {
    on_each_ledger(async |ledger| {
        let tool = crate::world::tool();
        let entries = tool.entries();
        let grant = chio_host_kernel::capability::Grant { max_total_cost: Some(usd(43)), ..limited() };
        let world = World::of(crate::world::builder(ledger, tool), entries, vec![grant]).await;
        let mut tasks = JoinSet::new();
        for n in 0..64 {
            let (kernel, call) = (world.host.kernel.clone(), world.call(&format!("request-{n}")));
            tasks.spawn(async move { kernel.evaluate(&call).await.unwrap() });
        }
        let responses = tasks.join_all().await;
        let allowed = responses.iter().filter(|r| r.decision() == &Decision::Allow).count();
        // Each realizes 4 of the 5 that it sets aside: 10 fit one after the other, and at least 8 if all hold at once.
        assert!((8..=10).contains(&allowed), "{allowed}");
        assert_eq!(world.account(), (allowed as u64 * COST, 0));
        let refused = responses.iter().filter_map(|r| r.decision().reason()).collect::<Vec<_>>();
        let reason = format!("cost budget exhausted for capability {}", world.token.body().id);
        assert!(refused.iter().all(|r| *r == reason), "{refused:?}");
        world.holds();
    })
    .await;
}
