//! Admission: the operation from its record to the moment the tool may be entered, and what ends it where the call itself
//! cannot.

mod admit;
mod children;
mod committed;
mod dispatch;
mod drop_guard;
#[cfg(doctest)]
mod forging;
mod open;
mod parked;
mod recovery;
mod reversal;
mod settler;

pub use children::{ChildReceipts, TooManyChildren};
pub use committed::Committed;
pub use recovery::{Quarantined, Recovered};
pub use settler::Settler;

pub(crate) use admit::{NotHeld, Wanted, hold, record, request_key, request_record};
pub(crate) use dispatch::dispatch;
pub(crate) use drop_guard::{POST_DISPATCH_URL_ELICITATION_REASON, PostAdmissionDropGuard};
pub(crate) use open::OpenOperation;
pub(crate) use parked::{ParkedOperations, Waiting};
pub(crate) use reversal::{CleanupFault, all as give_back_all, reservations as give_back_reservations};
pub(crate) use settler::Unwinds;
