//! Holds, counters and their windows.

use std::thread;

use chio_host_kernel::ledger::{
    Claim, Counter, CounterKey, Hold, HoldPart, HoldState, LedgerError, Mutation, Refused, Window,
};
use chio_host_kernel::operation::State;

use super::conforms;
use crate::support::{Subject, claim, claim_within, commit_hold, hold, step};

conforms!(
    a_claim_stops_at_its_limit,
    a_hold_goes_from_state_to_state,
    what_is_given_back_is_free_again,
    an_older_window_starts_from_zero,
    a_step_back_of_the_clock_opens_nothing,
    a_release_gives_back_within_its_window_only,
    two_claims_of_one_hold_add_up,
    a_hold_is_its_operations_own,
    a_long_counter_key_is_refused,
    counters_are_listed_by_prefix_in_order,
    a_hold_with_many_claims_is_kept,
    sixty_four_threads_take_ten_claims_of_ten,
);

fn take(subject: &Subject, id: &str, claims: Vec<Claim>) -> Result<(), LedgerError> {
    let record = subject.new_operation("any");
    subject.mutate(vec![Mutation::TakeHold(hold(&record, id, claims))]).map(drop)
}

fn used(subject: &Subject, name: &str) -> Option<u64> {
    subject.ledger.counter(&CounterKey::new(&[name])).unwrap().map(|c| c.used)
}

fn exhausted(result: Result<(), LedgerError>) -> (u64, u64, u64) {
    match result {
        Err(LedgerError::Refused(Refused::Exhausted { used, amount, limit, .. })) => (used, amount, limit),
        other => panic!("not exhausted: {other:?}"),
    }
}

fn a_claim_stops_at_its_limit(subject: &Subject) {
    take(subject, "h1", vec![claim("c", 7, 10)]).unwrap();
    assert_eq!(exhausted(take(subject, "h2", vec![claim("c", 4, 10)])), (7, 4, 10));
    assert_eq!(exhausted(take(subject, "h2", vec![claim("c", u64::MAX, u64::MAX)])), (7, u64::MAX, u64::MAX));
    assert_eq!(subject.ledger.hold("h2").unwrap(), None);
    take(subject, "h2", vec![claim("c", 3, 10)]).unwrap();
    assert_eq!(exhausted(take(subject, "h3", vec![claim("c", 1, 10)])), (10, 1, 10));
    take(subject, "h3", vec![claim("c", 0, 10)]).unwrap();
    assert_eq!(used(subject, "c"), Some(10));
}

fn a_hold_goes_from_state_to_state(subject: &Subject) {
    take(subject, "h", vec![claim("c", 1, 10)]).unwrap();
    let id = || "h".to_owned();
    let refused = |mutation, expected, found| {
        assert_eq!(subject.refuse(None, vec![mutation]), Refused::Hold { id: id(), expected, found });
    };
    refused(Mutation::SettleHold { id: id(), realized: 0 }, "committed", "held");
    refused(Mutation::FreezeHold { id: id() }, "committed", "held");
    refused(Mutation::ResolveHold { id: id(), realized: 0 }, "frozen", "held");
    let again = hold(&subject.new_operation("any"), "h", vec![]);
    refused(Mutation::TakeHold(again.clone()), "new", "held");
    subject.mutate(vec![Mutation::CommitHold { id: id() }]).unwrap();
    assert_eq!(subject.ledger.hold("h").unwrap().map(|h| h.state), Some(HoldState::Committed));
    refused(Mutation::CommitHold { id: id() }, "held", "committed");
    refused(Mutation::ReleaseHold { id: id(), part: HoldPart::All }, "held", "committed");
    subject.mutate(vec![Mutation::SettleHold { id: id(), realized: 0 }]).unwrap();
    assert_eq!(subject.ledger.hold("h").unwrap(), None);
    refused(Mutation::SettleHold { id: id(), realized: 0 }, "committed", "gone");
    let committed = Hold { state: HoldState::Committed, ..again };
    assert!(matches!(subject.refuse(None, vec![Mutation::TakeHold(committed)]), Refused::Inconsistent { .. }));
    assert_eq!(used(subject, "c"), Some(1));
}

fn what_is_given_back_is_free_again(subject: &Subject) {
    take(subject, "released", vec![claim("c", 4, 10)]).unwrap();
    take(subject, "used", vec![claim("c", 6, 10)]).unwrap();
    subject.mutate(vec![Mutation::ReleaseHold { id: "released".to_owned(), part: HoldPart::All }]).unwrap();
    assert_eq!(used(subject, "c"), Some(6));
    subject.mutate(vec![Mutation::CommitHold { id: "used".to_owned() }]).unwrap();
    subject.mutate(vec![Mutation::SettleHold { id: "used".to_owned(), realized: 0 }]).unwrap();
    assert_eq!(used(subject, "c"), Some(6));
    take(subject, "rest", vec![claim("c", 4, 10)]).unwrap();
}

fn an_older_window_starts_from_zero(subject: &Subject) {
    take(subject, "h1", vec![claim_within("c", 60, 10)]).unwrap();
    exhausted(take(subject, "h2", vec![claim_within("c", 60, 1)]));
    take(subject, "h2", vec![claim_within("c", 120, 9)]).unwrap();
    let counter = subject.ledger.counter(&CounterKey::new(&["c"])).unwrap();
    assert_eq!(counter, Some(Counter { used: 9, window: Some(Window { start: 120, seconds: 60 }) }));
}

fn a_step_back_of_the_clock_opens_nothing(subject: &Subject) {
    take(subject, "h1", vec![claim_within("c", 120, 8)]).unwrap();
    assert_eq!(exhausted(take(subject, "h2", vec![claim_within("c", 60, 3)])), (8, 3, 10));
    take(subject, "h2", vec![claim_within("c", 60, 2)]).unwrap();
    // Counted in the newer window, and given back there.
    exhausted(take(subject, "h3", vec![claim_within("c", 120, 1)]));
    subject.mutate(vec![Mutation::ReleaseHold { id: "h2".to_owned(), part: HoldPart::All }]).unwrap();
    assert_eq!(used(subject, "c"), Some(8));
}

fn a_release_gives_back_within_its_window_only(subject: &Subject) {
    take(subject, "old", vec![claim_within("c", 60, 9)]).unwrap();
    take(subject, "new", vec![claim_within("c", 120, 5)]).unwrap();
    subject.mutate(vec![Mutation::ReleaseHold { id: "old".to_owned(), part: HoldPart::All }]).unwrap();
    assert_eq!(used(subject, "c"), Some(5));
    subject.mutate(vec![Mutation::ReleaseHold { id: "new".to_owned(), part: HoldPart::All }]).unwrap();
    assert_eq!(used(subject, "c"), Some(0));
}

fn two_claims_of_one_hold_add_up(subject: &Subject) {
    exhausted(take(subject, "h", vec![claim("c", 6, 10), claim("c", 6, 10)]));
    assert_eq!(used(subject, "c"), None);
    take(subject, "h", vec![claim("c", 6, 10), claim("c", 4, 10), claim("d", 1, 1)]).unwrap();
    subject.mutate(vec![Mutation::ReleaseHold { id: "h".to_owned(), part: HoldPart::All }]).unwrap();
    assert_eq!((used(subject, "c"), used(subject, "d")), (Some(0), Some(0)));
}

fn a_hold_is_its_operations_own(subject: &Subject) {
    let (mut mine, others) = (subject.prepared("mine"), subject.ready("others"));
    let write = step(&mut mine, &[State::BudgetAuthorized]);
    let foreign = hold(&others, "hold-x", vec![]);
    let refused = subject.refuse(Some(write.clone()), vec![Mutation::TakeHold(foreign)]);
    assert!(matches!(refused, Refused::Inconsistent { .. }));
    assert!(matches!(subject.refuse(Some(write.clone()), vec![commit_hold(&others)]), Refused::Inconsistent { .. }));
    // An operator's release is an operation of its own, and closes another's hold.
    let id = others.participants.hold.unwrap();
    subject.apply(Some(write), vec![Mutation::ReleaseHold { id, part: HoldPart::All }]).unwrap();
}

fn a_long_counter_key_is_refused(subject: &Subject) {
    take(subject, "h1", vec![claim(&"c".repeat(400), 1, 1)]).unwrap();
    let long = hold(&subject.new_operation("any"), "h2", vec![claim(&"c".repeat(401), 1, 1)]);
    assert!(matches!(subject.refuse(None, vec![Mutation::TakeHold(long)]), Refused::Inconsistent { .. }));
}

fn counters_are_listed_by_prefix_in_order(subject: &Subject) {
    let key = |i: usize| CounterKey::new(&["guard", &format!("{i:03}")]);
    let claims = (0..100).rev().map(|i| Claim { counter: key(i), ..claim("", i as u64, 100) }).collect();
    take(subject, "h", claims).unwrap();
    take(subject, "i", vec![claim("guard-of-honour", 1, 1), claim("a", 1, 1), claim("z", 1, 1)]).unwrap();
    let prefix = CounterKey::new(&["guard", ""]);
    let listed = subject.ledger.counters(&prefix, usize::MAX).unwrap();
    let expected: Vec<_> = (0..100).map(|i| (key(i), Counter { used: i as u64, window: None })).collect();
    assert_eq!(listed, expected);
    assert_eq!(subject.ledger.counters(&prefix, 3).unwrap(), expected[..3]);
    assert_eq!(subject.ledger.counters(&CounterKey::new(&["guard"]), usize::MAX).unwrap().len(), 101);
    assert_eq!(subject.ledger.counters(&CounterKey::new(&[]), usize::MAX).unwrap().len(), 103);
}

fn a_hold_with_many_claims_is_kept(subject: &Subject) {
    let claims: Vec<_> = (0..1000).map(|i| claim(&format!("c{i}"), 1, 1)).collect();
    take(subject, "h", claims.clone()).unwrap();
    assert_eq!(subject.ledger.hold("h").unwrap().map(|h| h.claims), Some(claims));
    subject.mutate(vec![Mutation::ReleaseHold { id: "h".to_owned(), part: HoldPart::All }]).unwrap();
    assert_eq!(subject.ledger.hold("h").unwrap(), None);
    assert_eq!(used(subject, "c999"), Some(0));
}

fn sixty_four_threads_take_ten_claims_of_ten(subject: &Subject) {
    let threads: Vec<_> = (0..64)
        .map(|i| {
            let subject = subject.clone();
            thread::spawn(move || take(&subject, &format!("hold-{i}"), vec![claim("c", 1, 10)]))
        })
        .collect();
    let taken = threads.into_iter().flat_map(|t| t.join().unwrap()).count();
    assert_eq!((taken, used(subject, "c")), (10, Some(10)));
}
