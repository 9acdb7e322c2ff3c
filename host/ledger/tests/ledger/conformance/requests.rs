//! Request ids, revocations and outputs.

use chio_host_kernel::call::Namespace;
use chio_host_kernel::ledger::{Mutation, Refused, RequestKey, RequestOutcome, RequestRecord};

use super::conforms;
use crate::support::{Subject, bind, request, request_key};

conforms!(
    a_request_is_bound_once,
    requests_are_scoped,
    revoking_again_keeps_the_first_time,
    outputs_of_every_size_are_kept,
);

fn a_request_is_bound_once(subject: &Subject) {
    let operation = subject.new_operation("r").id;
    let open = request(RequestOutcome::Open { operation: operation.clone() });
    let receipt_id = "44".repeat(32);
    let closed = request(RequestOutcome::Closed { operation: Some(operation), receipt_id });
    let again = RequestRecord { attempt: 2, ..open.clone() };
    let refused = || Refused::Request("r".to_owned());

    assert_eq!(subject.refuse(None, vec![bind("r", Some(open.clone()), closed.clone())]), refused());
    subject.mutate(vec![bind("r", None, open.clone())]).unwrap();
    assert_eq!(subject.refuse(None, vec![bind("r", None, open.clone())]), refused());
    assert_eq!(subject.refuse(None, vec![bind("r", Some(again.clone()), closed.clone())]), refused());
    assert_eq!(subject.ledger.request(&request_key("r")).unwrap(), Some(open.clone()));

    let unwound = request(RequestOutcome::Unwound);
    subject.mutate(vec![bind("r", Some(open), unwound.clone())]).unwrap();
    subject.mutate(vec![bind("r", Some(unwound), again.clone()), bind("r", Some(again), closed.clone())]).unwrap();
    assert_eq!(subject.ledger.request(&request_key("r")).unwrap(), Some(closed));
}

fn requests_are_scoped(subject: &Subject) {
    let record = request(RequestOutcome::Unwound);
    let longest = "r".repeat(256);
    let keys = [
        request_key("r"),
        RequestKey { namespace: Namespace::Check, ..request_key("r") },
        RequestKey { subject: "somebody else".to_owned(), ..request_key("r") },
        request_key(&longest),
        request_key(&longest[1..]),
    ];
    for (key, attempt) in keys.iter().zip(0..) {
        let record = RequestRecord { attempt, ..record.clone() };
        subject.mutate(vec![Mutation::BindRequest { key: key.clone(), expected: None, record }]).unwrap();
    }
    for (key, attempt) in keys.iter().zip(0..) {
        assert_eq!(subject.ledger.request(key).unwrap().map(|r| r.attempt), Some(attempt));
    }
}

fn revoking_again_keeps_the_first_time(subject: &Subject) {
    let revoke = |id: &str, at| Mutation::Revoke { capability_id: id.to_owned(), at };
    let long = "c".repeat(1000);
    assert_eq!(subject.ledger.revoked_at("c").unwrap(), None);
    subject.mutate(vec![revoke("c", 5), revoke("c", 6), revoke(&long, 7)]).unwrap();
    subject.mutate(vec![revoke("c", 4)]).unwrap();
    assert_eq!(subject.ledger.revoked_at("c").unwrap(), Some(5));
    assert_eq!(subject.ledger.revoked_at(&long).unwrap(), Some(7));
}

fn outputs_of_every_size_are_kept(subject: &Subject) {
    let operation = subject.new_operation("r").id;
    assert_eq!(subject.ledger.output(&operation).unwrap(), None);
    // Growing and shrinking, so that no part of one is left in another.
    for length in [0, 1, 4095, 4096, 4097, 4 << 20, 70_000, 65_536, 100, 8193, 1] {
        let bytes: Vec<u8> = (0..length).map(|i| u8::try_from(i % 251).unwrap()).collect();
        subject.mutate(vec![Mutation::KeepOutput { operation: operation.clone(), bytes: bytes.clone() }]).unwrap();
        assert!(subject.ledger.output(&operation).unwrap() == Some(bytes), "{length} bytes");
    }
}
