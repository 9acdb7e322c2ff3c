//! Random sequences of calls, drops, kills, restarts, resolutions and clock steps, against a plain model: a map from
//! request ids to how they ended, a purse, and a count of the tool's entries.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chio_host_kernel::Resolution;
use chio_host_kernel::capability::{CapabilityToken, Grant};
use chio_host_kernel::response::Origin;
use chio_host_tests::{Fixture, TestLedger};
use proptest::prelude::*;
use tokio::runtime::Builder;

use crate::world::{COST, EXPOSURE, World, builder, limited, poll_times, tool};

/// How many calls of the grant may be dispatched.
const INVOCATIONS: u64 = 6;
const SEQUENCES: u32 = 1000;

#[derive(Clone, Debug)]
enum Step {
    Call(u8),
    /// Dropped after so many polls.
    Drop(u8, usize),
    /// Killed after so many polls of a call; of what was not synced, so much is found.
    Kill(u8, usize, u8),
    Restart,
    Resolve(bool),
    Clock(i64),
}

fn step() -> impl Strategy<Value = Step> {
    let id = 0_u8..5;
    prop_oneof![
        4 => id.clone().prop_map(Step::Call),
        4 => (id.clone(), 0_usize..24).prop_map(|(id, polls)| Step::Drop(id, polls)),
        3 => (id, 0_usize..24, any::<u8>()).prop_map(|(id, polls, kept)| Step::Kill(id, polls, kept)),
        1 => Just(Step::Restart),
        2 => any::<bool>().prop_map(Step::Resolve),
        1 => prop_oneof![Just(-3600_i64), Just(3600), Just(40)].prop_map(Step::Clock),
    ]
}

/// How a request id ended, as its receipt says it.
#[derive(Clone, Debug, PartialEq)]
struct End {
    receipt_id: String,
    verdict: String,
}

struct Run {
    world: World,
    ledger: Arc<TestLedger>,
    ends: BTreeMap<u8, End>,
    /// Outcomes that nobody knows, and that no operator has resolved.
    frozen: u64,
    /// What was captured.
    spent: u64,
    /// Seconds that the clock stands off its start.
    offset: i64,
}

impl Run {
    async fn new() -> Self {
        let ledger = TestLedger::killable();
        let world = Self::world(ledger.clone(), Arc::default(), 0, None).await;
        Self { world, ledger, ends: BTreeMap::new(), frozen: 0, spent: 0, offset: 0 }
    }

    /// The token is made once: a restart does not issue another.
    async fn world(
        ledger: Arc<TestLedger>,
        entries: Arc<AtomicUsize>,
        offset: i64,
        token: Option<Arc<CapabilityToken>>,
    ) -> World {
        let host: Fixture = builder(ledger, tool().counting(entries.clone())).build();
        let grants = vec![Grant { max_invocations: Some(INVOCATIONS), ..limited() }];
        let token = token.unwrap_or_else(|| host.token(grants));
        host.clock.step_secs(offset);
        host.kernel.recover().await.unwrap();
        World { host, token, entries }
    }

    async fn restart(&mut self, found: Arc<TestLedger>) {
        let (entries, token) = (self.world.entries.clone(), self.world.token.clone());
        self.ledger = found.clone();
        self.world = Self::world(found, entries, self.offset, Some(token)).await;
    }

    /// Takes what a receipt says of an id into the model, and checks that it says nothing else than before.
    fn learn(&mut self, id: u8) {
        let seen = self.world.holds();
        let of_id = |r: &&serde_json::Value| {
            r["tool_server"] == "host" && r["metadata"]["receipt_context"]["request_id"] == format!("request-{id}")
        };
        let Some(receipt) = seen.terminal.values().find(of_id) else { return };
        let text = |v: &serde_json::Value| v.as_str().unwrap().to_owned();
        let end = End { receipt_id: text(&receipt["id"]), verdict: text(&receipt["decision"]["verdict"]) };
        let cost = &receipt["metadata"]["chio_host"]["cost"];
        let (frozen, realized) = (cost["frozen"] == true, cost["realized"]["units"].as_u64().unwrap_or(0));
        if let Some(before) = self.ends.insert(id, end.clone()) {
            assert_eq!(before, end, "an end that changed");
        } else {
            self.frozen += u64::from(frozen);
            self.spent += realized;
        }
    }

    async fn take(&mut self, step: &Step) {
        match *step {
            Step::Call(id) => {
                let known = self.ends.get(&id).cloned();
                let before = self.world.entered();
                let response = self.world.host.evaluate(&self.world.call(&format!("request-{id}"))).await;
                if let Some(end) = known {
                    let expected = (end.receipt_id.as_str(), Origin::Replayed);
                    assert_eq!((response.receipt.id(), response.origin), expected);
                    assert_eq!(self.world.entered(), before, "a known id entered the tool");
                } else {
                    let allowed = response.decision().verdict() == "allow";
                    assert_eq!(self.world.entered(), before + usize::from(allowed), "{response:?}");
                    self.learn(id);
                    self.learn_refusal(id, &response);
                }
            }
            Step::Drop(id, polls) => {
                let call = self.world.call(&format!("request-{id}"));
                drop(poll_times(self.world.host.kernel.evaluate(&call), polls));
                self.world.host.settle().await;
                self.learn_all(id);
            }
            Step::Kill(id, polls, kept) => {
                let call = self.world.call(&format!("request-{id}"));
                let mut future = Box::pin(self.world.host.kernel.evaluate(&call));
                for _ in 0..polls {
                    if poll_times(future.as_mut(), 1).is_some() {
                        break;
                    }
                }
                let found = self.ledger.killed(kept);
                // The process is gone: nothing of it runs any more, no destructor either.
                std::mem::forget(future);
                self.restart(found).await;
                self.learn_all(id);
            }
            Step::Restart => {
                let found = self.ledger.closed();
                self.restart(found).await;
            }
            Step::Resolve(capture) => {
                let stuck = self.world.host.kernel.unresolved().unwrap();
                assert_eq!(stuck.len() as u64, self.frozen, "{stuck:?}");
                if let Some(first) = stuck.first() {
                    let resolution = if capture { Resolution::Capture } else { Resolution::Release };
                    let id = first.operation.as_str();
                    self.world.host.kernel.resolve(id, resolution, "the model says so").await.unwrap();
                    self.frozen -= 1;
                    self.spent += if capture { EXPOSURE } else { 0 };
                }
            }
            Step::Clock(by) => {
                self.offset += by;
                self.world.host.clock.step_secs(by);
            }
        }
    }

    /// A refusal without an operation closes its id as well, but has no operation to be found by.
    fn learn_refusal(&mut self, id: u8, response: &chio_host_kernel::response::Response) {
        let end =
            End { receipt_id: response.receipt.id().to_owned(), verdict: response.decision().verdict().to_owned() };
        self.ends.entry(id).or_insert(end);
    }

    /// After a drop or a kill the id is fresh, or has an end, with or without an operation.
    fn learn_all(&mut self, id: u8) {
        use chio_host_kernel::ledger::{Ledger, RequestOutcome};
        self.learn(id);
        let key = chio_host_kernel::ledger::RequestKey {
            subject: self.world.host.agent.public().hex().to_owned(),
            namespace: chio_host_kernel::call::Namespace::Call,
            request_id: chio_host_kernel::call::RequestId::new(format!("request-{id}")).unwrap(),
        };
        match self.ledger.request(&key).unwrap().map(|r| r.outcome) {
            Some(RequestOutcome::Closed { receipt_id, .. }) => {
                let record = self.ledger.receipt(&receipt_id).unwrap().unwrap();
                let verdict = record["decision"]["verdict"].as_str().unwrap().to_owned();
                let end = End { receipt_id, verdict };
                assert_eq!(*self.ends.entry(id).or_insert_with(|| end.clone()), end);
            }
            Some(RequestOutcome::Open { operation }) => panic!("request-{id} is open: {operation}"),
            Some(RequestOutcome::Unwound) | None => assert_eq!(self.ends.get(&id), None, "an end that is gone"),
        }
    }

    fn check(&self) {
        let seen = self.world.holds();
        assert_eq!(self.world.account(), (self.spent, self.frozen * EXPOSURE));
        let dispatched = seen.operations.values().filter(|o| o.dispatch_commit.is_some()).count() as u64;
        assert!(dispatched <= INVOCATIONS, "{dispatched} of {INVOCATIONS}");
        let allowed = self.ends.values().filter(|e| e.verdict == "allow").count() as u64;
        assert!(self.entries() >= allowed && self.spent >= allowed * COST);
    }

    fn entries(&self) -> u64 {
        self.world.entries.load(Ordering::SeqCst) as u64
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(SEQUENCES) })]

    #[test]
    fn any_sequence_keeps_to_the_model(steps in prop::collection::vec(step(), 1..24)) {
        Builder::new_current_thread().build().unwrap().block_on(async {
            let mut run = Run::new().await;
            for step in &steps {
                run.take(step).await;
                run.check();
            }
        });
    }
}
