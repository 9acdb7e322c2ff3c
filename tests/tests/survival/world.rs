//! A host whose calls use everything that can be left behind: a guard with a reservation, an invocation slot, money, a
//! single-use id, a tool with effects, a hook. Each of them waits, so that there is something to interrupt.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chio_host_kernel::call::{Call, EffectClass, RequestId};
use chio_host_kernel::capability::{CapabilityToken, Grant};
use chio_host_kernel::ledger::Ledger;
use chio_host_kernel::money::{Currency, Money};
use chio_host_kernel::ports::{GuardDecision, HookVerdict, Reservation, Verdict};
use chio_host_kernel::reservation::{ReservationKind, RuntimeReservation};
use chio_host_kernel::{AccountSettings, Price, Settings};
use chio_host_tests::invariants::{self, Known, Seen};
pub(crate) use chio_host_tests::polling::poll_times;
use chio_host_tests::{Fixture, FixtureBuilder, NativeGuard, NativeHook, NativeServer, fixture, grant};
use serde_json::json;

/// What the account holds at first.
pub(crate) const FUNDS: u64 = 1000;
/// What a call of the tool costs: 3, and 2 for each started million of its 500,000 units of fuel.
pub(crate) const COST: u64 = 4;
/// What a call may cost: 3, and 2 for its million units of fuel.
pub(crate) const EXPOSURE: u64 = 5;

pub(crate) struct World {
    pub(crate) host: Fixture,
    pub(crate) token: Arc<CapabilityToken>,
    pub(crate) entries: Arc<AtomicUsize>,
}

pub(crate) fn usd(units: u64) -> Money {
    Money { units, currency: Currency::try_from("USD".to_owned()).unwrap() }
}

pub(crate) fn price() -> Price {
    Price { per_call: 3, per_million_fuel: 2, max_reported: None, currency: usd(0).currency }
}

pub(crate) fn tool() -> NativeServer {
    NativeServer::new("host", "bash", EffectClass::SideEffecting, |arguments| Ok(json!({ "did": arguments })))
        .pausing(2)
        .costing(500_000, None)
}

pub(crate) fn with_money(settings: &mut Settings) {
    settings.prices.insert("host".to_owned(), price());
    settings.accounts = vec![AccountSettings {
        name: "agent".to_owned(),
        subject: fixture::agent().public().hex().to_owned(),
        total: usd(FUNDS),
        rail: None,
    }];
}

pub(crate) fn limited() -> Grant {
    Grant { max_invocations: Some(100), max_total_cost: Some(usd(500)), ..grant("host", "bash") }
}

/// The parts of the usual world, for one that a test changes.
pub(crate) fn builder(ledger: Arc<dyn Ledger>, tool: NativeServer) -> FixtureBuilder {
    let reservation = Reservation { counter: "calls".into(), amount: 1, window_seconds: 3600, limit: 1000 };
    let allow = move |_: &[chio_host_kernel::ports::CounterView]| {
        let decision = GuardDecision::Allow(vec![reservation.clone()]);
        Ok(Verdict { decision, details: None, secret_arguments: Vec::new() })
    };
    FixtureBuilder::default()
        .ledger(ledger)
        .native_guard(Arc::new(NativeGuard::new("rate", allow).pausing(1)))
        .native_hook(Arc::new(NativeHook::new("look", Ok(HookVerdict::Allow)).pausing(1)))
        .native_server(tool)
        .settings(with_money)
}

impl World {
    pub(crate) async fn new(ledger: Arc<dyn Ledger>) -> Self {
        Self::with(ledger, |_| ()).await
    }

    pub(crate) async fn with(ledger: Arc<dyn Ledger>, change: impl FnOnce(&mut Settings)) -> Self {
        let tool = tool();
        let entries = tool.entries();
        Self::of(builder(ledger, tool).settings(change), entries, vec![limited()]).await
    }

    pub(crate) async fn of(builder: FixtureBuilder, entries: Arc<AtomicUsize>, grants: Vec<Grant>) -> Self {
        let host = builder.build();
        host.kernel.recover().await.unwrap();
        let token = host.token(grants);
        Self { host, token, entries }
    }

    /// The host after a restart, on what its ledger was found to hold. Entries are counted on.
    pub(crate) async fn restarted(&self, ledger: Arc<dyn Ledger>) -> Self {
        let entries = self.entries.clone();
        Self::of(builder(ledger, tool().counting(entries.clone())), entries, vec![limited()]).await
    }

    /// A call with this id, which takes a single-use id of its own.
    pub(crate) fn call(&self, id: &str) -> Call {
        let mut call = self.host.call(&self.token, "host", "bash", json!({ "command": "ls" }));
        call.request_id = RequestId::new(id).unwrap();
        let lease = RuntimeReservation::new(ReservationKind::DestructiveLease, format!("lease-{id}")).unwrap();
        call.admission.reservations = vec![lease];
        call
    }

    pub(crate) fn entered(&self) -> usize {
        self.entries.load(Ordering::SeqCst)
    }

    /// Asks for everything that has to hold.
    pub(crate) fn holds(&self) -> Seen {
        invariants::hold(&*self.host.ledger, &self.known())
    }

    pub(crate) fn known(&self) -> Known<'_> {
        Known { kernel_key: self.host.issuer.public().hex(), entries: Some(self.entered()), accounts: &["agent"] }
    }

    pub(crate) fn account(&self) -> (u64, u64) {
        let account = self.host.ledger.account("agent").unwrap().unwrap();
        (account.captured, account.held)
    }
}
