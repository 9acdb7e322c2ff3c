//! Calls that stop before dispatch, with what they hold, until their callers come back (design, section 8, "Nonce").

use crate::admission::{self, OpenOperation, PostAdmissionDropGuard};
use crate::books;
use crate::call::Call;
use crate::denial::Denial;
use crate::draft::{Draft, Kept};
use crate::evaluate::Underway;
use crate::in_flight::Turn;
use crate::kernel::Kernel;
use crate::ledger::{Durability, LedgerError, Mutation, NonceRefusal, Refused, RequestKey};
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
        let (until, id, key) = (nonce.body.expires_at, record.id.clone(), admission::request_key(record));
        let decision = Decision::Pending { reason: AWAITS_NONCE.to_owned(), guard: KERNEL.to_owned() };
        let ending = Ending::new(decision, "nonce.pending", Effect::None);
        let receipt = self.books.sign(&owned.draft, &ending, Some(record))?;
        let parked = Parked { receipt_id: receipt.id().to_owned(), until };
        let append = vec![books::append(&receipt, &owned.draft)];
        owned.operation.advance(&[], |r| r.parked = Some(parked), append, Durability::Synced).await?;
        if let Some(guard) = underway.guard.take() {
            guard.disarm();
        }
        self.parked.add(until, id, key);
        let code = ending.code;
        Ok(Box::new(Response { code, nonce: Some(nonce), ..Response::of(receipt) }))
    }

    /// A call whose operation waits for it: with its nonce it goes on, its capability and guards checked again.
    pub(crate) async fn resume(
        &self,
        call: &Call,
        operation: Operation,
        turn: Turn,
        trail: &Trail,
    ) -> Result<Resumed, KernelError> {
        let now = self.books.now();
        let is_over = operation.parked.as_ref().is_none_or(|p| p.until <= now);
        let Some(nonce) = call.admission.nonce.as_ref().filter(|_| !is_over) else {
            if is_over {
                self.end_parked(operation, turn).await?;
                return self.look_up_again(call).map(Resumed::Answered);
            }
            return self.still_parked(&operation).map(Resumed::Answered);
        };
        let key = match nonce.verify(&operation, now, &self.books.signer) {
            Ok(key) => key,
            Err(why) => return self.still_waits(call, trail, &operation, &why.into()).await,
        };
        let permit = match self.unwinds.reserve() {
            Ok(permit) => permit,
            Err(denial) => return self.still_waits(call, trail, &operation, &denial).await,
        };
        let draft = Draft::of(call, trail, &self.books.settings.policy_hash);
        let open = OpenOperation::new(self.books.ledgers.durable.clone(), operation);
        // From here on whoever drops the call undoes the first step as well.
        let mut guard = PostAdmissionDropGuard::new(open, draft, None, turn.clone(), permit);
        let open = guard.operation();
        let reserve = Mutation::ReserveNonce { nonce: key, operation: open.record.id.clone(), now };
        match open.apply(None, vec![reserve], Durability::Buffered).await {
            Ok(_) => Ok(Resumed::Goes(Box::new(Underway { fresh: None, turn, guard: Some(guard) }))),
            Err(LedgerError::Refused(Refused::Nonce { why, .. })) => {
                let operation = open.record.clone();
                guard.disarm();
                self.still_waits(call, trail, &operation, &nonce_error(why).into()).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What was presented is refused, and the call waits as before.
    async fn still_waits(
        &self,
        call: &Call,
        trail: &Trail,
        operation: &Operation,
        denial: &Denial,
    ) -> Result<Resumed, KernelError> {
        if let Some(parked) = &operation.parked {
            // While this call had the turn, nobody else could end it.
            self.parked.add(parked.until, operation.id.clone(), admission::request_key(operation));
        }
        self.refuse(call, trail, denial).await.map(Box::new).map(Resumed::Answered)
    }

    /// The answer that was given when the call was parked, and the same nonce.
    fn still_parked(&self, operation: &Operation) -> Result<Box<Response>, KernelError> {
        let receipt_id = operation.parked.as_ref().map(|p| p.receipt_id.clone()).unwrap_or_default();
        let recorded = self.recorded(None, &receipt_id)?;
        let nonce = ExecutionNonce::of(operation, &self.books.signer);
        Ok(Box::new(Response { nonce, origin: Origin::Replayed, ..recorded }))
    }

    fn look_up_again(&self, call: &Call) -> Result<Box<Response>, KernelError> {
        let key = RequestKey {
            subject: call.agent.clone(),
            namespace: call.mode.namespace(),
            request_id: call.request_id.clone(),
        };
        match self.look_up(call, key)? {
            Known::Finished(response) => Ok(response),
            _ => Err(KernelError::Unresolvable("its operation was ended, and its request id was not".to_owned())),
        }
    }

    /// Ends operations whose callers did not come back in time. Hosts call it now and then, and every recorded call does, so
    /// that nobody's budget is set aside for longer than its nonce lives. One that cannot be ended is in nobody's way: it is
    /// left to the next recovery.
    pub async fn expire_parked(&self) {
        while let Some((id, key)) = self.parked.take_expired(self.books.now()) {
            // Whoever has the turn is resuming it, or ending it.
            let Some(turn) = self.in_flight.turn_now(&key) else { continue };
            let ended = match self.books.ledgers.durable.operation(&id) {
                Ok(Some(operation)) if operation.parked.is_some() && operation.state.is_before_dispatch() => {
                    self.end_parked(operation, turn).await
                }
                Ok(_) => Ok(()),
                Err(error) => Err(error.into()),
            };
            if let Err(error) = ended {
                tracing::error!(operation = id.as_str(), %error, "a call that waited too long is left to recovery");
            }
        }
    }

    async fn end_parked(&self, operation: Operation, turn: Turn) -> Result<(), KernelError> {
        let ending = Ending::denied(&NonceError::Expired.into());
        let kept = self.books.ledgers.durable.draft(&operation.id)?.unwrap_or_default();
        let draft = Kept::read(&kept).map_err(KernelError::Unresolvable)?.draft;
        let mut open = OpenOperation::new(self.books.ledgers.durable.clone(), operation);
        self.books.end(&mut open, &draft, &ending, None, &[]).await?;
        drop(turn);
        Ok(())
    }
}

pub(crate) fn nonce_error(why: NonceRefusal) -> NonceError {
    match why {
        NonceRefusal::Expired => NonceError::Expired,
        NonceRefusal::Full => NonceError::Full,
        NonceRefusal::Used | NonceRefusal::NotOwner => NonceError::Replayed,
    }
}
