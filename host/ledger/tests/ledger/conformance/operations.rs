//! Fencing, versions, legality, and what is open.

use std::task::Poll;

use chio_host_kernel::ledger::{CounterKey, Durability, LedgerError, Mutation, Refused, RequestOutcome, Transition};
use chio_host_kernel::operation::{Operation, State};

use super::conforms;
use crate::support::{
    Subject, append, bind, claim, commit_hold, end, first, hold, receipt, request, request_key, step, wait,
};

conforms!(
    an_operation_is_read_as_it_was_written,
    another_epoch_is_refused,
    another_version_is_refused,
    an_illegal_move_is_refused,
    a_dispatch_commit_consumes_its_hold,
    only_what_has_not_ended_is_open,
    nothing_happens_when_the_last_mutation_is_refused,
    a_dropped_apply_undoes_nothing,
);

fn an_operation_is_read_as_it_was_written(subject: &Subject) {
    let record = subject.ready("r");
    assert_eq!(subject.ledger.operation(&record.id).unwrap(), Some(record));
    assert_eq!(subject.ledger.operation(&subject.new_operation("other").id).unwrap(), None);
}

fn another_epoch_is_refused(subject: &Subject) {
    let current = subject.ledger.lease_epoch();
    for presented in [current - 1, current + 1] {
        let mutations = vec![append(&receipt(1))];
        let transition = Transition::of(presented, mutations);
        let refused = wait(subject.ledger.apply(transition, Durability::Buffered));
        assert_eq!(refused, Err(LedgerError::Refused(Refused::StaleEpoch { presented, current })));
    }
    assert_eq!(subject.ledger.log(0, 1).unwrap(), []);
}

fn another_version_is_refused(subject: &Subject) {
    let record = subject.prepared("r");
    let id = record.id.clone();
    let again = subject.refuse(Some(first(&record)), vec![]);
    assert_eq!(again, Refused::Version { id: id.clone(), expected: 0, stored: 1 });
    let mut ahead = record.clone();
    ahead.version = 2;
    let refused = subject.refuse(Some(step(&mut ahead, &[State::BudgetAuthorized])), vec![]);
    assert_eq!(refused, Refused::Version { id: id.clone(), expected: 2, stored: 1 });
    let mut missing = subject.new_operation("missing");
    let refused = subject.refuse(Some(step(&mut missing, &[State::BudgetAuthorized])), vec![]);
    assert!(matches!(refused, Refused::Version { expected: 1, stored: 0, .. }));
    assert_eq!(subject.ledger.operation(&id).unwrap(), Some(record));
}

fn an_illegal_move_is_refused(subject: &Subject) {
    let record = subject.prepared("r");
    let refused = subject.refuse(Some(step(&mut record.clone(), &[State::DispatchCommitted])), vec![]);
    let (from, to) = (State::Prepared, State::DispatchCommitted);
    assert_eq!(refused, Refused::IllegalMove { id: record.id.clone(), from, to });
    assert_eq!(subject.ledger.operation(&record.id).unwrap(), Some(record));
}

fn a_dispatch_commit_consumes_its_hold(subject: &Subject) {
    let mine = subject.ready("mine");
    let others = subject.ready("others");
    let mut record = mine.clone();
    let write = subject.dispatch(&mut record);
    assert!(matches!(subject.refuse(Some(write.clone()), vec![]), Refused::Inconsistent { .. }));
    let refused = subject.refuse(Some(write), vec![commit_hold(&others)]);
    assert!(matches!(refused, Refused::Inconsistent { .. }));

    // The hold of another operation, passed off as its own.
    let mut record = mine.clone();
    record.participants.hold.clone_from(&others.participants.hold);
    let write = subject.dispatch(&mut record);
    let refused = subject.refuse(Some(write), vec![commit_hold(&others)]);
    assert!(matches!(refused, Refused::Inconsistent { .. }), "{refused:?}");

    let mut record = mine;
    let write = subject.dispatch(&mut record);
    subject.apply(Some(write), vec![commit_hold(&record)]).unwrap();
    assert_eq!(subject.ledger.operation(&record.id).unwrap(), Some(record));
}

fn open_operations(subject: &Subject, limit: usize) -> Vec<Operation> {
    subject.ledger.open_operations(limit).unwrap().into_iter().map(Result::unwrap).collect()
}

fn only_what_has_not_ended_is_open(subject: &Subject) {
    let mut records: Vec<_> = (0..20).map(|i| subject.dispatched(&format!("r{i}"))).collect();
    let open = records.split_off(17);
    for (record, n) in records.iter_mut().zip(0..) {
        let receipt = receipt(n);
        let id = record.participants.hold.clone().unwrap();
        let write = end(record, &[State::OutcomeUnknownAfterDispatch], Some(&receipt));
        subject.apply(Some(write), vec![Mutation::SettleHold { id, realized: 0 }, append(&receipt)]).unwrap();
    }
    let mut listed: Vec<_> = open_operations(subject, usize::MAX);
    listed.sort_by(|a, b| a.binding.request_id.cmp(&b.binding.request_id));
    assert_eq!(listed, open);
    assert_eq!(subject.ledger.open_operations(2).unwrap().len(), 2);
    assert_eq!(open_operations(subject, 0), []);
    assert_eq!(subject.ledger.operation(&records[0].id).unwrap().as_ref(), Some(&records[0]));
}

fn nothing_happens_when_the_last_mutation_is_refused(subject: &Subject) {
    let before = subject.prepared("before");
    subject.mutate(vec![append(&receipt(1))]).unwrap();
    let record = subject.new_operation("r");
    let refused = subject.refuse(
        Some(first(&record)),
        vec![
            bind("r", None, request(RequestOutcome::Open { operation: record.id.clone() })),
            Mutation::TakeHold(hold(&record, "hold-r", vec![claim("c", 3, 10)])),
            Mutation::KeepOutput { operation: record.id.clone(), bytes: vec![7; 100_000] },
            Mutation::Revoke { capability_id: "capability-1".to_owned(), at: 5 },
            append(&receipt(2)),
            append(&receipt(1)),
        ],
    );
    assert_eq!(refused, Refused::DuplicateReceipt(receipt(1).id().to_owned()));
    let ledger = &subject.ledger;
    assert_eq!(ledger.operation(&record.id).unwrap(), None);
    assert_eq!(ledger.request(&request_key("r")).unwrap(), None);
    assert_eq!(ledger.hold("hold-r").unwrap(), None);
    assert_eq!(ledger.counter(&CounterKey::new(&["c"])).unwrap(), None);
    assert_eq!(ledger.output(&record.id).unwrap(), None);
    assert_eq!(ledger.revoked_at("capability-1").unwrap(), None);
    assert_eq!(ledger.receipt(receipt(2).id()).unwrap(), None);
    assert_eq!(ledger.log(0, 10).unwrap().len(), 1);
    assert_eq!(open_operations(subject, 10), [before]);
}

/// The change happens when the apply is first polled; what is awaited is the disk.
fn a_dropped_apply_undoes_nothing(subject: &Subject) {
    let record = subject.new_operation("r");
    let lease_epoch = subject.ledger.lease_epoch();
    let transition = |n| Transition::of(lease_epoch, vec![append(&receipt(n))]);
    let first_write = Transition { operation: Some(first(&record)), ..transition(1) };
    wait(async {
        let mut apply = subject.ledger.apply(first_write, Durability::Synced);
        std::future::poll_fn(|context| Poll::Ready(apply.as_mut().poll(context).is_pending())).await;
    });
    drop(subject.ledger.apply(transition(2), Durability::Synced));
    assert_eq!(subject.ledger.operation(&record.id).unwrap(), Some(record));
    assert_eq!(subject.ledger.log(0, 10).unwrap().len(), 1);
    wait(subject.ledger.apply(transition(3), Durability::Synced)).unwrap();
}
