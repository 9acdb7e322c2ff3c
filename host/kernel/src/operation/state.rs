//! States, and the legality of moves between them.

use serde::{Deserialize, Serialize};

/// What an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A call of a tool.
    ToolDispatch,
    /// A top-up, a limit change, an operator's release.
    GovernedEconomicMutation,
}

/// Which participants a dispatch has to consume. They decide which states it passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirements {
    /// A credential is fetched for it.
    pub broker_attempt: bool,
    /// A hold is taken for it. Every tool call here takes one.
    pub budget_capture: bool,
    /// A human has to agree.
    pub approval: bool,
}

/// Where an operation stands. 7 of the 18 come before dispatch, 7 are terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Recorded.
    Prepared,
    /// A credential was asked for.
    BrokerAttemptRegistered,
    /// It waits for a human.
    ApprovalRequired,
    /// Its hold is taken.
    BudgetAuthorized,
    /// A human agreed, and the agreement is reserved for it.
    ApprovalReserved,
    /// Nothing is missing.
    ReadyToDispatch,
    /// The hold is about to be consumed.
    CapturePending,
    /// The tool may have been entered from here on.
    DispatchCommitted,
    /// The tool came back; what to deliver is decided and stored.
    Finalizing,
    /// Done.
    Completed,
    /// Ended before dispatch; everything was reversed.
    CompensatedBeforeDispatch,
    /// Committed, and the tool was provably never entered.
    NotAcceptedAfterDispatchCommit,
    /// Committed, and nobody knows what the tool did.
    OutcomeUnknownAfterDispatch,
    /// The tool ran, and its output did not match the digest that the grant fixed.
    DeniedAfterDelivery,
    /// An economic mutation is ready.
    MutationReady,
    /// An economic mutation was handed over.
    MutationSubmitted,
    /// An economic mutation took place.
    EconomicMutationApplied,
    /// An economic mutation did not take place.
    EconomicMutationNotApplied,
}

impl State {
    /// Every state, in the order of the conformance table.
    pub const ALL: [Self; 18] = [
        Self::Prepared,
        Self::BrokerAttemptRegistered,
        Self::ApprovalRequired,
        Self::BudgetAuthorized,
        Self::ApprovalReserved,
        Self::ReadyToDispatch,
        Self::CapturePending,
        Self::DispatchCommitted,
        Self::Finalizing,
        Self::Completed,
        Self::CompensatedBeforeDispatch,
        Self::NotAcceptedAfterDispatchCommit,
        Self::OutcomeUnknownAfterDispatch,
        Self::DeniedAfterDelivery,
        Self::MutationReady,
        Self::MutationSubmitted,
        Self::EconomicMutationApplied,
        Self::EconomicMutationNotApplied,
    ];

    /// Whether the tool cannot have been entered yet.
    #[must_use]
    pub fn is_before_dispatch(self) -> bool {
        self < Self::DispatchCommitted
    }

    /// Whether the operation has ended.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Completed
                | Self::CompensatedBeforeDispatch
                | Self::NotAcceptedAfterDispatchCommit
                | Self::OutcomeUnknownAfterDispatch
                | Self::DeniedAfterDelivery
                | Self::EconomicMutationApplied
                | Self::EconomicMutationNotApplied
        )
    }
}

/// Whether an operation of this kind, with these requirements, may move from one state to another. Total and pure: the
/// live path, the drop path and recovery all ask it, and so does the ledger before it writes.
#[must_use]
pub fn is_legal_move(kind: Kind, requirements: Requirements, from: State, to: State) -> bool {
    match kind {
        Kind::GovernedEconomicMutation => is_legal_mutation(from, to),
        Kind::ToolDispatch => is_legal_dispatch(requirements, from, to),
    }
}

fn is_legal_mutation(from: State, to: State) -> bool {
    use State::{EconomicMutationApplied, EconomicMutationNotApplied, MutationReady, MutationSubmitted, Prepared};
    matches!(
        (from, to),
        (Prepared, MutationReady | EconomicMutationNotApplied)
            | (MutationReady, MutationSubmitted | EconomicMutationNotApplied)
            | (MutationSubmitted, EconomicMutationApplied | EconomicMutationNotApplied)
    )
}

fn is_legal_dispatch(needs: Requirements, from: State, to: State) -> bool {
    use State::{
        ApprovalRequired, ApprovalReserved, BrokerAttemptRegistered, BudgetAuthorized, CapturePending,
        CompensatedBeforeDispatch, Completed, DeniedAfterDelivery, DispatchCommitted, EconomicMutationApplied,
        EconomicMutationNotApplied, Finalizing, MutationReady, MutationSubmitted, NotAcceptedAfterDispatchCommit,
        OutcomeUnknownAfterDispatch, Prepared, ReadyToDispatch,
    };
    let begun = if needs.broker_attempt { BrokerAttemptRegistered } else { Prepared };
    match to {
        BrokerAttemptRegistered => needs.broker_attempt && from == Prepared,
        ApprovalRequired => needs.budget_capture && needs.approval && from == begun,
        BudgetAuthorized => needs.budget_capture && (from == begun || (needs.approval && from == ApprovalRequired)),
        ApprovalReserved => needs.approval && from == if needs.budget_capture { BudgetAuthorized } else { Prepared },
        ReadyToDispatch => match (needs.approval, needs.budget_capture) {
            (true, true) => matches!(from, ApprovalReserved | BudgetAuthorized),
            (true, false) => from == ApprovalReserved,
            (false, true) => from == BudgetAuthorized,
            (false, false) => from == Prepared,
        },
        CapturePending => needs.budget_capture && from == ReadyToDispatch,
        DispatchCommitted => from == if needs.budget_capture { CapturePending } else { ReadyToDispatch },
        CompensatedBeforeDispatch => is_reached_before_dispatch(needs, from),
        Finalizing | NotAcceptedAfterDispatchCommit => from == DispatchCommitted,
        OutcomeUnknownAfterDispatch => matches!(from, DispatchCommitted | Finalizing),
        Completed | DeniedAfterDelivery => from == Finalizing,
        Prepared | MutationReady | MutationSubmitted | EconomicMutationApplied | EconomicMutationNotApplied => false,
    }
}

/// Whether an operation with these requirements ever stands in `state` before its dispatch.
fn is_reached_before_dispatch(needs: Requirements, state: State) -> bool {
    match state {
        State::Prepared | State::ReadyToDispatch => true,
        State::BrokerAttemptRegistered => needs.broker_attempt,
        State::ApprovalRequired => needs.budget_capture && needs.approval,
        State::BudgetAuthorized | State::CapturePending => needs.budget_capture,
        State::ApprovalReserved => needs.approval,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    fn table() -> Value {
        serde_json::from_str(include_str!("../../../../tests/vectors/admission-transitions.json")).unwrap()
    }

    fn state(value: &Value) -> State {
        serde_json::from_value(value.clone()).unwrap()
    }

    #[test]
    fn every_pair_is_as_the_conformance_table_says() {
        let table = table();
        let machines = table["machines"].as_array().unwrap();
        assert_eq!(machines.len(), 9);
        for machine in machines {
            let kind: Kind = serde_json::from_value(machine["kind"].clone()).unwrap();
            let needs = |name: &str| machine[name].as_bool().unwrap_or(false);
            let requirements = Requirements {
                broker_attempt: needs("broker_attempt"),
                budget_capture: needs("budget_capture"),
                approval: needs("approval"),
            };
            let legal: BTreeSet<_> =
                machine["legal"].as_array().unwrap().iter().map(|m| (state(&m[0]), state(&m[1]))).collect();
            for from in State::ALL {
                for to in State::ALL {
                    let got = is_legal_move(kind, requirements, from, to);
                    assert_eq!(got, legal.contains(&(from, to)), "{kind:?} {requirements:?} {from:?} -> {to:?}");
                }
            }
        }
    }

    #[test]
    fn the_bands_are_those_of_the_table() {
        let table = table();
        let named = |key: &str| -> Vec<State> { table[key].as_array().unwrap().iter().map(state).collect() };
        assert_eq!(named("states"), State::ALL);
        assert_eq!(
            named("before_dispatch"),
            State::ALL.into_iter().filter(|s| s.is_before_dispatch()).collect::<Vec<_>>()
        );
        assert_eq!(named("terminal"), State::ALL.into_iter().filter(|s| s.is_terminal()).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_leaves_a_terminal_state() {
        for from in State::ALL.into_iter().filter(|s| s.is_terminal()) {
            for to in State::ALL {
                for kind in [Kind::ToolDispatch, Kind::GovernedEconomicMutation] {
                    for bits in 0..8_u8 {
                        let needs = Requirements {
                            broker_attempt: bits & 1 != 0,
                            budget_capture: bits & 2 != 0,
                            approval: bits & 4 != 0,
                        };
                        assert!(!is_legal_move(kind, needs, from, to));
                    }
                }
            }
        }
    }
}
