//! Calls and outputs that wait for a human, and what becomes of them once one has spoken.

use serde_json::Value;
use tokio::sync::watch;

use crate::admission::{self, OpenOperation};
use crate::approval::{ApprovalDecision, ApprovalRequest, ApprovalSubject, ApprovalToken};
use crate::books;
use crate::budget::grant_hash;
use crate::call::Call;
use crate::canonical;
use crate::denial::Denial;
use crate::draft::Kept;
use crate::evaluate::{Admitted, Stopped, Underway};
use crate::guards::Judgement;
use crate::kernel::Kernel;
use crate::ledger::{Durability, Mutation};
use crate::operation::{Asked, Awaits, Operation, OperationId, Parked, State};
use crate::park::waiting;
use crate::receipt::{Decision, SignedReceipt};
use crate::response::{KernelError, Response};
use crate::settle::{Effect, Ending};
use crate::trail::Trail;

/// The most operations that are listed.
const MOST: usize = 1 << 20;

/// A call or an output that waits for a human.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingApproval {
    /// What an approver signs.
    pub request: ApprovalRequest,
    /// Why a human is asked.
    pub reason: String,
    /// The call's arguments, as its receipt shows them.
    pub arguments: Value,
    /// The withheld output, where that is what waits.
    pub output: Option<Value>,
    /// The `pending` receipt.
    pub receipt_id: String,
    /// Seconds since 1970; from then on it is denied.
    pub until: u64,
    /// Whether a human has said yes, and only the caller has to come back.
    pub approved: bool,
}

/// What a decision led to.
#[derive(Clone, Debug)]
pub enum Decided {
    /// The call may run: its caller sends it again, with the same request id.
    MayRun,
    /// The call has ended.
    Ended(Box<SignedReceipt>),
}

impl Kernel {
    /// What waits for a human, oldest first.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn waiting_approvals(&self) -> Result<Vec<WaitingApproval>, KernelError> {
        let ledger = &self.books.ledgers.durable;
        let mut found = Vec::new();
        for operation in ledger.open_operations(MOST)?.into_iter().flatten() {
            let Some(parked) = &operation.parked else { continue };
            let Some((about, asked)) = parked.awaits.asked() else { continue };
            let Kept { draft, ending } = self.kept_whole(&operation)?;
            let withheld = ending.and_then(|ending| ending.withheld).map(|(_, output)| output.value);
            found.push(WaitingApproval {
                request: self.request(&operation, about, asked),
                reason: asked.reason.clone(),
                arguments: draft.action.parameters,
                output: withheld,
                receipt_id: parked.receipt_id.clone(),
                until: parked.until,
                approved: ledger.approval(&operation.id)?.is_some(),
            });
        }
        found.sort_by(|a, b| (a.until, &a.request.operation_id).cmp(&(b.until, &b.request.operation_id)));
        Ok(found)
    }

    /// Changes whenever a human's decision was recorded.
    #[must_use]
    pub fn decisions(&self) -> watch::Receiver<u64> {
        self.live.decided.subscribe()
    }

    /// Records what a human decided. `says` is what the decision was sent as: where the signed one says otherwise, nothing
    /// changes.
    ///
    /// # Errors
    /// Nothing waits for it, it is not an approver's, it is about something else, or the ledger does not take it.
    pub async fn decide(&self, says: ApprovalDecision, token: &ApprovalToken) -> Result<Decided, KernelError> {
        let epoch = self.serving_epoch()?;
        let rejected = |why: &str| KernelError::Unresolvable(Denial::Approval(why.to_owned()).to_string());
        if says != token.body.decision {
            return Err(rejected("it was sent as one decision, and signed as the other"));
        }
        let ledger = &self.books.ledgers.durable;
        let id = OperationId::from_listed(token.body.request.operation_id.clone());
        let nothing = || rejected("no call of that id waits for a human");
        let key = admission::request_key(&ledger.operation(&id)?.ok_or_else(nothing)?);
        let turn = self.live.in_flight.turn(&key).await?;
        // As it is now that nobody else moves it.
        let operation = ledger.operation(&id)?.filter(|o| !o.state.is_terminal()).ok_or_else(nothing)?;
        let now = self.books.now();
        let parked = operation.parked.clone().filter(|parked| parked.until > now).ok_or_else(nothing)?;
        let (about, asked) = parked.awaits.asked().ok_or_else(nothing)?;
        let waits = self.request(&operation, about, asked);
        let settings = &self.books.settings;
        if operation.admission.policy_hash != settings.policy_hash {
            // Whoever approves under another policy may be nobody under this call's.
            return Err(rejected("the call was made under another policy than this one"));
        }
        token.verify(&waits, &settings.approvals.approvers, now).map_err(|e| rejected(&e.to_string()))?;
        if ledger.approval(&id)?.is_some() {
            return Err(rejected("somebody has decided already"));
        }
        self.books.failpoint("decide.before").await;
        let grant =
            Mutation::GrantApproval { operation: id.clone(), id: token.body.id.clone(), token: token.to_json() };
        let at = waiting(&operation);
        let Kept { mut draft, ending } = self.kept_whole(&operation)?;
        draft.host["approval"] = serde_json::json!({ "id": token.body.id, "approver": token.body.approver });
        let mut open = OpenOperation::under(epoch, ledger.clone(), operation);
        let ending = match (about, token.body.decision, ending) {
            (ApprovalSubject::Call, ApprovalDecision::Approved, _) => {
                open.apply(None, vec![grant], Durability::Synced).await?;
                self.books.failpoint("decide.after").await;
                self.live.decided.send_modify(|n| *n += 1);
                return Ok(Decided::MayRun);
            }
            (ApprovalSubject::Call, ApprovalDecision::Denied, _) => Ending::denied(&denied_by(token)),
            (ApprovalSubject::Output, ApprovalDecision::Denied, Some(stored)) => stored.not_released(&denied_by(token)),
            (ApprovalSubject::Output, ApprovalDecision::Approved, Some(stored)) => match self.revoked_since(&draft)? {
                Some(denial) => stored.not_released(&denial),
                None => stored.released(),
            },
            (ApprovalSubject::Output, _, None) => {
                return Err(KernelError::Unresolvable("what was decided about its output is missing".to_owned()));
            }
        };
        let mut first = vec![grant];
        if about == ApprovalSubject::Output {
            first.push(Mutation::ConsumeApproval { operation: id, id: token.body.id.clone() });
        }
        let receipt = self.books.end(&mut open, &draft, &ending, None, first).await?;
        self.books.failpoint("decide.after").await;
        at.inspect(|waiting| self.live.parked.remove(waiting));
        drop(turn);
        self.live.decided.send_modify(|n| *n += 1);
        Ok(Decided::Ended(Box::new(receipt)))
    }

    /// Whether the capability of a call, or one above it, was revoked after its tool ran.
    fn revoked_since(&self, draft: &crate::draft::Draft) -> Result<Option<Denial>, KernelError> {
        let above = draft.attribution["delegation_chain"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for id in above {
            if self.books.ledgers.durable.revoked_at(id)?.is_some() {
                return Ok(Some(Denial::AncestorRevoked { id: id.to_owned() }));
            }
        }
        let id = &draft.capability_id;
        Ok(self.books.ledgers.durable.revoked_at(id)?.map(|_| Denial::Revoked { id: id.clone() }))
    }

    /// What waits, as an approver signs it.
    fn request(&self, operation: &Operation, about: ApprovalSubject, asked: &Asked) -> ApprovalRequest {
        let binding = &operation.binding;
        ApprovalRequest {
            about,
            operation_id: operation.id.as_str().to_owned(),
            request_id: binding.request_id.as_str().to_owned(),
            subject: binding.subject.clone(),
            server: binding.server.clone(),
            tool: binding.tool.clone(),
            grant_hash: asked.grant_hash.clone(),
            parameter_hash: binding.parameter_hash.clone(),
            // What is in force now: an approval under another policy would let nothing run.
            policy_hash: self.books.settings.policy_hash.clone(),
            asked_by: asked.by.clone(),
            max_cost: operation.admission.exposure.clone(),
            output_hash: asked.output_hash.clone(),
        }
    }

    /// The approval of a call that goes on, held against what the call is now: its grant, its cost, its guards, the policy.
    pub(crate) fn approved(
        &self,
        call: &Call,
        admitted: &Admitted<'_>,
        judgement: &Judgement,
        record: &Operation,
        trail: &mut Trail,
    ) -> Result<String, Stopped> {
        let rejected = |why: String| Stopped::from(Denial::Approval(why));
        let Some(kept) = self.books.ledgers.durable.approval(&record.id)? else {
            let who = judgement.asks.first().map_or("nobody", |(asker, _)| asker.name.as_str());
            return Err(rejected(format!("{who} asks for a human, and none was asked when the call was admitted")));
        };
        let token = ApprovalToken::from_value(kept.token).map_err(|e| rejected(e.to_string()))?;
        let asked = Asked {
            by: judgement.asks.iter().map(|(asker, _)| asker.clone()).collect(),
            reason: String::new(),
            grant_hash: grant_hash(admitted.grant),
            output_hash: None,
        };
        let waits = ApprovalRequest {
            subject: call.agent.clone(),
            max_cost: admitted.snapshot.exposure.clone(),
            ..self.request(record, ApprovalSubject::Call, &asked)
        };
        let approvers = &self.books.settings.approvals.approvers;
        token.verify(&waits, approvers, trail.now()).map_err(|e| rejected(e.to_string()))?;
        if token.body.decision != ApprovalDecision::Approved {
            return Err(rejected("it was denied".to_owned()));
        }
        trail.approval = Some((token.body.id.clone(), token.body.approver));
        Ok(token.body.id)
    }

    /// The call stops before its hold, durably, until a human has spoken.
    pub(crate) async fn park_for_approval(
        &self,
        admitted: &Admitted<'_>,
        judgement: Judgement,
        underway: &mut Underway,
    ) -> Result<Box<Response>, KernelError> {
        let (asker, reason) = judgement.asks.first().cloned().expect("somebody asks");
        let question = Asked {
            by: judgement.asks.into_iter().map(|(asker, _)| asker).collect(),
            reason: reason.clone(),
            grant_hash: grant_hash(admitted.grant),
            output_hash: None,
        };
        let decision = Decision::Pending { reason, guard: asker.name };
        let ending = Ending::new(decision, "guard.pending", Effect::None);
        self.park_for(Awaits::Approval(question), &[State::ApprovalRequired], &ending, Vec::new(), underway).await
    }

    /// The call stops with its output, durably, until a human has released it.
    pub(crate) async fn park_for_release(
        &self,
        admitted: &Admitted<'_>,
        underway: &mut Underway,
    ) -> Result<Box<Response>, KernelError> {
        let owned = underway.guard().owned();
        let operation = owned.operation.record.id.clone();
        let ending = owned.ending.take().expect("it was decided");
        let (by, output) = ending.withheld.clone().expect("its output is withheld");
        let asked = Asked {
            by,
            reason: ending.decision.reason().unwrap_or_default().to_owned(),
            grant_hash: grant_hash(admitted.grant),
            output_hash: Some(canonical::hash(&output.value)),
        };
        let keep = Mutation::KeepDraft { operation, bytes: owned.draft.to_kept(Some(&ending)) };
        self.park_for(Awaits::Release(asked), &[State::Finalizing], &ending, vec![keep], underway).await
    }

    async fn park_for(
        &self,
        awaits: Awaits,
        path: &[State],
        ending: &Ending,
        mut mutations: Vec<Mutation>,
        underway: &mut Underway,
    ) -> Result<Box<Response>, KernelError> {
        let owned = underway.guard().owned();
        let record = &owned.operation.record;
        let until = self.books.now().saturating_add(self.books.settings.approvals.ttl_secs);
        let at = (until, record.id.clone(), admission::request_key(record));
        let receipt = self.books.sign(&owned.draft, ending, Some(record))?;
        let parked = Parked { receipt_id: receipt.id().to_owned(), until, awaits };
        // A tool that ran has nested calls, whose receipts come before its own.
        mutations.extend(owned.children.appends());
        mutations.push(books::append(&receipt, &owned.draft));
        let delivery = ending.delivery;
        // Before it waits: should this future be dropped on the way, it waits all the same.
        self.live.parked.add(at);
        self.books.failpoint("park.before").await;
        let change = |record: &mut Operation| {
            record.parked = Some(parked);
            record.delivery = delivery.or(record.delivery);
        };
        owned.operation.advance(path, change, mutations, Durability::Synced).await?;
        owned.children.drain();
        self.books.failpoint("park.after").await;
        if let Some(guard) = underway.guard.take() {
            guard.disarm();
        }
        Ok(Box::new(Response { code: ending.code.clone(), ..Response::of(receipt) }))
    }
}

fn denied_by(token: &ApprovalToken) -> Denial {
    let body = &token.body;
    let because = body.because.as_ref().map(|why| format!(": {}", canonical::printable(why, 300))).unwrap_or_default();
    Denial::Approval(format!("denied by {}{because}", body.approver))
}
