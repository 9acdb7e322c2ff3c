//! Accounts and charges, drafts, single-use ids.

use std::sync::Arc;
use std::thread;

use chio_host_kernel::ledger::{Account, Charge, Hold, HoldPart, HoldState, LedgerError, Mutation, Refused};
use chio_host_kernel::money::{Currency, Money};
use chio_host_kernel::operation::State;
use chio_host_kernel::reservation::{ReservationKind, RuntimeReservation};

use super::conforms;
use crate::support::{Subject, append, claim, end, hold, receipt};

conforms!(
    an_account_adds_up_through_every_step_of_a_hold,
    a_charge_needs_its_account_its_currency_and_its_funds,
    a_hold_is_given_back_in_parts_or_whole,
    nothing_is_settled_beyond_its_hold,
    a_total_is_never_less_than_what_is_owed,
    accounts_are_listed_by_name,
    sixty_four_threads_spend_no_more_than_there_is,
    a_draft_goes_with_its_operation,
    a_single_use_id_is_its_takers_alone,
);

fn money(units: u64, currency: &str) -> Money {
    Money { units, currency: Currency::try_from(currency.to_owned()).unwrap() }
}

fn open(subject: &Subject, total: u64) {
    let total = money(total, "USD");
    subject.mutate(vec![Mutation::SetAccount { name: "a".into(), base: total.units, total }]).unwrap();
}

fn charged(subject: &Subject, id: &str, units: u64) -> Hold {
    let cap = Some(claim("cap", units, 1000));
    let charge = Charge { amount: money(units, "USD"), account: Some("a".into()), cap };
    Hold { charge: Some(charge), ..hold(&subject.new_operation(id), id, vec![claim("calls", 1, 1000)]) }
}

fn account(subject: &Subject) -> Account {
    let account = subject.ledger.account("a").unwrap().unwrap();
    assert_eq!(account.captured + account.held + account.free(), account.total.units);
    account
}

/// Captured, held, what the cap counts, what the calls count.
fn state(subject: &Subject) -> (u64, u64, u64, u64) {
    let used = |name| {
        let key = chio_host_kernel::ledger::CounterKey::new(&[name]);
        subject.ledger.counter(&key).unwrap().map_or(0, |c| c.used)
    };
    let account = account(subject);
    (account.captured, account.held, used("cap"), used("calls"))
}

fn an_account_adds_up_through_every_step_of_a_hold(subject: &Subject) {
    open(subject, 100);
    let id = || "h".to_owned();
    subject.mutate(vec![Mutation::TakeHold(charged(subject, "h", 40))]).unwrap();
    assert_eq!(state(subject), (0, 40, 40, 1));
    subject.mutate(vec![Mutation::CommitHold { id: id() }]).unwrap();
    assert_eq!(state(subject), (0, 40, 40, 1));
    subject.mutate(vec![Mutation::FreezeHold { id: id() }]).unwrap();
    assert_eq!(subject.ledger.holds(9).unwrap().iter().map(|h| h.state).collect::<Vec<_>>(), [HoldState::Frozen]);
    let refused = subject.refuse(None, vec![Mutation::SettleHold { id: id(), realized: 0 }]);
    assert_eq!(refused, Refused::Hold { id: id(), expected: "committed", found: "frozen" });
    subject.mutate(vec![Mutation::ResolveHold { id: id(), realized: 30 }]).unwrap();
    assert_eq!(state(subject), (30, 0, 30, 1));
    assert_eq!(subject.ledger.holds(9).unwrap(), []);

    subject.mutate(vec![Mutation::TakeHold(charged(subject, "i", 70))]).unwrap();
    subject.mutate(vec![Mutation::CommitHold { id: "i".into() }]).unwrap();
    subject.mutate(vec![Mutation::SettleHold { id: "i".into(), realized: 0 }]).unwrap();
    assert_eq!(state(subject), (30, 0, 30, 2));
}

fn a_charge_needs_its_account_its_currency_and_its_funds(subject: &Subject) {
    let take = |hold: Hold| subject.refuse(None, vec![Mutation::TakeHold(hold)]);
    assert!(matches!(take(charged(subject, "h", 1)), Refused::Account { .. }));
    open(subject, 100);
    let expected = Refused::Funds { account: "a".into(), free: 100, amount: 101, currency: "USD".into() };
    assert_eq!(take(charged(subject, "h", 101)), expected);
    let mut euro = charged(subject, "h", 1);
    euro.charge.as_mut().unwrap().amount = money(1, "EUR");
    assert!(matches!(take(euro), Refused::Account { why: "it is in another currency", .. }));
    assert_eq!(state(subject), (0, 0, 0, 0), "nothing of what was refused is left");
    subject.mutate(vec![Mutation::TakeHold(charged(subject, "h", 100))]).unwrap();
}

fn a_hold_is_given_back_in_parts_or_whole(subject: &Subject) {
    open(subject, 100);
    let give_back = |id: &str, part| Mutation::ReleaseHold { id: id.to_owned(), part };
    for parts in [[HoldPart::Charge, HoldPart::Claims], [HoldPart::Claims, HoldPart::Charge]] {
        subject.mutate(vec![Mutation::TakeHold(charged(subject, "h", 40))]).unwrap();
        subject.mutate(vec![give_back("h", parts[0])]).unwrap();
        assert!(subject.ledger.hold("h").unwrap().is_some());
        let left = if parts[0] == HoldPart::Charge { (0, 0, 0, 1) } else { (0, 40, 40, 0) };
        assert_eq!(state(subject), left);
        subject.mutate(vec![give_back("h", parts[1])]).unwrap();
        assert_eq!((state(subject), subject.ledger.hold("h").unwrap()), ((0, 0, 0, 0), None));
    }
    subject.mutate(vec![Mutation::TakeHold(charged(subject, "h", 40))]).unwrap();
    subject.mutate(vec![give_back("h", HoldPart::All)]).unwrap();
    assert_eq!((state(subject), subject.ledger.hold("h").unwrap()), ((0, 0, 0, 0), None));
}

fn nothing_is_settled_beyond_its_hold(subject: &Subject) {
    open(subject, 100);
    subject.mutate(vec![Mutation::TakeHold(charged(subject, "h", 40))]).unwrap();
    subject.mutate(vec![Mutation::CommitHold { id: "h".into() }]).unwrap();
    let refused = subject.refuse(None, vec![Mutation::SettleHold { id: "h".into(), realized: 41 }]);
    assert!(matches!(refused, Refused::Inconsistent { why: "more is settled than its hold sets aside", .. }));
    assert_eq!(state(subject), (0, 40, 40, 1));
    let free = hold(&subject.new_operation("free"), "free", vec![]);
    subject.mutate(vec![Mutation::TakeHold(free), Mutation::CommitHold { id: "free".into() }]).unwrap();
    let refused = subject.refuse(None, vec![Mutation::SettleHold { id: "free".into(), realized: 1 }]);
    assert!(matches!(refused, Refused::Inconsistent { why: "its hold sets no money aside", .. }));
}

fn accounts_are_listed_by_name(subject: &Subject) {
    assert_eq!(subject.ledger.accounts(9), Ok(Vec::new()));
    for name in ["b", "a-2", "a"] {
        let set = Mutation::SetAccount { name: name.into(), base: 1, total: money(7, "USD") };
        subject.mutate(vec![set]).unwrap();
    }
    let names = |limit| subject.ledger.accounts(limit).unwrap().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(9), ["a", "a-2", "b"]);
    assert_eq!(names(2), ["a", "a-2"]);
    assert_eq!(subject.ledger.accounts(9).unwrap()[0].1, account(subject));
}

fn a_total_is_never_less_than_what_is_owed(subject: &Subject) {
    open(subject, 100);
    subject.mutate(vec![Mutation::TakeHold(charged(subject, "h", 40))]).unwrap();
    let set = |total| Mutation::SetAccount { name: "a".into(), base: 1, total };
    assert!(matches!(subject.refuse(None, vec![set(money(39, "USD"))]), Refused::Account { .. }));
    assert!(matches!(subject.refuse(None, vec![set(money(100, "EUR"))]), Refused::Account { .. }));
    subject.mutate(vec![set(money(40, "USD"))]).unwrap();
    assert_eq!((account(subject).free(), account(subject).base), (0, 1));
    subject.mutate(vec![set(money(u64::MAX, "USD"))]).unwrap();
    assert_eq!(account(subject).free(), u64::MAX - 40);
}

fn sixty_four_threads_spend_no_more_than_there_is(subject: &Subject) {
    open(subject, 100);
    let threads: Vec<_> = (0..64)
        .map(|n| {
            let subject = Subject { ledger: Arc::clone(&subject.ledger) };
            thread::spawn(move || {
                let id = format!("h{n}");
                let taken = subject.mutate(vec![Mutation::TakeHold(charged(&subject, &id, 10))]);
                match taken {
                    Ok(_) => {
                        subject.mutate(vec![Mutation::CommitHold { id: id.clone() }]).unwrap();
                        subject.mutate(vec![Mutation::SettleHold { id, realized: 10 }]).unwrap();
                        true
                    }
                    Err(LedgerError::Refused(Refused::Funds { .. })) => false,
                    Err(other) => panic!("{other}"),
                }
            })
        })
        .collect();
    let spent = threads.into_iter().map(|t| t.join().unwrap()).filter(|spent| *spent).count();
    assert_eq!((spent, state(subject)), (10, (100, 0, 100, 10)));
}

fn a_draft_goes_with_its_operation(subject: &Subject) {
    let mut record = subject.dispatched("r");
    let keep = |bytes: Vec<u8>| Mutation::KeepDraft { operation: record.id.clone(), bytes };
    subject.mutate(vec![keep(vec![1; 300_000])]).unwrap();
    subject.mutate(vec![keep(vec![2; 100])]).unwrap();
    assert_eq!(subject.ledger.draft(&record.id).unwrap(), Some(vec![2; 100]));
    let settle = Mutation::SettleHold { id: record.participants.hold.clone().unwrap(), realized: 0 };
    let receipt = receipt(1);
    let write = end(&mut record, &[State::OutcomeUnknownAfterDispatch], Some(&receipt));
    subject.apply(Some(write), vec![settle, append(&receipt)]).unwrap();
    assert_eq!(subject.ledger.draft(&record.id).unwrap(), None);
}

fn a_single_use_id_is_its_takers_alone(subject: &Subject) {
    let (one, two) = (subject.prepared("one").id, subject.prepared("two").id);
    let id = |kind| RuntimeReservation::new(kind, "x".repeat(200)).unwrap();
    for kind in ReservationKind::ALL {
        let take =
            |operation: &_| Mutation::TakeReservation { reservation: id(kind), operation: Clone::clone(operation) };
        let release =
            |operation: &_| Mutation::ReleaseReservation { reservation: id(kind), operation: Clone::clone(operation) };
        assert_eq!(subject.refuse(None, vec![release(&one)]), Refused::NotReserved(id(kind)));
        subject.mutate(vec![take(&one)]).unwrap();
        let taken = Refused::Reserved { reservation: id(kind), by: one.clone() };
        assert_eq!(subject.refuse(None, vec![take(&two)]), taken);
        assert_eq!(subject.refuse(None, vec![take(&one)]), taken);
        assert_eq!(subject.refuse(None, vec![release(&two)]), taken);
        assert_eq!(subject.ledger.reservation(&id(kind)).unwrap().as_ref(), Some(&one));
        subject.mutate(vec![release(&one)]).unwrap();
        subject.mutate(vec![take(&two)]).unwrap();
    }
}
