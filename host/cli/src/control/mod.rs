//! What an operator or an approver asks of the ledger: of a process that opens it itself, or, over a socket, of the host that
//! serves it.
//!
//! A ledger belongs to one process at a time, and while `run` serves, that is the host. So the host listens on `control.sock` in
//! the state folder, and every command that finds the ledger held sends its [`Request`] there. Both ways end in [`answer`], so a
//! command prints the same either way.
//!
//! **Who is trusted with what.** The socket lies in a folder that only its owner can enter, its own mode is 0600, and a peer of
//! another user is turned away. Whoever reaches it can read and ask what an operator can who has the state folder: list,
//! revoke, change accounts, resolve. Nobody who reaches it can approve: a decision is a token that one of the policy's approvers
//! has signed, with a key that lies in neither of the host's folders, and the kernel believes the signature alone. What the request
//! says beside it is compared with it. No request mediates a call, and none changes the policy.

pub(crate) mod operator;
#[cfg(unix)]
pub(crate) mod socket;
#[cfg(not(unix))]
#[path = "no_socket.rs"]
pub(crate) mod socket;

use chio_host_kernel::approval::{ApprovalDecision, ApprovalError, ApprovalSubject, ApprovalToken};
use chio_host_kernel::canonical;
use chio_host_kernel::ledger::Account;
use chio_host_kernel::receipt::SignedReceipt;
use chio_host_kernel::response::KernelError;
use chio_host_kernel::{Decided, Kernel, Resolution, Unresolved, WaitingApproval};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The most that are listed of what waits; `more` says how many there are beside them.
const MOST_WAITING: usize = 1000;
/// The largest arguments that a list shows, in bytes of JSON.
const MAX_LISTED_ARGUMENTS: usize = 4096;
/// How many log entries one answer holds.
const PAGE: usize = 1024;
/// How many bytes of receipts one answer holds, save that it holds one at least.
const PAGE_BYTES: usize = 4 << 20;

/// One thing that is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    /// What waits for a human, without what is long.
    Waiting {},
    /// One that waits, whole.
    WaitingOne {
        /// Its operation's id, or the beginning of it.
        operation: String,
    },
    /// What a human decided.
    Decide {
        /// As the sender means it.
        says: ApprovalDecision,
        /// As an approver signed it.
        approval: Value,
    },
    /// Revokes a capability.
    Revoke {
        /// Which.
        capability_id: String,
        /// Why.
        because: String,
    },
    /// The prepaid accounts.
    Accounts {},
    /// Adds to an account.
    TopUp {
        /// Which.
        account: String,
        /// Minor units.
        units: u64,
        /// Why.
        because: String,
    },
    /// Says what an account holds in all.
    Limit {
        /// Which.
        account: String,
        /// Minor units.
        units: u64,
        /// Why.
        because: String,
    },
    /// What only an operator can resolve.
    Unresolved {},
    /// Resolves it.
    Resolve {
        /// Which operation.
        operation: String,
        /// How.
        resolution: Choice,
        /// Why.
        because: String,
    },
    /// A page of the log.
    Log {
        /// The first sequence number.
        from: u64,
    },
    /// A page of receipts, in the log's order.
    Receipts {
        /// The first sequence number.
        from: u64,
    },
    /// One receipt, or null.
    Receipt {
        /// Its whole id.
        id: String,
    },
    /// When a capability was revoked, or null.
    RevokedAt {
        /// Which.
        capability_id: String,
    },
}

/// What an operator makes of an operation whose outcome nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Choice {
    /// It had no effect.
    Release,
    /// It had its effect.
    Capture,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    /// The kernel refuses, or cannot.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// What was sent as an approval is none.
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    /// No operation, or more than one, is meant.
    #[error("{0}")]
    Operation(String),
}

/// Answers a request from the ledger that this kernel serves.
pub(crate) async fn answer(kernel: &Kernel, request: Request) -> Result<Value, Unanswered> {
    Ok(match request {
        Request::Waiting {} => {
            let waiting = kernel.waiting_approvals()?;
            let more = waiting.len().saturating_sub(MOST_WAITING);
            json!({ "waiting": waiting.iter().take(MOST_WAITING).map(listed).collect::<Vec<_>>(), "more": more })
        }
        Request::WaitingOne { operation } => whole(&one_of(kernel.waiting_approvals()?, &operation)?),
        Request::Decide { says, approval } => {
            decided(kernel.decide(says, &ApprovalToken::from_value(approval)?).await?)
        }
        Request::Revoke { capability_id, because } => signed(&kernel.revoke(&capability_id, &because).await?),
        Request::Accounts {} => kernel.accounts()?.iter().map(|(name, stored)| account(name, stored)).collect(),
        Request::TopUp { account, units, because } => signed(&kernel.top_up(&account, units, &because).await?),
        Request::Limit { account, units, because } => signed(&kernel.limit(&account, units, &because).await?),
        Request::Unresolved {} => kernel.unresolved()?.iter().map(unresolved).collect(),
        Request::Resolve { operation, resolution, because } => {
            let resolution = match resolution {
                Choice::Release => Resolution::Release,
                Choice::Capture => Resolution::Capture,
            };
            signed(&kernel.resolve(&operation, resolution, &because).await?)
        }
        Request::Log { from } => json!(kernel.log(from, PAGE)?),
        Request::Receipts { from } => receipts(kernel, from)?,
        Request::Receipt { id } => json!(kernel.receipt(&id)?),
        Request::RevokedAt { capability_id } => json!(kernel.revoked_at(&capability_id)?),
    })
}

/// Entries, each with its receipt; null where that is missing.
fn receipts(kernel: &Kernel, from: u64) -> Result<Value, KernelError> {
    let (mut page, mut bytes) = (Vec::new(), 0);
    for entry in kernel.log(from, PAGE)? {
        let receipt = kernel.receipt(&entry.receipt_id)?;
        bytes += receipt.as_ref().map_or(0, |receipt| receipt.to_string().len());
        page.push(json!({ "entry": entry, "receipt": receipt }));
        if bytes > PAGE_BYTES {
            break;
        }
    }
    Ok(page.into())
}

fn one_of(waiting: Vec<WaitingApproval>, operation: &str) -> Result<WaitingApproval, Unanswered> {
    let shown = canonical::printable(operation, 64);
    let mut meant = waiting.into_iter().filter(|w| w.request.operation_id.starts_with(operation));
    match (meant.next(), meant.next()) {
        (Some(_), _) if operation.len() < 4 => {
            Err(Unanswered::Operation(format!("\"{shown}\" is too short to name an operation; give 4 digits or more")))
        }
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => {
            Err(Unanswered::Operation(format!("more than one operation that waits begins with {shown}")))
        }
        (None, _) => Err(Unanswered::Operation(format!(
            "no operation {shown} waits for a human; `approvals list` shows what does"
        ))),
    }
}

fn listed(waits: &WaitingApproval) -> Value {
    let request = &waits.request;
    let mut shown = json!({
        "operation": request.operation_id,
        "about": request.about,
        "approved": waits.approved,
        "server": request.server,
        "tool": request.tool,
        "caller": request.subject,
        "request_id": request.request_id,
        "asked_by": request.asked_by.iter().map(|asker| asker.name.as_str()).collect::<Vec<_>>(),
        "reason": waits.reason,
        "until": waits.until,
        "receipt_id": waits.receipt_id,
    });
    if let Some(cost) = &request.max_cost {
        shown["max_cost"] = json!(cost);
    }
    let bytes = waits.arguments.to_string().len();
    if bytes <= MAX_LISTED_ARGUMENTS {
        shown["arguments"] = waits.arguments.clone();
    } else {
        shown["arguments_bytes"] = bytes.into();
    }
    shown
}

fn whole(waits: &WaitingApproval) -> Value {
    let mut shown = listed(waits);
    shown["arguments"] = waits.arguments.clone();
    shown["request"] = json!(waits.request);
    if let Some(output) = &waits.output {
        shown["output"] = output.clone();
    }
    shown
}

fn decided(decided: Decided) -> Value {
    match decided {
        Decided::MayRun => json!({ "may_run": true }),
        Decided::Ended(receipt) => {
            json!({ "may_run": false, "receipt_id": receipt.id(), "verdict": receipt.body().decision.verdict() })
        }
    }
}

fn signed(receipt: &SignedReceipt) -> Value {
    json!({ "verdict": receipt.body().decision.verdict(), "receipt_id": receipt.id() })
}

fn account(name: &str, stored: &Account) -> Value {
    json!({
        "account": name,
        "currency": stored.total.currency,
        "total": stored.total.units,
        "spent": stored.captured,
        "held": stored.held,
        "free": stored.free(),
        "policy": stored.base,
    })
}

fn unresolved(stuck: &Unresolved) -> Value {
    let mut shown = json!({
        "operation": stuck.operation,
        "state": stuck.state.map_or_else(|| "unreadable".into(), |state| json!(state)),
        "tool": stuck.tool,
        "server": stuck.server,
        "request_id": stuck.request_id,
    });
    if let Some(held) = &stuck.held {
        shown["held"] = held.to_string().into();
    }
    if !stuck.reservations.is_empty() {
        let ids: Vec<_> = stuck.reservations.iter().map(ToString::to_string).collect();
        shown["reserved"] = ids.join(", ").into();
    }
    if let Some(why) = &stuck.why {
        shown["why"] = why.as_str().into();
    }
    shown
}

/// What a decision about something is called by whoever makes it.
pub(crate) fn named(about: ApprovalSubject) -> &'static str {
    match about {
        ApprovalSubject::Call => "call",
        ApprovalSubject::Output => "output",
    }
}
