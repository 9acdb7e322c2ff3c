//! Group commit: applies and syncs at 1, 16 and 64 callers. Compare the lines of one run; the machine decides the rest.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and one that cannot go on panics")]

use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use chio_host_kernel::ledger::{Durability, Ledger, Mutation, Transition};
use chio_host_ledger::{MemoryLedger, SledLedger};
use tokio::runtime::Runtime;

const FOR: Duration = Duration::from_secs(2);

/// Applies from `callers` tasks until the time is over; answers how many there were.
fn run(runtime: &Runtime, ledger: &Arc<dyn Ledger>, callers: u64, durability: Durability) -> u64 {
    let until = Instant::now() + FOR;
    let applied = Arc::new(AtomicU64::new(0));
    runtime.block_on(async {
        let tasks: Vec<_> = (0..callers)
            .map(|caller| {
                let (ledger, applied) = (Arc::clone(ledger), Arc::clone(&applied));
                tokio::spawn(async move {
                    for n in 0.. {
                        let capability_id = format!("{durability:?}-{callers}-{caller}-{n}");
                        let mutations = vec![Mutation::Revoke { capability_id, at: n }];
                        let lease_epoch = ledger.lease_epoch();
                        let transition = Transition::of(lease_epoch, mutations);
                        ledger.apply(transition, durability).await.unwrap();
                        applied.fetch_add(1, Ordering::Relaxed);
                        if Instant::now() > until {
                            return;
                        }
                        if durability == Durability::Buffered {
                            tokio::task::yield_now().await;
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    applied.load(Ordering::Relaxed)
}

/// Overwrites and syncs a file until the time is over; answers how often a second the device allows that just now.
fn sync_alone(folder: &Path) -> f64 {
    let mut file = File::create(folder.join("alone")).unwrap();
    let until = Instant::now() + FOR;
    let mut count = 0.0;
    while Instant::now() < until {
        file.rewind().unwrap();
        file.write_all(&[7; 1024]).unwrap();
        file.sync_data().unwrap();
        count += 1.0;
    }
    count / FOR.as_secs_f64()
}

fn main() {
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let sled = Arc::new(SledLedger::open(folder.path().join("ledger")).unwrap());
    let on_disk: Arc<dyn Ledger> = sled.clone();
    let in_memory: Arc<dyn Ledger> = Arc::new(MemoryLedger::new());
    println!("{:>9} {:>8} {:>7} {:>11} {:>15}", "", "", "callers", "applies/s", "syncs per apply");
    println!("{:>9} {:>8} {:>7} {:>11.0} {:>15.3}", "file", "Synced", 1, sync_alone(folder.path()), 1.0);
    for callers in [1, 16, 64] {
        for (name, ledger, durability) in [
            ("memory", &in_memory, Durability::Synced),
            ("sled", &on_disk, Durability::Buffered),
            ("sled", &on_disk, Durability::Synced),
        ] {
            let before = sled.syncs();
            let applied = run(&runtime, ledger, callers, durability);
            let syncs = u32::try_from(sled.syncs() - before).map_or(f64::NAN, f64::from);
            let count = u32::try_from(applied).map_or(f64::NAN, f64::from);
            let rate = count / FOR.as_secs_f64();
            println!("{name:>9} {durability:>8?} {callers:>7} {rate:>11.0} {:>15.3}", syncs / count);
        }
    }
}
