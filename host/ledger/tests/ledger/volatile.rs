//! The ledger for calls that need nothing durable.

use chio_host_kernel::ledger::{Durability, Ledger, Mutation, RequestOutcome, Transition};
use chio_host_kernel::operation::State;
use chio_host_ledger::MemoryLedger;

use crate::support::{Subject, append, bind, end, receipt, request, request_key, step, wait};

#[test]
fn what_has_ended_is_forgotten() {
    let subject = Subject::new(MemoryLedger::volatile());
    let ledger = &subject.ledger;
    for n in 0..3 {
        let mut record = subject.ready("r");
        let open = request(RequestOutcome::Open { operation: record.id.clone() });
        let write = subject.dispatch(&mut record);
        let hold = record.participants.hold.clone().unwrap();
        let commit = Mutation::CommitHold { id: hold.clone() };
        subject.apply(Some(write), vec![bind("r", None, open.clone()), commit]).unwrap();
        let keep = Mutation::KeepOutput { operation: record.id.clone(), bytes: vec![1] };
        subject.apply(Some(step(&mut record, &[State::Finalizing])), vec![keep]).unwrap();
        assert_eq!(ledger.operation(&record.id).unwrap().as_ref(), Some(&record));
        assert_eq!(ledger.open_operations(9).unwrap().len(), 1);
        assert_eq!(ledger.output(&record.id).unwrap(), Some(vec![1]));

        let receipt = receipt(n);
        let mut ending = vec![Mutation::SettleHold { id: hold.clone(), realized: 0 }, append(&receipt)];
        if n == 1 {
            let (operation, receipt_id) = (Some(record.id.clone()), receipt.id().to_owned());
            ending.push(bind("r", Some(open), request(RequestOutcome::Closed { operation, receipt_id })));
        }
        let applied = subject.apply(Some(end(&mut record, &[State::Completed], Some(&receipt))), ending).unwrap();
        assert_eq!(applied.entries[0].seq, n);
        assert_eq!(ledger.operation(&record.id).unwrap(), None);
        assert_eq!(ledger.open_operations(9).unwrap(), []);
        assert_eq!(ledger.output(&record.id).unwrap(), None);
        assert_eq!(ledger.hold(&hold).unwrap(), None);
        assert_eq!(ledger.request(&request_key("r")).unwrap(), None);
        assert_eq!(ledger.receipt(receipt.id()).unwrap(), None);
        assert_eq!(ledger.log(0, 9).unwrap(), applied.entries);
    }
}

#[test]
fn an_unwound_request_leaves_nothing() {
    let ledger = MemoryLedger::volatile();
    let mutations = vec![bind("r", None, request(RequestOutcome::Unwound))];
    let transition = Transition::of(ledger.lease_epoch(), mutations);
    wait(ledger.apply(transition, Durability::Synced)).unwrap();
    assert_eq!(ledger.request(&request_key("r")).unwrap(), None);
}
