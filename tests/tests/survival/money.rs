//! Accounts, caps, and what calls really cost.

use std::sync::Arc;

use chio_host_kernel::call::EffectClass;
use chio_host_kernel::capability::{Constraint, Grant};
use chio_host_kernel::money::{Currency, Money};
use chio_host_kernel::ports::{Fault, HookVerdict, Stop, ToolError};
use chio_host_kernel::response::Response;
use chio_host_kernel::{AccountSettings, Price};
use chio_host_tests::{NativeHook, NativeServer, TestLedger, grant};
use serde_json::{Value, json};

use crate::world::{COST, EXPOSURE, FUNDS, World, builder, limited, price, tool, usd};

fn cost(response: &Response) -> &Value {
    &response.receipt.record()["metadata"]["chio_host"]["cost"]
}

async fn of_tool(tool: NativeServer) -> (World, Response) {
    let entries = tool.entries();
    let world = World::of(builder(TestLedger::new(), tool), entries, vec![limited()]).await;
    let response = world.host.evaluate(&world.call("request")).await;
    world.holds();
    (world, response)
}

/// Case 24.
#[tokio::test]
async fn case_24_what_remains_after_some_calls_reflects_all_of_them() {
    let world = World::new(TestLedger::new()).await;
    for n in 1..=20 {
        let response = world.host.evaluate(&world.call(&format!("request-{n}"))).await;
        assert_eq!(cost(&response)["realized"], json!({ "units": COST, "currency": "USD" }));
        assert_eq!(cost(&response)["held"], json!({ "units": EXPOSURE, "currency": "USD" }));
        assert_eq!(world.account(), (n * COST, 0));
        world.holds();
    }
    assert_eq!(world.host.ledger.account("agent").unwrap().unwrap().free(), FUNDS - 20 * COST);
}

/// Case 26.
#[tokio::test]
async fn case_26_a_report_that_cannot_be_added_settles_at_the_ceiling_and_says_so() {
    let euro = Money { units: 1, currency: Currency::try_from("EUR".to_owned()).unwrap() };
    for (reported, overrun) in [
        (usd(2), "6 were claimed, and 5 USD were held"),
        (usd(u64::MAX), "what was claimed does not fit"),
        (euro, "1 EUR were claimed, and the hold is in USD"),
    ] {
        let (world, response) = of_tool(tool().costing(500_000, Some(reported.clone()))).await;
        assert_eq!(response.decision().verdict(), "allow");
        assert_eq!((&cost(&response)["overrun"], &cost(&response)["reported"]), (&json!(overrun), &json!(reported)));
        assert_eq!(world.account(), (EXPOSURE, 0));
    }
    let (world, response) = of_tool(tool().costing(500_000, Some(usd(1)))).await;
    assert_eq!((cost(&response).get("overrun"), world.account()), (None, (5, 0)));

    // One that is to report, and does not.
    let metered = Price { max_reported: Some(7), ..price() };
    for (answer, realized) in [
        (Ok(json!(1)), 12),
        (Err(ToolError::Failed("x".into())), 12),
        (Err(ToolError::FailedBeforeEffect("x".into())), COST),
        (Err(ToolError::InvalidArguments("x".into())), COST),
    ] {
        let silent = NativeServer::new("host", "bash", EffectClass::SideEffecting, move |_| answer.clone());
        let silent = silent.costing(500_000, None);
        let entries = silent.entries();
        let builder =
            builder(TestLedger::new(), silent).settings(|s| drop(s.prices.insert("host".into(), metered.clone())));
        let world = World::of(builder, entries, vec![limited()]).await;
        let response = world.host.evaluate(&world.call("request")).await;
        assert_eq!(cost(&response).get("overrun").is_some(), realized == 12, "{response:?}");
        assert_eq!(world.account(), (realized, 0));
        world.holds();
    }
}

/// Case 28.
#[tokio::test]
async fn case_28_an_output_with_another_digest_costs_nothing_and_takes_an_invocation() {
    let tool = tool();
    let entries = tool.entries();
    let grant =
        Grant { max_invocations: Some(2), constraints: vec![Constraint::output_digest(&"0".repeat(64))], ..limited() };
    let world = World::of(builder(TestLedger::new(), tool), entries, vec![grant]).await;
    for n in 1..=2 {
        let response = world.host.evaluate(&world.call(&format!("request-{n}"))).await;
        assert_eq!((response.decision().verdict(), &response.output), ("deny", &None));
        assert_eq!(cost(&response)["realized"]["units"], 0);
        assert_eq!((world.account(), world.entered()), ((0, 0), n));
        let seen = world.holds();
        let of_call = seen.operations.values().filter(|o| o.binding.server == "host");
        assert!(of_call.into_iter().all(|o| o.state == chio_host_kernel::operation::State::DeniedAfterDelivery));
    }
    let spent = world.host.evaluate(&world.call("request-3")).await;
    assert!(spent.decision().reason().unwrap().starts_with("invocation budget exhausted"));
}

/// Case 29.
#[tokio::test]
async fn case_29_an_output_that_a_hook_withholds_was_still_worked_for() {
    for outcome in [
        Ok(HookVerdict::Block("no".into())),
        Err(Fault::new(Stop::Trap, "it trapped")),
        Err(Fault::new(Stop::Fuel, "out of fuel")),
    ] {
        let tool = tool();
        let entries = tool.entries();
        let hook = Arc::new(NativeHook::new("wary", outcome));
        let world = World::of(builder(TestLedger::new(), tool).native_hook(hook), entries, vec![limited()]).await;
        for n in 1..=2 {
            let response = world.host.evaluate(&world.call(&format!("request-{n}"))).await;
            assert_eq!((response.decision().verdict(), &response.output), ("deny", &None));
            assert_eq!((world.account(), world.entered()), ((n * COST, 0), usize::try_from(n).unwrap()));
            world.holds();
        }
    }
}

/// Case 30: the revocation lands while the tool runs.
#[tokio::test]
async fn case_30_a_revocation_while_the_tool_runs_withholds_the_output() {
    use chio_host_kernel::ledger::{Durability, Ledger, Mutation, Transition};
    let ledger = TestLedger::new();
    let revoking = ledger.clone();
    let tool = NativeServer::new("host", "bash", EffectClass::SideEffecting, move |_| {
        let revoke = Mutation::Revoke { capability_id: "cap-1".into(), at: 1 };
        let transition = Transition::of(revoking.lease_epoch(), vec![revoke]);
        let applied = crate::world::poll_times(revoking.apply(transition, Durability::Synced), 2);
        applied.unwrap().unwrap();
        Ok(json!("secret"))
    });
    let entries = tool.entries();
    let world = World::of(builder(ledger, tool.costing(500_000, None)), entries, vec![limited()]).await;
    let response = world.host.evaluate(&world.call("request")).await;
    assert_eq!(response.decision().reason(), Some("capability has been revoked: cap-1"));
    assert_eq!((&response.output, world.account()), (&None, (COST, 0)));
    world.holds();
}

#[tokio::test]
async fn nobody_spends_what_is_not_there() {
    let world = World::with(TestLedger::new(), |settings| settings.accounts[0].total = usd(9)).await;
    for (id, verdict) in [("1", "allow"), ("2", "allow"), ("3", "deny"), ("4", "deny")] {
        let response = world.host.evaluate(&world.call(id)).await;
        assert_eq!(response.decision().verdict(), verdict, "{id}");
        if verdict == "deny" {
            let reason = "durable admission failed: account agent has 1 of USD left, and 5 more are asked for";
            assert_eq!(response.decision().reason(), Some(reason));
        }
    }
    assert_eq!((world.account(), world.entered()), ((8, 0), 2));
    world.holds();
}

#[tokio::test]
async fn a_call_that_nothing_pays_for_is_refused() {
    let tool = tool();
    let entries = tool.entries();
    let builder = builder(TestLedger::new(), tool).settings(|settings| settings.accounts.clear());
    let world = World::of(builder, entries, vec![grant("host", "bash")]).await;
    let response = world.host.evaluate(&world.call("request")).await;
    let reason = "durable admission failed: nothing pays for the call: the caller has no account in USD, and the grant no \
                  total";
    assert_eq!((response.decision().reason(), world.entered()), (Some(reason), 0));
}

#[tokio::test]
async fn an_account_follows_its_policy_and_never_falls_below_what_is_owed() {
    let ledger = TestLedger::new();
    let world = World::new(ledger.clone()).await;
    world.host.evaluate(&world.call("request")).await;
    let total = |units| move |settings: &mut chio_host_kernel::Settings| settings.accounts[0].total = usd(units);
    let counting = tool().counting(world.entries.clone());
    let grown = builder(ledger.closed(), counting).settings(total(2000));
    let larger = World::of(grown, world.entries.clone(), vec![limited()]).await;
    assert_eq!(larger.host.ledger.account("agent").unwrap().unwrap().free(), 2000 - COST);
    let changes = larger.holds().terminal.into_values().filter(|r| r["receipt_kind"] == "governed_economic_mutation");
    let mut tools: Vec<_> = changes.map(|r| r["tool_name"].as_str().unwrap().to_owned()).collect();
    tools.sort();
    assert_eq!(tools, ["budget.limit", "budget.open"]);

    let smaller = builder(ledger.closed(), tool()).settings(total(3)).build();
    let refused = smaller.kernel.recover().await.unwrap_err().to_string();
    assert_eq!(refused, "account agent: 3 in all are less than the 4 that are spent and held; give it at least that");
    let euro = AccountSettings {
        name: "agent".into(),
        subject: String::new(),
        total: Money { units: 1000, currency: Currency::try_from("EUR".to_owned()).unwrap() },
        rail: None,
    };
    let other = builder(ledger.closed(), tool()).settings(|s| s.accounts = vec![euro]).build();
    assert_eq!(other.kernel.recover().await.unwrap_err().to_string(), "account agent: it is in another currency");
}

#[tokio::test]
async fn changes_of_one_account_at_the_same_time_all_count_and_survive_a_restart() {
    let world = World::new(TestLedger::new()).await;
    let topped = (0..8).map(|_| {
        let kernel = world.host.kernel.clone();
        tokio::spawn(
            async move { kernel.top_up("agent", 10, "a busy week").await.map(|receipt| receipt.id().to_owned()) },
        )
    });
    let mut receipts = Vec::new();
    for topped in topped.collect::<Vec<_>>() {
        receipts.push(topped.await.unwrap().unwrap());
    }
    receipts.sort();
    receipts.dedup();
    assert_eq!(receipts.len(), 8);
    let total = |world: &World| world.host.kernel.accounts().unwrap()[0].1.total.units;
    assert_eq!(total(&world), FUNDS + 80);
    world.holds();

    let again = world.restarted(world.host.ledger.clone()).await;
    assert_eq!(total(&again), FUNDS + 80, "the policy says what it said before");
    again.host.evaluate(&again.call("request")).await;
    let refused = again.host.kernel.limit("agent", COST - 1, "less").await.unwrap_err().to_string();
    assert_eq!(
        refused,
        format!(
            "account agent: {} in all are less than the {COST} that are spent and held; give it at least that",
            COST - 1
        )
    );
    again.host.kernel.limit("agent", COST, "no more").await.unwrap();
    again.holds();
    let denied = again.host.evaluate(&again.call("another")).await;
    assert_eq!(denied.decision().verdict(), "deny");
}
