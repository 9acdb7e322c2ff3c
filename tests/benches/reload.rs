//! Reloads under load: whether a call is lost, or judged by a half of two sets of rules, and whether memory grows with them.
//!
//! `cargo bench --bench reload`, or with `-- --quick` for a run that only shows that it works.
//!
//! A ledger grows with its calls, in memory too, so the same calls are made in a second process whose rules stay: what
//! reloads cost is the difference.

#![expect(clippy::print_stdout, reason = "its report is what it is for")]

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;

use chio_host_kernel::ledger::Ledger;
use chio_host_ledger::SledLedger;
use chio_host_tests::FixtureBuilder;
use chio_host_tests::generations::{generation, generation_of, run};

const CALLERS: usize = 16;
/// The argument of the second process.
const UNCHANGED: &str = "--unchanged";

fn main() {
    let has = |argument: &str| std::env::args().any(|a| a == argument);
    let quick = has("--quick");
    let (calls, every) = if quick { (1600, 200) } else { (100_000, 500) };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("tokio starts");
    if has(UNCHANGED) {
        for (_, memory) in runtime.block_on(made(calls, every, false)) {
            println!("{memory}");
        }
        return;
    }
    let reloaded = runtime.block_on(made(calls, every, true));
    let unchanged = unchanged(quick);
    println!("    MiB resident          with reloads      without");
    for ((made, memory), without) in reloaded.iter().zip(&unchanged).step_by((reloaded.len() / 10).max(1)) {
        println!("    after {made:>7} calls {memory:>15} {without:>12}");
    }
    let last = |memory: Option<u64>| f64::from(u32::try_from(memory.unwrap_or(0)).unwrap_or(u32::MAX));
    let (with, without) = (last(reloaded.last().map(|(_, memory)| *memory)), last(unchanged.last().copied()));
    println!("memory after {calls} calls, with {} reloads / without {:>17.2}", reloaded.len(), with / without);
}

/// What the same calls take in a process whose rules stay, in MiB.
fn unchanged(quick: bool) -> Vec<u64> {
    let mut second = Command::new(std::env::current_exe().expect("this has a path"));
    second.arg(UNCHANGED).args(quick.then_some("--quick"));
    let output = second.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().filter_map(|line| line.parse().ok()).collect()
}

/// Makes the calls; answers how much memory there was after every `every` of them, in MiB.
async fn made(calls: usize, every: usize, reload: bool) -> Vec<(usize, u64)> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let ledger: Arc<dyn Ledger> = Arc::new(SledLedger::open(folder.path().join("ledger")).expect("the ledger opens"));
    let host = Arc::new(generation(FixtureBuilder::default().ledger(ledger.clone()), 0).await.build());
    let token = host.wildcard();
    let mut resident = Vec::new();
    let receipts = run(&host, &token, (CALLERS, calls, every), reload, |made| resident.push((made, memory()))).await;
    let used: BTreeSet<_> = receipts
        .iter()
        .map(|id| generation_of(&ledger.receipt(id).expect("the ledger reads").expect("the receipt is there")))
        .collect();
    let logged = ledger.log(0, usize::MAX).expect("the ledger reads").len();
    assert_eq!((receipts.len(), logged), (calls, calls), "a call was lost");
    if reload {
        println!("calls, each with its receipt and wholly under one set of rules {calls:>10}");
        println!("sets of rules in force, one after the other                   {:>10}", used.len());
    }
    resident
}

/// What the process has in memory, in MiB; 0 where the system does not say.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    let kib: Option<u64> = line.and_then(|l| l.split_whitespace().next()?.parse().ok());
    kib.unwrap_or(0) / 1024
}
