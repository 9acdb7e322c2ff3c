//! The dispatch commit, and the one line that enters a tool.

use super::{Committed, OpenOperation, PostAdmissionDropGuard};
use crate::books::Books;
use crate::ledger::{Durability, LedgerError, Mutation, NonceKey};
use crate::operation::{DispatchCommit, State};
use crate::ports::{Invocation, ToolRan, ToolServer};

/// Commits the dispatch, and runs the tool. Once the commit is on the disk, nothing stands between it and the tool but the
/// word to the drop guard.
pub(crate) async fn dispatch(
    guard: &mut PostAdmissionDropGuard,
    server: &dyn ToolServer,
    invocation: Invocation,
    books: &Books,
) -> Result<ToolRan, LedgerError> {
    books.failpoint("commit.before").await;
    let authorization = guard.owned().authorization.clone();
    let committed = commit(guard.operation(), books.clock.now_ms(), authorization).await?;
    books.failpoint("commit.after").await;
    guard.mark_dispatch_started();
    Ok(server.call(committed, invocation).await)
}

/// One synced transaction: the operation is committed, and everything it requires is consumed.
async fn commit(
    operation: &mut OpenOperation,
    now_ms: u64,
    authorization: Option<String>,
) -> Result<Committed, LedgerError> {
    let path = [State::ReadyToDispatch, State::CapturePending, State::DispatchCommitted];
    let change = |record: &mut crate::operation::Operation| {
        record.parked = None;
        if let Some(payment) = &mut record.participants.payment {
            payment.authorization = authorization;
        }
        record.dispatch_commit =
            Some(DispatchCommit { version: record.version, lease_epoch: record.lease_epoch, at_ms: now_ms });
    };
    let id = operation.record.id.clone();
    let participants = &operation.record.participants;
    let hold = participants.hold.iter().map(|id| Mutation::CommitHold { id: id.clone() });
    let nonce = participants.nonce.as_ref().map(NonceKey::from);
    let nonce = nonce.map(|nonce| Mutation::ConsumeNonce { nonce, operation: id.clone() });
    let approval = participants.approval.as_ref();
    let approval = approval.map(|a| Mutation::ConsumeApproval { operation: id.clone(), id: a.clone() });
    let consume = hold.chain(nonce).chain(approval).collect();
    operation.advance(&path, change, consume, Durability::Synced).await?;
    Ok(Committed::new(id))
}
