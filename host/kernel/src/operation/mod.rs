//! The operation: the durable record of a call, and the one function that says which moves it may make.

mod record;
mod state;

pub use record::{
    Admission, AdmissionRecoveryLease, Asked, Awaits, Binding, Component, Delivery, DispatchCommit, NonceRef,
    Operation, OperationId, Parked, Participants, PaymentRef, Role, Terminal,
};
pub use state::{Kind, Requirements, State, is_legal_move};
