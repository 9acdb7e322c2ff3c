//! Case 32: the disk is full. Calls are refused, nothing that was acknowledged is lost, and service resumes when there is
//! space again.
//!
//! What stands for a full disk is the process's own limit on the size of a file, in a child of this test: past it a write
//! fails as one on a full disk does, and an unprivileged process may lower and raise it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use chio_host_kernel::ledger::Ledger;
use chio_host_kernel::response::KernelError;
use chio_host_ledger::SupervisedLedger;
use chio_host_tests::invariants;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::world::{World, builder, limited, tool};

const FOLDER: &str = "CHIO_TEST_DISK_FULL";
const DONE: &str = "every write was refused once, and none was lost";

fn limit_files_to(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: bytes.or(maximum), maximum }).unwrap();
}

/// The largest file of a folder: the one that grows.
fn largest(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    entries.map(|p| if p.is_dir() { largest(&p) } else { p.metadata().unwrap().len() }).max().unwrap_or(0)
}

/// Not a test: the child's part.
#[tokio::test]
async fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let path = Path::new(&folder).join("ledger");
    let ledger = Arc::new(SupervisedLedger::open(&path).unwrap());
    let tool = tool();
    let entries = tool.entries();
    let grant =
        chio_host_kernel::capability::Grant { max_invocations: Some(10_000), max_total_cost: None, ..limited() };
    let builder = builder(ledger.clone(), tool).settings(|s| s.accounts[0].total.units = 1_000_000);
    let world = Arc::new(World::of(builder, entries, vec![grant]).await);
    let kernel = world.host.kernel.clone();
    let supervised = ledger.clone();
    tokio::spawn(supervised.supervise(move || {
        let kernel = kernel.clone();
        Box::pin(async move { kernel.recover().await.map(drop).map_err(|e| e.to_string()) })
    }));
    let (mut acknowledged, mut n) = (Vec::new(), 0);
    let mut call = async || {
        n += 1;
        let response = world.host.kernel.evaluate(&world.call(&format!("request-{n}"))).await;
        response.map(|r| r.receipt.id().to_owned())
    };
    for room in [0, 1, 511, 4096, 70_000, 200_000, 524_288, 600_000] {
        acknowledged.push(call().await.unwrap());
        limit_files_to(Some(largest(&path) + room));
        let epoch = ledger.lease_epoch();
        // Until the disk is full.
        loop {
            match call().await {
                Ok(receipt) => acknowledged.push(receipt),
                Err(KernelError::Ledger(_)) => break,
                Err(other) => panic!("{other}"),
            }
        }
        limit_files_to(None);
        // Until it is served again, under another epoch.
        loop {
            match call().await {
                Ok(receipt) => {
                    acknowledged.push(receipt);
                    break;
                }
                Err(KernelError::Ledger(_) | KernelError::Recovering) => tokio::task::yield_now().await,
                Err(other) => panic!("{other}"),
            }
        }
        assert!(ledger.lease_epoch() > epoch);
        world.host.settle().await;
        let seen = invariants::hold(&*ledger, &invariants::Known { entries: None, ..world.known() });
        for id in &acknowledged {
            assert!(seen.terminal.values().any(|r| r["id"] == id.as_str()), "{id} was acknowledged and is gone");
        }
    }
    std::io::stdout().write_all(format!("\n{DONE}\n").as_bytes()).unwrap();
}

#[test]
fn case_32_a_full_disk_refuses_calls_and_loses_none() {
    let folder = tempfile::tempdir().unwrap();
    // The shell has the signal ignored that would end the process where a write should fail.
    let child = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "disk_full::child", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let (said, complained) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    assert!(child.status.success() && said.contains(DONE), "{said}\n{complained}");
}
