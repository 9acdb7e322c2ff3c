//! Reloads under load: whether a call is lost, or judged by a half of two sets of rules, and whether memory grows.
//!
//! `cargo bench --bench reload`, or with `-- --quick` for a run that only shows that it works.

#![expect(clippy::print_stdout, reason = "its report is what it is for")]

use std::collections::BTreeSet;
use std::sync::Arc;

use chio_host_kernel::ledger::Ledger;
use chio_host_ledger::SledLedger;
use chio_host_tests::FixtureBuilder;
use chio_host_tests::generations::{generation, generation_of, run};

const CALLERS: usize = 16;

fn main() {
    let (calls, every) = if std::env::args().any(|a| a == "--quick") { (1600, 200) } else { (100_000, 500) };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("tokio starts").block_on(reloads(calls, every));
}

async fn reloads(calls: usize, every: usize) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let ledger: Arc<dyn Ledger> = Arc::new(SledLedger::open(folder.path().join("ledger")).expect("the ledger opens"));
    let host = Arc::new(generation(FixtureBuilder::default().ledger(ledger.clone()), 0).await.build());
    let token = host.wildcard();
    let mut resident = Vec::new();
    let receipts = run(&host, &token, (CALLERS, calls, every), |made| resident.push((made, memory()))).await;
    let used: BTreeSet<_> = receipts
        .iter()
        .map(|id| generation_of(&ledger.receipt(id).expect("the ledger reads").expect("the receipt is there")))
        .collect();
    let logged = ledger.log(0, usize::MAX).expect("the ledger reads").len();
    assert_eq!((receipts.len(), logged), (calls, calls), "a call was lost");
    println!("calls, each with its receipt and wholly under one set of rules {calls:>10}");
    println!("sets of rules in force, one after the other                   {:>10}", used.len());
    for (made, memory) in resident.iter().step_by((resident.len() / 10).max(1)) {
        println!("    MiB resident after {made:>7} calls {memory:>10}");
    }
}

/// What the process has in memory, in MiB; 0 where the system does not say.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    let kib: Option<u64> = line.and_then(|l| l.split_whitespace().next()?.parse().ok());
    kib.unwrap_or(0) / 1024
}
