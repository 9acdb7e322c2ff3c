//! The log.

use std::thread;

use chio_host_kernel::ledger::{Mutation, Refused};
use serde_json::json;

use super::conforms;
use crate::support::{Subject, append, assert_contiguous, receipt, receipt_of};

conforms!(
    the_log_seals_each_entry_with_the_one_before,
    a_receipt_is_appended_once,
    a_receipt_and_its_replay_record_are_read_as_they_were_written,
    the_log_is_read_in_stretches,
);

fn the_log_seals_each_entry_with_the_one_before(subject: &Subject) {
    let applied = subject.mutate(vec![append(&receipt(0)), append(&receipt(1))]).unwrap();
    let third = subject.mutate(vec![append(&receipt(2))]).unwrap();
    let sealed: Vec<_> = applied.entries.into_iter().chain(third.entries).collect();
    assert_eq!(subject.ledger.log(0, 10).unwrap(), sealed);
    let threads: Vec<_> = (0..8)
        .map(|t| {
            let subject = subject.clone();
            thread::spawn(move || {
                for n in 0..8 {
                    subject.mutate(vec![append(&receipt(100 + t * 8 + n))]).unwrap();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(assert_contiguous(&*subject.ledger).len(), 67);
}

fn a_receipt_is_appended_once(subject: &Subject) {
    let duplicate = Refused::DuplicateReceipt(receipt(1).id().to_owned());
    assert_eq!(subject.refuse(None, vec![append(&receipt(1)), append(&receipt(1))]), duplicate);
    subject.mutate(vec![append(&receipt(1))]).unwrap();
    assert_eq!(subject.refuse(None, vec![append(&receipt(2)), append(&receipt(1))]), duplicate);
    assert_eq!(assert_contiguous(&*subject.ledger), [receipt(1).id()]);
}

fn a_receipt_and_its_replay_record_are_read_as_they_were_written(subject: &Subject) {
    for length in [0, 5000, 300_000] {
        let receipt = receipt_of(json!({ "text": "é".repeat(length) }));
        let replay = Some(vec![1; length]);
        let append = Mutation::AppendReceipt { receipt: Box::new(receipt.clone()), replay: replay.clone() };
        subject.mutate(vec![append]).unwrap();
        assert!(subject.ledger.receipt(receipt.id()).unwrap().as_ref() == Some(receipt.record()));
        assert!(subject.ledger.replay_record(receipt.id()).unwrap() == replay);
    }
    subject.mutate(vec![append(&receipt(1))]).unwrap();
    assert_eq!(subject.ledger.replay_record(receipt(1).id()).unwrap(), None);
    assert_eq!(subject.ledger.receipt(receipt(2).id()).unwrap(), None);
}

fn the_log_is_read_in_stretches(subject: &Subject) {
    for n in 0..300 {
        subject.mutate(vec![append(&receipt(n))]).unwrap();
    }
    let seqs = |from, limit| -> Vec<u64> { subject.ledger.log(from, limit).unwrap().iter().map(|e| e.seq).collect() };
    assert_eq!(seqs(254, 4), [254, 255, 256, 257]);
    assert_eq!(seqs(298, 10), [298, 299]);
    assert_eq!(seqs(300, 10), [0; 0]);
    assert_eq!(seqs(u64::MAX, 10), [0; 0]);
    assert_eq!(seqs(0, 0), [0; 0]);
}
