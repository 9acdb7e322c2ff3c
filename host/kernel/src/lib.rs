//! The mediated call: one tool invocation, from request to signed receipt.
//!
//! [`Kernel::evaluate`] takes seven steps, each a function of its own, and reads top to bottom:
//!
//! 1. **admit** the capability: who asks, is the id new, may it;
//! 2. **judge**: every guard on one snapshot, the first no ends it, an error is a no;
//! 3. **record** the operation, `prepared`;
//! 4. **hold** what the call may use;
//! 5. **dispatch**: one synced commit, then the tool, and nothing between;
//! 6. **settle**: the output hooks, revocation once more, the grant's digest;
//! 7. **close**: sign the receipt and record the end, synced; only then is output released.
//!
//! The kernel sees plugins, the ledger and the clock through its own traits ([`ports`], [`ledger::Ledger`]). It has no
//! WebAssembly, no disk, no clock and no command line of its own.
//!
//! **Invariant:** no code reaches a tool except through the [`admission::Committed`] value that the dispatch commit alone
//! makes.

#![forbid(unsafe_code)]

pub mod admission;
pub mod approval;
mod approvals;
mod books;
mod budget;
pub mod call;
pub mod canonical;
pub mod capability;
mod cost;
pub mod denial;
mod draft;
mod evaluate;
pub mod facts;
pub mod failpoint;
mod guards;
mod hooks;
mod in_flight;
mod kernel;
pub mod keys;
pub mod ledger;
pub mod money;
mod nested;
pub mod nonce;
pub mod operation;
mod operator;
mod park;
mod payment;
pub mod ports;
pub mod proof;
pub mod receipt;
mod replay;
pub mod reservation;
pub mod response;
mod settle;
mod trail;
mod verify;

pub use approvals::{Decided, WaitingApproval};
pub use cost::Price;
pub use kernel::{
    AccountSettings, ApprovalSettings, DurableAdmission, Kernel, Ledgers, MAX_NESTED_DEPTH, NonceSettings, Outputs,
    Plugins, Settings,
};
pub use nested::{NestedTarget, ParentCall};
pub use operator::{AwaitsHuman, Resolution, Unresolved};
