//! What holds of every ledger, whatever happened before: asked after each test of what survives.

use std::collections::{BTreeMap, BTreeSet};

use chio_host_kernel::ledger::{CounterKey, Ledger};
use chio_host_kernel::operation::{Operation, OperationId, State};
use chio_host_kernel::receipt;
use serde_json::Value;

/// What a test knows beside the ledger.
#[derive(Clone, Debug, Default)]
pub struct Known<'a> {
    /// The key that signs, lower-case hex.
    pub kernel_key: &'a str,
    /// How often tools were entered, where somebody counted.
    pub entries: Option<usize>,
    /// The accounts.
    pub accounts: &'a [&'a str],
}

/// What a ledger holds, if all of it holds together.
#[derive(Debug, Default)]
pub struct Seen {
    /// Every operation that a receipt names, or that is open.
    pub operations: BTreeMap<String, Operation>,
    /// The terminal receipt of each operation that has one.
    pub terminal: BTreeMap<String, Value>,
    /// How many receipts there are.
    pub receipts: usize,
}

/// Checks a ledger, and answers with everything that does not hold.
///
/// # Panics
/// The ledger cannot be read.
pub fn violations(ledger: &dyn Ledger, known: &Known<'_>) -> Vec<String> {
    match look(ledger, known) {
        Ok(_) => Vec::new(),
        Err(violations) => violations,
    }
}

/// The same, for a test that goes on with what it holds.
///
/// # Panics
/// Something does not hold, or the ledger cannot be read.
pub fn hold(ledger: &dyn Ledger, known: &Known<'_>) -> Seen {
    look(ledger, known).unwrap_or_else(|violations| panic!("invariants:\n{}", violations.join("\n")))
}

fn look(ledger: &dyn Ledger, known: &Known<'_>) -> Result<Seen, Vec<String>> {
    let mut wrong = Vec::new();
    let mut seen = Seen::default();
    read_log(ledger, known, &mut seen, &mut wrong);
    for open in ledger.open_operations(usize::MAX).expect("the ledger reads") {
        match open {
            Ok(operation) => {
                if operation.parked.is_none() && operation.last_error.is_none() {
                    wrong.push(format!("operation {} was left in {:?}", operation.id, operation.state));
                }
                seen.operations.insert(operation.id.to_string(), operation);
            }
            Err(unreadable) => wrong.push(format!("operation {} is unreadable", unreadable.id)),
        }
    }
    check_ends(&seen, &mut wrong);
    check_counts(ledger, known, &seen, &mut wrong);
    check_accounts(ledger, known, &seen, &mut wrong);
    check_single_use(ledger, &seen, &mut wrong);
    if wrong.is_empty() { Ok(seen) } else { Err(wrong) }
}

/// The log is contiguous, each entry seals the one before, each receipt is there and verifies.
fn read_log(ledger: &dyn Ledger, known: &Known<'_>, seen: &mut Seen, wrong: &mut Vec<String>) {
    let mut previous = "0".repeat(64);
    for (i, entry) in ledger.log(0, usize::MAX).expect("the log reads").iter().enumerate() {
        seen.receipts += 1;
        if (entry.seq, &entry.previous) != (i as u64, &previous) {
            wrong.push(format!("log entry {i} does not follow the one before"));
        }
        previous = entry.hash();
        let Some(record) = ledger.receipt(&entry.receipt_id).expect("the receipt reads") else {
            wrong.push(format!("receipt {} is missing", entry.receipt_id));
            continue;
        };
        match receipt::verify(&record) {
            Ok(verified) if verified.kernel_key == known.kernel_key => {}
            Ok(_) => wrong.push(format!("receipt {} is signed by a stranger", entry.receipt_id)),
            Err(why) => wrong.push(format!("receipt {}: {why}", entry.receipt_id)),
        }
        let Some(id) = record["metadata"]["chio_host"]["operation_id"].as_str().map(str::to_owned) else { continue };
        let operation_id: OperationId = serde_json::from_value(Value::from(id.clone())).expect("an id is text");
        match ledger.operation(&operation_id).expect("the operation reads") {
            Some(operation) => drop(seen.operations.insert(id.clone(), operation)),
            // An operation of a call that had nothing to lose is not kept.
            None if record["metadata"]["chio_host"]["effect_class"] != "side_effecting" => continue,
            None => wrong.push(format!("operation {id} of receipt {} is missing", entry.receipt_id)),
        }
        // A nonce's or an approver's: its operation goes on.
        if record["decision"]["verdict"] == "pending"
            && seen.operations.get(&id).is_some_and(|o| o.terminal_receipt() != Some(entry.receipt_id.as_str()))
        {
            continue;
        }
        if let Some(first) = seen.terminal.insert(id.clone(), record) {
            wrong.push(format!("operation {id} has two terminal receipts, the first {}", first["id"]));
        }
    }
}

trait TerminalReceipt {
    fn terminal_receipt(&self) -> Option<&str>;
}

impl TerminalReceipt for Operation {
    fn terminal_receipt(&self) -> Option<&str> {
        self.terminal.as_ref()?.receipt_id.as_deref()
    }
}

/// Each operation ends in one state, with the receipt that it names; without one only where it was cleanly unwound.
fn check_ends(seen: &Seen, wrong: &mut Vec<String>) {
    for (id, operation) in &seen.operations {
        let signed = seen.terminal.get(id).and_then(|r| r["id"].as_str());
        match (operation.state.is_terminal(), operation.terminal_receipt(), signed) {
            (false, None, None) => {}
            (true, Some(named), Some(signed)) if named == signed => {}
            (true, None, None) if operation.state == State::CompensatedBeforeDispatch => {}
            (_, named, signed) => {
                wrong
                    .push(format!("operation {id} in {:?} names {named:?}, and {signed:?} is signed", operation.state));
            }
        }
    }
}

fn committed(operation: &Operation) -> bool {
    operation.dispatch_commit.is_some()
}

/// Invocations are the dispatches that were committed, and those that are set aside; tools were entered by no others.
fn check_counts(ledger: &dyn Ledger, known: &Known<'_>, seen: &Seen, wrong: &mut Vec<String>) {
    let holds = ledger.holds(usize::MAX).expect("the holds read");
    for (key, counter) in ledger.counters(&CounterKey::new(&["invocations", ""]), usize::MAX).expect("counters read") {
        let steps: Vec<&str> = key.as_str().split('\0').collect();
        // A call under a capability that was handed on counts for those above it as well.
        let below = |o: &Operation| {
            let chain = seen.terminal.get(o.id.as_str()).map(|r| &r["metadata"]["attribution"]["delegation_chain"]);
            chain
                .and_then(Value::as_array)
                .is_some_and(|c| c.iter().any(|id| Some(&id.as_str().unwrap_or_default()) == steps.get(1)))
        };
        let is_own = |o: &Operation| {
            let a = &o.admission;
            let index = a.grant_index.to_string();
            let delegated = format!("delegated:{}", a.capability_digest);
            [&a.capability_id, &delegated].iter().any(|id| key == CounterKey::new(&["invocations", id, &index]))
        };
        let counts = |o: &&Operation| is_own(o) || below(o);
        let dispatched = seen.operations.values().filter(counts).filter(|o| committed(o)).count() as u64;
        let held: u64 = holds
            .iter()
            .filter(|h| h.state == chio_host_kernel::ledger::HoldState::Held)
            .flat_map(|h| &h.claims)
            .filter(|c| c.counter == key)
            .map(|c| c.amount)
            .sum();
        // What children under way have not used of their shares.
        let leases: BTreeMap<_, _> = holds.iter().flat_map(|h| &h.leases).map(|l| ((&l.parent, &l.child), l)).collect();
        let used = |key: &CounterKey| ledger.counter(key).expect("the counter reads").map_or(0, |c| c.used);
        let shares = leases.values().filter(|l| l.parent == key).map(|l| l.share.saturating_sub(used(&l.child)));
        let held = held + shares.sum::<u64>();
        // Which calls were made below a capability that was handed on, and handed on again, its receipts do not say by what
        // it counts under.
        let may_have_more = steps.get(1).is_some_and(|id| id.starts_with("delegated:"));
        let is_wrong =
            |counted: u64| if may_have_more { counted < dispatched + held } else { counted != dispatched + held };
        if is_wrong(counter.used) {
            wrong.push(format!("{key} counts {}; {dispatched} were dispatched and {held} are held", counter.used));
        }
    }
    let Some(entries) = known.entries else { return };
    let of = |states: &[State]| seen.operations.values().filter(|o| states.contains(&o.state)).count();
    let all = seen.operations.values().filter(|o| committed(o)).count();
    let never = of(&[State::NotAcceptedAfterDispatchCommit]);
    let certainly = of(&[State::Completed, State::DeniedAfterDelivery, State::Finalizing]);
    if entries > all - never || entries < certainly {
        wrong.push(format!(
            "tools were entered {entries} times; {all} dispatches were committed, {certainly} came back"
        ));
    }
}

/// captured + held + free = total, what is held is what open holds say, and what is captured is what receipts say.
fn check_accounts(ledger: &dyn Ledger, known: &Known<'_>, seen: &Seen, wrong: &mut Vec<String>) {
    let holds = ledger.holds(usize::MAX).expect("the holds read");
    let charges = || holds.iter().filter_map(|h| h.charge.as_ref());
    for name in known.accounts {
        let Some(account) = ledger.account(name).expect("the account reads") else {
            wrong.push(format!("account {name} is missing"));
            continue;
        };
        let sum = account.captured.checked_add(account.held).and_then(|owed| owed.checked_add(account.free()));
        if sum != Some(account.total.units) {
            wrong.push(format!("account {name} does not add up: {account:?}"));
        }
        let held: u64 = charges().filter(|c| c.account.as_deref() == Some(name)).map(|c| c.amount.units).sum();
        if held != account.held {
            wrong.push(format!("account {name} holds {}, and its holds {held}", account.held));
        }
    }
    let captured: u64 =
        known.accounts.iter().filter_map(|n| ledger.account(n).ok().flatten()).map(|a| a.captured).sum();
    let realized = |r: &Value| r["metadata"]["chio_host"]["cost"]["realized"]["units"].as_u64().unwrap_or(0);
    let signed: u64 = seen.terminal.values().map(realized).sum();
    let resolved: u64 = seen.terminal.values().map(|r| resolved(r, seen)).sum();
    if !known.accounts.is_empty() && captured != signed + resolved {
        wrong.push(format!("{captured} are captured; receipts say {signed}, and resolutions {resolved}"));
    }
}

/// What an operator captured of another operation's hold.
fn resolved(receipt: &Value, seen: &Seen) -> u64 {
    let parameters = &receipt["action"]["parameters"];
    if receipt["tool_name"] != "recover.resolve" || parameters["resolution"] != "capture" {
        return 0;
    }
    let operation = parameters["operation_id"].as_str().and_then(|id| seen.operations.get(id));
    operation.and_then(|o| o.admission.exposure.as_ref()).map_or(0, |exposure| exposure.units)
}

/// No nonce serves two operations, and none that was dispatched is free. A single-use id is kept from dispatch on, unless an
/// operator released it.
fn check_single_use(ledger: &dyn Ledger, seen: &Seen, wrong: &mut Vec<String>) {
    let mut nonces = BTreeSet::new();
    let released: BTreeSet<&str> = seen
        .terminal
        .values()
        .filter(|r| r["tool_name"] == "recover.resolve" && r["action"]["parameters"]["resolution"] == "release")
        .filter_map(|r| r["action"]["parameters"]["operation_id"].as_str())
        .collect();
    for (id, operation) in &seen.operations {
        if let Some(nonce) = &operation.participants.nonce
            && !nonces.insert(nonce.id.clone())
        {
            wrong.push(format!("nonce {} serves two operations", nonce.id));
        }
        for reservation in &operation.participants.reservations {
            let owner = ledger.reservation(reservation).expect("the reservation reads");
            let is_kept = owner.as_ref().is_some_and(|o| o.as_str() == id);
            let was_used = committed(operation) && operation.state != State::NotAcceptedAfterDispatchCommit;
            if was_used && !is_kept && !released.contains(id.as_str()) {
                wrong.push(format!("{reservation} of operation {id} is free after dispatch"));
            }
            if operation.state == State::CompensatedBeforeDispatch && is_kept {
                let faulty =
                    seen.terminal.get(id).is_some_and(|r| r["metadata"]["chio_runtime"]["cleanup_faults"].is_array());
                if !faulty {
                    wrong.push(format!("{reservation} of operation {id} is stuck without a fault"));
                }
            }
        }
    }
}
