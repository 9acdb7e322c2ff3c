//! What a ledger on disk keeps from one opening to the next.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use chio_host_kernel::ledger::{
    CounterKey, Durability, Ledger, LedgerError, Mutation, Refused, RequestOutcome, Transition,
};
use chio_host_ledger::{Options, SledLedger};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{
    Subject, append, assert_contiguous, bind, claim, hold, receipt, receipt_of, request, request_key, wait,
};

fn synced(ledger: &SledLedger, mutations: Vec<Mutation>) {
    let transition = Transition::of(ledger.lease_epoch(), mutations);
    wait(ledger.apply(transition, Durability::Synced)).unwrap();
}

fn in_subject(path: &Path, test: impl FnOnce(&Subject)) {
    let ledger = Arc::new(SledLedger::open(path).unwrap());
    test(&Subject { ledger: ledger.clone() });
    Arc::into_inner(ledger).unwrap().close().unwrap();
}

#[test]
fn everything_is_kept_and_the_epoch_rises() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ledger");
    let mut before = None;
    let mut id = String::new();
    in_subject(&path, |subject| {
        assert_eq!(subject.ledger.lease_epoch(), 1);
        subject.ledger.id().clone_into(&mut id);
        let record = subject.dispatched("r");
        let replay = Some(vec![9; 200_000]);
        subject
            .mutate(vec![
                bind("r", None, request(RequestOutcome::Open { operation: record.id.clone() })),
                Mutation::TakeHold(hold(&record, "h", vec![claim("c", 3, 10)])),
                Mutation::KeepOutput { operation: record.id.clone(), bytes: vec![8; 4 << 20] },
                Mutation::Revoke { capability_id: "cap".to_owned(), at: 5 },
                Mutation::AppendReceipt { receipt: Box::new(receipt(1)), replay },
                append(&receipt_of(json!({ "text": "x".repeat(500_000) }))),
            ])
            .unwrap();
        before = Some(record);
    });
    let record = before.unwrap();
    in_subject(&path, |subject| {
        let ledger = &subject.ledger;
        assert_eq!((ledger.id(), ledger.lease_epoch()), (id.as_str(), 2));
        assert_eq!(ledger.open_operations(9).unwrap(), [Ok(record.clone())]);
        assert!(ledger.request(&request_key("r")).unwrap().is_some());
        assert_eq!(ledger.hold("h").unwrap().map(|h| h.claims.len()), Some(1));
        assert_eq!(ledger.counter(&CounterKey::new(&["c"])).unwrap().map(|c| c.used), Some(3));
        assert!(ledger.output(&record.id).unwrap() == Some(vec![8; 4 << 20]));
        assert_eq!(ledger.revoked_at("cap").unwrap(), Some(5));
        assert!(ledger.replay_record(receipt(1).id()).unwrap() == Some(vec![9; 200_000]));
        subject.mutate(vec![append(&receipt(2))]).unwrap();
        assert_eq!(assert_contiguous(&**ledger).len(), 3);
    });
}

#[test]
fn case_16_a_writer_from_before_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ledger");
    let first = SledLedger::open(&path).unwrap();
    let epoch = first.lease_epoch();
    first.close().unwrap();
    let second = SledLedger::open(&path).unwrap();
    let stale = Transition::of(epoch, vec![append(&receipt(1))]);
    let refused = wait(second.apply(stale, Durability::Buffered));
    assert_eq!(refused, Err(LedgerError::Refused(Refused::StaleEpoch { presented: 1, current: 2 })));
    assert_eq!(second.log(0, 9).unwrap(), []);
}

#[test]
fn what_was_only_buffered_is_written_when_the_ledger_closes() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ledger");
    let ledger = SledLedger::open(&path).unwrap();
    let mutations = vec![append(&receipt(1))];
    let transition = Transition::of(ledger.lease_epoch(), mutations);
    wait(ledger.apply(transition, Durability::Buffered)).unwrap();
    assert_eq!(ledger.syncs(), 0);
    ledger.close().unwrap();
    assert_eq!(assert_contiguous(&SledLedger::open(&path).unwrap()).len(), 1);
}

#[test]
fn callers_share_a_sync_and_each_waits_for_one() {
    let folder = TempDir::new().unwrap();
    let ledger = Arc::new(SledLedger::open(folder.path().join("ledger")).unwrap());
    for n in 1..=5 {
        synced(&ledger, vec![append(&receipt(n))]);
        assert_eq!(ledger.syncs(), n);
    }
    let threads: Vec<_> = (0..64)
        .map(|n| {
            let ledger = Arc::clone(&ledger);
            thread::spawn(move || synced(&ledger, vec![append(&receipt(100 + n))]))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert!((6..=69).contains(&ledger.syncs()), "{}", ledger.syncs());
}

#[test]
fn what_is_only_buffered_does_not_grow_without_a_bound() {
    let folder = TempDir::new().unwrap();
    let ledger = SledLedger::open(folder.path().join("ledger")).unwrap();
    let revoke = |n| Mutation::Revoke { capability_id: format!("capability-{n}"), at: n };
    for n in 0..30 {
        let mutations = (n * 1000..(n + 1) * 1000).map(revoke).collect();
        let transition = Transition::of(ledger.lease_epoch(), mutations);
        wait(ledger.apply(transition, Durability::Buffered)).unwrap();
    }
    // Every fifth of them found more than 4,096 rows.
    assert_eq!(ledger.syncs(), 6);
    assert_eq!(ledger.revoked_at("capability-29999").unwrap(), Some(29_999));
}

/// Rows are read the same from wherever they are by then, and over every opening.
#[test]
fn what_left_for_the_index_is_found_there_and_in_the_journal() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ledger");
    let options = Options { checkpoint_rows: 20, segment_bytes: 30_000, ..Options::default() };
    for round in 0..3 {
        let ledger = SledLedger::open_with(&path, &options).unwrap();
        for n in round * 100..(round + 1) * 100 {
            synced(&ledger, vec![append(&receipt(n)), Mutation::Revoke { capability_id: n.to_string(), at: n }]);
        }
        assert_eq!(assert_contiguous(&ledger).len() as u64, (round + 1) * 100);
        let revoked = (0..(round + 1) * 100).all(|n| ledger.revoked_at(&n.to_string()) == Ok(Some(n)));
        assert!(revoked);
        ledger.close().unwrap();
    }
    let segments = fs::read_dir(path.join("journal")).unwrap().count();
    assert!(segments > 3, "{segments}");
    // One in the midst is missed when the ledger opens, and not only when somebody asks for what was in it.
    fs::remove_file(path.join("journal").join("0000000002.journal")).unwrap();
    let missing = SledLedger::open(&path).unwrap_err().to_string();
    assert!(missing.contains("0000000002.journal is missing"), "{missing}");
}

/// sled keeps a page that is too large for its log in a file of its own, which it never syncs.
#[test]
fn no_value_is_kept_outside_the_file_that_is_synced() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ledger");
    let ledger = SledLedger::open(&path).unwrap();
    for n in 0..300 {
        let long = |length: usize| "x".repeat(length);
        let receipt = receipt_of(json!({ "n": n, "text": long(4096 - 1200 + n * 8) }));
        let claims = vec![claim(&format!("{n:03}{}", long(397)), 1, 1)];
        let record = Subject::new(chio_host_ledger::MemoryLedger::new()).new_operation(&format!("{n}"));
        let transition = Transition::of(
            ledger.lease_epoch(),
            vec![
                Mutation::AppendReceipt { receipt: Box::new(receipt), replay: Some(vec![1; 4096]) },
                Mutation::KeepOutput { operation: record.id.clone(), bytes: vec![2; 100_000 + n] },
                Mutation::TakeHold(hold(&record, &format!("hold-{n}"), claims)),
            ],
        );
        wait(ledger.apply(transition, Durability::Buffered)).unwrap();
    }
    synced(&ledger, vec![]);
    let outside = || fs::read_dir(path.join("store").join("blobs")).unwrap().count();
    assert_eq!(outside(), 0);
    ledger.close().unwrap();
    assert_eq!(assert_contiguous(&SledLedger::open(&path).unwrap()).len(), 300);
    assert_eq!(outside(), 0);
}
