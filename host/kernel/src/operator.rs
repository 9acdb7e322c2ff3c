//! What an operator, or the host itself, changes: accounts, revocations, and holds that nobody else can resolve. Each change is
//! an operation of the second kind, and leaves a receipt.

mod budgets;
mod look;

use serde_json::{Value, json};

use crate::admission::{self, OpenOperation};
use crate::books::{self, Books};
use crate::call::{EffectClass, RequestId};
use crate::canonical;
use crate::draft::Draft;
use crate::kernel::Kernel;
use crate::ledger::{Durability, Hold, LedgerError, Mutation};
use crate::money::Money;
use crate::operation::{Admission, Binding, Kind, Operation, OperationId, Requirements, State, Terminal};
use crate::receipt::{Decision, RedactionMode, SignedReceipt};
use crate::reservation::RuntimeReservation;
use crate::response::KernelError;
use crate::settle::{Effect, Ending};

pub use self::look::AwaitsHuman;

/// The server name of changes that no tool makes.
const HOST: &str = "chio-host";
/// The capability id of changes under no capability.
const OPERATOR: &str = "operator";
/// The most holds that are listed.
const MOST: usize = 1 << 20;
/// The longest reason, in bytes.
const MAX_REASON: usize = 1000;
/// The longest capability id, in bytes.
const MAX_CAPABILITY: usize = 256;

/// An operation that ended, or was left open, with something that only an operator can resolve.
#[derive(Clone, Debug, PartialEq)]
pub struct Unresolved {
    /// Its id.
    pub operation: OperationId,
    /// Where it stands; none where its record cannot be read.
    pub state: Option<State>,
    /// The tool server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The caller's id of the call.
    pub request_id: String,
    /// Money that is stuck.
    pub held: Option<Money>,
    /// Single-use ids that are kept.
    pub reservations: Vec<RuntimeReservation>,
    /// Why it could not be recovered, for one that is still open.
    pub why: Option<String>,
}

/// What an operator decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The call had no effect: what it held is free again.
    Release,
    /// The call had its effect: what it held is spent, and its single-use ids stay used.
    Capture,
}

impl Resolution {
    fn as_str(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Capture => "capture",
        }
    }
}

impl Kernel {
    /// What waits for an operator: holds that are frozen or stuck, and operations that recovery could not end.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn unresolved(&self) -> Result<Vec<Unresolved>, KernelError> {
        self.books.unresolved()
    }

    /// Resolves what an operation left: releases it or captures it, and signs that.
    ///
    /// An operation that is still open, because recovery could not end it, is ended first: nobody knows what became of it.
    ///
    /// # Errors
    /// No such operation, nothing of it is left to resolve, or the ledger does not take it.
    pub async fn resolve(
        &self,
        operation: &str,
        resolution: Resolution,
        because: &str,
    ) -> Result<SignedReceipt, KernelError> {
        self.books.resolve(operation, resolution, because).await
    }

    /// Revokes a capability, and with it everything that was derived from it, and signs that. It need not have been seen here.
    ///
    /// # Errors
    /// It was revoked before, or the ledger does not take it.
    pub async fn revoke(&self, capability_id: &str, because: &str) -> Result<SignedReceipt, KernelError> {
        self.serving_epoch()?;
        check_reason(because)?;
        let shown = canonical::printable(capability_id, 80);
        let length = 1..=MAX_CAPABILITY;
        if !length.contains(&capability_id.len()) || capability_id.chars().any(char::is_control) {
            let why = format!("\"{shown}\" is no capability id; 1 to {MAX_CAPABILITY} bytes of printable text are");
            return Err(KernelError::Unresolvable(why));
        }
        if let Some(at) = self.books.ledgers.durable.revoked_at(capability_id)? {
            let why = format!("capability {shown} is revoked already, since {at} (seconds since 1970)");
            return Err(KernelError::Unresolvable(why));
        }
        let parameters =
            json!({ "because": canonical::printable(because, MAX_REASON), "capability_id": capability_id });
        let revoke = Mutation::Revoke { capability_id: capability_id.to_owned(), at: self.books.now() };
        self.books.govern("revoke", &parameters, vec![revoke]).await
    }
}

impl Books {
    fn unresolved(&self) -> Result<Vec<Unresolved>, KernelError> {
        let ledger = &self.ledgers.durable;
        let mut found = Vec::new();
        for open in ledger.open_operations(MOST)? {
            match open {
                Ok(operation) => {
                    if let Some(why) = operation.last_error.clone() {
                        let held = self.hold_of(&operation)?;
                        found.push(Unresolved { why: Some(why), ..shown(&operation, held.as_ref()) });
                    }
                }
                Err(unreadable) => found.push(Unresolved {
                    operation: OperationId::from_listed(unreadable.id),
                    state: None,
                    server: String::new(),
                    tool: String::new(),
                    request_id: String::new(),
                    held: None,
                    reservations: Vec::new(),
                    why: Some(unreadable.why),
                }),
            }
        }
        for hold in ledger.holds(MOST)? {
            if let Some(operation) = ledger.operation(&hold.operation)?.filter(|o| o.state.is_terminal()) {
                found.push(shown(&operation, Some(&hold)));
            }
        }
        Ok(found)
    }

    fn hold_of(&self, operation: &Operation) -> Result<Option<Hold>, LedgerError> {
        match &operation.participants.hold {
            Some(id) => self.ledgers.durable.hold(id),
            None => Ok(None),
        }
    }

    async fn resolve(
        &self,
        operation: &str,
        resolution: Resolution,
        because: &str,
    ) -> Result<SignedReceipt, KernelError> {
        let refused = |why: &str| Err(KernelError::Unresolvable(why.to_owned()));
        check_reason(because)?;
        let nothing = format!("operation {} has nothing to resolve", canonical::printable(operation, 80));
        let listed = self.unresolved()?.into_iter().find(|u| u.operation.as_str() == operation);
        let id = OperationId::from_listed(operation.to_owned());
        let mut record = match self.ledgers.durable.operation(&id)? {
            Some(record) if listed.is_some() || self.keeps_an_id(&record)? => record,
            None if listed.is_some() => return refused("its record cannot be read; restore the ledger from a copy"),
            _ => return refused(&nothing),
        };
        let never_entered = record.state.is_before_dispatch() || record.state == State::CompensatedBeforeDispatch;
        if resolution == Resolution::Capture && never_entered {
            return refused("its tool was never entered, so there is nothing to capture; release it");
        }
        let mut mutations = Vec::new();
        if !record.state.is_terminal() {
            record = self.give_up(record).await?;
        }
        if let Some(hold) = self.hold_of(&record)? {
            let all = hold.charge.as_ref().map_or(0, |charge| charge.amount.units);
            let realized = if resolution == Resolution::Capture { all } else { 0 };
            self.resolve_payment(&record, realized).await?;
            mutations.push(books::resolve_hold(&hold, realized));
        }
        if resolution == Resolution::Release {
            let handle = OpenOperation::new(self.ledgers.durable.clone(), record.clone());
            mutations.extend(admission::give_back_reservations(&handle)?);
        }
        let parameters = json!({
            "because": canonical::printable(because, MAX_REASON),
            "operation_id": record.id.as_str(),
            "resolution": resolution.as_str(),
        });
        self.govern("recover.resolve", &parameters, mutations).await
    }

    /// Whether an operation that ended keeps a single-use id that it may not have used: its outcome is not known, or giving it
    /// back failed. The receipt names the operation and the id; holds are listed, and these are not.
    fn keeps_an_id(&self, record: &Operation) -> Result<bool, LedgerError> {
        let may = matches!(record.state, State::CompensatedBeforeDispatch | State::OutcomeUnknownAfterDispatch);
        for reservation in record.participants.reservations.iter().filter(|_| may) {
            if self.ledgers.durable.reservation(reservation)?.as_ref() == Some(&record.id) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Ends an operation that recovery could not end, without what its receipt should have said. What it holds is frozen for
    /// the resolution that follows.
    async fn give_up(&self, record: Operation) -> Result<Operation, KernelError> {
        let before = record.state.is_before_dispatch();
        let why = record.last_error.clone().unwrap_or_default();
        let lost = json!({ "lost": "what the call was asked to do cannot be read any more" });
        let draft = Draft { redaction_mode: RedactionMode::Redacted, ..Draft::of_mutation(&record, &lost, self.now()) };
        let reason = format!("an operator gave it up: {}", canonical::printable(&why, 300));
        let (decision, effect, terminal) = if before {
            (Decision::Cancelled { reason }, Effect::None, State::CompensatedBeforeDispatch)
        } else {
            (Decision::Incomplete { reason }, Effect::Unknown, State::OutcomeUnknownAfterDispatch)
        };
        let ending = Ending { terminal, recovered: true, ..Ending::new(decision, "recovery.given_up", effect) };
        let claimant = match &record.recovery {
            Some(lease) => lease.claimant.clone(),
            None => self.new_id("operator-")?,
        };
        let mut open = self.claim(record, &claimant).await?;
        self.end(&mut open, &draft, &ending, None, Vec::new()).await?;
        Ok(open.record)
    }

    /// One governed economic mutation, from `prepared` to its receipt.
    async fn govern(
        &self,
        tool: &str,
        parameters: &Value,
        mut mutations: Vec<Mutation>,
    ) -> Result<SignedReceipt, KernelError> {
        let ledger = self.ledgers.durable.clone();
        let binding = Binding {
            ledger_id: ledger.id().to_owned(),
            subject: self.signer.public().hex().to_owned(),
            request_id: RequestId::new(self.new_id("mutation-")?).expect("a prefix and a UUID are a request id"),
            attempt: 1,
            server: HOST.to_owned(),
            tool: tool.to_owned(),
            parameter_hash: canonical::hash(parameters),
        };
        let admission = Admission {
            capability_id: OPERATOR.to_owned(),
            capability_digest: String::new(),
            grant_index: 0,
            policy_hash: self.settings.policy_hash.clone(),
            components: Vec::new(),
            effect_class: EffectClass::SideEffecting,
            exposure: None,
        };
        let (kind, epoch) = (Kind::GovernedEconomicMutation, ledger.lease_epoch());
        let record = Operation::prepared(kind, Requirements::default(), binding, admission, epoch);
        let draft = Draft::of_mutation(&record, parameters, self.now());
        let mut open = OpenOperation::new(ledger, record);
        let keep = Mutation::KeepDraft { operation: open.record.id.clone(), bytes: draft.to_kept(None) };
        open.create(vec![keep]).await?;
        let ending =
            Ending { effect: Effect::Executed, terminal: State::EconomicMutationApplied, ..Ending::passed(None) };
        let receipt = self.sign(&draft, &ending, Some(&open.record))?;
        mutations.push(books::append(&receipt, &draft));
        let path = [State::MutationReady, State::MutationSubmitted, State::EconomicMutationApplied];
        let id = receipt.id().to_owned();
        let applied = open
            .advance(
                &path,
                |record| record.terminal = Some(Terminal { receipt_id: Some(id) }),
                mutations,
                Durability::Synced,
            )
            .await;
        match applied {
            Ok(_) => Ok(receipt),
            Err(LedgerError::Refused(why)) => {
                let decision = Decision::Deny { reason: why.to_string(), guard: crate::receipt::KERNEL.to_owned() };
                let ending = Ending {
                    terminal: State::EconomicMutationNotApplied,
                    ..Ending::new(decision, "mutation.refused", Effect::None)
                };
                self.end(&mut open, &draft, &ending, None, Vec::new()).await?;
                Err(KernelError::Ledger(LedgerError::Refused(why)))
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn shown(operation: &Operation, hold: Option<&Hold>) -> Unresolved {
    let binding = &operation.binding;
    Unresolved {
        operation: operation.id.clone(),
        state: Some(operation.state),
        server: binding.server.clone(),
        tool: binding.tool.clone(),
        request_id: binding.request_id.as_str().to_owned(),
        held: hold.and_then(|h| h.charge.as_ref()).map(|charge| charge.amount.clone()),
        reservations: operation.participants.reservations.clone(),
        why: None,
    }
}

/// Why an operator changes something is part of its receipt.
fn check_reason(because: &str) -> Result<(), KernelError> {
    if because.trim().is_empty() || because.len() > MAX_REASON {
        return Err(KernelError::Unresolvable(format!("a reason of 1 to {MAX_REASON} bytes is needed")));
    }
    Ok(())
}
