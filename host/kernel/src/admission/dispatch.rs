//! The dispatch commit, and the one line that enters a tool.

use super::{Committed, Held, OpenOperation};
use crate::ledger::{Durability, LedgerError, Mutation};
use crate::operation::{DispatchCommit, State};
use crate::ports::{Invocation, ToolRan, ToolServer};

/// An operation whose tool has been handed the call, and what came of it.
pub(crate) struct Dispatched {
    pub(crate) operation: OpenOperation,
    pub(crate) tool: ToolRan,
}

/// Commits the dispatch, and runs the tool. Once the commit is on the disk, nothing stands between it and the tool.
pub(crate) async fn dispatch(
    held: Held,
    server: &dyn ToolServer,
    invocation: Invocation,
    now_ms: u64,
) -> Result<Dispatched, LedgerError> {
    let Held { mut operation, hold_id } = held;
    let committed = commit(&mut operation, &hold_id, now_ms).await?;
    let tool = server.call(committed, invocation).await;
    Ok(Dispatched { operation, tool })
}

/// One synced transaction: the operation is committed, and everything it requires is consumed.
async fn commit(operation: &mut OpenOperation, hold_id: &str, now_ms: u64) -> Result<Committed, LedgerError> {
    let path = [State::ReadyToDispatch, State::CapturePending, State::DispatchCommitted];
    let change = |record: &mut crate::operation::Operation| {
        record.dispatch_commit =
            Some(DispatchCommit { version: record.version, lease_epoch: record.lease_epoch, at_ms: now_ms });
    };
    let consume = vec![Mutation::CommitHold { id: hold_id.to_owned() }];
    operation.advance(&path, change, consume, Durability::Synced).await?;
    Ok(Committed::new(operation.record.id.clone()))
}
