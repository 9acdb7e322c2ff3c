//! Calls that stop before dispatch, with what they hold, until their callers come back (design, section 8, "Nonce").

use crate::admission::{self, OpenOperation, PostAdmissionDropGuard, Waiting};
use crate::books;
use crate::call::Call;
use crate::denial::Denial;
use crate::draft::{Draft, Kept};
use crate::evaluate::{Admitted, Stopped, Underway};
use crate::guards::Judgement;
use crate::in_flight::Turn;
use crate::kernel::Kernel;
use crate::ledger::{Durability, LedgerError, Mutation, NonceRefusal, Refused};
use crate::nonce::{ExecutionNonce, NonceError};
use crate::operation::{Awaits, Operation, Parked};
use crate::receipt::{Decision, KERNEL};
use crate::replay::Known;
use crate::response::{KernelError, Origin, Response};
use crate::settle::{Effect, Ending};
use crate::trail::Trail;

/// What the receipt of a call says that waits for its nonce.
const AWAITS_NONCE: &str = "the call waits for its execution nonce to be presented";

/// What became of a call whose operation waited for it.
pub(crate) enum Resumed {
    Answered(Box<Response>),
    Goes(Box<Underway>),
}

impl Kernel {
    /// The call stops with its hold and its nonce, durably, until its caller presents the nonce.
    pub(crate) async fn park(&self, underway: &mut Underway) -> Result<Box<Response>, KernelError> {
        let guard = underway.guard();
        let owned = guard.owned();
        let record = &owned.operation.record;
        let nonce = ExecutionNonce::of(record, &self.books.signer);
        let nonce = nonce.ok_or_else(|| KernelError::Unresolvable("it has no nonce to wait for".to_owned()))?;
        let until = nonce.body.expires_at;
        let waiting = (until, record.id.clone(), admission::request_key(record));
        let decision = Decision::Pending { reason: AWAITS_NONCE.to_owned(), guard: KERNEL.to_owned() };
        let ending = Ending::new(decision, "nonce.pending", Effect::None);
        let receipt = self.books.sign(&owned.draft, &ending, Some(record))?;
        let parked = Parked { receipt_id: receipt.id().to_owned(), until, awaits: Awaits::Nonce };
        let append = vec![books::append(&receipt, &owned.draft)];
        owned.operation.advance(&[], |r| r.parked = Some(parked), append, Durability::Synced).await?;
        if let Some(guard) = underway.guard.take() {
            guard.disarm();
        }
        self.live.parked.add(waiting);
        let code = ending.code;
        Ok(Box::new(Response { code, nonce: Some(nonce), ..Response::of(receipt) }))
    }

    /// A call whose operation waits for it: with its nonce it goes on, its capability and guards checked again.
    pub(crate) async fn resume(
        &self,
        call: &Call,
        operation: Operation,
        epoch: u64,
        turn: Turn,
        trail: &Trail,
    ) -> Result<Resumed, KernelError> {
        let now = self.books.now();
        let parked = operation.parked.as_ref().filter(|p| p.until > now);
        let Some(parked) = parked else {
            let key = admission::request_key(&operation);
            self.end_parked(operation, epoch, turn).await?;
            return match self.look_up(call, key)? {
                Known::Finished(response) => Ok(Resumed::Answered(response)),
                _ => Err(KernelError::Unresolvable("it ended, and its request id does not say how".to_owned())),
            };
        };
        let nonce = match (&parked.awaits, &call.admission.nonce) {
            (Awaits::Nonce, Some(nonce)) => nonce,
            (Awaits::Approval(_), _) if self.books.ledgers.durable.approval(&operation.id)?.is_some() => {
                return self.resume_approved(call, operation, epoch, turn, trail).await;
            }
            _ => return self.still_parked(&operation).map(Resumed::Answered),
        };
        // What was kept has secret arguments out of it; guards have not been asked yet this time.
        let kept = self.kept(&operation)?;
        let draft = Draft::of(call, trail, &self.books.settings.policy_hash).keeping_secrets_of(&kept);
        if call.capability.digest() != operation.admission.capability_digest {
            let other = NonceError::Binding("capability");
            return self.still_waits(call, draft, &operation, &other.into()).await;
        }
        let key = match nonce.verify(&operation, now, &self.books.signer) {
            Ok(key) => key,
            Err(why) => return self.still_waits(call, draft, &operation, &why.into()).await,
        };
        let permit = match self.live.unwinds.reserve() {
            Ok(permit) => permit,
            Err(denial) => return self.still_waits(call, draft, &operation, &denial).await,
        };
        let waiting = waiting(&operation);
        let open = OpenOperation::under(epoch, self.books.ledgers.durable.clone(), operation);
        // From here on whoever drops the call undoes the first step as well.
        let mut guard =
            PostAdmissionDropGuard::new(self.books.clone(), open, draft.clone(), None, turn.clone(), permit);
        let open = guard.operation();
        let reserve = Mutation::ReserveNonce { nonce: key, operation: open.record.id.clone(), now };
        match open.apply(None, vec![reserve], Durability::Buffered).await {
            Ok(_) => {
                waiting.inspect(|waiting| self.live.parked.remove(waiting));
                Ok(Resumed::Goes(Box::new(Underway { epoch, fresh: None, turn, guard: Some(guard) })))
            }
            Err(LedgerError::Refused(Refused::Nonce { why, .. })) => {
                let operation = open.record.clone();
                guard.disarm();
                self.still_waits(call, draft, &operation, &nonce_error(why).into()).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A call whose human has spoken goes on; whether what was said fits what it is now is seen once its guards were asked.
    async fn resume_approved(
        &self,
        call: &Call,
        operation: Operation,
        epoch: u64,
        turn: Turn,
        trail: &Trail,
    ) -> Result<Resumed, KernelError> {
        let kept = self.kept(&operation)?;
        let draft = Draft::of(call, trail, &self.books.settings.policy_hash).keeping_secrets_of(&kept);
        let permit = match self.live.unwinds.reserve() {
            Ok(permit) => permit,
            Err(denial) => return self.still_waits(call, draft, &operation, &denial).await,
        };
        // It is parked until its hold is taken, and stays listed so: dropped before that, it waits as before.
        let open = OpenOperation::under(epoch, self.books.ledgers.durable.clone(), operation);
        let guard = PostAdmissionDropGuard::new(self.books.clone(), open, draft, None, turn.clone(), permit);
        Ok(Resumed::Goes(Box::new(Underway { epoch, fresh: None, turn, guard: Some(guard) })))
    }

    /// What was presented is refused, and the call waits as before.
    async fn still_waits(
        &self,
        call: &Call,
        draft: Draft,
        operation: &Operation,
        denial: &Denial,
    ) -> Result<Resumed, KernelError> {
        // While this call had the turn, nobody else could end the operation.
        if let Some(waiting) = waiting(operation) {
            self.live.parked.add(waiting);
        }
        self.refuse_as(draft, call, denial).await.map(Box::new).map(Resumed::Answered)
    }

    /// A call that waited goes on under the grant that its hold was taken for, with an approval that fits what it is now, and
    /// its receipt says what its guards say now. Answers the approval's id.
    pub(crate) fn goes_on(
        &self,
        call: &Call,
        admitted: &Admitted<'_>,
        judgement: &Judgement,
        guard: &mut PostAdmissionDropGuard,
        trail: &mut Trail,
    ) -> Result<Option<String>, Stopped> {
        let owned = guard.owned();
        let record = &owned.operation.record;
        if record.participants.hold.is_some() && admitted.snapshot.grant_index != record.admission.grant_index {
            return Err(Denial::from(NonceError::Binding("grant")).into());
        }
        let approval = if record.requirements.approval || !judgement.asks.is_empty() {
            Some(self.approved(call, admitted, judgement, record, trail)?)
        } else {
            None
        };
        owned.draft = Draft::of(call, trail, &self.books.settings.policy_hash).keeping_secrets_of(&owned.draft);
        Ok(approval)
    }

    /// What the receipt of an operation that waits will say.
    pub(crate) fn kept(&self, operation: &Operation) -> Result<Draft, KernelError> {
        self.kept_whole(operation).map(|kept| kept.draft)
    }

    pub(crate) fn kept_whole(&self, operation: &Operation) -> Result<Kept, KernelError> {
        let kept = self.books.ledgers.durable.draft(&operation.id)?.unwrap_or_default();
        Kept::read(&kept).map_err(KernelError::Unresolvable)
    }

    /// The answer that was given when the call was parked, and the same nonce.
    fn still_parked(&self, operation: &Operation) -> Result<Box<Response>, KernelError> {
        let receipt_id = operation.parked.as_ref().map(|p| p.receipt_id.clone()).unwrap_or_default();
        let recorded = self.recorded(None, &receipt_id)?;
        let nonce = ExecutionNonce::of(operation, &self.books.signer);
        Ok(Box::new(Response { nonce, origin: Origin::Replayed, ..recorded }))
    }

    /// Ends operations whose callers did not come back in time, at most so many. Hosts call it now and then, and every
    /// recorded call does for a few, so that nobody's budget is set aside for much longer than its nonce lives. One that cannot
    /// be ended is in nobody's way: it is left to the next recovery.
    pub async fn expire_parked(&self, most: usize) {
        let Ok(epoch) = self.serving_epoch() else { return };
        let mut busy = Vec::new();
        for _ in 0..most {
            let Some(waiting) = self.live.parked.take_expired(self.books.now()) else { break };
            let (_, id, key) = &waiting;
            let Some(turn) = self.live.in_flight.turn_now(key) else {
                // Whoever has the turn may leave it waiting.
                busy.push(waiting);
                continue;
            };
            let ended = match self.books.ledgers.durable.operation(id) {
                Ok(Some(operation)) if operation.parked.is_some() && !operation.state.is_terminal() => {
                    self.end_parked(operation, epoch, turn).await
                }
                Ok(_) => Ok(()),
                Err(error) => Err(error.into()),
            };
            if let Err(error) = ended {
                tracing::error!(operation = id.as_str(), %error, "a call that waited too long is left to recovery");
            }
        }
        for waiting in busy {
            self.live.parked.add(waiting);
        }
    }

    async fn end_parked(&self, operation: Operation, epoch: u64, turn: Turn) -> Result<(), KernelError> {
        let Kept { draft, ending } = self.kept_whole(&operation)?;
        let ending = expired(&operation, ending);
        let mut open = OpenOperation::under(epoch, self.books.ledgers.durable.clone(), operation);
        self.books.end(&mut open, &draft, &ending, None, Vec::new()).await?;
        drop(turn);
        Ok(())
    }
}

/// The end of an operation whose time to wait is over. `stored` is what was decided about its output, where its tool ran.
pub(crate) fn expired(operation: &Operation, stored: Option<Ending>) -> Ending {
    let nobody = |did: &str| Denial::Approval(format!("nobody {did} in time"));
    match (operation.parked.as_ref().map(|parked| &parked.awaits), stored) {
        (Some(Awaits::Release(_)), Some(stored)) => stored.not_released(&nobody("released its output")),
        (Some(Awaits::Approval(_)), _) => Ending::denied(&nobody("approved it")),
        _ => Ending::denied(&NonceError::Expired.into()),
    }
}

/// By when an operation that waits is over.
pub(crate) fn waiting(operation: &Operation) -> Option<Waiting> {
    let until = operation.parked.as_ref()?.until;
    Some((until, operation.id.clone(), admission::request_key(operation)))
}

pub(crate) fn nonce_error(why: NonceRefusal) -> NonceError {
    match why {
        NonceRefusal::Expired => NonceError::Expired,
        NonceRefusal::Full => NonceError::Full,
        NonceRefusal::Used | NonceRefusal::NotOwner => NonceError::Replayed,
    }
}
