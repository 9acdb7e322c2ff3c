//! What durability costs: syncs, throughput next to a ledger in memory, and whether the hundred-thousandth call costs more
//! than the thousandth. Ratios within one run, but for the size of a large ledger and the time to open it again.
//!
//! `cargo bench --bench durable`, or with `-- --quick` for a run that only shows that it works. `-- growth` and
//! `-- throughput` run that part alone.

#![expect(clippy::print_stdout, reason = "its report is what it is for")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chio_host_kernel::call::EffectClass;
use chio_host_kernel::capability::{CapabilityToken, Grant};
use chio_host_kernel::ledger::Ledger;
use chio_host_ledger::{MemoryLedger, SledLedger};
use chio_host_tests::{Fixture, FixtureBuilder, NativeServer, grant};
use serde_json::json;

#[derive(Clone, Copy)]
struct Effort {
    /// Calls of one measurement.
    calls: usize,
    /// Where on one ledger a call is measured, and where it is opened again.
    early: usize,
    late: usize,
    reopened: usize,
}

const FULL: Effort = Effort { calls: 20_000, early: 1_000, late: 100_000, reopened: 1_000_000 };
const QUICK: Effort = Effort { calls: 640, early: 200, late: 1_000, reopened: 2_000 };

fn main() {
    let effort = if std::env::args().any(|a| a == "--quick") { QUICK } else { FULL };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("tokio starts").block_on(async {
        let only = |part: &str| std::env::args().any(|a| a == part);
        if !only("growth") {
            throughput(effort).await;
        }
        if !only("throughput") {
            growth(effort).await;
        }
    });
}

fn say(what: &str, value: f64) {
    println!("{what:<72} {value:>10.3}");
}

#[expect(clippy::cast_precision_loss, reason = "counts of calls")]
fn count(n: usize) -> f64 {
    n as f64
}

/// A host whose one tool has effects, so that each call is recorded before it runs, and a token with a counted grant.
fn host(ledger: Arc<dyn Ledger>) -> (Arc<Fixture>, Arc<CapabilityToken>) {
    let tool = NativeServer::new("host", "bash", EffectClass::SideEffecting, |_| Ok(json!({ "done": true })));
    let host = FixtureBuilder::default()
        .settings(|settings| settings.outputs = chio_host_kernel::Outputs::ReleasedOnce)
        .ledger(ledger)
        .native_server(tool)
        .build();
    let token = host.token(vec![Grant { max_invocations: Some(1 << 40), ..grant("host", "bash") }]);
    (Arc::new(host), token)
}

/// Makes so many calls from so many tasks, and answers how long that took.
async fn calls(host: &Arc<Fixture>, token: &Arc<CapabilityToken>, callers: usize, calls: usize) -> Duration {
    let start = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let (host, token) = (host.clone(), token.clone());
            tokio::spawn(async move {
                for _ in 0..calls / callers {
                    let call = host.call(&token, "host", "bash", json!({ "command": "make all" }));
                    host.kernel.evaluate(&call).await.expect("the kernel answers");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no call panics");
    }
    start.elapsed()
}

async fn throughput(effort: Effort) {
    for callers in [1_usize, 64] {
        let number = if callers == 1 { effort.calls / 10 } else { effort.calls };
        let (memory, token) = host(Arc::new(MemoryLedger::new()));
        let in_memory = calls(&memory, &token, callers, number).await;
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let ledger = Arc::new(SledLedger::open(folder.path().join("ledger")).expect("the ledger opens"));
        let (disk, token) = host(ledger.clone());
        let before = ledger.syncs();
        let on_disk = calls(&disk, &token, callers, number).await;
        let syncs = count(usize::try_from(ledger.syncs() - before).expect("a number of syncs"));
        say(&format!("syncs per durable call, {callers} callers"), syncs / count(number));
        let ratio = in_memory.as_secs_f64() / on_disk.as_secs_f64();
        say(&format!("throughput with sled / with the memory ledger, {callers} callers"), ratio);
        println!(
            "    ({:.0} and {:.0} calls/s)",
            count(number) / on_disk.as_secs_f64(),
            count(number) / in_memory.as_secs_f64()
        );
    }
}

/// A ledger of its own, with so many calls on it.
async fn grown(folder: &Path, made: usize) -> (Arc<SledLedger>, Arc<Fixture>, Arc<CapabilityToken>) {
    let ledger = Arc::new(SledLedger::open(folder.join("ledger")).expect("the ledger opens"));
    let (disk, token) = host(ledger.clone());
    calls(&disk, &token, 64, made).await;
    (ledger, disk, token)
}

async fn growth(effort: Effort) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let path = folder.path().join("ledger");
    let (ledger, disk, token) = grown(folder.path(), effort.early).await;
    let mut made = effort.early;
    for goal in [effort.late, effort.reopened] {
        calls(&disk, &token, 64, goal - made).await;
        let measured = effort.early / 2;
        // Beside a young ledger, call by call: whatever else the machine does, it does to both.
        let beside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let (_, young, its_token) = grown(beside.path(), effort.early).await;
        let (mut early, mut late) = (Vec::new(), Vec::new());
        for _ in 0..measured {
            early.push(calls(&young, &its_token, 1, 1).await);
            late.push(calls(&disk, &token, 1, 1).await);
        }
        made = goal + measured;
        let what = format!("cost of the {goal}th call / of the {}th", effort.early);
        say(&what, median(early).recip() * median(late));
        println!("    ({:.0} MiB on disk)", mib(size(&path)));
    }

    drop(disk);
    Arc::into_inner(ledger).expect("nobody else has it").close().expect("it closes");
    let before = resident();
    let start = Instant::now();
    let ledger = SledLedger::open(&path).expect("the ledger opens again");
    let took = start.elapsed();
    println!(
        "opened again after {made} operations: {:.2} s, {:.0} MiB on disk, {:.0} MiB more resident ({:.0} before)",
        took.as_secs_f64(),
        mib(size(&path)),
        mib(resident().saturating_sub(before)),
        mib(before),
    );
    ledger.close().expect("it closes");
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

#[expect(clippy::cast_precision_loss, reason = "a size that is read, and not counted on")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn size(path: &Path) -> u64 {
    let entries = std::fs::read_dir(path).expect("the folder reads").map(|e| e.expect("an entry").path());
    entries.map(|p| if p.is_dir() { size(&p) } else { p.metadata().map_or(0, |m| m.len()) }).sum()
}

/// What the process has in memory, in bytes; 0 where the system does not say.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    let kib: Option<u64> = line.and_then(|l| l.split_whitespace().next()?.parse().ok());
    kib.unwrap_or(0) * 1024
}
