//! The mediated call, top to bottom.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::admission::{self, NotHeld, OpenOperation, PostAdmissionDropGuard, Wanted};
use crate::budget::{Budget, asks_for_amount, exhausted};
use crate::call::{Call, EffectClass, Mode, Snapshot};
use crate::canonical;
use crate::capability::Grant;
use crate::cost::{self, Cost};
use crate::denial::Denial;
use crate::draft::Draft;
use crate::facts;
use crate::guards::{self, Judgement, Unjudged};
use crate::hooks;
use crate::in_flight::Turn;
use crate::kernel::{DurableAdmission, Kernel};
use crate::ledger::{Claim, Durability, LedgerError, Mutation, NonceKey, RequestKey};
use crate::nested::{Nest, ParentCall, may_hand_on};
use crate::nonce::NonceError;
use crate::operation::{Admission, Binding, Delivery, Kind, NonceRef, Operation, Requirements, State};
use crate::park::{Resumed, nonce_error};
use crate::ports::{Invocation, OutputFormat, ToolOutput, ToolRan, ToolServer};
use crate::replay::{Fresh, Known};
use crate::response::{KernelError, Response};
use crate::settle::{self, Answer, Effect, Ending};
use crate::trail::Trail;
use crate::verify;

/// How many calls that waited too long one recorded call ends on its way.
const EXPIRED_AT_ONCE: usize = 4;

/// A call whose capability lets it in.
pub(crate) struct Admitted<'c> {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) grant: &'c Grant,
    pub(crate) budget: Budget<'c>,
    server: Arc<dyn ToolServer>,
    /// What keeps the proof of possession from being used again.
    proof: Option<NonceKey>,
}

/// A call on its way: the right to evaluate its id, and what it owes once it is recorded.
pub(crate) struct Underway {
    /// The lease epoch in which it began; it writes under no other.
    pub(crate) epoch: u64,
    pub(crate) fresh: Option<Fresh>,
    pub(crate) turn: Turn,
    pub(crate) guard: Option<PostAdmissionDropGuard>,
}

impl Underway {
    pub(crate) fn guard(&mut self) -> &mut PostAdmissionDropGuard {
        self.guard.as_mut().expect("a call is recorded before it goes on")
    }
}

/// Where a call got to.
enum Progress {
    Ended(Box<Ending>),
    /// Its end stands with its guard, so that it is not lost with the future.
    Settled,
    /// It stops before dispatch, until its caller comes back.
    Parked(Box<Response>),
}

/// Why the steps did not reach the end.
pub(crate) enum Stopped {
    /// The kernel refuses, and the operation, where there is one already, is compensated.
    Denied(Denial),
    /// A guard asks for a human.
    Pending { guard: String, reason: String },
    /// The kernel cannot answer.
    Failed(KernelError),
}

impl From<Denial> for Stopped {
    fn from(denial: Denial) -> Self {
        Self::Denied(denial)
    }
}

impl From<LedgerError> for Stopped {
    fn from(error: LedgerError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<KernelError> for Stopped {
    fn from(error: KernelError) -> Self {
        Self::Failed(error)
    }
}

impl Kernel {
    /// Mediates one call: admits its capability, asks the guards, records it, takes its hold, commits and dispatches,
    /// inspects and settles, signs and closes.
    ///
    /// The same request id again gets the recorded answer; while the first is still under way, the second waits for it. A
    /// future that is dropped leaves nothing open: what it owes goes to the [`Settler`](crate::admission::Settler).
    ///
    /// # Errors
    /// Only where nothing could be signed: the ledger does not take it, or too many calls are under way. Every refusal is
    /// a [`Response`] with a receipt.
    pub async fn evaluate(self: &Arc<Self>, call: &Call) -> Result<Response, KernelError> {
        let epoch = self.serving_epoch()?;
        let mut trail = Trail::begin(&*self.books.clock);
        let settings = &self.books.settings;
        if let Err(denial) = verify::identify(call, &settings.trusted_issuers, &self.live.verified, trail.now()) {
            return self.refuse(call, &trail, &denial).await;
        }
        let key = RequestKey {
            subject: call.agent.clone(),
            namespace: call.mode.namespace(),
            request_id: call.request_id.clone(),
        };
        let turn = self.live.in_flight.turn(&key).await?;
        let mut underway = match self.look_up(call, key)? {
            Known::Fresh(fresh) => Underway { epoch, fresh: Some(fresh), turn, guard: None },
            Known::Finished(response) => return Ok(*response),
            Known::Conflict(denial) => return self.refuse(call, &trail, &denial).await,
            Known::Parked(operation) => match Box::pin(self.resume(call, *operation, epoch, turn, &trail)).await? {
                Resumed::Answered(response) => return Ok(*response),
                Resumed::Goes(underway) => *underway,
            },
        };
        // On the heap: a future of many kilobytes is copied wherever it goes.
        let ending = match Box::pin(self.mediate(call, &mut underway, &mut trail)).await {
            Ok(Progress::Ended(ending)) => Some(*ending),
            Ok(Progress::Settled) => None,
            Ok(Progress::Parked(response)) => return Ok(*response),
            Err(Stopped::Denied(denial @ Denial::Busy(_))) => return self.refuse(call, &trail, &denial).await,
            Err(Stopped::Denied(denial)) => Some(Ending::denied(&denial)),
            Err(Stopped::Pending { guard, reason }) => Some(Ending::pending("guard.pending", guard, reason)),
            Err(Stopped::Failed(error)) => return Err(error),
        };
        self.close(call, underway, ending, &trail).await // 7
    }

    /// The ledger's epoch, if what an earlier one left open was looked at.
    pub(crate) fn serving_epoch(&self) -> Result<u64, KernelError> {
        let epoch = self.books.ledgers.durable.lease_epoch();
        if epoch == self.live.recovered.load(Ordering::Acquire) { Ok(epoch) } else { Err(KernelError::Recovering) }
    }

    /// Steps 1 to 6.
    async fn mediate(
        self: &Arc<Self>,
        call: &Call,
        underway: &mut Underway,
        trail: &mut Trail,
    ) -> Result<Progress, Stopped> {
        let admitted = self.admit(call, trail)?; // 1
        let judgement = self.judge(&admitted, trail).await?; // 2
        let waits_in_vain = !matches!(call.mode, Mode::Call)
            || call.parent.is_some()
            || self.books.settings.approvals.approvers.is_empty();
        if let Some((asker, reason)) = judgement.asks.first()
            && waits_in_vain
        {
            return Err(Stopped::Pending { guard: asker.name.clone(), reason: reason.clone() });
        }
        if !matches!(call.mode, Mode::Call) {
            return self.check(call, &admitted, trail).await.map(Box::new).map(Progress::Ended);
        }
        let mut approval = None;
        if let Some(guard) = &mut underway.guard {
            approval = self.goes_on(call, &admitted, &judgement, guard, trail)?;
        } else {
            self.expire_parked(EXPIRED_AT_ONCE).await;
            self.record(call, &admitted, &judgement, underway, trail).await?; // 3
            if !judgement.asks.is_empty() {
                return Ok(Progress::Parked(self.park_for_approval(&admitted, judgement, underway).await?));
            }
        }
        if underway.guard().operation().record.participants.hold.is_none() {
            let parks = self.hold(call, &admitted, judgement, approval, underway.guard(), trail).await?; // 4
            if parks {
                return Ok(Progress::Parked(self.park(underway).await?));
            }
        }
        let deadline = self.tool_deadline(call, &admitted);
        let tool = self.commit_and_dispatch(call, &admitted, deadline, underway.guard(), trail).await?; // 5
        match self.settle(call, &admitted, tool, deadline, underway, trail).await? {
            Some(withheld) => Ok(Progress::Parked(withheld)),
            None => Ok(Progress::Settled),
        } // 6
    }

    /// Step 1: the token is good now, not revoked, and one grant of it covers the call.
    fn admit<'c>(&self, call: &'c Call, trail: &mut Trail) -> Result<Admitted<'c>, Stopped> {
        self.admit_nested(call).inspect_err(|denial| {
            let by = call.parent.as_ref().map(|parent| parent.server().to_owned());
            trail.stopped = by.zip(denial.stop());
        })?;
        let body = call.capability.body();
        verify::in_time(&call.capability, trail.now(), self.books.settings.max_capability_ttl)?;
        if let Some(denial) = verify::revoked(&call.capability, &*self.books.ledgers.durable)? {
            return Err(denial.into());
        }
        verify::delegation(&call.capability, self.books.settings.delegation_depth_limit)?;
        let budget = Budget::of(call)?;
        let (grant_index, grant) = (budget.grant_index(), budget.grant());
        trail.grant_index = Some(grant_index);
        may_hand_on(call, grant)?;
        let server = self.plugins.servers.get(&call.server);
        let server = server.filter(|s| s.tools().iter().any(|t| t.name == call.tool));
        let server = server.ok_or_else(|| Denial::NotRegistered { tool: call.tool.clone() })?.clone();
        let facts = facts::extract(call.arguments.value(), server.argument_facts(&call.tool));
        let proof = verify::satisfies(grant, call, &facts, trail.now())?;
        let price = self.books.settings.prices.get(&call.server);
        let exposure = cost::exposure(grant, price, server.fuel_limit()).map_err(Denial::Constraint)?;
        let snapshot = Arc::new(Snapshot {
            request_id: call.request_id.clone(),
            agent: call.agent.clone(),
            capability_id: body.id.clone(),
            grant_index,
            delegation_depth: u32::try_from(call.capability.ancestors().len()).unwrap_or(u32::MAX),
            server: call.server.clone(),
            tool: call.tool.clone(),
            operation: call.operation,
            effect_class: server.effect_class(),
            arguments: call.arguments.clone(),
            facts,
            exposure,
            time: trail.now(),
            depth: call.parent.as_ref().map_or(0, ParentCall::depth),
        });
        trail.stage("admit", &*self.books.clock);
        Ok(Admitted { snapshot, grant, budget, server, proof })
    }

    /// Step 2: every guard on the same snapshot.
    async fn judge(&self, admitted: &Admitted<'_>, trail: &mut Trail) -> Result<Judgement, Stopped> {
        let ledger = &*self.books.ledgers.durable;
        let timer = guards::Timer::start(&*self.books.clock, self.books.settings.guards_deadline);
        let judged = guards::run(&self.plugins.guards, &admitted.snapshot, ledger, &timer, trail).await;
        trail.stage("guards", &*self.books.clock);
        let mut judgement = judged.map_err(|unjudged| match unjudged {
            Unjudged::Denied(denial) => denial.into(),
            Unjudged::Ledger(error) => Stopped::from(error),
        })?;
        judgement.asks.extend(asks_for_amount(admitted));
        Ok(judgement)
    }

    /// A check ends here: it takes no hold and runs no tool.
    async fn check(&self, call: &Call, admitted: &Admitted<'_>, trail: &mut Trail) -> Result<Ending, Stopped> {
        self.could_pay(call, admitted, trail)?;
        let Mode::Full { fixture } = &call.mode else { return Ok(Ending::passed(None)) };
        let output = ToolOutput { value: fixture.clone(), format: OutputFormat::Json, cost: None };
        let ending = self.inspect(call, admitted, output, trail).await?;
        Ok(Ending { effect: Effect::None, ..ending })
    }

    /// Step 3: the operation, `prepared`, and from before that on the guard that owns what has to be undone.
    async fn record(
        &self,
        call: &Call,
        admitted: &Admitted<'_>,
        judgement: &Judgement,
        underway: &mut Underway,
        trail: &Trail,
    ) -> Result<(), Stopped> {
        let permit = self.live.unwinds.reserve()?;
        if (self.books.settings.nonce.require || !judgement.asks.is_empty()) && self.live.parked.is_full() {
            return Err(Denial::Busy("too many calls wait for nonces and approvals; try again later").into());
        }
        let durable = self.must_outlive_the_process(call, admitted, judgement);
        let ledgers = &self.books.ledgers;
        let ledger = if durable { &ledgers.durable } else { &ledgers.volatile };
        let fresh = underway.fresh.as_ref().expect("a call that is not recorded has a fresh id");
        let epoch = if durable { underway.epoch } else { ledger.lease_epoch() };
        let approval = !judgement.asks.is_empty();
        let operation = self.new_operation(call, admitted, approval, fresh.attempt, ledger.id(), epoch);
        let draft = Draft::of(call, trail, &self.books.settings.policy_hash);
        let bind = durable.then(|| (fresh.key.clone(), fresh.expected.clone()));
        let kept = durable.then(|| draft.to_kept(None));
        let unbound = (!durable).then(|| fresh.clone());
        let operation = OpenOperation::under(epoch, ledger.clone(), operation);
        let guard =
            PostAdmissionDropGuard::new(self.books.clone(), operation, draft, unbound, underway.turn.clone(), permit);
        let guard = underway.guard.insert(guard);
        self.books.failpoint("record.before").await;
        admission::record(guard.operation(), bind, kept).await?;
        if guard.operation().record.requirements.broker_attempt {
            let attempt = self.books.new_id("attempt-")?;
            let register = |record: &mut Operation| record.participants.broker_attempt = Some(attempt);
            let path = [State::BrokerAttemptRegistered];
            guard.operation().advance(&path, register, Vec::new(), Durability::Buffered).await?;
        }
        self.books.failpoint("record.after").await;
        Ok(())
    }

    fn must_outlive_the_process(&self, call: &Call, admitted: &Admitted<'_>, judgement: &Judgement) -> bool {
        let settings = &self.books.settings;
        settings.durable_admission == DurableAdmission::All
            || settings.nonce.require
            || !judgement.asks.is_empty()
            || !admitted.server.secrets().is_empty()
            // A hook may ask for a human, who must find the output then.
            || !(settings.approvals.approvers.is_empty() || self.plugins.hooks.is_empty())
            || admitted.snapshot.effect_class == EffectClass::SideEffecting
            || !judgement.claims.is_empty()
            || !call.admission.reservations.is_empty()
            || !verify::leaves_nothing_to_lose(admitted.grant, &admitted.snapshot)
    }

    fn new_operation(
        &self,
        call: &Call,
        admitted: &Admitted<'_>,
        approval: bool,
        attempt: u32,
        ledger_id: &str,
        lease_epoch: u64,
    ) -> Operation {
        let binding = Binding {
            ledger_id: ledger_id.to_owned(),
            subject: call.agent.clone(),
            request_id: call.request_id.clone(),
            attempt,
            server: call.server.clone(),
            tool: call.tool.clone(),
            parameter_hash: call.arguments.hash().to_owned(),
        };
        let guards = self.plugins.guards.iter().map(|g| g.component().clone());
        let hooks = self.plugins.hooks.iter().map(|h| h.component().clone());
        let admission = Admission {
            capability_id: admitted.snapshot.capability_id.clone(),
            capability_digest: call.capability.digest().to_owned(),
            grant_index: admitted.snapshot.grant_index,
            policy_hash: self.books.settings.policy_hash.clone(),
            components: guards.chain([admitted.server.component().clone()]).chain(hooks).collect(),
            effect_class: admitted.snapshot.effect_class,
            exposure: admitted.snapshot.exposure.clone(),
        };
        let broker_attempt = !admitted.server.secrets().is_empty();
        let requirements = Requirements { budget_capture: true, approval, broker_attempt };
        Operation::prepared(Kind::ToolDispatch, requirements, binding, admission, lease_epoch)
    }

    /// Step 4: everything that the call may use is set aside, or it is refused. Answers whether it stops there.
    async fn hold(
        &self,
        call: &Call,
        admitted: &Admitted<'_>,
        judgement: Judgement,
        approval: Option<String>,
        guard: &mut PostAdmissionDropGuard,
        trail: &mut Trail,
    ) -> Result<bool, Stopped> {
        if call.admission.nonce.is_some() {
            return Err(Denial::from(NonceError::Unawaited).into());
        }
        let mut claims: Vec<Claim> = judgement.claims;
        claims.extend(admitted.budget.slot());
        let mut reservations = verify::reservations(admitted.grant);
        reservations.extend(call.admission.reservations.iter().map(|r| r.named_by(&call.agent)));
        reservations.sort();
        reservations.dedup();
        let nonce = self.books.settings.nonce;
        let parks = nonce.require && call.parent.is_none();
        let now = self.books.now();
        let is_durable = self.books.is_durable(guard.operation());
        // Marks that are gone make every nonce suspect that expires before them, so after a clock that stood ahead this one
        // expires later.
        let from = if is_durable { now.max(self.books.ledgers.durable.nonce_marks()?.pruned_to) } else { now };
        let minted = |id| NonceRef { id, issued_at: now, expires_at: from.saturating_add(nonce.ttl_secs) };
        let charge = self.charge(call, admitted)?;
        let payer = admitted.snapshot.exposure.as_ref().and_then(|amount| self.payer(call, amount));
        let payer = payer.and_then(|account| Some((account.rail.clone()?, account.name.clone())));
        let wanted = Wanted {
            hold_id: self.books.new_id("hold-")?,
            leases: admitted.budget.leases(charge.is_some()),
            claims,
            charge,
            payer,
            proof: admitted.proof.clone().map(|mark| (mark, now)),
            approval,
            reservations,
            nonce: if is_durable { Some(minted(self.books.new_id("nonce-")?)) } else { None },
            // A tool that calls another is handed no nonce to come back with.
            reserve_nonce_at: (!parks).then_some(now),
        };
        let held = admission::hold(guard.operation(), wanted).await;
        trail.stage("hold", &*self.books.clock);
        held.map_err(|why| match why {
            NotHeld::Exhausted(counter) => exhausted(&counter, admitted, trail).into(),
            NotHeld::Account(why) => Denial::Account(why).into(),
            NotHeld::Reserved(why) => Denial::Reserved(why).into(),
            NotHeld::Nonce(why) => Denial::from(nonce_error(why)).into(),
            NotHeld::Proof(why) => Denial::ProofOfPossession(nonce_error(why).to_string()).into(),
            NotHeld::Ledger(error) => Stopped::from(error),
        })?;
        self.books.failpoint("hold.after").await;
        guard.owned().authorization = self.books.authorize(&guard.operation().record).await?;
        self.books.failpoint("authorize.after").await;
        Ok(parks)
    }

    /// Step 5: the commit, and the tool.
    async fn commit_and_dispatch(
        self: &Arc<Self>,
        call: &Call,
        admitted: &Admitted<'_>,
        deadline: Duration,
        guard: &mut PostAdmissionDropGuard,
        trail: &mut Trail,
    ) -> Result<ToolRan, Stopped> {
        let operation_id = guard.operation().record.id.to_string();
        let children = guard.owned().children.clone();
        let nest = Nest::new(self, call, &admitted.snapshot, &operation_id, deadline, &children);
        let invocation = Invocation {
            snapshot: admitted.snapshot.clone(),
            operation_id,
            deadline,
            signals: call.signals.clone(),
            nested: Some(Arc::new(nest)),
            children: children.clone(),
        };
        let tool = admission::dispatch(guard, &*admitted.server, invocation, &self.books).await?;
        // One that was stopped may have left a nested call behind, which is being unwound.
        children.settled().await;
        self.books.failpoint("tool.after").await;
        trail.ran(admitted.server.component(), tool.ran.fuel);
        trail.stage("tool", &*self.books.clock);
        Ok(tool)
    }

    fn tool_deadline(&self, call: &Call, admitted: &Admitted<'_>) -> Duration {
        let left = call.parent.as_ref().map(|parent| parent.time_left(self.books.clock.monotonic_us()));
        let limits = left.into_iter().chain(self.books.settings.tool_deadline);
        limits.fold(admitted.server.deadline(), Duration::min)
    }

    /// Step 6: what may be released of what the tool returned, and what it cost, stored before it is signed.
    async fn settle(
        &self,
        call: &Call,
        admitted: &Admitted<'_>,
        tool: ToolRan,
        deadline: Duration,
        underway: &mut Underway,
        trail: &mut Trail,
    ) -> Result<Option<Box<Response>>, Stopped> {
        let guard = underway.guard();
        if let Err(fault) = &tool.ran.outcome {
            trail.stopped = Some((admitted.server.component().name.clone(), fault.stop));
        }
        // What was set aside, which a policy that changed while the call was parked may not say any more.
        let held = guard.operation().record.admission.exposure.clone();
        let cost = held.as_ref().map(|held| settle::cost(&tool, held, self.books.settings.prices.get(&call.server)));
        let ending = match settle::answer(tool, admitted.snapshot.effect_class, deadline.as_millis()) {
            Answer::Output(output) => self.inspect(call, admitted, output, trail).await?,
            Answer::Error { message, code } => {
                let inspected = hooks::run(&self.plugins.hooks, &admitted.snapshot, message.into(), trail).await;
                settle::failed(inspected, code)
            }
            Answer::Ended(ending) => *ending,
        };
        self.books.failpoint("hooks.after").await;
        trail.stage("hooks", &*self.books.clock);
        // A digest mismatch charges nothing; all other work is paid for, released or not.
        let cost = match ending.terminal {
            State::DeniedAfterDelivery => held.as_ref().map(Cost::nothing),
            _ => cost,
        };
        let is_durable = self.books.is_durable(guard.operation());
        let owned = guard.owned();
        owned.draft = Draft::of(call, trail, &self.books.settings.policy_hash).keeping_secrets_of(&owned.draft);
        let ending = owned.ending.insert(Ending { cost, ..ending });
        if !matches!(ending.terminal, State::Completed | State::DeniedAfterDelivery) {
            return Ok(None);
        }
        if is_durable && ending.withheld.is_some() && !self.books.settings.approvals.approvers.is_empty() {
            return self.park_for_release(admitted, underway).await.map(Some).map_err(Stopped::from);
        }
        // Nobody will release it, so it is not kept.
        ending.withheld = None;
        let operation = owned.operation.record.id.clone();
        let bytes = is_durable.then(|| owned.draft.to_kept(Some(ending)));
        let keep = bytes.map(|bytes| Mutation::KeepDraft { operation, bytes }).into_iter().collect();
        let delivery = ending.delivery;
        // What is asked of a rail has to be found again.
        let has_payment = owned.operation.record.participants.payment.is_some();
        let durability = if has_payment { Durability::Synced } else { Durability::Buffered };
        owned.operation.advance(&[State::Finalizing], |r| r.delivery = delivery, keep, durability).await?;
        self.books.failpoint("finalizing.after").await;
        Ok(None)
    }

    /// The hooks, then revocation once more, then the grant's digest.
    async fn inspect(
        &self,
        call: &Call,
        admitted: &Admitted<'_>,
        output: ToolOutput,
        trail: &mut Trail,
    ) -> Result<Ending, Stopped> {
        let snapshot = &admitted.snapshot;
        let inspected = hooks::run(&self.plugins.hooks, snapshot, output.value, trail).await;
        let ending = Ending::inspected(inspected, output.format);
        // What a human may release is held to the same: nobody looks at the grant again then.
        let withheld = ending.withheld.as_ref().map(|(_, output)| output);
        let Some(released) = ending.output.as_ref().or(withheld) else { return Ok(ending) };
        if let Some(denial) = verify::revoked(&call.capability, &*self.books.ledgers.durable)? {
            return Ok(Ending::withheld(&denial, Delivery::Revoked));
        }
        if let Some(expected) = verify::output_digest(admitted.grant) {
            let actual = canonical::hash(&released.value);
            if actual != expected {
                return Ok(Ending::withheld(&Denial::OutputDigest { actual, expected }, Delivery::Mismatch));
            }
        }
        Ok(ending)
    }

    /// Step 7: sign and close. Only then is output released.
    async fn close(
        &self,
        call: &Call,
        mut underway: Underway,
        ending: Option<Ending>,
        trail: &Trail,
    ) -> Result<Response, KernelError> {
        self.books.failpoint("close.before").await;
        let draft = || Draft::of(call, trail, &self.books.settings.policy_hash);
        let (receipt, ending) = match &mut underway.guard {
            None => {
                let (draft, ending) = (draft(), ending.expect("a call without an operation ends by what refused it"));
                let receipt = self.books.sign(&draft, &ending, None)?;
                self.books.close_request(&draft, &receipt, underway.fresh.as_ref(), std::iter::empty()).await?;
                (receipt, ending)
            }
            Some(guard) => {
                let owned = guard.owned();
                if let Some(refused) = ending {
                    (owned.draft, owned.ending) = (draft().keeping_secrets_of(&owned.draft), Some(refused));
                }
                if owned.operation.record.participants.payment.is_some() {
                    let decided = owned.ending.clone().expect("a call that was dispatched was settled");
                    owned.ending = Some(self.books.conclude_payment(&owned.operation.record, decided).await);
                    self.books.failpoint("payment.after").await;
                }
                let ending = owned.ending.as_ref().expect("a call that was dispatched was settled");
                let (fresh, children) = (owned.fresh.as_ref(), owned.children.appends());
                let books = &self.books;
                let closed = books.close_operation(&mut owned.operation, &owned.draft, ending, fresh, children).await;
                owned.close_failed = closed.is_err() && owned.dispatch_started;
                (closed?, owned.ending.take().expect("it was there"))
            }
        };
        // Nothing is awaited between the end that was recorded and this, but a test.
        self.books.failpoint("close.after").await;
        if let Some(guard) = underway.guard.take() {
            guard.disarm();
        }
        Ok(answer(receipt, ending, call))
    }

    /// A refusal that leaves the request id with the meaning that it has.
    pub(crate) async fn refuse(&self, call: &Call, trail: &Trail, denial: &Denial) -> Result<Response, KernelError> {
        self.refuse_as(Draft::of(call, trail, &self.books.settings.policy_hash), call, denial).await
    }

    pub(crate) async fn refuse_as(&self, draft: Draft, call: &Call, denial: &Denial) -> Result<Response, KernelError> {
        let ending = Ending::denied(denial);
        let receipt = self.books.sign(&draft, &ending, None)?;
        self.books.close_request(&draft, &receipt, None, std::iter::empty()).await?;
        Ok(answer(receipt, ending, call))
    }
}

fn answer(receipt: crate::receipt::SignedReceipt, ending: Ending, call: &Call) -> Response {
    if let Some(reason) = ending.decision.reason() {
        tracing::warn!(
            request_id = call.request_id.as_str(),
            receipt_id = receipt.id(),
            verdict = ending.decision.verdict(),
            reason,
            "call not allowed"
        );
    }
    let Ending { output, code, elicitations, .. } = ending;
    Response { output, code, elicitations, ..Response::of(receipt) }
}
