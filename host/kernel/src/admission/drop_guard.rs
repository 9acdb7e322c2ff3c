//! What is owed by a call that was admitted, until it has ended.

use std::sync::Arc;

use tokio::sync::mpsc::OwnedPermit;

use super::{ChildReceipts, OpenOperation};
use crate::books::Books;
use crate::draft::Draft;
use crate::in_flight::Turn;
use crate::replay::Fresh;
use crate::settle::Ending;

/// A tool call's future was dropped after admission (the second seed's constant).
pub(crate) const POST_ADMISSION_DROP_REASON: &str = "tool evaluation future dropped after admission";
/// The end of a call could not be recorded after its tool ran (the second seed's constant).
pub(crate) const POST_DISPATCH_CREDENTIAL_COMMIT_FAILURE_REASON: &str =
    "dispatch credential commit failed after tool execution";
/// A tool sent the user elsewhere (the second seed's constant).
pub(crate) const POST_DISPATCH_URL_ELICITATION_REASON: &str =
    "tool server returned URL elicitation after dispatch; outcome is unknown";
/// A reversal failed (the second seed's constant).
pub(crate) const PRE_DISPATCH_CLEANUP_FAULT_REASON: &str =
    "tool evaluation future dropped before dispatch with cleanup fault";

/// Made when a call is recorded, before anything is changed; owns everything that has to be undone or accounted for.
///
/// It has two bits: *armed*, cleared when the call has ended by itself, and *dispatch started*. Dropped while armed, it
/// hands what it owns to the [`Settler`](super::Settler), on the permit that admission reserved: a destructor does no I/O,
/// and a queue that is full refuses new calls instead of losing an unwind.
pub(crate) struct PostAdmissionDropGuard {
    armed: Option<(Unwind, OwnedPermit<Unwind>)>,
}

/// A call that has to be ended by somebody else.
pub(crate) struct Unwind {
    /// The rules and rails that it began with.
    pub(crate) books: Arc<Books>,
    pub(crate) operation: OpenOperation,
    /// What its receipt will say.
    pub(crate) draft: Draft,
    /// How it ends, once that is decided and stored.
    pub(crate) ending: Option<Ending>,
    /// Whether the await on the tool was entered.
    pub(crate) dispatch_started: bool,
    /// What the payment rail set aside for it, until the dispatch commit records that.
    pub(crate) authorization: Option<String>,
    /// Whether the end could not be recorded.
    pub(crate) close_failed: bool,
    /// What its request id meant, where the operation is not on the durable ledger.
    pub(crate) fresh: Option<Fresh>,
    /// The receipts of its nested calls that are not on the log yet.
    pub(crate) children: ChildReceipts,
    /// Nobody else evaluates the request id until this is dropped.
    pub(crate) _turn: Turn,
}

impl PostAdmissionDropGuard {
    /// A guard over an operation that is not recorded yet, or was by an earlier evaluation.
    pub(crate) fn new(
        books: Arc<Books>,
        operation: OpenOperation,
        draft: Draft,
        fresh: Option<Fresh>,
        turn: Turn,
        permit: OwnedPermit<Unwind>,
    ) -> Self {
        let unwind = Unwind {
            books,
            operation,
            draft,
            ending: None,
            dispatch_started: false,
            authorization: None,
            close_failed: false,
            fresh,
            children: ChildReceipts::default(),
            _turn: turn,
        };
        Self { armed: Some((unwind, permit)) }
    }

    /// What it owns.
    pub(crate) fn owned(&mut self) -> &mut Unwind {
        &mut self.armed.as_mut().expect("a guard is armed until it is given up").0
    }

    /// The operation.
    pub(crate) fn operation(&mut self) -> &mut OpenOperation {
        &mut self.owned().operation
    }

    /// Mark that the tool-server dispatch await has been entered: from here on a dropped future may stand for an effect
    /// that happened.
    pub(crate) fn mark_dispatch_started(&mut self) {
        self.owned().dispatch_started = true;
    }

    /// The call has ended, or waits for its caller: there is nothing to undo.
    pub(crate) fn disarm(mut self) {
        self.armed = None;
    }
}

impl Drop for PostAdmissionDropGuard {
    fn drop(&mut self) {
        if let Some((unwind, permit)) = self.armed.take() {
            // Handing over is all that happens here: no I/O, no wait, nothing that can fail.
            permit.send(unwind);
        }
    }
}
