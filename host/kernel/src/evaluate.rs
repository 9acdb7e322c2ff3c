//! The mediated call, top to bottom.

use std::sync::Arc;
use std::time::Duration;

use crate::admission::{self, Dispatched, Held, NotHeld, OpenOperation};
use crate::call::{Call, Mode, Snapshot};
use crate::canonical;
use crate::capability::Grant;
use crate::denial::Denial;
use crate::facts;
use crate::guards::{self, Judgement, Unjudged};
use crate::hooks;
use crate::kernel::{DurableAdmission, Kernel, Outputs};
use crate::ledger::{Claim, CounterKey, Durability, Ledger, LedgerError, Mutation, RequestKey};
use crate::operation::{Admission, Binding, Delivery, Kind, Operation, Participants, Requirements, State};
use crate::ports::{Invocation, OutputFormat, ToolOutput, ToolServer};
use crate::replay::{Fresh, Known};
use crate::response::{KernelError, Response};
use crate::settle::{self, Answer, Ending};
use crate::trail::Trail;
use crate::verify;

/// A call whose capability lets it in.
pub(crate) struct Admitted<'c> {
    snapshot: Arc<Snapshot>,
    grant: &'c Grant,
    server: Arc<dyn ToolServer>,
}

/// Why the steps did not reach the end.
enum Stopped {
    /// The kernel refuses, and the operation, where there is one already, is compensated.
    Denied(Denial, Option<Box<OpenOperation>>),
    /// A guard asks for a human.
    Pending { guard: String, reason: String },
    /// The kernel cannot answer.
    Failed(KernelError),
}

impl From<Denial> for Stopped {
    fn from(denial: Denial) -> Self {
        Self::Denied(denial, None)
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

/// A call that came to its end, its operation with it.
pub(crate) struct Ended {
    pub(crate) ending: Ending,
    pub(crate) operation: Option<OpenOperation>,
}

impl Kernel {
    /// Mediates one call: admits its capability, asks the guards, records it, takes its hold, commits and dispatches,
    /// inspects and settles, signs and closes.
    ///
    /// The same request id again gets the recorded answer; while the first is still under way, the second waits for it.
    ///
    /// # Errors
    /// Only where nothing could be signed: the ledger does not take it, or too many calls are under way. Every refusal is
    /// a [`Response`] with a receipt.
    pub async fn evaluate(&self, call: &Call) -> Result<Response, KernelError> {
        let mut trail = Trail::begin(&*self.clock);
        if let Err(denial) = verify::identify(call, &self.settings.trusted_issuers, &self.verified, trail.now()) {
            return self.close(call, trail, Ending::denied(&denial).into(), None).await;
        }
        let key = RequestKey {
            subject: call.agent.clone(),
            namespace: call.mode.namespace(),
            request_id: call.request_id.clone(),
        };
        let _turn = self.in_flight.turn(&key).await?;
        let fresh = match self.look_up(call, key)? {
            Known::Fresh(fresh) => fresh,
            Known::Finished(response) => return Ok(*response),
            Known::Conflict(denial) => {
                return self.close(call, trail, Ending::denied(&denial).into(), None).await;
            }
        };
        let ended = match self.mediate(call, &fresh, &mut trail).await {
            Ok(ended) => ended,
            Err(Stopped::Denied(denial, operation)) => {
                Ended { ending: Ending::denied(&denial), operation: operation.map(|o| *o) }
            }
            Err(Stopped::Pending { guard, reason }) => Ending::pending("guard.pending", guard, reason).into(),
            Err(Stopped::Failed(error)) => return Err(error),
        };
        self.close(call, trail, ended, Some(fresh)).await // 7
    }

    /// Steps 1 to 6.
    async fn mediate(&self, call: &Call, fresh: &Fresh, trail: &mut Trail) -> Result<Ended, Stopped> {
        let admitted = self.admit(call, trail)?; // 1
        let judgement = self.judge(&admitted, trail).await?; // 2
        if !matches!(call.mode, Mode::Call) {
            return self.check(call, &admitted, trail).await;
        }
        let operation = self.record(call, &admitted, &judgement, fresh).await?; // 3
        let held = self.hold(call, &admitted, judgement, operation, trail).await?; // 4
        let dispatched = self.commit_and_dispatch(call, &admitted, held, trail).await?; // 5
        self.settle(&admitted, dispatched, trail).await // 6
    }

    /// Step 1: the token is good now, not revoked, and one grant of it covers the call.
    fn admit<'c>(&self, call: &'c Call, trail: &mut Trail) -> Result<Admitted<'c>, Stopped> {
        let body = call.capability.body();
        verify::in_time(&call.capability, trail.now(), self.settings.max_capability_ttl)?;
        if self.ledgers.durable.revoked_at(&body.id)?.is_some() {
            return Err(Denial::Revoked { id: body.id.clone() }.into());
        }
        let (grant_index, grant) = verify::grant(call)?;
        trail.grant_index = Some(grant_index);
        let server = self.plugins.servers.get(&call.server);
        let server = server.filter(|s| s.tools().iter().any(|t| t.name == call.tool));
        let server = server.ok_or_else(|| Denial::NotRegistered { tool: call.tool.clone() })?.clone();
        let facts = facts::extract(call.arguments.value(), server.argument_facts(&call.tool));
        verify::satisfies(grant, &facts)?;
        let snapshot = Arc::new(Snapshot {
            request_id: call.request_id.clone(),
            agent: call.agent.clone(),
            capability_id: body.id.clone(),
            grant_index,
            delegation_depth: 0,
            server: call.server.clone(),
            tool: call.tool.clone(),
            operation: call.operation,
            effect_class: server.effect_class(),
            arguments: call.arguments.clone(),
            facts,
            exposure: None,
            time: trail.now(),
            depth: 0,
        });
        trail.stage("admit", &*self.clock);
        Ok(Admitted { snapshot, grant, server })
    }

    /// Step 2: every guard on the same snapshot.
    async fn judge(&self, admitted: &Admitted<'_>, trail: &mut Trail) -> Result<Judgement, Stopped> {
        let ledger = &*self.ledgers.durable;
        let timer = guards::Timer::start(&*self.clock, self.settings.guards_deadline);
        let judged = guards::run(&self.plugins.guards, &admitted.snapshot, ledger, &timer, trail).await;
        trail.stage("guards", &*self.clock);
        let judgement = judged.map_err(|unjudged| match unjudged {
            Unjudged::Denied(denial) => denial.into(),
            Unjudged::Ledger(error) => Stopped::from(error),
        })?;
        match judgement.pending {
            Some((guard, reason)) => Err(Stopped::Pending { guard, reason }),
            None => Ok(judgement),
        }
    }

    /// A check ends here: it takes no hold and runs no tool.
    async fn check(&self, call: &Call, admitted: &Admitted<'_>, trail: &mut Trail) -> Result<Ended, Stopped> {
        let snapshot = &admitted.snapshot;
        if let Some(limit) = admitted.grant.max_invocations {
            let counter = admission::invocation_counter(&snapshot.capability_id, snapshot.grant_index);
            if self.ledgers.durable.counter(&counter)?.is_some_and(|c| c.used >= limit) {
                return Err(exhausted(&counter, snapshot, trail).into());
            }
        }
        let Mode::Full { fixture } = &call.mode else { return Ok(Ending::passed(None).into()) };
        let output = ToolOutput { value: fixture.clone(), format: OutputFormat::Json, cost: None };
        let ending = self.inspect(admitted, output, trail).await?;
        Ok(Ending { effect: settle::Effect::None, ..ending }.into())
    }

    /// Step 3: the operation, `prepared`.
    async fn record(
        &self,
        call: &Call,
        admitted: &Admitted<'_>,
        judgement: &Judgement,
        fresh: &Fresh,
    ) -> Result<OpenOperation, Stopped> {
        let durable = self.must_outlive_the_process(admitted, judgement);
        let ledger = if durable { &self.ledgers.durable } else { &self.ledgers.volatile };
        let operation = self.new_operation(call, admitted, fresh.attempt, &**ledger);
        let request = durable.then(|| (fresh.key.clone(), fresh.expected.clone()));
        Ok(admission::record(ledger.clone(), operation, request).await?)
    }

    fn must_outlive_the_process(&self, admitted: &Admitted<'_>, judgement: &Judgement) -> bool {
        self.settings.durable_admission == DurableAdmission::All
            || admitted.snapshot.effect_class == crate::call::EffectClass::SideEffecting
            || !judgement.claims.is_empty()
            || !verify::leaves_nothing_to_lose(admitted.grant, &admitted.snapshot)
    }

    fn new_operation(&self, call: &Call, admitted: &Admitted<'_>, attempt: u32, ledger: &dyn Ledger) -> Operation {
        let binding = Binding {
            ledger_id: ledger.id().to_owned(),
            subject: call.agent.clone(),
            request_id: call.request_id.clone(),
            attempt,
            server: call.server.clone(),
            tool: call.tool.clone(),
            parameter_hash: call.arguments.hash().to_owned(),
        };
        let guards = self.plugins.guards.iter().map(|g| g.component().clone());
        let hooks = self.plugins.hooks.iter().map(|h| h.component().clone());
        Operation {
            id: binding.operation_id(),
            kind: Kind::ToolDispatch,
            requirements: Requirements { budget_capture: true, ..Requirements::default() },
            binding,
            admission: Admission {
                capability_id: admitted.snapshot.capability_id.clone(),
                capability_digest: call.capability.digest().to_owned(),
                grant_index: admitted.snapshot.grant_index,
                policy_hash: self.settings.policy_hash.clone(),
                components: guards.chain([admitted.server.component().clone()]).chain(hooks).collect(),
                effect_class: admitted.snapshot.effect_class,
            },
            state: State::Prepared,
            version: 1,
            lease_epoch: ledger.lease_epoch(),
            participants: Participants::default(),
            dispatch_commit: None,
            delivery: None,
            last_error: None,
            terminal: None,
        }
    }

    /// Step 4: everything that the call may use is set aside, or it is refused.
    async fn hold(
        &self,
        call: &Call,
        admitted: &Admitted<'_>,
        judgement: Judgement,
        operation: OpenOperation,
        trail: &mut Trail,
    ) -> Result<Held, Stopped> {
        let snapshot = &admitted.snapshot;
        let mut claims: Vec<Claim> = judgement.claims;
        if let Some(limit) = admitted.grant.max_invocations {
            claims.push(admission::invocation_claim(&call.capability.body().id, snapshot.grant_index, limit));
        }
        let hold_id = self.new_id("hold-")?;
        let held = admission::hold(operation, hold_id, claims).await;
        trail.stage("hold", &*self.clock);
        held.map_err(|(operation, why)| match why {
            NotHeld::Exhausted(counter) => {
                Stopped::Denied(exhausted(&counter, snapshot, trail), Some(Box::new(operation)))
            }
            NotHeld::Ledger(error) => error.into(),
        })
    }

    /// Step 5: the commit, and the tool.
    async fn commit_and_dispatch(
        &self,
        call: &Call,
        admitted: &Admitted<'_>,
        held: Held,
        trail: &mut Trail,
    ) -> Result<Dispatched, Stopped> {
        let invocation = Invocation {
            snapshot: admitted.snapshot.clone(),
            operation_id: held.operation.record.id.to_string(),
            deadline: self.tool_deadline(admitted),
            signals: call.signals.clone(),
        };
        let dispatched = admission::dispatch(held, &*admitted.server, invocation, self.clock.now_ms()).await?;
        trail.ran(admitted.server.component(), dispatched.tool.ran.fuel);
        trail.stage("tool", &*self.clock);
        Ok(dispatched)
    }

    fn tool_deadline(&self, admitted: &Admitted<'_>) -> Duration {
        let own = admitted.server.deadline();
        self.settings.tool_deadline.map_or(own, |limit| limit.min(own))
    }

    /// Step 6: what may be released of what the tool returned, stored before it is signed.
    async fn settle(&self, admitted: &Admitted<'_>, done: Dispatched, trail: &mut Trail) -> Result<Ended, Stopped> {
        let Dispatched { mut operation, tool } = done;
        if let Err(fault) = &tool.ran.outcome {
            trail.stopped = Some((admitted.server.component().name.clone(), fault.stop));
        }
        let deadline_ms = self.tool_deadline(admitted).as_millis();
        let ending = match settle::answer(tool, admitted.snapshot.effect_class, deadline_ms) {
            Answer::Output(output) => self.inspect(admitted, output, trail).await?,
            Answer::Error { message, code } => {
                let inspected = hooks::run(&self.plugins.hooks, &admitted.snapshot, message.into(), trail).await;
                settle::failed(inspected, code)
            }
            Answer::Ended(ending) => *ending,
        };
        trail.stage("hooks", &*self.clock);
        if matches!(ending.terminal, State::Completed | State::DeniedAfterDelivery) {
            let output = ending.output.as_ref().filter(|_| self.settings.outputs == Outputs::Kept);
            let kept = output
                .map(|output| Mutation::KeepOutput { operation: operation.record.id.clone(), bytes: output.to_kept() });
            let delivery = ending.delivery;
            let kept = kept.into_iter().collect();
            operation.advance(&[State::Finalizing], |r| r.delivery = delivery, kept, Durability::Buffered).await?;
        }
        Ok(Ended { ending, operation: Some(operation) })
    }

    /// The hooks, then revocation once more, then the grant's digest.
    async fn inspect(&self, admitted: &Admitted<'_>, output: ToolOutput, trail: &mut Trail) -> Result<Ending, Stopped> {
        let snapshot = &admitted.snapshot;
        let inspected = hooks::run(&self.plugins.hooks, snapshot, output.value, trail).await;
        let ending = Ending::inspected(inspected, output.format);
        let Some(released) = &ending.output else { return Ok(ending) };
        if self.ledgers.durable.revoked_at(&snapshot.capability_id)?.is_some() {
            let denial = Denial::Revoked { id: snapshot.capability_id.clone() };
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
}

/// Whose counter ran out decides the reason.
fn exhausted(counter: &CounterKey, snapshot: &Snapshot, trail: &mut Trail) -> Denial {
    match guards::owner(counter) {
        Some(guard) => guards::reservation_refused(guard, counter, trail),
        None => Denial::InvocationsExhausted { id: snapshot.capability_id.clone() },
    }
}

impl From<Ending> for Ended {
    fn from(ending: Ending) -> Self {
        Self { ending, operation: None }
    }
}
