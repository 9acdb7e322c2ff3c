//! Payment rails: money that is set aside and taken outside the ledger.
//!
//! The host's reference of a payment is its hold's id, and the same reference twice is the same payment. So whoever ends an
//! operation, the call itself, the settler or a recovery, asks the rail again without charging twice, and an authorization
//! whose answer was lost is found by asking for it again.
//!
//! | the rail says | before dispatch | after the tool ran |
//! |---|---|---|
//! | no, for certain | the call is denied | the output is not released, and nothing is charged |
//! | it does not know | the call is denied, and what may be authorized is released | asked again; then the hold is frozen, and an operator resolves it |

use crate::admission::CleanupFault;
use crate::books::Books;
use crate::canonical::printable;
use crate::cost::Cost;
use crate::denial::Denial;
use crate::money::Money;
use crate::operation::{Operation, PaymentRef, State};
use crate::ports::{Payment, PaymentRail, RailError};
use crate::response::KernelError;
use crate::settle::Ending;

/// How often a rail that does not know is asked in all.
const TRIES: usize = 2;

impl Books {
    /// Sets the worst case of a call aside at its rail. The hold that it is for is on the disk.
    pub(crate) async fn authorize(&self, record: &Operation) -> Result<Option<String>, Denial> {
        let Some((payment, asked)) = payment_of(record) else { return Ok(None) };
        let rail = self.rail(payment).map_err(Denial::Payment)?;
        let answered = rail.authorize(&asked).await;
        answered.map(Some).map_err(|error| Denial::Payment(said(&payment.rail, &error)))
    }

    /// What becomes of a payment as its operation ends: released where the tool never ran, taken where it did.
    pub(crate) async fn conclude_payment(&self, record: &Operation, ending: Ending) -> Ending {
        let Some((payment, held)) = payment_of(record) else { return ending };
        let realized = ending.cost.as_ref().map_or(0, |cost| cost.realized);
        match ending.terminal {
            State::CompensatedBeforeDispatch if !ending.cleanup.is_empty() => ending,
            State::CompensatedBeforeDispatch | State::NotAcceptedAfterDispatchCommit => {
                self.released(payment, &held, ending).await
            }
            State::Completed | State::DeniedAfterDelivery if realized == 0 => {
                self.released(payment, &held, ending).await
            }
            State::Completed | State::DeniedAfterDelivery => {
                let amount = Money { units: realized, ..held.amount.clone() };
                self.captured(payment, &held, amount, ending).await
            }
            _ => ending,
        }
    }

    async fn released(&self, payment: &PaymentRef, held: &Payment, mut ending: Ending) -> Ending {
        if let Err(error) = self.release_payment(payment, held).await {
            ending.cleanup.push(CleanupFault::of_payment(&payment.reference, &error));
        }
        ending
    }

    async fn captured(&self, payment: &PaymentRef, held: &Payment, amount: Money, mut ending: Ending) -> Ending {
        match self.capture_payment(payment, held, amount).await {
            Ok(capture) => ending.capture = Some(capture),
            Err(RailError::Definite(why)) => {
                let denial = Denial::Payment(format!("rail {}: {}", payment.rail, printable(&why, 300)));
                let unpaid = ending.cost.as_ref().map(|cost| Cost::nothing(&cost.held));
                ending = Ending { cost: unpaid, ..ending.not_released(&denial) };
            }
            Err(RailError::Ambiguous(why)) => ending.unsettled = Some(printable(&why, 300)),
        }
        ending
    }

    /// Releases what a rail may have set aside for a call that never ran: the fault, where it cannot be.
    pub(crate) async fn payment_stuck(&self, record: &Operation) -> Option<CleanupFault> {
        let (payment, held) = payment_of(record)?;
        let released = self.release_payment(payment, &held).await;
        released.err().map(|error| CleanupFault::of_payment(&payment.reference, &error))
    }

    /// Gives back what is authorized, asking for the authorization first where its id was lost.
    pub(crate) async fn release_payment(&self, payment: &PaymentRef, held: &Payment) -> Result<(), RailError> {
        let rail = self.rail(payment).map_err(RailError::Ambiguous)?;
        let authorization = match &payment.authorization {
            Some(id) => id.clone(),
            // Whatever it set aside under this reference; where it refuses for certain, nothing is.
            None => match again(|| rail.authorize(held)).await {
                Ok(id) => id,
                Err(RailError::Definite(_)) => return Ok(()),
                Err(error) => return Err(error),
            },
        };
        again(|| rail.release(&authorization, &payment.reference)).await
    }

    /// Takes so much of what is authorized. Under the same reference it is taken once.
    pub(crate) async fn capture_payment(
        &self,
        payment: &PaymentRef,
        held: &Payment,
        amount: Money,
    ) -> Result<String, RailError> {
        let rail = self.rail(payment).map_err(RailError::Ambiguous)?;
        let authorization = match &payment.authorization {
            Some(id) => id.clone(),
            None => again(|| rail.authorize(held)).await?,
        };
        let taken = Payment { amount, ..held.clone() };
        again(|| rail.capture(&authorization, &taken)).await
    }

    fn rail(&self, payment: &PaymentRef) -> Result<&dyn PaymentRail, String> {
        let rail = self.rails.get(&payment.rail).map(|rail| &**rail);
        rail.ok_or_else(|| no_rail(payment))
    }

    /// Whether an operation can be ended by this host, as far as its payment goes: an outcome that nobody knows asks no rail.
    pub(crate) fn can_conclude_payment(&self, record: &Operation) -> Result<(), KernelError> {
        match &record.participants.payment {
            Some(payment) if record.state != State::DispatchCommitted && !self.rails.contains_key(&payment.rail) => {
                Err(KernelError::Unresolvable(no_rail(payment)))
            }
            _ => Ok(()),
        }
    }

    /// What an operator decides about a payment whose end nobody knows.
    pub(crate) async fn resolve_payment(&self, record: &Operation, realized: u64) -> Result<(), KernelError> {
        let Some((payment, held)) = payment_of(record) else { return Ok(()) };
        let resolved = if realized == 0 {
            self.release_payment(payment, &held).await
        } else {
            let amount = Money { units: realized, ..held.amount.clone() };
            self.capture_payment(payment, &held, amount).await.map(drop)
        };
        resolved.map_err(|error| KernelError::Unresolvable(said(&payment.rail, &error)))
    }
}

/// The payment of an operation, as its rail knows it: the whole that was set aside.
fn payment_of(record: &Operation) -> Option<(&PaymentRef, Payment)> {
    let payment = record.participants.payment.as_ref()?;
    let amount = record.admission.exposure.clone()?;
    let asked = Payment { reference: payment.reference.clone(), account: payment.account.clone(), amount };
    Some((payment, asked))
}

/// Asks once more where the rail does not know: the reference makes it the same payment.
async fn again<T, F: Future<Output = Result<T, RailError>>>(ask: impl Fn() -> F) -> Result<T, RailError> {
    let mut answered = ask().await;
    for _ in 1..TRIES {
        if !matches!(answered, Err(RailError::Ambiguous(_))) {
            break;
        }
        answered = ask().await;
    }
    answered
}

fn no_rail(payment: &PaymentRef) -> String {
    format!("rail {} is not one of this host's policy; do it with a host that has it", payment.rail)
}

fn said(rail: &str, error: &RailError) -> String {
    match error {
        RailError::Definite(why) => format!("rail {rail} refused: {}", printable(why, 300)),
        RailError::Ambiguous(why) => format!("rail {rail} gave no clear answer: {}", printable(why, 300)),
    }
}
