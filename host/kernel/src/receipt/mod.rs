//! Receipts: what happened to a call, content-addressed and signed.

mod body;
mod signed;
mod verify;

pub use body::{
    Action, BOUNDARY_PREVENT, Decision, Evidence, KERNEL, KIND_ECONOMIC, KIND_MEDIATED, ORIGIN_CALLER, ReceiptBody,
    RedactionMode, SCHEMA, TRUST_MEDIATED,
};
pub use signed::SignedReceipt;
pub use verify::{ReceiptError, Verified, verify, verify_line};
