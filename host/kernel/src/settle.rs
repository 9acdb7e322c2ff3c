//! From what the tool answered to how the call ends: hooks, revocation, the grant's digest.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::admission::{CleanupFault, POST_DISPATCH_URL_ELICITATION_REASON};
use crate::approval::Asker;
use crate::call::EffectClass;
use crate::canonical::{self, printable};
use crate::cost::{Cost, Price};
use crate::denial::Denial;
use crate::hooks::Inspected;
use crate::money::Money;
use crate::operation::{Delivery, State};
use crate::ports::{Elicitation, Entry, Fault, OutputFormat, Stop, ToolError, ToolOutput, ToolRan};
use crate::receipt::{Decision, KERNEL};
use crate::response::Output;

/// Whether the tool did anything, as the receipt says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Effect {
    /// It was never entered.
    None,
    /// It ran.
    Executed,
    /// Nobody knows.
    Unknown,
}

impl Effect {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Executed => "executed",
            Self::Unknown => "unknown",
        }
    }
}

/// How a call ends, before it is signed. What `finalizing` stores of it is enough to sign it later.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ending {
    pub(crate) decision: Decision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    pub(crate) effect: Effect,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<Output>,
    /// What hooks withheld until a human releases it, and which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) withheld: Option<(Vec<Asker>, Output)>,
    #[serde(skip)]
    pub(crate) elicitations: Vec<Elicitation>,
    /// Where its operation ends.
    pub(crate) terminal: State,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delivery: Option<Delivery>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cost: Option<Cost>,
    /// The rail's id of what it took.
    #[serde(skip)]
    pub(crate) capture: Option<String>,
    /// Why nobody knows whether the rail took it.
    #[serde(skip)]
    pub(crate) unsettled: Option<String>,
    /// Reversals that failed.
    #[serde(skip)]
    pub(crate) cleanup: Vec<CleanupFault>,
    /// Whether it is signed by a recovery.
    #[serde(skip)]
    pub(crate) recovered: bool,
    /// Whether its output is kept, because nobody was given it.
    #[serde(skip)]
    pub(crate) kept: bool,
}

impl Ending {
    /// An end before dispatch, with nothing to release.
    pub(crate) fn new(decision: Decision, code: &str, effect: Effect) -> Self {
        let terminal = State::CompensatedBeforeDispatch;
        Self { decision, code: Some(code.to_owned()), effect, terminal, ..Self::passed(None) }
    }

    /// The same end, whose output no caller was given.
    pub(crate) fn unreleased(self) -> Self {
        Self { kept: true, ..self }
    }

    /// SHA-256 of the canonical JSON of what is released, lower-case hex.
    pub(crate) fn content_hash(&self) -> String {
        canonical::hash(self.output.as_ref().map_or(&Value::Null, |o| &o.value))
    }

    /// An allow, without output: a check that passed.
    pub(crate) fn passed(output: Option<Output>) -> Self {
        Self {
            decision: Decision::Allow,
            code: None,
            effect: Effect::None,
            output,
            withheld: None,
            elicitations: Vec::new(),
            terminal: State::Completed,
            delivery: None,
            cost: None,
            capture: None,
            unsettled: None,
            cleanup: Vec::new(),
            recovered: false,
            kept: false,
        }
    }

    /// A refusal before any tool was entered.
    pub(crate) fn denied(denial: &Denial) -> Self {
        let guard = denial.plugin().unwrap_or(KERNEL).to_owned();
        let decision = Decision::Deny { reason: denial.to_string(), guard };
        let terminal = State::CompensatedBeforeDispatch;
        Self { decision, code: Some(denial.code()), terminal, ..Self::passed(None) }
    }

    /// A call that waits for a human.
    pub(crate) fn pending(code: &str, guard: String, reason: String) -> Self {
        let decision = Decision::Pending { reason, guard };
        let terminal = State::CompensatedBeforeDispatch;
        Self { decision, code: Some(code.to_owned()), terminal, ..Self::passed(None) }
    }

    /// A call whose tool was entered, and of which no output is released.
    fn incomplete(code: String, reason: String, effect: Effect) -> Self {
        let terminal = if effect == Effect::Unknown { State::OutcomeUnknownAfterDispatch } else { State::Completed };
        let decision = Decision::Incomplete { reason };
        Self { decision, code: Some(code), effect, terminal, ..Self::passed(None) }
    }

    /// The hooks' judgement over an output that a tool did return.
    pub(crate) fn inspected(inspected: Inspected, format: OutputFormat) -> Self {
        let (ending, delivery) = match inspected {
            Inspected::Release(value) => (Self::passed(Some(Output { value, format })), Delivery::Deliver),
            Inspected::Block(denial) => (Self::denied(&denial), Delivery::Block),
            Inspected::Withhold { by, reason, value } => {
                let first = by.first().map(|hook| hook.name.clone()).unwrap_or_default();
                let pending = Self::pending("hook.escalated", first, reason);
                (Self { withheld: Some((by, Output { value, format })), ..pending }, Delivery::Withheld)
            }
        };
        Self { effect: Effect::Executed, terminal: State::Completed, delivery: Some(delivery), ..ending }
    }

    /// The output is withheld because of something that the hooks did not see.
    pub(crate) fn withheld(denial: &Denial, delivery: Delivery) -> Self {
        let terminal = match delivery {
            Delivery::Mismatch => State::DeniedAfterDelivery,
            _ => State::Completed,
        };
        Self { effect: Effect::Executed, terminal, delivery: Some(delivery), ..Self::denied(denial) }
    }
}

impl Ending {
    /// The end of a call whose output a human released.
    pub(crate) fn released(self) -> Self {
        let output = self.withheld.map(|(_, output)| output);
        let delivery = Some(Delivery::Deliver);
        Self { decision: Decision::Allow, code: None, output, withheld: None, delivery, ..self }.unreleased()
    }

    /// The end of a call whose output nobody gets, although the work was done.
    pub(crate) fn not_released(self, denial: &Denial) -> Self {
        let Self { effect, terminal, delivery, cost, .. } = self;
        Self { effect, terminal, delivery, cost, ..Self::denied(denial) }
    }
}

/// What a tool's run comes down to.
pub(crate) enum Answer {
    /// It returned something, which the hooks have to see.
    Output(ToolOutput),
    /// It returned an error, whose text the hooks have to see as well: a secret in it is as bad as in an output.
    Error {
        /// The tool's words.
        message: String,
        /// `tool.…`.
        code: &'static str,
    },
    /// There is nothing to show to a hook.
    Ended(Box<Ending>),
}

/// What a run of a tool came to, of the money that was held for it. A tool that was never entered costs nothing.
pub(crate) fn cost(tool: &ToolRan, held: &Money, price: Option<&Price>) -> Cost {
    let fuel = tool.ran.fuel;
    match (tool.entry, &tool.ran.outcome) {
        (Entry::Never, Err(_) | Ok(Err(_))) => Cost::nothing(held),
        (_, Ok(Ok(output))) => Cost::of(held, price, fuel, output.cost.clone()),
        (_, Ok(Err(ToolError::Failed(_)))) => Cost::of(held, price, fuel, None),
        (_, Ok(Err(_))) | (Entry::Entered, Err(_)) => Cost::of_work(held, price, fuel),
    }
}

/// Sorts a run of a tool.
pub(crate) fn answer(tool: ToolRan, effect_class: EffectClass, deadline_ms: u128) -> Answer {
    let ended = |ending| Answer::Ended(Box::new(ending));
    match (tool.entry, tool.ran.outcome) {
        (_, Ok(Ok(output))) => Answer::Output(output),
        (Entry::Never, Ok(Err(error))) => ended(not_entered(error)),
        (Entry::Entered, Ok(Err(error))) => returned_error(error),
        (Entry::Never, Err(fault)) => {
            let denial = stopped(&fault, deadline_ms);
            ended(Ending { terminal: State::NotAcceptedAfterDispatchCommit, ..Ending::denied(&denial) })
        }
        (Entry::Entered, Err(fault)) => {
            let denial = stopped(&fault, deadline_ms);
            ended(Ending::incomplete(denial.code(), denial.to_string(), after_entry(effect_class)))
        }
    }
}

/// What the host says of a call in its tool's stead: no word is the tool's, so hooks have nothing to see.
fn not_entered(error: ToolError) -> Ending {
    let (why, code) = words(error).unwrap_or_else(|_| ("the tool was not entered".to_owned(), "tool.error"));
    let denial = Denial::Tool { why: printable(&why, 2048), stop: None };
    let terminal = State::NotAcceptedAfterDispatchCommit;
    Ending { code: Some(code.to_owned()), terminal, ..Ending::denied(&denial) }
}

fn returned_error(error: ToolError) -> Answer {
    match words(error) {
        Ok((message, code)) => Answer::Error { message: printable(&message, 2048), code },
        Err(elicitations) => {
            let reason = POST_DISPATCH_URL_ELICITATION_REASON.into();
            let ending = Ending::incomplete("tool.url_elicitation".into(), reason, Effect::Unknown);
            Answer::Ended(Box::new(Ending { elicitations, ..ending }))
        }
    }
}

/// A tool's error in words, with its code; or the addresses that its user has to visit instead.
fn words(error: ToolError) -> Result<(String, &'static str), Vec<Elicitation>> {
    match error {
        ToolError::InvalidArguments(m) => Ok((format!("invalid arguments: {m}"), "tool.invalid_arguments")),
        ToolError::FailedBeforeEffect(m) => Ok((m, "tool.failed_before_effect")),
        ToolError::Failed(m) => Ok((m, "tool.failed")),
        ToolError::UrlElicitation(elicitations) => Err(elicitations),
    }
}

/// What is known of a tool that was stopped: one that can have no effect had none that matters.
fn after_entry(class: EffectClass) -> Effect {
    match class {
        EffectClass::Pure | EffectClass::ReadOnly => Effect::Executed,
        EffectClass::SideEffecting => Effect::Unknown,
    }
}

fn stopped(fault: &Fault, budget_ms: u128) -> Denial {
    match fault.stop {
        Stop::Deadline => Denial::Deadline { stage: "tool", budget_ms },
        stop => Denial::Tool { why: fault.message.clone(), stop: Some(stop) },
    }
}

/// The end of a call whose tool returned an error, with the hooks' judgement over its words.
pub(crate) fn failed(inspected: Inspected, code: &str) -> Ending {
    let words = match inspected {
        Inspected::Release(Value::String(words)) => words,
        Inspected::Release(other) => canonical::to_string(&other),
        Inspected::Block(_) | Inspected::Withhold { .. } => "an output hook withheld the message".to_owned(),
    };
    let denial = Denial::Tool { why: printable(&words, 2048), stop: None };
    Ending::incomplete(code.to_owned(), denial.to_string(), Effect::Executed)
}
