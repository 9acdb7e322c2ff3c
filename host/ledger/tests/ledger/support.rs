//! Operations, holds and receipts to try a ledger with, and a way to apply them from a thread.

use std::sync::Arc;

use chio_host_kernel::call::{EffectClass, Namespace, RequestId};
use chio_host_kernel::keys::Keypair;
use chio_host_kernel::ledger::{
    Applied, Claim, CounterKey, Durability, Hold, HoldState, Ledger, LedgerError, Mutation, OperationWrite, Refused,
    RequestKey, RequestOutcome, RequestRecord, Transition, Window,
};
use chio_host_kernel::operation::{Admission, Binding, DispatchCommit, Kind, Operation, Requirements, State, Terminal};
use chio_host_kernel::receipt::{
    Action, BOUNDARY_PREVENT, Decision, KIND_MEDIATED, ORIGIN_CALLER, ReceiptBody, RedactionMode, SignedReceipt,
    TRUST_MEDIATED,
};
use serde_json::{Value, json};
use tokio::runtime::Builder;

pub(crate) const SUBJECT: &str = "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c";

/// Waits for a future on this thread.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    Builder::new_current_thread().build().unwrap().block_on(future)
}

/// A ledger under test.
#[derive(Clone)]
pub(crate) struct Subject {
    pub(crate) ledger: Arc<dyn Ledger>,
}

impl Subject {
    pub(crate) fn new(ledger: impl Ledger + 'static) -> Self {
        Self { ledger: Arc::new(ledger) }
    }

    /// Applies, synced, under the ledger's own epoch.
    pub(crate) fn apply(
        &self,
        operation: Option<OperationWrite>,
        mutations: Vec<Mutation>,
    ) -> Result<Applied, LedgerError> {
        let transition = Transition { operation, ..Transition::of(self.ledger.lease_epoch(), mutations) };
        wait(self.ledger.apply(transition, Durability::Synced))
    }

    pub(crate) fn mutate(&self, mutations: Vec<Mutation>) -> Result<Applied, LedgerError> {
        self.apply(None, mutations)
    }

    /// Applies what has to be refused.
    pub(crate) fn refuse(&self, operation: Option<OperationWrite>, mutations: Vec<Mutation>) -> Refused {
        match self.apply(operation, mutations) {
            Err(LedgerError::Refused(refused)) => refused,
            other => panic!("not refused: {other:?}"),
        }
    }

    /// A tool dispatch that is recorded, and nothing else.
    pub(crate) fn prepared(&self, request_id: &str) -> Operation {
        let record = self.new_operation(request_id);
        self.apply(Some(first(&record)), vec![]).unwrap();
        record
    }

    /// A tool dispatch that stands before its dispatch commit, its hold taken.
    pub(crate) fn ready(&self, request_id: &str) -> Operation {
        let mut record = self.prepared(request_id);
        let hold = hold(&record, &format!("hold-{request_id}"), vec![]);
        record.participants.hold = Some(hold.id.clone());
        let path = [State::BudgetAuthorized, State::ReadyToDispatch, State::CapturePending];
        self.apply(Some(step(&mut record, &path)), vec![Mutation::TakeHold(hold)]).unwrap();
        record
    }

    /// A tool dispatch that was committed.
    pub(crate) fn dispatched(&self, request_id: &str) -> Operation {
        let mut record = self.ready(request_id);
        let write = self.dispatch(&mut record);
        self.apply(Some(write), vec![commit_hold(&record)]).unwrap();
        record
    }

    pub(crate) fn dispatch(&self, record: &mut Operation) -> OperationWrite {
        let (version, lease_epoch) = (record.version + 1, self.ledger.lease_epoch());
        record.dispatch_commit = Some(DispatchCommit { version, lease_epoch, at_ms: 1 });
        step(record, &[State::DispatchCommitted])
    }

    pub(crate) fn new_operation(&self, request_id: &str) -> Operation {
        let binding = Binding {
            ledger_id: self.ledger.id().to_owned(),
            subject: SUBJECT.to_owned(),
            request_id: RequestId::new(request_id).unwrap(),
            attempt: 1,
            server: "hello".to_owned(),
            tool: "greet".to_owned(),
            parameter_hash: "00".repeat(32),
        };
        let admission = Admission {
            capability_id: "capability-1".to_owned(),
            capability_digest: "11".repeat(32),
            grant_index: 0,
            policy_hash: "22".repeat(32),
            components: vec![],
            effect_class: EffectClass::SideEffecting,
            exposure: None,
        };
        let requirements = Requirements { budget_capture: true, ..Requirements::default() };
        Operation::prepared(Kind::ToolDispatch, requirements, binding, admission, self.ledger.lease_epoch())
    }
}

/// The write that records a new operation.
pub(crate) fn first(record: &Operation) -> OperationWrite {
    OperationWrite { expected_version: 0, path: vec![], record: record.clone() }
}

/// The write that moves an operation along a path.
pub(crate) fn step(record: &mut Operation, path: &[State]) -> OperationWrite {
    let expected_version = record.version;
    record.version += path.len() as u64;
    record.state = *path.last().unwrap();
    OperationWrite { expected_version, path: path.to_vec(), record: record.clone() }
}

/// The write that ends an operation.
pub(crate) fn end(record: &mut Operation, path: &[State], receipt: Option<&SignedReceipt>) -> OperationWrite {
    record.terminal = Some(Terminal { receipt_id: receipt.map(|r| r.id().to_owned()) });
    step(record, path)
}

pub(crate) fn hold(record: &Operation, id: &str, claims: Vec<Claim>) -> Hold {
    Hold {
        id: id.to_owned(),
        operation: record.id.clone(),
        leases: Vec::new(),
        claims,
        charge: None,
        state: HoldState::Held,
    }
}

pub(crate) fn commit_hold(record: &Operation) -> Mutation {
    Mutation::CommitHold { id: record.participants.hold.clone().unwrap() }
}

pub(crate) fn claim(name: &str, amount: u64, limit: u64) -> Claim {
    Claim { counter: CounterKey::new(&[name]), window: None, amount, limit }
}

pub(crate) fn claim_within(name: &str, start: u64, amount: u64) -> Claim {
    Claim { window: Some(Window { start, seconds: 60 }), ..claim(name, amount, 10) }
}

pub(crate) fn request_key(request_id: &str) -> RequestKey {
    RequestKey {
        subject: SUBJECT.to_owned(),
        namespace: Namespace::Call,
        request_id: RequestId::new(request_id).unwrap(),
    }
}

pub(crate) fn request(outcome: RequestOutcome) -> RequestRecord {
    RequestRecord {
        server: "hello".to_owned(),
        tool: "greet".to_owned(),
        parameter_hash: "00".repeat(32),
        attempt: 1,
        outcome,
    }
}

pub(crate) fn bind(request_id: &str, expected: Option<RequestRecord>, record: RequestRecord) -> Mutation {
    Mutation::BindRequest { key: request_key(request_id), expected, record }
}

/// A receipt that `parameters` make unlike any other.
pub(crate) fn receipt_of(parameters: Value) -> SignedReceipt {
    let body = ReceiptBody {
        timestamp: 1_700_000_000,
        capability_id: "capability-1".to_owned(),
        tool_server: "hello".to_owned(),
        tool_name: "greet".to_owned(),
        action: Action { parameters, parameter_hash: "00".repeat(32) },
        decision: Decision::Allow,
        receipt_kind: KIND_MEDIATED.to_owned(),
        boundary_class: BOUNDARY_PREVENT.to_owned(),
        tool_origin: ORIGIN_CALLER.to_owned(),
        redaction_mode: RedactionMode::None,
        content_hash: "33".repeat(32),
        policy_hash: "22".repeat(32),
        evidence: vec![],
        metadata: None,
        trust_level: TRUST_MEDIATED.to_owned(),
        kernel_key: SUBJECT.to_owned(),
    };
    SignedReceipt::sign(body, &Keypair::from_seed(&[7; 32].into()))
}

pub(crate) fn receipt(n: u64) -> SignedReceipt {
    receipt_of(json!({ "n": n }))
}

pub(crate) fn append(receipt: &SignedReceipt) -> Mutation {
    Mutation::AppendReceipt { receipt: Box::new(receipt.clone()), replay: None }
}

/// That the log is contiguous from its first entry, each sealing the one before, with a receipt for each.
pub(crate) fn assert_contiguous(ledger: &dyn Ledger) -> Vec<String> {
    let entries = ledger.log(0, usize::MAX).unwrap();
    for (i, entry) in entries.iter().enumerate() {
        assert_eq!(entry.seq, i as u64);
        let previous = if i == 0 { "0".repeat(64) } else { entries[i - 1].hash() };
        assert_eq!(entry.previous, previous);
        assert!(ledger.receipt(&entry.receipt_id).unwrap().is_some(), "the receipt of entry {i} is missing");
    }
    entries.into_iter().map(|e| e.receipt_id).collect()
}
