//! Recovery: what an earlier run left open is ended, before anything new is served.
//!
//! | found | becomes |
//! |---|---|
//! | before dispatch | `compensated_before_dispatch`, everything given back, a signed receipt |
//! | parked, its time not over | left parked |
//! | `dispatch_committed` | `outcome_unknown_after_dispatch`, what was at stake frozen, a signed receipt |
//! | `finalizing` | what was stored: no hook runs again, and what was withheld stays withheld |
//! | anything that cannot be resolved | left as it is and listed; the others go on |
//!
//! It runs from the ledger's rows alone, so the policy, the tools and the hooks may have changed in between.

use super::{OpenOperation, ParkedOperations, reversal};
use crate::books::Books;
use crate::draft::Kept;
use crate::ledger::{Durability, LedgerError};
use crate::operation::{AdmissionRecoveryLease, Kind, Operation, State};
use crate::park::expired;
use crate::receipt::Decision;
use crate::response::KernelError;
use crate::settle::{Effect, Ending};

/// How long a worker has for one operation.
const LEASE_MS: u64 = 30_000;
/// The most operations of one recovery: more cannot be open, because each is a call in flight, or parked with a hold.
const MOST: usize = 1 << 20;
/// What the receipt of a call says that never reached its tool.
const BEFORE_DISPATCH: &str = "the host stopped before the tool was entered";
/// What the receipt of a call says whose tool may have run.
const AFTER_DISPATCH: &str = "the host stopped after dispatch; outcome is unknown";

/// What a recovery did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// How many operations were ended.
    pub ended: usize,
    /// How many wait for their callers.
    pub parked: usize,
    /// Those that could not be ended.
    pub quarantined: Vec<Quarantined>,
}

/// An operation that recovery could not end. It stays as it is, and nothing waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// Its id.
    pub operation: String,
    /// Why.
    pub why: String,
}

impl Books {
    /// Ends what is open, one operation at a time.
    pub(crate) async fn recover(&self, parked: &ParkedOperations) -> Result<Recovered, KernelError> {
        let claimant = self.new_id("recovery-")?;
        let mut recovered = Recovered::default();
        for open in self.ledgers.durable.open_operations(MOST)? {
            let operation = match open {
                Ok(operation) => operation,
                Err(unreadable) => {
                    recovered.quarantine(unreadable.id, unreadable.why);
                    continue;
                }
            };
            if let Some(waits) = operation.parked.as_ref().filter(|p| self.now() < p.until) {
                parked.add((waits.until, operation.id.clone(), super::request_key(&operation)));
                recovered.parked += 1;
                // A kill may have come between its second step's reservation and its dispatch: it may be presented again.
                let handle = OpenOperation::new(self.ledgers.durable.clone(), operation.clone());
                let again = reversal::nonce(&handle)?;
                if !again.is_empty() {
                    handle.apply(None, again, Durability::Synced).await?;
                }
                continue;
            }
            let id = operation.id.clone();
            match self.recover_one(operation, &claimant).await {
                Ok(()) => recovered.ended += 1,
                Err(error @ KernelError::Ledger(LedgerError::Unavailable(_))) => return Err(error),
                Err(error) => {
                    self.note(&id, &error).await;
                    recovered.quarantine(id.to_string(), error.to_string());
                }
            }
        }
        Ok(recovered)
    }

    async fn recover_one(&self, operation: Operation, claimant: &str) -> Result<(), KernelError> {
        self.can_conclude_payment(&operation)?;
        let mut open = self.claim(operation, claimant).await?;
        self.failpoint("recover.claimed").await;
        let kept = self.ledgers.durable.draft(&open.record.id)?;
        let kept = kept.ok_or_else(|| unresolvable("what its receipt should say is missing"))?;
        let Kept { draft, ending } =
            Kept::read(&kept).map_err(|e| unresolvable(&format!("what its receipt should say is unreadable: {e}")))?;
        let waited_for_a_human = open.record.parked.as_ref().is_some_and(|parked| parked.awaits.asked().is_some());
        let ending = if waited_for_a_human {
            Ending { recovered: true, ..expired(&open.record, ending) }
        } else {
            ending_of(&open.record, ending)?
        };
        self.end(&mut open, &draft, &ending, None, Vec::new()).await?;
        self.failpoint("recover.closed").await;
        Ok(())
    }

    /// Takes the recovery lease of an operation, or takes it anew.
    pub(crate) async fn claim(&self, operation: Operation, claimant: &str) -> Result<OpenOperation, LedgerError> {
        let ledger = &self.ledgers.durable;
        let now_ms = self.clock.now_ms();
        let lease = AdmissionRecoveryLease {
            operation: operation.id.clone(),
            claimant: claimant.to_owned(),
            epoch: ledger.lease_epoch(),
            version: operation.version,
            expires_at_ms: now_ms.saturating_add(LEASE_MS),
        };
        let mut open = OpenOperation::claimed(ledger.clone(), operation, claimant, self.clock.clone());
        open.advance(&[], |record| record.recovery = Some(lease), Vec::new(), Durability::Buffered).await?;
        Ok(open)
    }

    /// Writes beside the operation why it could not be ended, as far as that can be written.
    async fn note(&self, id: &crate::operation::OperationId, why: &KernelError) {
        tracing::error!(audit_fault = true, operation = id.as_str(), %why, "an operation cannot be recovered");
        let ledger = &self.ledgers.durable;
        let Ok(Some(record)) = ledger.operation(id) else { return };
        let claimant = record.recovery.as_ref().map(|lease| lease.claimant.clone()).unwrap_or_default();
        let mut open = OpenOperation::claimed(ledger.clone(), record, &claimant, self.clock.clone());
        let note = |record: &mut Operation| record.last_error = Some(why.to_string());
        if let Err(error) = open.advance(&[], note, Vec::new(), Durability::Synced).await {
            tracing::error!(audit_fault = true, operation = id.as_str(), %error, "nor can that be noted");
        }
    }
}

/// How an operation ends, by where it was left.
fn ending_of(record: &Operation, stored: Option<Ending>) -> Result<Ending, KernelError> {
    let ending = match (record.kind, record.state) {
        (Kind::GovernedEconomicMutation, _) => Ending {
            terminal: State::EconomicMutationNotApplied,
            ..Ending::new(Decision::Cancelled { reason: BEFORE_DISPATCH.into() }, "recovery.not_applied", Effect::None)
        },
        (_, state) if state.is_before_dispatch() => {
            let reason = format!("request {} was cancelled: {BEFORE_DISPATCH}", record.binding.request_id.as_str());
            Ending::new(Decision::Cancelled { reason }, "recovery.compensated", Effect::None)
        }
        (_, State::Finalizing) => match stored {
            Some(ending) => ending.unreleased(),
            None => return Err(unresolvable("what was decided about its output is missing")),
        },
        _ => Ending {
            terminal: State::OutcomeUnknownAfterDispatch,
            ..Ending::new(
                Decision::Incomplete { reason: AFTER_DISPATCH.into() },
                "recovery.outcome_unknown",
                Effect::Unknown,
            )
        },
    };
    Ok(Ending { recovered: true, ..ending })
}

impl Recovered {
    fn quarantine(&mut self, operation: String, why: String) {
        self.quarantined.push(Quarantined { operation, why });
    }
}

fn unresolvable(why: &str) -> KernelError {
    KernelError::Unresolvable(why.to_owned())
}
