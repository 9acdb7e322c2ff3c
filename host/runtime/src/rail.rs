//! Payment rails: components that move money at a provider, over the hosts that they were granted.

use std::sync::Arc;
use std::time::Duration;

use chio_host_kernel::call::Signals;
use chio_host_kernel::canonical::printable;
use chio_host_kernel::operation::{Component, Role};
use chio_host_kernel::ports::{BoxFuture, Payment, PaymentRail, RailError, Ran, Stop};
use tokio::time::{Instant, timeout};
use wasmtime::Store;
use wasmtime::component::Linker;

use crate::answer;
use crate::bindings::rail::exports::chio::plugin::paying as wit;
use crate::bindings::rail::{Rail, RailPre};
use crate::error::{LoadError, one_line};
use crate::inspect::Kind;
use crate::limits::Limits;
use crate::outbound::{Grants, Outbound};
use crate::places::{RAILS, Turnstile, no_place};
use crate::plugin::{Plugin, check_world};
use crate::run::{Failure, Run};
use crate::runtime::{Compiled, Runtime};
use crate::server::effect;
use crate::server::state::{self, Plugged, ToolState};

/// The interfaces of the world `rail`.
pub(crate) const OWN: &[&str] = &["types", "configuration", "host"];
/// The longest id that a provider gives, in bytes.
const MAX_ID: usize = 256;

/// A payment rail in the sandbox. Every request has an instance of its own.
pub struct WasmRail {
    component: Component,
    config: Arc<str>,
    limits: Limits,
    outbound: Arc<Grants>,
    pub(crate) turnstile: Turnstile,
    pre: RailPre<ToolState>,
}

/// What is asked, and gives the payment's reference for the log.
enum Asked<'a> {
    Authorize(&'a Payment),
    Capture(&'a str, &'a Payment),
    Release(&'a str, &'a str),
    Refund(&'a str, &'a Payment),
}

/// What a rail answers: an id, or nothing where it gives something back.
type Answer = Result<Option<String>, wit::RailError>;

impl WasmRail {
    /// Compiles, checks and links a rail. `outbound` is what it may send.
    ///
    /// # Errors
    /// A component that is no rail, or imports what the host does not offer to one; a secret that fits no header.
    pub async fn load(runtime: &Runtime, plugin: &Plugin<'_>, outbound: Outbound) -> Result<Self, LoadError> {
        let outbound = Arc::new(Grants::new(format!("rails.{}", plugin.name), outbound)?);
        let Compiled { component, inspection, places, .. } = runtime.compile(plugin.bytes, &plugin.limits).await?;
        check_world(&inspection, &[Kind::Rail])?;
        effect::check_imports(&inspection, OWN)?;
        let types = |e: wasmtime::Error| LoadError::Types(Kind::Rail, one_line(&e));
        let mut linker = Linker::new(places.engine());
        state::link(&mut linker).map_err(types)?;
        let pre = linker.instantiate_pre(&component).and_then(RailPre::new).map_err(types)?;
        Ok(Self {
            component: plugin.component(Role::Rail, &inspection),
            config: plugin.configuration(),
            limits: plugin.limits,
            outbound,
            turnstile: Turnstile::new(&plugin.limits, &places),
            pre,
        })
    }

    /// Asks once. Until the instance is made nothing can have happened; from then on only the rail's own word says so.
    async fn ask(&self, asked: Asked<'_>) -> Result<Option<String>, RailError> {
        let run = Run { limits: &self.limits, deadline: self.limits.deadline };
        let until = Instant::now() + run.deadline;
        let _place = self
            .turnstile
            .enter(until, RAILS)
            .await
            .ok_or_else(|| never(&no_place(&self.limits, run.deadline).message))?;
        let left = until.saturating_duration_since(Instant::now());
        if left == Duration::ZERO {
            return Err(never(&run.fault(Stop::Deadline, "the deadline was exceeded").message));
        }
        let plugged = Plugged {
            name: &self.component.name,
            config: &self.config,
            limits: &self.limits,
            files: &[],
            outbound: &self.outbound,
            environment: &[],
        };
        let state = ToolState::new(&plugged, asked.reference(), Signals::default()).map_err(|e| never(&e.message))?;
        let requests = state.ended();
        let in_time = Run { deadline: left, ..run };
        let mut store = in_time.store(self.pre.engine(), state).map_err(|e| never(&e.message))?;
        let ended = timeout(left, async {
            let rail = self.pre.instantiate_async(&mut store).await.map_err(Failure::Start)?;
            asked.of(&rail, &mut store).await.map_err(Failure::Call)
        });
        let ended = ended.await;
        let is_refused = matches!(&ended, Ok(Err(Failure::Start(_))));
        let Ran { outcome, fuel } = run.ended(&mut store, ended);
        drop(store);
        // No request of a rail goes on once it is said how it ended.
        requests.wait().await;
        match outcome {
            Ok(answer) => check(answer),
            // Not an instruction of it ran: not even a start function, which could send something as well.
            Err(fault) if is_refused && fuel == 0 => Err(never(&fault.message)),
            Err(fault) => Err(RailError::Ambiguous(fault.message)),
        }
    }

    /// The id that an answer needs.
    async fn id(&self, asked: Asked<'_>) -> Result<String, RailError> {
        self.ask(asked).await?.ok_or_else(|| RailError::Ambiguous("it answered without an id".to_owned()))
    }
}

/// Refused before any code of the component ran.
fn never(why: &str) -> RailError {
    RailError::Definite(format!("the rail was not entered: {why}"))
}

impl Asked<'_> {
    fn reference(&self) -> &str {
        match self {
            Self::Authorize(payment) | Self::Capture(_, payment) | Self::Refund(_, payment) => &payment.reference,
            Self::Release(_, reference) => reference,
        }
    }

    async fn of(&self, rail: &Rail, store: &mut Store<ToolState>) -> wasmtime::Result<Answer> {
        let paying = rail.chio_plugin_paying();
        Ok(match self {
            Self::Authorize(payment) => paying.call_authorize(store, &wire(payment)).await?.map(Some),
            Self::Capture(authorization, payment) => {
                paying.call_capture(store, authorization, &wire(payment)).await?.map(Some)
            }
            Self::Release(authorization, reference) => {
                paying.call_release(store, authorization, reference).await?.map(|()| None)
            }
            Self::Refund(capture, payment) => paying.call_refund(store, capture, &wire(payment)).await?.map(Some),
        })
    }
}

fn wire(payment: &Payment) -> wit::Payment {
    wit::Payment {
        reference: payment.reference.clone(),
        account: payment.account.clone(),
        amount: wit::Money { units: payment.amount.units, currency: payment.amount.currency.as_str().to_owned() },
    }
}

/// An id has to come back as it is, so one that cannot is no answer; and the payment may have happened all the same.
fn check(answer: Answer) -> Result<Option<String>, RailError> {
    match answer {
        Ok(Some(id)) if id.is_empty() || id.len() > MAX_ID || printable(&id, MAX_ID) != id => {
            Err(RailError::Ambiguous(format!("its answer is no id: 1 to {MAX_ID} printable bytes are")))
        }
        Ok(id) => Ok(id),
        Err(wit::RailError::Definite(why)) => Err(RailError::Definite(answer::reason(&why))),
        Err(wit::RailError::Ambiguous(why)) => Err(RailError::Ambiguous(answer::reason(&why))),
    }
}

impl PaymentRail for WasmRail {
    fn component(&self) -> &Component {
        &self.component
    }

    fn authorize<'a>(&'a self, payment: &'a Payment) -> BoxFuture<'a, Result<String, RailError>> {
        Box::pin(self.id(Asked::Authorize(payment)))
    }

    fn capture<'a>(&'a self, authorization: &'a str, payment: &'a Payment) -> BoxFuture<'a, Result<String, RailError>> {
        Box::pin(self.id(Asked::Capture(authorization, payment)))
    }

    fn release<'a>(&'a self, authorization: &'a str, reference: &'a str) -> BoxFuture<'a, Result<(), RailError>> {
        Box::pin(async move { self.ask(Asked::Release(authorization, reference)).await.map(drop) })
    }

    fn refund<'a>(&'a self, capture: &'a str, payment: &'a Payment) -> BoxFuture<'a, Result<String, RailError>> {
        Box::pin(self.id(Asked::Refund(capture, payment)))
    }
}
