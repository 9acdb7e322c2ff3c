//! Admission: the operation from its record to the moment the tool may be entered.

mod admit;
mod committed;
mod dispatch;
#[cfg(doctest)]
mod forging;
mod open;

pub use committed::Committed;

pub(crate) use admit::{Held, NotHeld, hold, invocation_claim, invocation_counter, record, request_record};
pub(crate) use dispatch::{Dispatched, dispatch};
pub(crate) use open::OpenOperation;
