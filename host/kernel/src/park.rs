//! Calls that stop before dispatch, with what they hold, until their callers come back (design, section 8, "Nonce").

use crate::admission::{self, OpenOperation, PostAdmissionDropGuard, Waiting};
use crate::books;
use crate::call::Call;
use crate::denial::Denial;
use crate::draft::{Draft, Kept};
use crate::evaluate::{Admitted, Underway};
use crate::in_flight::Turn;
use crate::kernel::Kernel;
use crate::ledger::{Durability, LedgerError, Mutation, NonceRefusal, Refused};
use crate::nonce::{ExecutionNonce, NonceError};
use crate::operation::{Operation, Parked};
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
        let parked = Parked { receipt_id: receipt.id().to_owned(), until };
        let append = vec![books::append(&receipt, &owned.draft)];
        owned.operation.advance(&[], |r| r.parked = Some(parked), append, Durability::Synced).await?;
        if let Some(guard) = underway.guard.take() {
            guard.disarm();
        }
        self.parked.add(waiting);
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
        let is_over = operation.parked.as_ref().is_none_or(|p| p.until <= now);
        let Some(nonce) = call.admission.nonce.as_ref().filter(|_| !is_over) else {
            if is_over {
                let key = admission::request_key(&operation);
                self.end_parked(operation, epoch, turn).await?;
                return match self.look_up(call, key)? {
                    Known::Finished(response) => Ok(Resumed::Answered(response)),
                    _ => Err(KernelError::Unresolvable("it ended, and its request id does not say how".to_owned())),
                };
            }
            return self.still_parked(&operation).map(Resumed::Answered);
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
        let permit = match self.unwinds.reserve() {
            Ok(permit) => permit,
            Err(denial) => return self.still_waits(call, draft, &operation, &denial).await,
        };
        let waiting = waiting(&operation);
        let open = OpenOperation::under(epoch, self.books.ledgers.durable.clone(), operation);
        // From here on whoever drops the call undoes the first step as well.
        let mut guard = PostAdmissionDropGuard::new(open, draft.clone(), None, turn.clone(), permit);
        let open = guard.operation();
        let reserve = Mutation::ReserveNonce { nonce: key, operation: open.record.id.clone(), now };
        match open.apply(None, vec![reserve], Durability::Buffered).await {
            Ok(_) => {
                waiting.inspect(|waiting| self.parked.remove(waiting));
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
            self.parked.add(waiting);
        }
        self.refuse_as(draft, call, denial).await.map(Box::new).map(Resumed::Answered)
    }

    /// A call that waited goes on under the grant that its hold was taken for, and its receipt says what its guards say now.
    pub(crate) fn goes_on(
        &self,
        call: &Call,
        admitted: &Admitted<'_>,
        guard: &mut PostAdmissionDropGuard,
        trail: &Trail,
    ) -> Result<(), Denial> {
        let owned = guard.owned();
        if admitted.snapshot.grant_index != owned.operation.record.admission.grant_index {
            return Err(NonceError::Binding("grant").into());
        }
        owned.draft = Draft::of(call, trail, &self.books.settings.policy_hash).keeping_secrets_of(&owned.draft);
        Ok(())
    }

    /// What the receipt of an operation that waits will say.
    fn kept(&self, operation: &Operation) -> Result<Draft, KernelError> {
        let kept = self.books.ledgers.durable.draft(&operation.id)?.unwrap_or_default();
        Ok(Kept::read(&kept).map_err(KernelError::Unresolvable)?.draft)
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
            let Some(waiting) = self.parked.take_expired(self.books.now()) else { break };
            let (_, id, key) = &waiting;
            let Some(turn) = self.in_flight.turn_now(key) else {
                // Whoever has the turn may leave it waiting.
                busy.push(waiting);
                continue;
            };
            let ended = match self.books.ledgers.durable.operation(id) {
                Ok(Some(operation)) if operation.parked.is_some() && operation.state.is_before_dispatch() => {
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
            self.parked.add(waiting);
        }
    }

    async fn end_parked(&self, operation: Operation, epoch: u64, turn: Turn) -> Result<(), KernelError> {
        let ending = Ending::denied(&NonceError::Expired.into());
        let draft = self.kept(&operation)?;
        let mut open = OpenOperation::under(epoch, self.books.ledgers.durable.clone(), operation);
        self.books.end(&mut open, &draft, &ending, None, &[]).await?;
        drop(turn);
        Ok(())
    }
}

/// By when an operation that waits is over.
fn waiting(operation: &Operation) -> Option<Waiting> {
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
