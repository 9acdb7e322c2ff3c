//! A power cut, as far as a program can see one: of every file only what was synced is left.
//!
//! This binary defines `fsync` and `fdatasync` itself, so whatever syncs, sled's own code included, passes by here. What a
//! file holds when its sync begins is taken as its image on the disk, and the system is asked then; what is written and never
//! synced is in no image. A ledger that is opened from the images has to hold every write that was acknowledged before they
//! were taken.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod disk;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use chio_host_kernel::ledger::{Durability, Ledger, Mutation, Transition};
use chio_host_kernel::operation::OperationId;
use chio_host_ledger::{Options, SledLedger};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Builder;

/// How many writers there are, and how often the power is cut while they write.
const WRITERS: u64 = 8;
const CUTS: usize = 6;
/// Every so many writes, one has the largest output there is.
const LARGE_EVERY: u64 = 40;
const LARGE: usize = 4 << 20;

fn operation(n: u64) -> OperationId {
    serde_json::from_value(Value::from(format!("{n:064x}"))).unwrap()
}

/// The output that goes with a write: its number, again and again.
fn output(n: u64) -> Vec<u8> {
    let length = if n.is_multiple_of(LARGE_EVERY) { LARGE } else { 100 };
    n.to_be_bytes().into_iter().cycle().take(length).collect()
}

fn write(ledger: &SledLedger, n: u64) {
    let revoke = Mutation::Revoke { capability_id: n.to_string(), at: n };
    let keep = Mutation::KeepOutput { operation: operation(n), bytes: output(n) };
    let apply = ledger.apply(Transition::of(ledger.lease_epoch(), vec![revoke, keep]), Durability::Synced);
    Builder::new_current_thread().build().unwrap().block_on(apply).unwrap();
}

/// Writes from several threads, cuts the power again and again, and answers how many acknowledged writes were missing.
fn missing_after_power_cuts() -> usize {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ledger");
    // Short, so that the power is cut in checkpoints and between segments as well.
    let options = Options { checkpoint_rows: 25, segment_bytes: 1 << 20, ..Options::default() };
    let ledger = SledLedger::open_with(&path, &options).unwrap();
    let (acknowledged, stop) = (Arc::new(Mutex::new(Vec::new())), AtomicBool::new(false));
    let mut missing = 0;
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (ledger, acknowledged, stop) = (&ledger, &acknowledged, &stop);
            scope.spawn(move || {
                for n in (0..).map(|n| writer + n * WRITERS) {
                    if stop.load(Ordering::Acquire) {
                        return;
                    }
                    write(ledger, n);
                    acknowledged.lock().unwrap().push(n);
                }
            });
        }
        for cut in 1..=CUTS {
            while acknowledged.lock().unwrap().len() < cut * 20 {
                thread::yield_now();
            }
            // In this order: what is acknowledged before the images are taken has to be in them.
            let expected = acknowledged.lock().unwrap().clone();
            let image = folder.path().join(format!("image-{cut}"));
            disk::restore(&path, &image);
            missing += missing_in(&image, &expected);
        }
        stop.store(true, Ordering::Release);
    });
    missing
}

fn missing_in(image: &Path, expected: &[u64]) -> usize {
    private(image);
    let Ok(ledger) = SledLedger::open(image) else { return expected.len() };
    let is_missing = |n: &&u64| {
        let there = ledger.revoked_at(&n.to_string()).unwrap();
        there != Some(**n) || ledger.output(&operation(**n)).unwrap() != Some(output(**n))
    };
    expected.iter().filter(is_missing).count()
}

fn private(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn what_was_acknowledged_is_on_the_disk_and_without_the_sync_it_is_not() {
    disk::watch();
    assert_eq!(missing_after_power_cuts(), 0);
    // The same with a data sync that says it is done, and does nothing: this test would notice.
    disk::leave_out_data_syncs();
    assert!(missing_after_power_cuts() > 0, "no write was lost, so this test proves nothing");
}
